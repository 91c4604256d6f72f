// SPDX-License-Identifier: Apache-2.0
// The apply chain: corrupt -> capped -> auth -> quota -> store, outermost first. The first two are
// there only while their alarm is on; the chain is rebuilt by the entry that changes an alarm, so
// the next entry already meets the new one, on every member at the same index.
//
// It is also where a committed entry becomes a decoded request: decode_committed() and execute()
// are all that the apply loop calls. Owned by the apply loop.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "apply/applier.h"
#include "apply/request.h"
#include "base/bytes.h"
#include "base/result.h"
#include "raft/conf_change.h"
#include "raft/types.h"

namespace quorate::mvcc {
class Store;
}
namespace quorate::lease {
class Lessor;
}
namespace quorate::auth {
class AuthStore;
}
namespace quorate::cluster {
class Membership;
class Alarms;
class ClusterVersion;
}  // namespace quorate::cluster

namespace quorate::apply {

// The state that entries change. All of it belongs to the apply loop and outlives the chain.
struct ChainParts {
  mvcc::Store* store = nullptr;
  lease::Lessor* lessor = nullptr;
  auth::AuthStore* auth = nullptr;
  cluster::Membership* members = nullptr;
  cluster::Alarms* alarms = nullptr;
  cluster::ClusterVersion* version = nullptr;
  raft::ConfState* conf_state = nullptr;  // apply's own: as of the last entry executed
  Effects* effects = nullptr;
};

// A committed entry, taken apart. The payload's bytes stay alive with it.
struct CommittedEntry {
  raft::EntryId id;
  bool empty = false;                           // what a new leader begins its term with
  DecodedEntry entry;                           // of a conf change: its context
  std::optional<raft::ConfChange> conf_change;  // set for a change of configuration
  uint64_t request_id() const { return entry.header.request_id; }
};

// kCorrupt: no entry that this kernel wrote; the member must stop.
Result<CommittedEntry> decode_committed(const raft::Entry& entry);

// What came of one entry.
struct EntryOutcome {
  Status status;  // the caller's; an error changed nothing
  Reply reply;    // set when it was wanted, also beside an error
  // After a change of configuration, refused or not: for RawNode, before apply_done of this index.
  std::optional<raft::ConfState> conf_state;
};

class ApplierChain {
 public:
  explicit ApplierChain(const ChainParts& parts);
  ~ApplierChain();

  // Executes one entry; entries come in the order of their indexes. The store's batch must be open
  // (mvcc/store.h). reply_header: not null when somebody here waits for the answer. An error means
  // that this member cannot go on (an unknown kind of request, an engine that fails): it must stop
  // before the next entry.
  Result<EntryOutcome> execute(const CommittedEntry& entry, const ReplyHeader* reply_header);

  // Builds the chain for the alarms that are on. execute() does it by itself; called after the
  // parts were loaded anew.
  void rebuild();

 private:
  Result<Reply> run(const EntryContext& context, const DecodedEntry& entry);

  ChainParts parts_;
  std::unique_ptr<class StoreApplier> store_;
  std::unique_ptr<class ConfChangeApplier> conf_changes_;
  std::vector<std::unique_ptr<Applier>> decorators_;
  Applier* outermost_ = nullptr;
};

}  // namespace quorate::apply
