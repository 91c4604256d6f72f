// SPDX-License-Identifier: Apache-2.0
// What one connection has still to send: headers and small parts copied together, large parts by
// reference.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "sdk/crc32c.h"
#include "transport_tcp/frame.h"
#include "transport_tcp/parts.h"

namespace quorate::transport_tcp {

// What left, or was given up: the sums of what append() was told.
struct Charge {
  size_t bytes = 0;
  size_t frames = 0;
};

// Invariant: size() is the sum of what is queued and not yet taken.
class OutQueue {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void append(Kind kind, uint16_t code, uint64_t id, std::string_view body) {
    put_head(kind, code, id, body.size(), sdk::crc32c(body));
    put(body);
  }
  // charge: given back with the frame's last byte.
  void append(Kind kind, uint16_t code, uint64_t id, Parts parts, size_t charge) {
    uint32_t checksum = 0;
    for (const SharedBuf& part : parts) checksum = sdk::crc32c(part.bytes(), checksum);
    put_head(kind, code, id, size_of(parts), checksum);
    for (SharedBuf& part : parts) put(std::move(part));
    if (charge == 0) return;
    chunks_.back().charge.bytes += charge;
    ++chunks_.back().charge.frames;
  }

  // Calls use(bytes) for at most `count` pieces from the front.
  template <class Use>
  void front(size_t count, Use&& use) const {
    size_t skip = taken_;
    for (const Chunk& chunk : chunks_) {
      if (count-- == 0) return;
      use(chunk.bytes().substr(std::exchange(skip, 0)));
    }
  }

  // Forgets the first `size` bytes; size <= size().
  Charge take(size_t size) {
    Charge charge;
    size_ -= size;
    taken_ += size;
    while (!chunks_.empty() && taken_ >= chunks_.front().bytes().size()) {
      taken_ -= chunks_.front().bytes().size();
      charge.bytes += chunks_.front().charge.bytes;
      charge.frames += chunks_.front().charge.frames;
      chunks_.pop_front();
    }
    return charge;
  }

  void clear() {
    chunks_.clear();
    size_ = taken_ = 0;
  }

 private:
  // From here on a part is kept by reference; below, a copy is cheaper than a piece of its own.
  static constexpr size_t kShareSizeMin = 1024;
  static constexpr size_t kTextSizeMax = 64 * 1024;

  struct Chunk {
    std::string text;
    SharedBuf shared;
    bool is_shared = false;
    Charge charge;
    std::string_view bytes() const { return is_shared ? shared.bytes() : std::string_view(text); }
  };

  std::string& tail() {
    if (chunks_.empty() || chunks_.back().is_shared || chunks_.back().text.size() > kTextSizeMax)
      chunks_.emplace_back();
    return chunks_.back().text;
  }
  void put(std::string_view bytes) {
    tail().append(bytes);
    size_ += bytes.size();
  }
  void put(SharedBuf part) {
    if (part.bytes().size() < kShareSizeMin) return put(part.bytes());
    size_ += part.bytes().size();
    Chunk& chunk = chunks_.emplace_back();
    chunk.shared = std::move(part);
    chunk.is_shared = true;
  }
  void put_head(Kind kind, uint16_t code, uint64_t id, size_t size, uint32_t checksum) {
    char head[kHeaderSize];
    put_header(head, kind, code, id, static_cast<uint32_t>(size), checksum);
    put(std::string_view(head, kHeaderSize));
  }

  std::deque<Chunk> chunks_;
  size_t size_ = 0;
  size_t taken_ = 0;  // of the first chunk
};

}  // namespace quorate::transport_tcp
