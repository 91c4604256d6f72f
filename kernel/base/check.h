// SPDX-License-Identifier: Apache-2.0
// Checks for promises of our own code. A failed one means that going on would lie, so the process
// prints where and what, and aborts; they stay on in release builds. What a caller may meet in good
// order is a Status (status.h), never a check.
#pragma once

namespace quorate {

// Prints "file:line: check failed: text" to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* text);

}  // namespace quorate

#define QUORATE_CHECK(condition, text) \
  ((condition) ? static_cast<void>(0)  \
               : ::quorate::check_failed(__FILE__, __LINE__, #condition, text))

// For what is too dear on a hot path in release builds.
#ifdef NDEBUG
#define QUORATE_DCHECK(condition, text) static_cast<void>(sizeof(condition))
#else
#define QUORATE_DCHECK(condition, text) QUORATE_CHECK(condition, text)
#endif
