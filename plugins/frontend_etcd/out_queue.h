// SPDX-License-Identifier: Apache-2.0
// What one stream has still to send: small things copied together, large ones by reference.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "frontend_etcd/wire.h"
#include "sdk/shared_buf.h"

namespace quorate::frontend_etcd {

using sdk::SharedBuf;

// Bytes from here on are kept by reference; below, a copy is cheaper than the bookkeeping.
inline constexpr size_t kShareSizeMin = 4096;

inline constexpr size_t kGrpcPrefix = 5;  // one byte of flags, the length in four, big end first

inline void put_grpc_prefix(char* to, size_t message_size) {
  to[0] = 0;
  for (int i = 0; i < 4; ++i) to[1 + i] = static_cast<char>(message_size >> (24 - 8 * i));
}

// Invariant: size() is the sum of what is queued and not yet taken.
class OutQueue {
 public:
  size_t size() const { return size_; }

  // A gRPC message written in place: append to the string that begin() gives, then end().
  std::string& begin_message() {
    std::string& text = tail();
    mark_ = text.size();
    text.append(kGrpcPrefix, '\0');
    return text;
  }
  void end_message() {
    std::string& text = chunks_.back().text;
    put_grpc_prefix(text.data() + mark_, text.size() - mark_ - kGrpcPrefix);
    size_ += text.size() - mark_;
  }
  // Gives up the message that begin_message() began.
  void drop_message() { chunks_.back().text.resize(mark_); }

  // A gRPC message in parts: its prefix, then append() until `message_size` bytes are there.
  void message_head(size_t message_size) {
    char prefix[kGrpcPrefix];
    put_grpc_prefix(prefix, message_size);
    append({prefix, kGrpcPrefix});
  }
  void append(std::string_view bytes) {
    tail().append(bytes);
    size_ += bytes.size();
  }
  // bytes: a part of `owner`'s.
  void append(const SharedBuf& owner, std::string_view bytes) {
    if (bytes.size() < kShareSizeMin) return append(bytes);
    Chunk& chunk = chunks_.emplace_back();
    chunk.owner = owner.share();
    chunk.shared = bytes;
    chunk.is_shared = true;
    size_ += bytes.size();
  }

  // Moves the first `size` bytes to the end of `to`; size <= size().
  void take(size_t size, std::string& to) {
    size_ -= size;
    while (size > 0) {
      Chunk& front = chunks_.front();
      const std::string_view all = front.bytes();
      const std::string_view part = all.substr(taken_, size);
      to.append(part);
      size -= part.size();
      taken_ += part.size();
      if (taken_ == all.size()) pop_front();
    }
  }

  void clear() {
    while (chunks_.size() > 1) chunks_.pop_back();
    if (!chunks_.empty()) pop_front();
    size_ = 0;
  }

 private:
  struct Chunk {
    std::string text;
    SharedBuf owner;
    std::string_view shared;
    bool is_shared = false;
    std::string_view bytes() const { return is_shared ? shared : std::string_view(text); }
  };

  std::string& tail() {
    if (chunks_.empty() || chunks_.back().is_shared) chunks_.emplace_back();
    return chunks_.back().text;
  }
  // The last text is emptied instead, so that a stream that is used again has its memory.
  void pop_front() {
    taken_ = 0;
    Chunk& front = chunks_.front();
    if (chunks_.size() > 1 || front.is_shared || front.text.capacity() > 64 * 1024) {
      chunks_.pop_front();
    } else {
      front.text.clear();
    }
  }

  std::deque<Chunk> chunks_;
  size_t size_ = 0;
  size_t taken_ = 0;  // of the first chunk
  size_t mark_ = 0;
};

}  // namespace quorate::frontend_etcd
