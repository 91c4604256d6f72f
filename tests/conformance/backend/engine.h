// SPDX-License-Identifier: Apache-2.0
// Verbs over the C table of the plugin under judgement. QUORATE_PLUGIN names its library; it is
// loaded with dlopen(), so that a stranger's plugin needs nothing of the kernel's.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "quorate/backend.h"

namespace quorate::conformance {

using Pairs = std::vector<std::pair<std::string, std::string>>;

inline constexpr uint32_t kBucketCount = 3;

// The plugin's library, loaded at the first call and kept. Ends the program with a sentence when it
// is no backend plugin.
const quorate_plugin& plugin();
const quorate_backend_factory& factory();
bool durable();
// True, and says so, when the plugin does not keep what it is told.
bool skipped_for_not_durable();

// A new directory below $TMPDIR or /tmp, gone at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Answer {
  quorate_status status = QUORATE_OK;
  std::string message;
};

// A write of one batch, built up by verbs.
class Batch {
 public:
  Batch& put(uint32_t bucket, std::string key, std::string value, uint16_t flags = 0);
  Batch& append(uint32_t bucket, std::string key, std::string value) {
    return put(bucket, std::move(key), std::move(value), QUORATE_OP_APPEND);
  }
  Batch& erase(uint32_t bucket, std::string key);
  Batch& of_kind(uint16_t kind, uint32_t bucket, std::string key);

  std::vector<quorate_op> ops() const;

 private:
  struct Op {
    uint16_t kind, flags;
    uint32_t bucket;
    std::string key, value;
  };
  std::vector<Op> ops_;
};

class Cursor {
 public:
  Cursor(quorate_read* read, uint32_t bucket);
  ~Cursor();
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // True at a pair, false at the end; throws for any other status.
  bool seek(const std::string& key);
  bool next();
  std::string key() const;
  std::string value() const;

 private:
  bool at(quorate_status status, const quorate_error& error);

  quorate_cursor* cursor_ = nullptr;
  quorate_slice key_{}, value_{};
};

// What a statement about a damaged directory throws.
class EngineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class View {
 public:
  explicit View(quorate_backend* backend);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  std::optional<std::string> get(uint32_t bucket, const std::string& key);
  // The value where it lies.
  quorate_slice get_in_place(uint32_t bucket, const std::string& key);
  std::unique_ptr<Cursor> cursor(uint32_t bucket) {
    return std::make_unique<Cursor>(read_, bucket);
  }
  Pairs scan(uint32_t bucket, const std::string& from = "");

  quorate_read* handle() { return read_; }

 private:
  quorate_read* read_ = nullptr;
};

class Engine {
 public:
  // Throws EngineError when it cannot be opened.
  explicit Engine(const std::string& dir, uint64_t quota_bytes = 0,
                  std::vector<std::string> buckets = {"key", "lease", "meta"});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The answer of an open that is expected to be refused.
  static Answer refused_open(const std::string& dir,
                             std::vector<std::string> buckets = {"key", "lease", "meta"});

  void write(const Batch& batch);
  Answer try_write(const Batch& batch);
  std::unique_ptr<View> view() { return std::make_unique<View>(backend_); }
  quorate_backend_stats stats();

  quorate_backend* handle() { return backend_; }

 private:
  quorate_backend* backend_ = nullptr;
};

// An engine in a directory of its own.
struct Fixture {
  TempDir dir;
  Engine engine{dir.path()};
};

// A sorted map that takes the same batches: what an engine must agree with.
class Model {
 public:
  void apply(const Batch& batch);
  Pairs scan(uint32_t bucket) const { return {buckets_[bucket].begin(), buckets_[bucket].end()}; }

 private:
  std::map<std::string, std::string> buckets_[kBucketCount];
};

// Eight bytes that sort as the number does.
std::string number_key(uint64_t number);

}  // namespace quorate::conformance
