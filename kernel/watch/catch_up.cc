// SPDX-License-Identifier: Apache-2.0
#include "watch/catch_up.h"

#include <algorithm>

#include "base/coding.h"
#include "mvcc/store.h"

namespace quorate::watch {
namespace {

constexpr char kEventTypeTag = 0x08;
constexpr char kEventKvTag = 0x12;
constexpr char kEventPrevKvTag = 0x1a;
constexpr char kKeyTag = 0x0a;
constexpr char kModRevisionTag = 0x18;

void put_part(std::string& to, char tag, Slice bytes) {
  to += tag;
  put_varint(to, bytes.size());
  to += bytes;
}

// A deleted key's pair says which key, and when.
std::string deleted_pair(const Change& change) {
  std::string pair;
  put_part(pair, kKeyTag, change.key);
  pair += kModRevisionTag;
  put_varint(pair, static_cast<uint64_t>(change.revision.main));
  return pair;
}

// Gathers the events of one task.
class Gatherer {
 public:
  Gatherer(History& history, const CatchUpTask& task, CatchUpResult& result)
      : history_(history), task_(task), range_(task.spec->range()), result_(result) {}

  // False: enough for one result; result.next says where the rest begins.
  bool visit(const Change& change) {
    if (change.revision.main != revision_) {
      if (full()) {
        result_.next = change.revision.main;
        return false;
      }
      revision_ = change.revision.main;
    }
    ++records_;
    if (!task_.spec->wants(change.tombstone) || !range_.contains(change.key)) return true;
    return take(change);
  }

 private:
  bool full() const {
    return records_ >= kCatchUpRecordsMax || revisions_ >= kCatchUpRevisionsMax ||
           bytes_ >= kCatchUpBytesMax;
  }
  bool take(const Change& change) {
    Slice previous;
    if (task_.spec->prev_kv) {
      Result<Slice> found = history_.previous(change);
      if (!found) {
        result_.status = found.error();
        return false;
      }
      previous = *found;
    }
    result_.events.push_back(encode_event(change, previous));
    bytes_ += result_.events.back().size();
    if (revision_ != counted_) ++revisions_;
    counted_ = revision_;
    return true;
  }

  History& history_;
  const CatchUpTask& task_;
  const KeyRange range_;
  CatchUpResult& result_;
  int64_t revision_ = 0;  // of the change visited last
  int64_t counted_ = 0;   // newest revision in revisions_
  int64_t revisions_ = 0;
  size_t records_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

Bytes encode_event(const Change& change, Slice previous) {
  const std::string deleted = change.tombstone ? deleted_pair(change) : std::string();
  const Slice pair = change.tombstone ? Slice(deleted) : change.record;
  std::string event;
  event.reserve(24 + pair.size() + previous.size());
  if (change.tombstone) {
    event += kEventTypeTag;
    event += '\x01';
  }
  put_part(event, kEventKvTag, pair);
  if (!previous.empty()) put_part(event, kEventPrevKvTag, previous);
  return Bytes::take(std::move(event));
}

CatchUpResult catch_up(History& history, const CatchUpTask& task) {
  CatchUpResult result;
  result.stream = task.stream;
  result.watch = task.watch;
  result.generation = task.generation;
  result.next = task.from;
  result.status = history.begin(task.from);
  if (result.status.code() == Code::kCompacted) {
    result.compact_revision = history.compact_revision();
    return result;
  }
  if (!result.status.ok()) return result;
  result.read_revision = history.revision();
  const int64_t to = std::min(task.to, history.revision());
  result.next = to + 1;
  Gatherer gatherer(history, task, result);
  const Status scanned =
      history.scan(task.from, to, [&](const Change& change) { return gatherer.visit(change); });
  if (result.status.ok()) result.status = scanned;
  if (!result.status.ok()) result.events.clear();
  return result;
}

}  // namespace quorate::watch
