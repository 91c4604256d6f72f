// SPDX-License-Identifier: Apache-2.0
#include "mvcc/store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "mvcc/record.h"
#include "mvcc/state_hash.h"

namespace quorate::mvcc {
namespace {

// A sweep puts its deletes into the write buffer; it waits rather than fill it.
constexpr uint64_t kSweepBufferBytesMax = storage::kWriteBufferBytesMax / 2;

// What the rolling hash is told apart from records by.
enum : char { kHashPut = 1, kHashDelete = 2, kHashCompact = 3 };

Status damaged(Revision revision, const char* what) {
  return Status(Code::kCorrupt, "the record of revision " + std::to_string(revision.main) + "/" +
                                    std::to_string(revision.sub) + " " + what +
                                    "; restore this member from a snapshot");
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const storage::OpenedEngine& opened,
                                           const LeasedKey& leased_key, Logger logger) {
  std::unique_ptr<Store> store(new Store(opened, logger));
  QUORATE_TRY(store->load(leased_key));
  return store;
}

Store::Store(const storage::OpenedEngine& opened, Logger logger)
    : logger_(logger.named("mvcc")),
      engine_(opened.engine),
      stores_(std::make_shared<storage::Published<ReadSide>>()),
      applied_(opened.applied) {
  next_batch_ = engine_->written_batch() + 1;
  written_batch_ = engine_->written_batch();
  frozen_index_ = applied_.entry.index;
  publish_view();
  stores_->set(side_);
}

void Store::take_over(Store& old) {
  QUORATE_CHECK(!in_batch_ && !old.in_batch_, "stores change between batches");
  stores_ = old.stores_;
  stores_->set(side_);
}

Store::~Store() {
  QUORATE_CHECK(!index_.locked(), "a store ends between batches");
}

Status Store::load(const LeasedKey& leased_key) {
  Arena keys(1 << 20);
  std::vector<Index::Loaded> records;
  Revision resume;
  Status damage;
  Result<bool> more =
      reader().scan(resume, {INT64_MAX, UINT32_MAX}, SIZE_MAX, resume,
                    [&](Revision revision, bool tombstone, Slice, Slice bytes) {
                      Result<Record> record = parse_record(bytes);
                      if (!record) {
                        damage = damaged(revision, "is no KeyValue message");
                      } else if (!tombstone && !record->key.empty() &&
                                 (record->mod_revision != revision.main || record->version <= 0)) {
                        damage = damaged(revision, "contradicts its own revision");
                      }
                      if (!damage.ok()) return false;
                      revision_ = revision.main;
                      // etcd's tools mark a bumped revision with a record that holds nothing.
                      if (record->key.empty()) return true;
                      records.push_back({keys.copy(record->key), revision, tombstone,
                                         record->create_revision, record->version, record->lease});
                      return true;
                    });
  QUORATE_TRY(std::move(more));
  QUORATE_TRY(std::move(damage));
  revision_ = std::max({revision_, kFirstRevision, applied_.revision, applied_.compact_scheduled,
                        applied_.compact_finished});
  applied_.revision = revision_;
  index_.load(records, revision_, applied_.compact_scheduled);
  if (leased_key != nullptr) index_.leased_keys(leased_key);
  logger_.info("{} keys at revision {}, compacted at {}", index_.keys(), revision_,
               applied_.compact_scheduled);
  return Status();
}

Status Store::check_revision(int64_t revision) const {
  if (revision == 0) return Status();
  if (revision > revision_) return Status(Code::kFutureRevision, "");
  if (revision < applied_.compact_scheduled) return Status(Code::kCompacted, "");
  return Status();
}

Result<Slice> Store::read(Revision revision) {
  return reader().get(revision, false);
}

Status Store::scan_bucket(storage::Bucket bucket,
                          const std::function<void(Slice key, Slice value)>& visit) {
  Result<storage::EngineView> view = engine_->view(0);
  if (!view) return std::move(view).error();
  Result<plugin::Cursor> cursor = view->read().cursor(number(bucket));
  if (!cursor) return std::move(cursor).error();
  Result<bool> at_pair = cursor->seek("");
  for (; at_pair && *at_pair; at_pair = cursor->next()) visit(cursor->key(), cursor->value());
  return at_pair.status();
}

void Store::begin_batch() {
  QUORATE_CHECK(!in_batch_, "a batch ends before the next begins");
  in_batch_ = true;
  changes_.clear();
}

WriteTxn Store::begin() {
  QUORATE_CHECK(in_batch_ && !in_txn_, "one transaction at a time, within a batch");
  in_txn_ = true;
  return WriteTxn(this, revision_);
}

void Store::end_txn(int64_t revision) {
  in_txn_ = false;
  revision_ = revision;
}

void Store::hold_index() {
  if (!index_.locked()) index_.lock();
}

void Store::append(const Record& record, Revision revision, bool tombstone, Revision previous) {
  const size_t size = record_size(record);
  char* const bytes = buffer_.append_record(revision, tombstone, size);
  write_record(record, bytes);
  const Slice written(bytes, size);
  // The key of the record in the engine stands before it, so both are hashed in one piece.
  const size_t key_bytes = tombstone ? storage::kTombstoneKeyBytes : storage::kRecordKeyBytes;
  applied_.state_hash = roll(applied_.state_hash, {bytes - key_bytes, key_bytes + size});
  // The key is the first field, so it lies in the record at a place that is known.
  const Slice key(bytes + 1 + varint_size(record.key.size()), record.key.size());
  changes_.push_back({revision, tombstone, key, written, previous});
}

void Store::hash_small(char kind, storage::Bucket bucket, Slice key, Slice value) {
  const char head[2] = {kind, static_cast<char>(number(bucket))};
  applied_.state_hash = roll(applied_.state_hash, {head, 2});
  applied_.state_hash = roll(applied_.state_hash, key);
  applied_.state_hash = roll(applied_.state_hash, value);
}

void Store::put_small(storage::Bucket bucket, Slice key, Slice value) {
  QUORATE_CHECK(in_batch_, "changes are made within a batch");
  buffer_.put_small(bucket, key, value);
  hash_small(kHashPut, bucket, key, value);
}

void Store::delete_small(storage::Bucket bucket, Slice key) {
  QUORATE_CHECK(in_batch_, "changes are made within a batch");
  buffer_.delete_small(bucket, key);
  hash_small(kHashDelete, bucket, key, {});
}

void Store::set_conf_state(const raft::ConfState& state) {
  applied_.conf_state = state;
  applied_dirty_ = true;
}

Status Store::check_compact(int64_t revision) const {
  if (revision <= applied_.compact_scheduled) return Status(Code::kCompacted, "");
  if (revision > revision_) return Status(Code::kFutureRevision, "");
  return Status();
}

void Store::compact(int64_t revision) {
  QUORATE_CHECK(in_batch_ && check_compact(revision).ok(), "a compaction was checked before");
  hold_index();
  index_.set_compacted(revision);
  applied_.compact_scheduled = revision;
  applied_dirty_ = true;
  char bytes[8];
  set_le(bytes, revision);
  hash_small(kHashCompact, storage::Bucket::kMeta, {bytes, 8}, {});
}

void Store::end_batch(raft::EntryId entry) {
  QUORATE_CHECK(in_batch_ && !in_txn_, "a batch ends after its transactions");
  in_batch_ = false;
  applied_.entry = entry;
  applied_.revision = revision_;
  buffer_.records()->publish();
  if (index_.locked()) index_.unlock(revision_);
}

void Store::attach(std::shared_ptr<const void> attached) {
  attached_ = std::move(attached);
  publish_view();
}

void Store::publish_view() {
  view_ = std::make_shared<storage::ReadView>(
      storage::ReadView{engine_, written_batch_, frozen_, buffer_.records(), attached_});
  reader_.reset();
  views_.set(view_);
}

storage::RecordReader& Store::reader() {
  if (!reader_.has_value()) reader_.emplace(view_, true);
  return *reader_;
}

uint64_t Store::freeze_due_in_ns(uint64_t now_ns) {
  const bool changed = buffer_.has_changes() || applied_dirty_;
  const raft::Index behind = applied_.entry.index - frozen_index_;
  if (!changed && behind == 0) return UINT64_MAX;
  if (dirty_since_ns_ == 0) dirty_since_ns_ = now_ns;
  if (changed && changed_since_ns_ == 0) changed_since_ns_ = now_ns;
  if (freeze_in_flight()) return UINT64_MAX;
  if (behind >= kIdleFreezeEntries) return 0;
  const uint64_t due =
      changed ? changed_since_ns_ + freeze_after_ns_ : dirty_since_ns_ + kIdleFreezeAfterNs;
  return due <= now_ns ? 0 : due - now_ns;
}

std::unique_ptr<storage::FrozenBuffer> Store::freeze() {
  QUORATE_CHECK(!in_batch_ && !freeze_in_flight(), "one freeze at a time, between batches");
  changes_.clear();
  frozen_ = buffer_.records();
  auto frozen = buffer_.freeze(engine_->epoch(), next_batch_++, applied_);
  frozen_index_ = applied_.entry.index;
  applied_dirty_ = false;
  dirty_since_ns_ = changed_since_ns_ = 0;
  publish_view();
  return frozen;
}

void Store::commit_done(const storage::CommitDone& done) {
  if (done.epoch != engine_->epoch() || done.batch <= written_batch_) return;
  QUORATE_CHECK(done.batch == next_batch_ - 1, "one batch is written at a time");
  written_batch_ = done.batch;
  frozen_.reset();
  publish_view();
}

bool Store::sweep(uint64_t now_ns, size_t keys_max) {
  QUORATE_CHECK(!in_batch_, "a sweep runs between batches");
  if (!sweeping_) {
    if (applied_.compact_finished >= applied_.compact_scheduled) return false;
    sweep_at_ = index_.sweep_limit(now_ns);
    if (sweep_at_ <= applied_.compact_finished) return false;
    sweep_cursor_.clear();
    sweeping_ = true;
  }
  if (buffer_.bytes() > kSweepBufferBytesMax) return false;
  dropped_.clear();
  const bool done = index_.sweep(sweep_at_, sweep_cursor_, keys_max, dropped_);
  for (const Dropped& dropped : dropped_) buffer_.drop(dropped.revision, dropped.tombstone);
  if (!done) return true;
  sweeping_ = false;
  applied_.compact_finished = sweep_at_;
  applied_dirty_ = true;
  if (sweep_at_ < applied_.compact_scheduled) return true;
  compacted_batch_ = next_batch_;
  return false;
}

}  // namespace quorate::mvcc
