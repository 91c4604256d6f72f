// SPDX-License-Identifier: Apache-2.0
// Errors on the plugin's side of the border: a Failure is thrown inside, and the barrier turns it,
// and every other exception, into a status and a text before it could cross.
#pragma once

#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "quorate/abi.h"

namespace quorate::sdk {

// What a plugin cannot do, with the status the host shall see. The text says what happened, to
// what, and what to do; native is the library's own code, for the log.
class Failure : public std::runtime_error {
 public:
  Failure(quorate_status code, const std::string& message, int native = 0)
      : std::runtime_error(message), code_(code), native_(native) {}

  quorate_status code() const { return code_; }
  int native() const { return native_; }

 private:
  quorate_status code_;
  int native_;
};

// The longest prefix of `text` of at most `size_max` bytes that does not cut a UTF-8 character.
inline std::string_view utf8_prefix(std::string_view text, size_t size_max) {
  if (text.size() <= size_max) return text;
  size_t end = size_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// Fills `error`, which may be null, and returns `code`. A text that is too long is cut; it is
// always terminated.
inline quorate_status fail(quorate_error* error, quorate_status code, std::string_view message,
                           int native = 0) noexcept {
  if (error == nullptr) return code;
  error->code = code;
  error->native_code = native;
  const std::string_view kept = utf8_prefix(message, sizeof error->message - 1);
  std::memcpy(error->message, kept.data(), kept.size());
  error->message[kept.size()] = '\0';
  return code;
}

// Runs the body of a C entry. The body returns a quorate_status, or nothing for QUORATE_OK; what it
// throws becomes a status and a text. A status that the body returns itself needs no text (it is an
// answer, like QUORATE_NOT_FOUND), or the body has filled `error` with fail().
template <class Body>
quorate_status barrier(quorate_error* error, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      std::forward<Body>(body)();
      return QUORATE_OK;
    } else {
      return std::forward<Body>(body)();
    }
  } catch (const Failure& failure) {
    return fail(error, failure.code(), failure.what(), failure.native());
  } catch (const std::bad_alloc&) {
    return fail(error, QUORATE_INTERNAL, "out of memory");
  } catch (const std::exception& exception) {
    return fail(error, QUORATE_INTERNAL, exception.what());
  } catch (...) {
    return fail(error, QUORATE_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace quorate::sdk
