// SPDX-License-Identifier: Apache-2.0
#include <kj/exception.h>

#include <utility>

#include "frontend_etcd/handlers.h"

namespace quorate::frontend_etcd {
namespace {

// States: waiting for the message -> in the turn's batch -> submitted -> completed. It frees itself
// when the stream is gone and no completion is owed.
class UnaryCall final : public Handler, public Completer {
 public:
  explicit UnaryCall(Stream& stream) : stream_(&stream), core_(stream.core()) {}

  void on_message(std::string_view message) override {
    if (std::exchange(asked_, true)) return;
    builder_ = core_.borrow_builder();
    const Method method = stream_->method();
    RpcError error = decode_request(method, message, core_.settings().limits, *builder_, facts_);
    if (error.code == GrpcCode::kOk)
      error = stream_->refusal(method == Method::kStatus || facts_.serializable);
    if (error.code != GrpcCode::kOk) {
      give_back();
      return stream_->finish(error);
    }
    request_ = builder_->finish();
    outstanding_ = true;
    core_.submit(this, stream_->call(), request_);
  }

  void on_half_close() override {
    if (!asked_) stream_->finish({GrpcCode::kInternal, "grpc: the call has no request message"});
  }

  void on_gone() override {
    stream_ = nullptr;
    if (outstanding_ && !in_kernel_) {
      core_.withdraw(this);
      outstanding_ = false;
    }
    if (outstanding_) core_.cancel(call_id_);
    free_if_done();
  }

  void submitted(uint64_t call_id) override {
    in_kernel_ = true;
    call_id_ = call_id;
    if (!facts_.needs_request) give_back();
  }

  void complete(quorate_status code, const SharedBuf& response) override {
    outstanding_ = false;
    if (stream_ == nullptr) return free_if_done();
    // etcd has a text of its own for the one call that waits for an election.
    if (code == QUORATE_TIMEOUT && stream_->method() == Method::kMoveLeader)
      code = QUORATE_TRANSFER_TIMEOUT;
    if (code == QUORATE_USE_RANGE_OPEN && stream_->method() == Method::kRange) return open_pull();
    RpcError status;
    try {
      status = answer(code, response);
    } catch (const kj::Exception&) {
      status = broken_answer();
    }
    give_back();
    stream_->finish(status);
  }

 private:
  static RpcError broken_answer() {
    return {GrpcCode::kInternal, "etcdserver: the server's answer could not be encoded"};
  }

  RpcError answer(quorate_status code, const SharedBuf& response) {
    const std::string_view bytes = response.bytes();
    if (code != QUORATE_OK && !schema::SegmentReader::well_formed(bytes)) return rpc_error(code);
    if (!schema::SegmentReader::well_formed(bytes)) return broken_answer();
    schema::SegmentReader reader(bytes);
    const auto root = reader.root<schema::Response>();
    if (code != QUORATE_OK) {
      const auto message = root.getMessage();
      return rpc_error(code, {message.begin(), message.size()});
    }
    if (root.isRange() && !facts_.keys_only && root.getRange().getKvs().size() > kSpliceSizeMin)
      return splice(root, response);
    std::string& out = stream_->begin_message();
    bool whole = false;
    try {
      whole = encode_response(stream_->method(), facts_, request_, root, out);
    } catch (const kj::Exception&) {
    }
    if (!whole) {
      stream_->drop_message();
      return broken_answer();
    }
    stream_->end_message();
    return {};
  }

  // A long run of records is sent from where it lies.
  RpcError splice(schema::Response::Reader root, const SharedBuf& response) {
    std::string head;
    write_header(head, header_of(root.getHeader()));
    std::string tail;
    write_range_tail(tail, root.getRange());
    const std::string_view run = view(root.getRange().getKvs());
    stream_->message_head(head.size() + run.size() + tail.size());
    stream_->append(head);
    stream_->append(response, run);
    stream_->append(tail);
    return {};
  }

  void open_pull() {
    Stream& stream = *std::exchange(stream_, nullptr);
    make_range_pull(stream, request_, facts_.keys_only);
    free_if_done();
  }

  void give_back() {
    if (builder_ == nullptr) return;
    core_.give_back(std::move(builder_), request_.size());
    request_ = {};
  }

  void free_if_done() {
    if (outstanding_ || stream_ != nullptr) return;
    give_back();
    delete this;
  }

  static constexpr size_t kSpliceSizeMin = 16 * 1024;

  Stream* stream_;
  Core& core_;
  std::unique_ptr<schema::SegmentBuilder> builder_;
  std::string_view request_;  // in builder_
  RequestFacts facts_;
  uint64_t call_id_ = 0;
  bool asked_ = false;
  bool outstanding_ = false;  // a completion will come, or the batch still holds the call
  bool in_kernel_ = false;
};

}  // namespace

Handler* make_unary(Stream& stream) {
  return new UnaryCall(stream);
}

}  // namespace quorate::frontend_etcd
