// SPDX-License-Identifier: Apache-2.0
// Bytes of the kernel's, kept past the call that lent them.
#pragma once

#include <string_view>
#include <utility>

#include "sdk/slice.h"

namespace quorate::sdk {

// A retained quorate_buf; empty when moved from. Any one thread at a time.
class SharedBuf {
 public:
  SharedBuf() = default;
  explicit SharedBuf(const quorate_buf& buf) : buf_(buf) {
    if (buf_.retain != nullptr) buf_.retain(buf_.owner);
  }
  SharedBuf(SharedBuf&& other) noexcept : buf_(std::exchange(other.buf_, {})) {}
  SharedBuf& operator=(SharedBuf&& other) noexcept {
    std::swap(buf_, other.buf_);
    return *this;
  }
  ~SharedBuf() {
    if (buf_.release != nullptr) buf_.release(buf_.owner);
  }

  SharedBuf share() const { return SharedBuf(buf_); }
  std::string_view bytes() const { return sdk::view(buf_.bytes); }

 private:
  quorate_buf buf_{};
};

}  // namespace quorate::sdk
