// SPDX-License-Identifier: Apache-2.0
// The write side of the store: revisions over the key index and the write buffer. Everything here
// is the apply loop's; readers work on read_source().
//
// Apply works in batches:
//
//   store.begin_batch();
//   for each entry:  WriteTxn txn = store.begin();  ... put, delete_range, range ...  txn.end();
//                    store.put_small(...)           // leases, alarms, members, auth
//   store.end_batch(last entry's id);               // publishes; readers see all of it or nothing
//   ... answer the callers, tell the watchers of changes() ...
//
// and between batches freezes the buffer for the commit loop and sweeps after compactions. The
// effects of a batch and its applied index reach the engine in one atomic write.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "mvcc/index.h"
#include "mvcc/read_txn.h"
#include "mvcc/record.h"
#include "mvcc/txn.h"
#include "storage/commit_loop.h"
#include "storage/generations.h"
#include "storage/read_view.h"
#include "storage/write_buffer.h"

namespace quorate::mvcc {

// One change of the batch, in revision order; for the watch hub. The slices are valid until the
// next begin_batch() or freeze().
struct Change {
  Revision revision;
  bool tombstone;
  Slice key;
  Slice record;       // KeyValue in wire form; of a tombstone: the key only
  Revision previous;  // what it replaced, none() for a new key; Store::read(previous) has it
};

inline constexpr uint64_t kFreezeAfterNs = 100'000'000;         // with changes
inline constexpr uint64_t kIdleFreezeAfterNs = 10'000'000'000;  // with nothing but an index
inline constexpr uint64_t kIdleFreezeEntries = 5'000;

class Store {
 public:
  // Told of every live key that has a lease, in key order, while the index is built.
  using LeasedKey = std::function<void(Slice key, int64_t lease)>;

  // Builds the index from the engine (a scan; seconds for millions of keys) and publishes the first
  // read view. kCorrupt, naming the record, when the engine's content cannot be.
  static Result<std::unique_ptr<Store>> open(const storage::OpenedEngine& opened,
                                             const LeasedKey& leased_key, Logger logger = {});
  ~Store();

  // What readers need. It stays good when another store takes over. [any thread; the store, or the
  // one that took over, outlives them]
  ReadSource read_source() { return {stores_.get(), nullptr}; }
  // From now on the readers of `old` find this store; those that have begun go on with what they
  // hold. Between batches of both.
  void take_over(Store& old);

  // ------------------------------------------------ facts
  int64_t revision() const { return revision_; }  // with the changes of the running batch
  // kNeverCompacted (-1) or what compact() was last given.
  int64_t compact_revision() const { return applied_.compact_scheduled; }
  // What was last applied, with its conf state and hash; complete between batches.
  const storage::Applied& applied() const { return applied_; }
  uint64_t buffered_bytes() const { return buffer_.bytes(); }
  // Apply must stop taking entries until commit_done().
  bool buffer_full() const { return buffer_.bytes() >= storage::kWriteBufferBytesMax; }

  // kFutureRevision above revision(), kCompacted below the compact revision; 0 is OK.
  Status check_revision(int64_t revision) const;
  // The key as it is now.
  KeyMeta find(Slice key) const { return index_.find_own(key); }
  // The record of a revision that find(), a Deleted or a Change named. Valid until the next call on
  // this store. Fails only when the engine does.
  Result<Slice> read(Revision revision);
  // The pairs of a small bucket as the engine has them, in key order. For the start: changes that
  // are still in the buffer are not seen.
  Status scan_bucket(storage::Bucket bucket,
                     const std::function<void(Slice key, Slice value)>& visit);

  // ------------------------------------------------ a batch
  void begin_batch();
  WriteTxn begin();
  // bucket: any but kKey and kMeta.
  void put_small(storage::Bucket bucket, Slice key, Slice value);
  void delete_small(storage::Bucket bucket, Slice key);
  void set_conf_state(const raft::ConfState& state);
  // kCompacted at or below the compact revision, kFutureRevision above revision().
  Status check_compact(int64_t revision) const;
  // Reads below `revision` are refused once the batch is published. REQUIRES: check_compact() OK.
  void compact(int64_t revision);
  // Everything becomes visible at once. entry: the last one applied.
  void end_batch(raft::EntryId entry);
  std::span<const Change> changes() const { return changes_; }

