// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "frontend_etcd/handlers.h"
#include "frontend_etcd/wire.h"
#include "schemas/api.capnp.h"

namespace quorate::frontend_etcd {
namespace {

constexpr int64_t kNoWatchId = -1;
constexpr size_t kItemOverhead = 128;  // what one item counts besides its events

// One watch stream: the client's ids on one side, the kernel's numbers on the other.
//
// Invariants: a client's id names at most one watcher; replies to creates leave in the order of the
// creates; after a canceled reply nothing of that watcher leaves. Lives until the stream is gone
// and the kernel has closed its side.
class WatchStream final : public Handler, public WatchSink {
 public:
  explicit WatchStream(Stream& stream) : stream_(&stream), core_(stream.core()) {}

  bool open(RpcError& refusal) {
    const quorate_call call = stream_->call();
    quorate_error error{};
    error.struct_size = sizeof error;
    const quorate_services& services = core_.services();
    const quorate_status status =
        services.watch_open(services.ctx, &call, &WatchStream::on_watch_raw, this, &id_, &error);
    if (status != QUORATE_OK) refusal = rpc_error(status, error.message);
    return status == QUORATE_OK;
  }

  // ---- from the client
  void on_message(std::string_view message) override {
    WatchOp op;
    const RpcError error = decode_watch(message, op);
    if (error.code != GrpcCode::kOk) return stream_->finish(error);
    switch (op.kind) {
      case WatchOp::Kind::kCreate: create(op); break;
      case WatchOp::Kind::kCancel: cancel(op.watch_id); break;
      case WatchOp::Kind::kProgress: ask_progress(); break;
      case WatchOp::Kind::kNone: break;
    }
    accepted_ = accepts();
  }
  // Watchers go on: a client that has sent all its creates may end its side.
  void on_half_close() override {}
  void on_gone() override {
    stream_ = nullptr;
    queued_ = 0;
    if (!closed_) core_.services().watch_close(core_.services().ctx, id_);
    free_if_done();
  }
  void on_sent(size_t unsent) override { sent_up_to(unsent); }
  bool accepts() const override { return creating_.size() < kOpenAsksMax; }
  void on_stop() override { stream_->finish(rpc_error(QUORATE_STOPPED)); }

  // ---- from the kernel
  void on_watch(const WatchBatch& batch) override {
    size_t weight = 0;
    const SharedBuf* events = batch.events.data();
    for (const quorate_watch_item& item : batch.items) {
      weight += weight_of(item, events);
      if (stream_ != nullptr) take(item, events);
      if (item.kind == QUORATE_WATCH_CLOSED && item.watch == QUORATE_WATCH_ALL) closed_ = true;
      events += item.event_count;
    }
    // From here on the stream's own queue says what is unsent.
    if (stream_ != nullptr) queued_ = stream_->unsent();
    in_mailbox_.fetch_sub(weight);
    if (stream_ != nullptr) sent_up_to(stream_->unsent());
    if (closed_ && stream_ != nullptr) return stream_->finish(end_);
    if (stream_ != nullptr && !std::exchange(accepted_, accepts()) && accepted_)
      stream_->resume_input();
    free_if_done();
  }

 private:
  struct Watcher {
    int64_t id = 0;  // the client's
    bool fragment = false;
    bool created = false;
    bool cancelling = false;
    bool compacted = false;  // ended by compaction; its id stays taken until it is cancelled
  };
  // A create that has no reply yet.
  struct Creating {
    uint64_t number = 0;  // 0: refused here, and why
    quorate_status refused = QUORATE_OK;
  };
  void create(const WatchOp& op) {
    const std::string_view open_end("\0", 1);
    const std::string_view key = op.key.empty() ? open_end : op.key;
    const bool empty_range =
        !op.range_end.empty() && op.range_end != open_end && key >= op.range_end;
    if (empty_range) return refuse(QUORATE_WATCH_EMPTY_RANGE);
    if (op.start_revision < 0) return refuse(QUORATE_COMPACTED);
    int64_t id = op.watch_id;
    if (id == 0) {
      while (ids_.contains(next_id_)) ++next_id_;
      id = next_id_++;
    } else if (ids_.contains(id)) {
      return refuse(QUORATE_WATCH_DUPLICATE_ID);
    }
    const uint64_t number = ++last_number_;
    Watcher& watcher = watchers_[number];
    watcher.id = id;
    watcher.fragment = op.fragment;
    ids_[id] = number;
    creating_.push_back({number, QUORATE_OK});

    auto builder = core_.borrow_builder();
    auto request = builder->start<schema::WatchCreate>(op.key.size() + op.range_end.size() + 128);
    request.setKey(data(key));
    request.setRangeEnd(data(op.range_end));
    request.setStartRevision(op.start_revision);
    request.setProgressNotify(op.progress_notify);
    request.setNoPut(op.no_put);
    request.setNoDelete(op.no_delete);
    request.setPrevKv(op.prev_kv);
    const std::string_view bytes = builder->finish();
    const quorate_services& services = core_.services();
    const quorate_status status = services.watch_add(services.ctx, id_, number, sdk::slice(bytes));
    core_.give_back(std::move(builder), bytes.size());
    if (status != QUORATE_OK) {
      creating_.pop_back();
      forget(number);
      refuse(status);
    }
  }

