// SPDX-License-Identifier: Apache-2.0
#include "raft/allocations.h"

#include <cstdlib>
#include <new>

namespace quorate::bench {
namespace {
uint64_t count = 0;
}  // namespace

uint64_t allocations() {
  return count;
}

}  // namespace quorate::bench

void* operator new(size_t size) {
  ++quorate::bench::count;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
