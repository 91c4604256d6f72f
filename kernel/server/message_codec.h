// SPDX-License-Identifier: Apache-2.0
// Raft messages as bytes: the size of the header in words (u32), four zero bytes, the header as a
// bare segment (schemas/raft.capnp), then the payloads of the entries back to back. A payload is
// sent from where it lies and copied once on the other side.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/slab.h"
#include "raft/message.h"
#include "schemas/segment.h"

namespace quorate::server {

// The parts to be sent back to back: the header first, then each payload that is not empty.
// REQUIRES: a type that travels. One thread at a time; keeps memory for the next message.
class MessageEncoder {
 public:
  void encode(const raft::Message& message, std::vector<Bytes>& parts);

 private:
  schema::SegmentBuilder builder_;
};

// Room that decode_message() may take of a slab for a message of so many bytes.
size_t decoded_size_max(size_t message_bytes);

// Copies the payloads into `slab`. kCorrupt: these bytes are no message.
Result<raft::Message> decode_message(Slice bytes, Slab& slab);

}  // namespace quorate::server