  void refuse(quorate_status why) {
    creating_.push_back({0, why});
    answer_refused();
  }

  // Creates refused here wait for the replies of those before them.
  void answer_refused() {
    while (!creating_.empty() && creating_.front().number == 0) {
      const quorate_status why = creating_.front().refused;
      creating_.pop_front();
      send_failed_create(why, core_.member().revision);
    }
  }

  void send_failed_create(quorate_status why, int64_t revision) {
    std::string& out = begin(revision);
    wire::Writer writer(out);
    writer.number(2, kNoWatchId);
    writer.number(3, true);
    writer.number(4, true);
    writer.bytes(6, cancel_reason(why));
    end();
  }

  void cancel(int64_t id) {
    const auto found = ids_.find(id);
    if (found == ids_.end()) return;
    const uint64_t number = found->second;
    Watcher& watcher = watchers_[number];
    ids_.erase(found);
    if (watcher.compacted) {
      watchers_.erase(number);
      return send_canceled(id, core_.member().revision);
    }
    watcher.cancelling = true;
    core_.services().watch_remove(core_.services().ctx, id_, number);
  }

  void send_canceled(int64_t id, int64_t revision) {
    wire::Writer writer(begin(revision));
    writer.number(2, id);
    writer.number(4, true);
    end();
  }

  void ask_progress() {
    // etcd drops the request on a stream without watchers, or with one that compaction ended.
    if (watchers_.empty() || compacted_ids() > 0) return;
    progress_wanted_ = true;
    core_.services().watch_progress(core_.services().ctx, id_);
  }

  size_t compacted_ids() const {
    size_t count = 0;
    for (const auto& [number, watcher] : watchers_) count += watcher.compacted ? 1 : 0;
    return count;
  }

  void take(const quorate_watch_item& item, const SharedBuf* events) {
    if (item.watch == QUORATE_WATCH_ALL) {
      if (item.kind == QUORATE_WATCH_CLOSED) end_ = end_of(item);
      if (item.kind == QUORATE_WATCH_PROGRESS) progress_of_all(item.revision);
      return;
    }
    const auto found = watchers_.find(item.watch);
    if (found == watchers_.end()) return;
    Watcher& watcher = found->second;
    switch (item.kind) {
      case QUORATE_WATCH_CREATED: created(watcher, item); break;
      case QUORATE_WATCH_EVENTS:
        if (!watcher.cancelling && !watcher.compacted) send_events(watcher, item, events);
        break;
      case QUORATE_WATCH_PROGRESS:
        if (!watcher.cancelling && !watcher.compacted) send_progress(watcher.id, item.revision);
        break;
      case QUORATE_WATCH_CLOSED: closed(item.watch, watcher, item); break;
      default: break;
    }
  }

  void created(Watcher& watcher, const quorate_watch_item& item) {
    watcher.created = true;
    pop_creating(item.watch);
    wire::Writer writer(begin(item.revision));
    writer.number(2, watcher.id);
    writer.number(3, true);
    end();
    answer_refused();
  }

  void pop_creating(uint64_t number) {
    if (!creating_.empty() && creating_.front().number == number) creating_.pop_front();
  }

  void closed(uint64_t number, Watcher& watcher, const quorate_watch_item& item) {
    const int64_t id = watcher.id;
    if (!watcher.created && watcher.cancelling) created(watcher, item);
    if (!watcher.created) {
      pop_creating(number);
      forget(number);
      send_failed_create(item.code, item.revision);
      return answer_refused();
    }
    if (watcher.cancelling) {
      watchers_.erase(number);
      return send_canceled(id, item.revision);
    }
    if (item.compact_revision > 0) {
      watcher.compacted = true;
      wire::Writer writer(begin(0));
      writer.number(2, id);
      writer.number(4, true);
      writer.number(5, item.compact_revision);
      return end();
    }
    forget(number);
    wire::Writer writer(begin(item.revision));
    writer.number(2, id);
    writer.number(4, true);
    if (item.code != QUORATE_OK) writer.bytes(6, cancel_reason(item.code));
    end();
  }

  // The watcher never came to be: its id is free, and the next one again if it was the last given.
  void forget(uint64_t number) {
    const auto found = watchers_.find(number);
    const int64_t id = found->second.id;
    ids_.erase(id);
    if (!found->second.created && id == next_id_ - 1) next_id_ = id;
    watchers_.erase(found);
  }

