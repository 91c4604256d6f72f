// SPDX-License-Identifier: Apache-2.0
#include "daemon/log_output.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <vector>

namespace quorate::daemon {
namespace {

// The line's own fields come in the text, because spdlog does not escape.
constexpr const char* kJsonPattern = R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ",%v})";
constexpr const char* kConsolePattern = "%Y-%m-%dT%H:%M:%S.%eZ %v";

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarn: return "warn";
    case LogLevel::kError: return "error";
  }
  return "error";
}

spdlog::sink_ptr make_sink(const std::string& output) {
  if (output == "stderr") return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (output == "stdout") return std::make_shared<spdlog::sinks::stdout_sink_mt>();
  return std::make_shared<spdlog::sinks::basic_file_sink_mt>(output);
}

}  // namespace

Result<std::unique_ptr<LogOutput>> LogOutput::open(const LogOptions& options) {
  std::vector<spdlog::sink_ptr> sinks;
  for (const std::string& output : options.outputs) {
    try {
      sinks.push_back(make_sink(output));
    } catch (const spdlog::spdlog_ex& error) {
      return Status(Code::kIoError, fmt::format("--log-outputs: {}", error.what()));
    }
  }
  auto logger = std::make_unique<spdlog::logger>("quorated", sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      options.json ? kJsonPattern : kConsolePattern, spdlog::pattern_time_type::utc));
  // A log that cannot be written must not disturb the member.
  logger->set_error_handler([](const std::string&) {});
  return std::unique_ptr<LogOutput>(new LogOutput(std::move(logger), options));
}

LogOutput::LogOutput(std::unique_ptr<spdlog::logger> logger, const LogOptions& options)
    : logger_(std::move(logger)), level_(options.level), json_(options.json) {}

LogOutput::~LogOutput() = default;

void LogOutput::write(LogLevel level, std::string_view component, std::string_view text) {
  if (json_) {
    logger_->info(R"("level":"{}","component":"{}","msg":"{}")", level_name(level),
                  json_escaped(component), json_escaped(text));
  } else {
    logger_->info("{:5} [{}] {}", level_name(level), component, text);
  }
}

std::string json_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace quorate::daemon
