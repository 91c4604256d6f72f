// SPDX-License-Identifier: Apache-2.0
#include "daemon/log_output.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

namespace quorate::daemon {
namespace {

// A log that goes to a file of its own.
class LogOutputTest {
 public:
  LogOutputTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "quorate-log-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.outputs = {dir_ + "/log"};
  }
  ~LogOutputTest() { std::filesystem::remove_all(dir_); }

  std::unique_ptr<LogOutput> open() {
    auto output = LogOutput::open(options_);
    REQUIRE(output.has_value());
    return *std::move(output);
  }
  std::string written() const {
    std::ifstream file(dir_ + "/log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

 protected:
  std::string dir_;
  LogOptions options_;
};

TEST_CASE_METHOD(LogOutputTest, "a line is JSON whatever its text holds", "[log]") {
  const std::string text = "a \"quote\", a \\, a\nline\tand \x01 {} %v";
  open()->write(LogLevel::kWarn, "wal", text);
  const auto line = nlohmann::json::parse(written());
  CHECK(line["level"] == "warn");
  CHECK(line["component"] == "wal");
  CHECK(line["msg"] == text);
  CHECK(line["ts"].get<std::string>().size() == std::string("2026-01-01T00:00:00.000Z").size());
}

TEST_CASE_METHOD(LogOutputTest, "for people a line is text", "[log]") {
  options_.json = false;
  open()->write(LogLevel::kError, "wal", "disk {} gone");
  CHECK(written().find("Z error [wal] disk {} gone\n") != std::string::npos);
}

TEST_CASE_METHOD(LogOutputTest, "lines below the level are not asked for", "[log]") {
  options_.level = LogLevel::kWarn;
  const auto output = open();
  CHECK_FALSE(output->enabled(LogLevel::kInfo));
  CHECK(output->enabled(LogLevel::kWarn));
}

TEST_CASE_METHOD(LogOutputTest, "every output gets every line", "[log]") {
  options_.outputs.push_back(dir_ + "/second");
  open()->write(LogLevel::kInfo, "x", "y");
  CHECK(std::filesystem::file_size(dir_ + "/second") == written().size());
}

TEST_CASE_METHOD(LogOutputTest, "a file that cannot be opened is named", "[log]") {
  options_.outputs = {dir_};
  const auto output = LogOutput::open(options_);
  REQUIRE_FALSE(output.has_value());
  CHECK(output.error().message().find("--log-outputs: ") == 0);
  CHECK(output.error().message().find(dir_) != std::string::npos);
}

}  // namespace
}  // namespace quorate::daemon
