// SPDX-License-Identifier: Apache-2.0
#include "server/message_codec.h"

#include <catch2/catch.hpp>

namespace quorate::server {
namespace {

using raft::EntryType;
using raft::Message;
using raft::MessageType;

std::string bytes_of(const Message& message) {
  MessageEncoder encoder;
  std::vector<Bytes> parts;
  encoder.encode(message, parts);
  std::string whole;
  for (const Bytes& part : parts) whole += part.slice();
  return whole;
}

Result<Message> decoded(Slice bytes) {
  Slab slab(decoded_size_max(bytes.size()), std::make_shared<SlabCounter>());
  return decode_message(bytes, slab);
}

Message append() {
  Message message;
  message.type = MessageType::kMsgApp;
  message.to = 2;
  message.from = 1;
  message.term = 7;
  message.log_term = 6;
  message.index = 10;
  message.commit = 9;
  message.entries.push_back({6, 11, EntryType::kNormal, Bytes::copy("eleven")});
  message.entries.push_back({7, 12, EntryType::kNormal, {}});
  message.entries.push_back({7, 13, EntryType::kConfChange, Bytes::copy("thirteen")});
  return message;
}

TEST_CASE("an append comes back with its entries in their places") {
  const Result<Message> back = decoded(bytes_of(append()));
  REQUIRE(back.has_value());
  CHECK(*back == append());
}

TEST_CASE("every field of a message survives the way") {
  Message message;
  message.type = MessageType::kMsgAppResp;
  message.to = UINT64_MAX;
  message.from = 1;
  message.term = 2;
  message.log_term = 3;
  message.index = 4;
  message.commit = 5;
  message.reject = true;
  message.reject_hint = 6;
  message.context = 7;
  message.force = true;
  const Result<Message> back = decoded(bytes_of(message));
  REQUIRE(back.has_value());
  CHECK(*back == message);
}

TEST_CASE("a snapshot's message carries the whole configuration") {
  Message message;
  message.type = MessageType::kMsgSnap;
  message.to = 2;
  message.from = 1;
  message.snapshot = raft::SnapshotMeta{5, 3, {{1, 2}, {3}, {1, 4}, {4}, true}};
  const Result<Message> back = decoded(bytes_of(message));
  REQUIRE(back.has_value());
  CHECK(*back == message);
}

TEST_CASE("proposals have no place in the log yet") {
  Message message;
  message.type = MessageType::kMsgProp;
  message.to = 2;
  message.from = 1;
  message.entries.push_back({0, 0, EntryType::kNormal, Bytes::copy("x")});
  const Result<Message> back = decoded(bytes_of(message));
  REQUIRE(back.has_value());
  CHECK(*back == message);
}

TEST_CASE("a message that is cut anywhere is refused") {
  const std::string whole = bytes_of(append());
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK_FALSE(decoded(Slice(whole).substr(0, size)).has_value());
  }
}

TEST_CASE("bytes behind the last entry are refused") {
  CHECK_FALSE(decoded(bytes_of(append()) + "x").has_value());
}

TEST_CASE("no flipped bit of a header makes the decoder read beyond the message") {
  const std::string whole = bytes_of(append());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bent = whole;
    bent[bit / 8] = static_cast<char>(bent[bit / 8] ^ (1 << bit % 8));
    const Result<Message> back = decoded(bent);
    if (!back) continue;
    for (const raft::Entry& entry : back->entries) CHECK(entry.payload.size() <= whole.size());
  }
}

TEST_CASE("the payloads of all entries share what was reserved for the message") {
  auto counter = std::make_shared<SlabCounter>();
  const std::string whole = bytes_of(append());
  Slab slab(decoded_size_max(whole.size()), counter);
  const uint64_t held = counter->held_bytes();
  const Result<Message> back = decode_message(whole, slab);
  REQUIRE(back.has_value());
  CHECK(counter->held_bytes() == held);
  CHECK(back->entries[0].payload.slice() == "eleven");
}

}  // namespace
}  // namespace quorate::server
