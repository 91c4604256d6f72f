// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/handlers.h"
#include "frontend_etcd/wire.h"

namespace quorate::frontend_etcd {
namespace {

enum ServingStatus : uint32_t { kServing = 1, kServiceUnknown = 3 };

// The whole server is the service ""; it serves from start to end, as etcd's does.
class HealthCall final : public Handler {
 public:
  explicit HealthCall(Stream& stream) : stream_(stream) {}

  void on_message(std::string_view message) override {
    if (std::exchange(asked_, true)) return;
    std::string_view service;
    const RpcError error = decode_health(message, service);
    if (error.code != GrpcCode::kOk) return stream_.finish(error);
    const bool watch = stream_.method() == Method::kHealthWatch;
    const RpcError refusal = watch ? RpcError{} : stream_.refusal(false);
    if (refusal.code != GrpcCode::kOk) return stream_.finish(refusal);
    if (!service.empty() && !watch) return stream_.finish({GrpcCode::kNotFound, "unknown service"});
    wire::Writer(stream_.begin_message()).number(1, service.empty() ? kServing : kServiceUnknown);
    stream_.end_message();
    if (!watch) stream_.finish({});
  }
  void on_half_close() override {
    if (!asked_) stream_.finish({GrpcCode::kInternal, "grpc: the call has no request message"});
  }
  void on_stop() override { stream_.finish(rpc_error(QUORATE_STOPPED)); }
  void on_gone() override { delete this; }

 private:
  Stream& stream_;
  bool asked_ = false;
};

}  // namespace

Handler* make_health(Stream& stream) {
  return new HealthCall(stream);
}

}  // namespace quorate::frontend_etcd
