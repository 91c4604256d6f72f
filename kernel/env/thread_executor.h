// SPDX-License-Identifier: Apache-2.0
// Executors and pools made of threads.
#pragma once

#include <memory>
#include <string_view>

#include "env/env.h"

namespace quorate {

// clock: outlives the executor.
std::unique_ptr<Executor> make_thread_executor(Clock* clock, std::string_view name);
// nice: added to the niceness of its threads; best effort.
std::unique_ptr<Pool> make_thread_pool(std::string_view name, int threads, int nice);

}  // namespace quorate