  void send_events(Watcher& watcher, const quorate_watch_item& item, const SharedBuf* events) {
    std::string head;
    const size_t size_max = core_.settings().message_bytes_max();
    for (uint32_t first = 0; first < item.event_count;) {
      size_t size = 0;
      uint32_t last = first;
      for (; last < item.event_count; ++last) {
        const size_t one = framed_size(events[last]);
        if (watcher.fragment && last > first && size + one >= size_max) break;
        size += one;
      }
      head.clear();
      write_header(head, core_header(item.revision));
      wire::Writer writer(head);
      writer.number(2, watcher.id);
      if (last < item.event_count) writer.number(7, true);
      stream_->message_head(head.size() + size);
      stream_->append(head);
      for (; first < last; ++first) {
        const std::string_view bytes = events[first].bytes();
        head.clear();
        writer.bytes_head(11, bytes.size());
        stream_->append(head);
        stream_->append(events[first], bytes);
      }
    }
  }

  static size_t framed_size(const SharedBuf& event) {
    const size_t size = event.bytes().size();
    return 1 + wire::varint_size(size) + size;
  }

  void progress_of_all(int64_t revision) {
    if (progress_wanted_ && compacted_ids() == 0) send_progress(kNoWatchId, revision);
    progress_wanted_ = false;
  }

  void send_progress(int64_t id, int64_t revision) {
    wire::Writer(begin(revision)).number(2, id);
    end();
  }

  static RpcError end_of(const quorate_watch_item& item) {
    return rpc_error(item.code == QUORATE_OK ? QUORATE_STOPPED : item.code);
  }

  const Header& core_header(int64_t revision) {
    header_ = core_.header(revision);
    return header_;
  }
  std::string& begin(int64_t revision) {
    std::string& out = stream_->begin_message();
    write_header(out, core_header(revision));
    return out;
  }
  void end() { stream_->end_message(); }

  static capnp::Data::Reader data(std::string_view bytes) {
    return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
  }

  // ---- flow control
  static size_t weight_of(const quorate_watch_item& item, const SharedBuf* events) {
    size_t weight = kItemOverhead;
    for (uint32_t i = 0; i < item.event_count; ++i) weight += events[i].bytes().size();
    return weight;
  }

  // On a kernel thread. Whoever sees the other's last word acts: the kernel sets blocked_ before it
  // looks at the size again, and sent_up_to() lowers the size before it looks at blocked_.
  static quorate_status on_watch_raw(void* user, const quorate_watch_item* items, size_t count) {
    auto* stream = static_cast<WatchStream*>(user);
    bool last = false;
    size_t weight = 0;
    for (size_t i = 0; i < count; ++i) {
      last |= items[i].kind == QUORATE_WATCH_CLOSED && items[i].watch == QUORATE_WATCH_ALL;
      weight += kItemOverhead;
      for (uint32_t k = 0; k < items[i].event_count; ++k) weight += items[i].events[k].bytes.size;
    }
    if (!last && stream->waiting() > kWatchUnsentMax) {
      stream->blocked_ = true;
      if (stream->waiting() > kWatchUnsentMax) return QUORATE_BUSY;
      stream->blocked_ = false;
    }
    stream->in_mailbox_.fetch_add(weight);
    stream->core_.post_watch(stream, items, count);
    return QUORATE_OK;
  }

  size_t waiting() const { return in_mailbox_ + queued_; }

  void sent_up_to(size_t unsent) {
    queued_ = unsent;
    if (waiting() <= kWatchUnsentMax / 2 && blocked_.exchange(false))
      core_.services().watch_resume(core_.services().ctx, id_);
  }

  void free_if_done() {
    if (closed_ && stream_ == nullptr) delete this;
  }

  Stream* stream_;
  Core& core_;
  uint64_t id_ = 0;  // the kernel's name of the stream
  Header header_;
  std::map<uint64_t, Watcher> watchers_;       // by the kernel's number; in the order of creation
  std::unordered_map<int64_t, uint64_t> ids_;  // the client's id -> number
  std::deque<Creating> creating_;              // in order
  uint64_t last_number_ = 0;
  int64_t next_id_ = 0;
  RpcError end_;
  bool progress_wanted_ = false;
  bool closed_ = false;   // the kernel has said its last word
  bool accepted_ = true;  // accepts(), when the last message had been read

  std::atomic<size_t> in_mailbox_{0};  // given by the kernel, not yet encoded
  std::atomic<size_t> queued_{0};      // encoded, not yet sent
  std::atomic<bool> blocked_{false};   // the kernel was told BUSY and waits to be resumed
};

}  // namespace

Handler* make_watch(Stream& stream) {
  auto* watch = new WatchStream(stream);
  RpcError refusal;
  if (watch->open(refusal)) return watch;
  delete watch;
  stream.finish(refusal);
  return nullptr;
}

}  // namespace quorate::frontend_etcd
