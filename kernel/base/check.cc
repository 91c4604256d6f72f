// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace quorate {

void check_failed(const char* file, int line, const char* condition, const char* text) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, text);
  std::fflush(stderr);
  std::abort();
}

}  // namespace quorate
