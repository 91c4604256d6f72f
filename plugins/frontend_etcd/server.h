// SPDX-License-Identifier: Apache-2.0
// One front-end: its listeners, its I/O thread and all connections.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontend_etcd/core.h"

namespace quorate::frontend_etcd {

// The functions are those of quorate_frontend_factory, in the same order of life: start, stop,
// then the destructor. Throws sdk::Failure.
class Server {
 public:
  Server(const quorate_services& services, const quorate_host* host,
         std::vector<std::string> listen_urls, Settings settings);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Binds every URL, or none.
  void start();
  // New connections and calls are refused, streams ended; waits at most `drain` for the calls that
  // have an end of their own.
  void stop(milliseconds drain);

  const char* bound(uint32_t index) const;

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace quorate::frontend_etcd
