// SPDX-License-Identifier: Apache-2.0
// The calls of a load as gRPC messages, made in advance but for the key's number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quorate::bench {

enum class CallKind { kPut, kRange };

struct CallShape {
  CallKind kind = CallKind::kPut;
  bool serializable = false;  // of a range
  uint64_t keys = 10'000;     // how many different ones
  uint32_t key_bytes = 16;    // at least 8
  uint32_t value_bytes = 256;
  std::string key_prefix;   // key_bytes - 8 at most
  bool random_keys = true;  // uniform; else one after the other
  uint64_t seed = 1;
};

// Deterministic: the same shape gives the same calls.
class CallSource {
 public:
  explicit CallSource(const CallShape& shape);

  std::string_view path() const;
  // The next call's message with its gRPC head. Valid until the next call of next().
  std::string_view next();
  // Whether a reply's message can be that of a call which did what it was to do.
  bool plausible(size_t reply_bytes) const;
  // The key in a message that next() gave.
  std::string_view key_of(std::string_view message) const;

 private:
  uint64_t next_key();

  const CallShape shape_;
  std::string message_;
  size_t key_offset_ = 0;
  uint64_t counter_ = 0;
  uint64_t random_;
};

// The revision in the head of a reply to a put; enough of its first bytes will do.
std::optional<int64_t> revision_of(std::string_view reply);

}  // namespace quorate::bench
