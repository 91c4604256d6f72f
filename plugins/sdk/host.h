// SPDX-License-Identifier: Apache-2.0
// The host's log, under the plugin's name.
#pragma once

#include <string>
#include <string_view>

#include "quorate/plugin.h"
#include "sdk/slice.h"

namespace quorate::sdk {

// Borrows the host and the component's name. A null host swallows what it is told. Any thread.
class Log {
 public:
  Log(const quorate_host* host, const char* component) : host_(host), component_(component) {}

  void info(std::string_view text) const { write(QUORATE_LOG_INFO, text); }
  void warn(std::string_view text) const { write(QUORATE_LOG_WARN, text); }
  void error(std::string_view text) const { write(QUORATE_LOG_ERROR, text); }

 private:
  void write(int32_t level, std::string_view text) const {
    if (host_ != nullptr && host_->log != nullptr)
      host_->log(host_->ctx, level, component_, slice(text));
  }

  const quorate_host* host_;
  const char* component_;
};

}  // namespace quorate::sdk
