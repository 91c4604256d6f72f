// SPDX-License-Identifier: Apache-2.0
// The life of the process around one member: log, plugins, start, the wait for a signal or a
// failure, and the end.
#pragma once

#include "daemon/options.h"

namespace quorate::daemon {

// Serves until SIGTERM or SIGINT, or until the member is removed from its cluster; then drains and
// stops. A second such signal ends the process at once, which loses nothing that was acknowledged.
// The exit code: 0 in these cases, 1 after a failure, which has then been said in one sentence.
// Call once, on the main thread, before any other thread exists.
int run(const Options& options);

}  // namespace quorate::daemon