  // ------------------------------------------------ between batches
  // Shows `attached` to readers, from now on.
  void attach(std::shared_ptr<const void> attached);

  // How long until freeze() is due: 0 is now, UINT64_MAX is not as things are (nothing has changed,
  // or the last freeze is still being written). To be asked after each batch and commit_done().
  uint64_t freeze_due_in_ns(uint64_t now_ns);
  // Instead of kFreezeAfterNs.
  void set_freeze_after_ns(uint64_t ns) { freeze_after_ns_ = ns; }
  bool freeze_in_flight() const { return frozen_ != nullptr; }
  // The batch for the commit loop. REQUIRES: !freeze_in_flight().
  std::unique_ptr<storage::FrozenBuffer> freeze();
  // What the commit loop said of it. One of another epoch is ignored.
  void commit_done(const storage::CommitDone& done);
  // The number of the batch that the next freeze() makes, and of the last one written.
  uint64_t next_batch() const { return next_batch_; }
  uint64_t written_batch() const { return written_batch_; }
  // Of its engine.
  uint64_t epoch() const { return engine_->epoch(); }

  // One slice of the work that a compaction leaves: at most `keys_max` keys of the index. True:
  // call again soon; false: there is nothing to do, or pins hold it back (call at the next tick).
  bool sweep(uint64_t now_ns, size_t keys_max);
  // The engine holds nothing any more of what the last compaction drops; one that another process
  // swept, or that came with a snapshot, included.
  bool compaction_written() const {
    return applied_.compact_finished >= applied_.compact_scheduled &&
           compacted_batch_ <= written_batch_;
  }

 private:
  friend class WriteTxn;
  Store(const storage::OpenedEngine& opened, Logger logger);
  Status load(const LeasedKey& leased_key);
  void publish_view();
  void hold_index();
  void append(const Record& record, Revision revision, bool tombstone, Revision previous);
  void hash_small(char kind, storage::Bucket bucket, Slice key, Slice value);
  void end_txn(int64_t revision);
  storage::RecordReader& reader();

  const Logger logger_;
  const std::shared_ptr<storage::Engine> engine_;
  const std::shared_ptr<ReadSide> side_ = std::make_shared<ReadSide>();
  Index& index_ = side_->index;
  storage::CurrentReadView& views_ = side_->views;
  std::shared_ptr<storage::Published<ReadSide>> stores_;
  storage::WriteBuffer buffer_;
  std::shared_ptr<const storage::RecordLog> frozen_;  // being written, or nullptr
  std::shared_ptr<const void> attached_;
  std::shared_ptr<const storage::ReadView> view_;  // what views_ holds
  std::optional<storage::RecordReader> reader_;    // apply's own, on view_

  storage::Applied applied_;
  int64_t revision_ = kFirstRevision;
  bool in_batch_ = false;
  bool in_txn_ = false;
  std::vector<Change> changes_;
  std::vector<KeyIndex*> victims_;  // of one delete_range()

  uint64_t next_batch_;
  uint64_t written_batch_;
  raft::Index frozen_index_;     // applied index of the last freeze
  bool applied_dirty_ = false;   // applied_ changed in more than its index since then
  uint64_t dirty_since_ns_ = 0;  // 0: nothing waits for a freeze
  uint64_t freeze_after_ns_ = kFreezeAfterNs;
  uint64_t changed_since_ns_ = 0;  // 0: nothing but perhaps an index waits

  bool sweeping_ = false;
  int64_t sweep_at_ = kNeverCompacted;
  std::string sweep_cursor_;
  std::vector<Dropped> dropped_;  // of one slice
  uint64_t compacted_batch_ = 0;  // that holds the end of the last sweep
};

}  // namespace quorate::mvcc
