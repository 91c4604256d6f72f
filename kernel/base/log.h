// SPDX-License-Identifier: Apache-2.0
// Lines for the operator. The kernel formats and hands over; what becomes of a line is the sink's
// business (spdlog in the daemon, a list in tests, the trace in the simulator). Nothing logs
// through a global: whoever needs a Logger is given one. Never throws.
#pragma once

#include <spdlog/fmt/fmt.h>

#include <string_view>
#include <utility>

#include "quorate/plugin.h"

namespace quorate {

enum class LogLevel : int32_t {
  kDebug = QUORATE_LOG_DEBUG,
  kInfo = QUORATE_LOG_INFO,
  kWarn = QUORATE_LOG_WARN,
  kError = QUORATE_LOG_ERROR,
};

// Takes finished lines. Any thread; must not throw.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual bool enabled(LogLevel level) const = 0;
  virtual void write(LogLevel level, std::string_view component, std::string_view text) = 0;
};

// A sink and the name of the part that speaks; cheap to copy. A default Logger is silent.
class Logger {
 public:
  Logger() = default;
  // sink: outlives the Logger and its copies. component: a literal.
  Logger(LogSink* sink, std::string_view component) : sink_(sink), component_(component) {}
  Logger named(std::string_view component) const { return Logger(sink_, component); }
  LogSink* sink() const { return sink_; }

  template <typename... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::kDebug, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::kInfo, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::kWarn, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::kError, format, std::forward<Args>(args)...);
  }

 private:
  template <typename... Args>
  void write(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (sink_ == nullptr || !sink_->enabled(level)) return;
    try {
      sink_->write(level, component_, fmt::format(format, std::forward<Args>(args)...));
    } catch (...) {
      sink_->write(level, component_, "a log line could not be formatted");
    }
  }
  LogSink* sink_ = nullptr;
  std::string_view component_;
};

}  // namespace quorate
