// SPDX-License-Identifier: Apache-2.0
// A directory of the test's own, removed with everything in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace quorate::test {

class TempDir {
 public:
  TempDir() {
    const char* base = ::getenv("TMPDIR");
    path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/quorate-test-XXXXXX";
    QUORATE_CHECK(::mkdtemp(path_.data()) != nullptr, "no temporary directory can be made");
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace quorate::test
