// SPDX-License-Identifier: Apache-2.0
// The one function of the apply chain, and what goes in and comes out of it. Each decorator holds
// the next Applier and is some thirty lines around apply().
//
// apply() is a function of (state, entry): no clock, no randomness, no configuration. It checks
// everything before the first change, so an error means that nothing changed; after that, failure
// is a broken promise of our own code. All of it runs on the apply loop.
#pragma once

#include <cstdint>
#include <string_view>

#include "apply/request.h"
#include "base/bytes.h"
#include "base/result.h"
#include "raft/types.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::apply {

// What a response's header says besides the revision: the answering member's own view. It goes into
// answers only, never into state.
struct ReplyHeader {
  uint64_t cluster_id = 0;
  uint64_t member_id = 0;
  uint64_t raft_term = 0;
};

// One committed entry beside its decoded request.
struct EntryContext {
  raft::EntryId id;
  EntryHeader header;
  // Not null: somebody waits here for the answer. Null on other members and in replay, where
  // nothing is encoded; the state that follows is the same.
  const ReplyHeader* reply_header = nullptr;
  bool wants_reply() const { return reply_header != nullptr; }
};

// The answer to an entry that took effect, or that had nothing to do.
struct Reply {
  Bytes response;  // a bare segment, schema::Response, header filled in; empty when not wanted
};

class Applier {
 public:
  virtual ~Applier() = default;
  // The request has passed validate(). An error is the client's answer and changed nothing;
  // kInternal and kIoError stop the member.
  virtual Result<Reply> apply(const EntryContext& entry, const Request& request) = 0;
};

// What a batch of entries did besides its answers and the store's changes(). Owned by the apply
// loop, filled by the appliers, drained after each batch.
struct Effects {
  uint64_t added_bytes = 0;      // what the quota counts, of entries that took effect
  bool alarms_changed = false;   // the chain has been rebuilt
  bool members_changed = false;  // peers, names, client URLs
  bool cluster_version_changed = false;
  bool auth_changed = false;  // a new AuthSnapshot is due
  int64_t compact_to = 0;     // not 0: a compaction at this revision was scheduled
  void clear() { *this = Effects(); }
};

// Builds answers, for apply and for reads alike. One message at a time; keeps its memory.
class ResponseBuilder {
 public:
  // A new message with its header; `bytes_expected` is an estimate of the rest.
  schema::Response::Builder start(const ReplyHeader& header, int64_t revision,
                                  size_t bytes_expected = 0);
  // The message that was started, in memory of its own.
  Bytes finish();

 private:
  schema::SegmentBuilder segment_;
};

// The response beside an error: header and, where it says more than the code, a message.
Bytes encode_error(const ReplyHeader& header, int64_t revision, std::string_view message);

}  // namespace quorate::apply
