// SPDX-License-Identifier: Apache-2.0
// Positions in the sequence of appends, and the messages that must not leave before theirs is
// durable. Who holds such a message cannot send it, nor look into it, without the proof.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "raft/message.h"

namespace quorate::raft {

// Proof that the appends up to sequence() survive a power cut. Only a DurableSource makes one.
class Durable {
 public:
  uint64_t sequence() const { return sequence_; }

 private:
  friend class DurableSource;
  explicit Durable(uint64_t sequence) : sequence_(sequence) {}
  uint64_t sequence_;
};

// Who may say that an append is durable derives from this: the log, which has synced it, and what
// stands in for the log in tests.
class DurableSource {
 protected:
  ~DurableSource() = default;
  static Durable durable_to(uint64_t sequence) { return Durable(sequence); }
};

// Messages that promise what an append holds, or one before it. A copy is held like the original.
class HeldReplies {
 public:
  // No message may have been held for a later append.
  void hold(Message message, uint64_t sequence) {
    QUORATE_CHECK(sequence_ <= sequence, "a reply is held for an append that was handed over");
    sequence_ = sequence;
    messages_.push_back(std::move(message));
  }
  void reserve(size_t count) { messages_.reserve(count); }
  bool empty() const { return messages_.empty(); }
  size_t size() const { return messages_.size(); }
  // The messages, in order, to be sent or stepped.
  std::vector<Message> release(const Durable& durable) && {
    QUORATE_CHECK(messages_.empty() || sequence_ <= durable.sequence(),
                  "a reply would leave before what it promises is durable");
    return std::move(messages_);
  }
  // For tests and traces.
  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const Message& message : messages_) texts.push_back(to_text(message));
    return texts;
  }

 private:
  uint64_t sequence_ = 0;  // of the append
  std::vector<Message> messages_;
};

}  // namespace quorate::raft
