// SPDX-License-Identifier: Apache-2.0
// How an api.capnp message crosses the border and lies in the log: as one *bare segment*, no
// segment table in front, eight-byte aligned, its size a multiple of eight. Requests, watch
// creations, responses and the heads of pulls all have this form.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace quorate::schema {

// Reads a bare segment in place. Cap'n Proto throws kj::Exception where the bytes are no such
// message, when they are touched; the caller catches at its border.
class SegmentReader {
 public:
  // bytes: aligned to eight, a multiple of eight long; borrowed while the reader and what it
  // returned are in use.
  explicit SegmentReader(std::string_view bytes)
      : segment_(reinterpret_cast<const capnp::word*>(bytes.data()),
                 bytes.size() / sizeof(capnp::word)),
        reader_(kj::arrayPtr(&segment_, 1), options(segment_.size())) {}
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;

  template <typename T>
  typename T::Reader root() {
    return reader_.getRoot<T>();
  }

  static bool well_formed(std::string_view bytes) {
    return bytes.size() >= 8 && bytes.size() % 8 == 0 &&
           reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0;
  }

 private:
  // Each word may be visited a few times (checked, then executed), but not without bound: a message
  // whose pointers overlap must not cost more than its size suggests.
  static capnp::ReaderOptions options(size_t words) {
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 64 * (words + 64);
    options.nestingLimit = 64;
    return options;
  }

  kj::ArrayPtr<const capnp::word> segment_;
  capnp::SegmentArrayMessageReader reader_;
};

// Builds a bare segment in memory that it keeps for the next message: fresh memory for each would
// cost more in page faults than all else. One thread at a time.
class SegmentBuilder {
 public:
  // A new message; the one before, and the bytes of its finish(), are gone. bytes_expected: an
  // estimate; a message that outgrows it is copied once more in finish().
  template <typename T>
  typename T::Builder start(size_t bytes_expected = 0) {
    message_.reset();
    const size_t words = bytes_expected / sizeof(capnp::word) + 128;
    if (memory_.size() < words) memory_ = zeroed(words);
    message_ = std::make_unique<capnp::MallocMessageBuilder>(memory_);
    return message_->template initRoot<T>();
  }

  // A copy of a message as the new one, to be changed.
  template <typename T>
  typename T::Builder start_copy(typename T::Reader from) {
    start<T>(from.totalSize().wordCount * sizeof(capnp::word));
    message_->setRoot(from);
    return message_->template getRoot<T>();
  }

  // The message's bytes, valid until the next start() or the end of this object.
  std::string_view finish() {
    auto segments = message_->getSegmentsForOutput();
    if (segments.size() > 1) {
      size_t words = 64;  // one segment needs no far pointers, so the sum is enough
      for (auto segment : segments) words += segment.size();
      kj::Array<capnp::word> larger = zeroed(words);
      auto copy = std::make_unique<capnp::MallocMessageBuilder>(larger);
      copy->setRoot(message_->getRoot<capnp::AnyPointer>().asReader());
      message_ = std::move(copy);
      memory_ = std::move(larger);
      segments = message_->getSegmentsForOutput();
    }
    return {reinterpret_cast<const char*>(segments[0].begin()),
            segments[0].size() * sizeof(capnp::word)};
  }

 private:
  static kj::Array<capnp::word> zeroed(size_t words) {
    auto memory = kj::heapArray<capnp::word>(words);
    std::memset(static_cast<void*>(memory.begin()), 0, words * sizeof(capnp::word));
    return memory;
  }
  kj::Array<capnp::word> memory_;  // outlives message_, which clears what it used when it goes
  std::unique_ptr<capnp::MallocMessageBuilder> message_;
};

}  // namespace quorate::schema
