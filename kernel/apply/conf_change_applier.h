// SPDX-License-Identifier: Apache-2.0
// Changes of configuration: member and conf state move together, or neither does. Owned by the
// apply loop.
#pragma once

#include "apply/applier.h"
#include "apply/chain.h"

namespace quorate::apply {

class ConfChangeApplier {
 public:
  explicit ConfChangeApplier(const ChainParts& parts) : parts_(parts) {}

  // member_json: the cluster::Member that the change is about, as encode_member() writes it; empty
  // for leaving a joint configuration. Adding a voter that is there as a learner promotes it,
  // unless the header says that its id was made for this change (prepared_id). A change with a
  // request id was asked for by a client, who needs the root role. An error is the caller's answer,
  // and nothing changed. kInternal: no change that this kernel proposed.
  Result<Reply> apply(const EntryContext& entry, const raft::ConfChange& change, Slice member_json);

 private:
  Status change_member(const EntryHeader& header, const raft::ConfChange& change,
                       Slice member_json);
  void set_conf_state(const raft::ConfState& next);
  void store_member(uint64_t id);

  const ChainParts parts_;
  ResponseBuilder response_;
};

}  // namespace quorate::apply
