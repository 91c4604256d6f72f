// SPDX-License-Identifier: Apache-2.0
#include <kj/exception.h>

#include <utility>

#include "frontend_etcd/handlers.h"
#include "frontend_etcd/wire.h"
#include "sdk/records.h"

namespace quorate::frontend_etcd {
namespace {

// Sends one long RangeResponse as it comes, against credit: the kernel reads only as far ahead as
// the stream may still queue. A message carries its length in front, so an answer without values,
// whose length only its records tell, is gathered first.
//
// Lives until END has come and the stream is gone.
class RangePull final : public Handler, public PieceSink {
 public:
  RangePull(Stream& stream, bool keys_only)
      : stream_(&stream), core_(stream.core()), keys_only_(keys_only) {}

  // False when the kernel refused; nothing will be called then.
  bool open(std::string_view request) {
    const quorate_call call = stream_->call();
    quorate_error error{};
    error.struct_size = sizeof error;
    const quorate_services& services = core_.services();
    const quorate_status status = services.range_open(
        services.ctx, &call, sdk::slice(request), &RangePull::on_piece_raw, this, &pull_, &error);
    if (status != QUORATE_OK) refusal_ = rpc_error(status, error.message);
    if (status == QUORATE_OK) grant(kPullCredit);
    return status == QUORATE_OK;
  }
  const RpcError& refusal() const { return refusal_; }

  void on_message(std::string_view) override {}
  void on_half_close() override {}
  void on_sent(size_t unsent) override {
    if (unsent + granted_ <= kPullCredit / 2) grant(kPullCredit - unsent - granted_);
  }
  void on_gone() override {
    stream_ = nullptr;
    if (!ended_) core_.services().range_close(core_.services().ctx, pull_);
    free_if_done();
  }

  void on_piece(uint32_t kind, quorate_status code, const SharedBuf& bytes) override {
    if (kind == QUORATE_PIECE_END) ended_ = true;
    if (stream_ == nullptr) return free_if_done();
    if (kind == QUORATE_PIECE_END) return end(code);
    bool whole = false;
    try {
      whole = kind == QUORATE_PIECE_HEAD ? head(bytes) : data(bytes);
    } catch (const kj::Exception&) {
    }
    if (!whole) stream_->finish(broken());
  }

 private:
  static RpcError broken() {
    return {GrpcCode::kInternal, "etcdserver: the server's answer could not be encoded"};
  }

  bool head(const SharedBuf& bytes) {
    if (!schema::SegmentReader::well_formed(bytes.bytes())) return false;
    schema::SegmentReader reader(bytes.bytes());
    const auto root = reader.root<schema::Response>();
    if (!root.isRange()) return false;
    write_header(head_, header_of(root.getHeader()));
    write_range_tail(tail_, root.getRange());
    expected_ = root.getRange().getKvBytes();
    if (!keys_only_) begin_message(expected_);
    return true;
  }

  void begin_message(uint64_t run_size) {
    stream_->message_head(head_.size() + run_size + tail_.size());
    stream_->append(head_);
  }

  bool data(const SharedBuf& bytes) {
    const std::string_view run = bytes.bytes();
    received_ += run.size();
    granted_ -= std::min<uint64_t>(granted_, run.size());
    if (received_ > expected_) return false;
    if (!keys_only_) {
      stream_->append(bytes, run);
      return true;
    }
    grant(run.size());
    return sdk::append_run_without_values(keys_, run, sdk::kRangeRunTag);
  }

  void end(quorate_status code) {
    if (code != QUORATE_OK) return stream_->finish(rpc_error(code));
    if (received_ != expected_) return stream_->finish(broken());
    if (keys_only_) {
      begin_message(keys_.size());
      stream_->append(keys_);
    }
    stream_->append(tail_);
    stream_->finish({});
  }

  void grant(uint64_t bytes) {
    granted_ += bytes;
    core_.services().range_credit(core_.services().ctx, pull_, bytes);
  }

  static void on_piece_raw(void* user, const quorate_piece* piece) {
    auto* pull = static_cast<RangePull*>(user);
    pull->core_.post_piece(pull, piece);
  }

  void free_if_done() {
    if (ended_ && stream_ == nullptr) delete this;
  }

  Stream* stream_;
  Core& core_;
  uint64_t pull_ = 0;
  RpcError refusal_;
  std::string head_, tail_, keys_;
  uint64_t granted_ = 0;   // credit that no piece has used yet
  uint64_t expected_ = 0;  // bytes of the whole run
  uint64_t received_ = 0;
  const bool keys_only_;
  bool ended_ = false;
};

}  // namespace

Handler* make_range_pull(Stream& stream, std::string_view request, bool keys_only) {
  auto* pull = new RangePull(stream, keys_only);
  stream.replace_handler(pull);
  if (pull->open(request)) return pull;
  const RpcError refusal = pull->refusal();
  stream.replace_handler(nullptr);
  delete pull;
  stream.finish(refusal);
  return nullptr;
}

}  // namespace quorate::frontend_etcd
