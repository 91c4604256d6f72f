// SPDX-License-Identifier: Apache-2.0
#include <kj/exception.h>

#include <deque>
#include <utility>

#include "frontend_etcd/handlers.h"

namespace quorate::frontend_etcd {
namespace {

// Answers in the order asked, in whatever order the kernel answers. Lives until the stream is gone
// and every ask has its completion.
class KeepAliveStream final : public Handler {
 public:
  explicit KeepAliveStream(Stream& stream) : stream_(&stream), core_(stream.core()) {}

  void on_message(std::string_view message) override {
    auto ask = std::make_unique<Ask>(*this);
    ask->builder = core_.borrow_builder();
    const RpcError error = decode_request(Method::kLeaseKeepAlive, message, core_.settings().limits,
                                          *ask->builder, ask->facts);
    if (error.code != GrpcCode::kOk) {
      core_.give_back(std::move(ask->builder), 0);
      return stream_->finish(error);
    }
    ++outstanding_;
    core_.submit(ask.get(), stream_->call(), ask->builder->finish());
    asks_.push_back(std::move(ask));
  }

  void on_half_close() override {
    half_closed_ = true;
    answer_in_order();
  }

  void on_gone() override {
    stream_ = nullptr;
    for (const auto& ask : asks_) {
      if (ask->done) continue;
      if (ask->in_kernel) {
        core_.cancel(ask->call_id);
      } else {
        core_.withdraw(ask.get());
        --outstanding_;
      }
    }
    free_if_done();
  }

  bool accepts() const override { return asks_.size() < kOpenAsksMax; }

  void on_stop() override { stream_->finish(rpc_error(QUORATE_STOPPED)); }

 private:
  struct Ask final : Completer {
    explicit Ask(KeepAliveStream& in) : stream(in) {}
    void submitted(uint64_t id) override {
      in_kernel = true;
      call_id = id;
      stream.core_.give_back(std::move(builder), 0);
    }
    void complete(quorate_status status, const SharedBuf& answer) override {
      done = true;
      code = status;
      response = answer.share();
      stream.completed();
    }

    KeepAliveStream& stream;
    std::unique_ptr<schema::SegmentBuilder> builder;
    RequestFacts facts;
    uint64_t call_id = 0;
    quorate_status code = 0;
    SharedBuf response;
    bool in_kernel = false;
    bool done = false;
  };

  void completed() {
    --outstanding_;
    if (stream_ == nullptr) return free_if_done();
    answer_in_order();
  }

  void answer_in_order() {
    const bool was_full = !accepts();
    while (!asks_.empty() && asks_.front()->done) {
      const RpcError error = answer(*asks_.front());
      asks_.pop_front();
      if (error.code != GrpcCode::kOk) return stream_->finish(error);
    }
    if (half_closed_ && asks_.empty()) return stream_->finish({});
    if (was_full && accepts()) stream_->resume_input();
  }

  RpcError answer(const Ask& ask) {
    const std::string_view bytes = ask.response.bytes();
    const RpcError broken{GrpcCode::kInternal, "etcdserver: the answer could not be encoded"};
    if (ask.code != QUORATE_OK) return rpc_error(ask.code);
    if (!schema::SegmentReader::well_formed(bytes)) return broken;
    std::string& out = stream_->begin_message();
    bool whole = false;
    try {
      schema::SegmentReader reader(bytes);
      whole = encode_response(Method::kLeaseKeepAlive, ask.facts, {},
                              reader.root<schema::Response>(), out);
    } catch (const kj::Exception&) {
    }
    if (whole) {
      stream_->end_message();
    } else {
      stream_->drop_message();
    }
    return whole ? RpcError{} : broken;
  }

  void free_if_done() {
    if (stream_ == nullptr && outstanding_ == 0) delete this;
  }

  Stream* stream_;
  Core& core_;
  std::deque<std::unique_ptr<Ask>> asks_;  // in order; the front is the next to be answered
  size_t outstanding_ = 0;                 // asks without a completion
  bool half_closed_ = false;
};

}  // namespace

Handler* make_keep_alive(Stream& stream) {
  return new KeepAliveStream(stream);
}

}  // namespace quorate::frontend_etcd
