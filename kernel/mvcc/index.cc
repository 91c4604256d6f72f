// SPDX-License-Identifier: Apache-2.0
#include "mvcc/index.h"

#include <absl/container/btree_set.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace quorate::mvcc {
namespace {

struct ByKey {
  using is_transparent = void;
  bool operator()(const KeyIndex* a, const KeyIndex* b) const { return a->key() < b->key(); }
  bool operator()(const KeyIndex* a, Slice b) const { return a->key() < b; }
  bool operator()(Slice a, const KeyIndex* b) const { return a < b->key(); }
};

}  // namespace

class Index::Tree {
 public:
  using Set = absl::btree_set<KeyIndex*, ByKey>;
  using Iterator = Set::iterator;
  Tree() = default;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    for (KeyIndex* key : set) KeyIndex::free(key);
  }

  KeyIndex* find(Slice key) {
    const auto found = set.find(key);
    return found == set.end() ? nullptr : *found;
  }
  KeyIndex& find_or_make(Slice key) {
    const auto at = set.lower_bound(key);
    if (at != set.end() && (*at)->key() == key) return **at;
    return **set.insert(at, KeyIndex::make(key));
  }
  // The first key of `range` that is not before `cursor`, and where the range ends.
  Iterator begin_of(const KeyRange& range, Slice cursor) {
    return set.lower_bound(std::max(range.begin, cursor));
  }
  bool in_range(Iterator at, const KeyRange& range) {
    return at != set.end() && range.contains((*at)->key());
  }

  Set set;
};

Index::Index() : tree_(std::make_unique<Tree>()) {}
Index::~Index() = default;

void Index::lock() {
  QUORATE_CHECK(!locked_, "apply locks the index once a batch");
  lock_.lock();
  locked_ = true;
}

void Index::unlock(int64_t revision) {
  QUORATE_CHECK(locked_, "apply unlocks what it has locked");
  QUORATE_CHECK(revision >= revision_.load(std::memory_order_relaxed),
                "the published revision never goes back");
  revision_.store(revision, std::memory_order_release);
  locked_ = false;
  lock_.unlock();
}

KeyMeta Index::find_own(Slice key) const {
  const KeyIndex* const found = tree_->find(key);
  return found == nullptr ? KeyMeta{} : found->meta();
}

void Index::live_own(const KeyRange& range, std::vector<KeyIndex*>& out) const {
  for (auto at = tree_->begin_of(range, {}); tree_->in_range(at, range); ++at)
    if ((*at)->alive()) out.push_back(*at);
}

KeyMeta Index::put(Slice key, Revision revision, int64_t lease) {
  QUORATE_DCHECK(locked_, "the index is changed under its lock");
  KeyIndex& entry = tree_->find_or_make(key);
  const KeyMeta before = entry.meta();
  entry.put(revision, lease);
  return before;
}

void Index::tombstone(KeyIndex* key, Revision revision) {
  QUORATE_DCHECK(locked_, "the index is changed under its lock");
  key->tombstone(revision);
}

void Index::set_compacted(int64_t revision) {
  QUORATE_CHECK(locked_ && revision > compacted_, "the compact revision only grows");
  compacted_ = revision;
}

bool Index::sweep(int64_t at, std::string& cursor, size_t keys_max, std::vector<Dropped>& out) {
  const WriterLock hold(lock_);
  QUORATE_CHECK(at <= compacted_, "a sweep stays below the compact revision");
  auto next = tree_->set.lower_bound(Slice(cursor));
  for (size_t i = 0; i < keys_max && next != tree_->set.end(); ++i) {
    KeyIndex* const key = *next;
    key->compact(at, [&](Revision revision, bool tombstone) {
      out.push_back({revision, tombstone});
    });
    if (key->empty()) {
      next = tree_->set.erase(next);
      KeyIndex::free(key);
    } else {
      ++next;
    }
  }
  if (next == tree_->set.end()) return true;
  cursor = (*next)->key();
  return false;
}

int64_t Index::sweep_limit(uint64_t now_ns) {
  const WriterLock hold(lock_);
  return std::min(compacted_, pins_.lowest(now_ns) - 1);
}

void Index::load(std::vector<Loaded>& records, int64_t revision, int64_t compacted) {
  QUORATE_CHECK(tree_->set.empty(), "an index is loaded once");
  std::stable_sort(records.begin(), records.end(),
                   [](const Loaded& a, const Loaded& b) { return a.key < b.key; });
  KeyIndex* key = nullptr;
  for (const Loaded& record : records) {
    if (key == nullptr || key->key() != record.key) {
      key = KeyIndex::make(record.key);
      tree_->set.insert(tree_->set.end(), key);
    }
    if (record.tombstone) {
      key->restore_tombstone(record.revision);
    } else {
      key->restore(record.revision, record.create_revision, record.version, record.lease);
    }
  }
  revision_.store(revision, std::memory_order_release);
  compacted_ = compacted;
}

Result<Index::Begun> Index::begin_read(Pin& pin, int64_t revision, uint64_t deadline_ns,
                                       Protect protect) const {
  const ReaderLock hold(lock_);
  const int64_t current = revision_.load(std::memory_order_relaxed);
  const int64_t at = revision <= 0 ? current : revision;
  if (at > current) return Status(Code::kFutureRevision, "");
  if (at < compacted_) return Status(Code::kCompacted, "");
  pins_.pin(pin, protect == Protect::kHistory ? compacted_ + 1 : at, deadline_ns);
  return Begun{current, compacted_, at};
}

int64_t Index::published() const {
  return revision_.load(std::memory_order_acquire);
}

int64_t Index::compacted() const {
  const ReaderLock hold(lock_);
  return compacted_;
}

bool Index::slice(const KeyRange& range, int64_t at, std::string& cursor, size_t keys_max,
                  std::vector<Revision>* out, int64_t& count, bool own) const {
  if (own) return slice_held(range, at, cursor, keys_max, out, count);
  const ReaderLock hold(lock_);
  return slice_held(range, at, cursor, keys_max, out, count);
}

bool Index::slice_held(const KeyRange& range, int64_t at, std::string& cursor, size_t keys_max,
                       std::vector<Revision>* out, int64_t& count) const {
  auto next = tree_->begin_of(range, cursor);
  for (size_t i = 0; tree_->in_range(next, range); ++i, ++next) {
    if (i == keys_max) {
      cursor = (*next)->key();
      return false;
    }
    const Revision revision = (*next)->visible(at);
    if (revision.none()) continue;
    ++count;
    if (out != nullptr) out->push_back(revision);
  }
  return true;
}

Dropped Index::newest(Slice key, int64_t at) const {
  const ReaderLock hold(lock_);
  const KeyIndex* const found = tree_->find(key);
  const KeyIndex::Step* const step = found == nullptr ? nullptr : found->newest(at);
  if (step == nullptr) return {{}, false};
  return {step->revision(), step->tombstone != 0};
}

uint64_t Index::keys() const {
  const ReaderLock hold(lock_);
  return tree_->set.size();
}

uint64_t Index::memory_bytes() const {
  const ReaderLock hold(lock_);
  uint64_t bytes = 0;
  for (const KeyIndex* key : tree_->set) bytes += key->memory_bytes() + sizeof key;
  return bytes;
}

}  // namespace quorate::mvcc
