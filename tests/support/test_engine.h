// SPDX-License-Identifier: Apache-2.0
// A storage engine for tests, behind the real C table: std::map buckets that outlive the handle, so
// a test can "crash" (drop the handle) and open again; writes can be made to fail. A view is a
// shared copy of what was written.
//
//   TestEngineDisk disk;                        // outlives every handle
//   auto backend = disk.open();                 // Result<std::unique_ptr<plugin::Backend>>
//   disk.fail_writes(QUORATE_IO_ERROR);
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/backend.h"
#include "storage/bucket.h"

namespace quorate::test {

class TestEngineDisk {
 public:
  using Bucket = std::map<std::string, std::string, std::less<>>;
  using Buckets = std::vector<Bucket>;

  explicit TestEngineDisk(bool durable = true)
      : content_(std::make_shared<Buckets>(storage::kBucketCount)), durable_(durable) {
    std::lock_guard lock(registry_mutex());
    registry()[name()] = this;
  }
  TestEngineDisk(const TestEngineDisk&) = delete;
  TestEngineDisk& operator=(const TestEngineDisk&) = delete;
  ~TestEngineDisk() {
    std::lock_guard lock(registry_mutex());
    registry().erase(name());
  }

  // The handle; the directory is of no importance.
  Result<std::unique_ptr<plugin::Backend>> open() {
    plugin::BackendOptions options;
    options.dir = name();
    options.buckets = storage::kBucketNames;
    if (!durable_) set_content(std::make_shared<Buckets>(storage::kBucketCount));
    return plugin::Backend::open(plugin::BackendFactory("test", durable_ ? &kDurable : &kVolatile),
                                 std::move(options));
  }
  // Every write from now on fails with this code and changes nothing; QUORATE_OK: no more.
  void fail_writes(quorate_status code) { fail_ = code; }

  std::shared_ptr<const Buckets> content() const {
    std::lock_guard lock(mutex_);
    return content_;
  }
  void set_content(std::shared_ptr<const Buckets> content) {
    std::lock_guard lock(mutex_);
    content_ = std::move(content);
  }
  // Puts a pair past the table, as damage does.
  void tamper(storage::Bucket bucket, const std::string& key, const std::string& value) {
    auto changed = std::make_shared<Buckets>(*content());
    (*changed)[number(bucket)][key] = value;
    set_content(std::move(changed));
  }
  int open_reads() const { return open_reads_; }

 private:
  struct View {
    TestEngineDisk* disk;
    std::shared_ptr<const Buckets> content;
  };
  struct Position {
    std::shared_ptr<const Buckets> content;
    const Bucket* bucket;
    Bucket::const_iterator at;
  };

  std::string name() const {
    char text[32];
    std::snprintf(text, sizeof text, "%p", static_cast<const void*>(this));
    return text;
  }
  static std::map<std::string, TestEngineDisk*>& registry() {
    static std::map<std::string, TestEngineDisk*> all;
    return all;
  }
  static std::mutex& registry_mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static TestEngineDisk* disk_of(quorate_backend* handle) {
    return reinterpret_cast<TestEngineDisk*>(handle);
  }
  static View* view_of(quorate_read* handle) { return reinterpret_cast<View*>(handle); }
  static Position* position_of(quorate_cursor* handle) {
    return reinterpret_cast<Position*>(handle);
  }

  static quorate_status open_table(const quorate_backend_options* options, quorate_backend** out,
                                   quorate_error*) {
    std::lock_guard lock(registry_mutex());
    *out = reinterpret_cast<quorate_backend*>(registry().at(options->dir));
    return QUORATE_OK;
  }
  static void close(quorate_backend*) {}
  static quorate_status write(quorate_backend* handle, const quorate_op* ops, size_t count,
                              quorate_error*) {
    TestEngineDisk* disk = disk_of(handle);
    if (disk->fail_ != QUORATE_OK) return disk->fail_;
    auto changed = std::make_shared<Buckets>(*disk->content());
    for (size_t i = 0; i < count; ++i) {
      Bucket& bucket = (*changed)[ops[i].bucket];
      const std::string key(from_c(ops[i].key));
      if (ops[i].kind == QUORATE_OP_DELETE) {
        bucket.erase(key);
      } else {
        if ((ops[i].flags & QUORATE_OP_APPEND) && !bucket.empty() &&
            bucket.rbegin()->first >= key) {
          return QUORATE_INVALID_ARGUMENT;
        }
        bucket[key] = from_c(ops[i].value);
      }
    }
    disk->set_content(std::move(changed));
    return QUORATE_OK;
  }
  static quorate_status read_open(quorate_backend* handle, quorate_read** out, quorate_error*) {
    TestEngineDisk* disk = disk_of(handle);
    ++disk->open_reads_;
    *out = reinterpret_cast<quorate_read*>(new View{disk, disk->content()});
    return QUORATE_OK;
  }
  static void read_close(quorate_read* handle) {
    --view_of(handle)->disk->open_reads_;
    delete view_of(handle);
  }
  static quorate_status get(quorate_read* handle, uint32_t bucket, quorate_slice key,
                            quorate_slice* value, quorate_error*) {
    const Bucket& pairs = (*view_of(handle)->content)[bucket];
    const auto found = pairs.find(from_c(key));
    if (found == pairs.end()) return QUORATE_NOT_FOUND;
    *value = to_c(found->second);
    return QUORATE_OK;
  }
  static quorate_status cursor_open(quorate_read* handle, uint32_t bucket, quorate_cursor** out,
                                    quorate_error*) {
    const auto& content = view_of(handle)->content;
    *out = reinterpret_cast<quorate_cursor*>(new Position{content, &(*content)[bucket], {}});
    return QUORATE_OK;
  }
  static void cursor_close(quorate_cursor* handle) { delete position_of(handle); }
  static quorate_status give(Position* position, quorate_slice* key, quorate_slice* value) {
    if (position->at == position->bucket->end()) return QUORATE_NOT_FOUND;
    *key = to_c(position->at->first);
    *value = to_c(position->at->second);
    return QUORATE_OK;
  }
  static quorate_status seek(quorate_cursor* handle, quorate_slice key, quorate_slice* out_key,
                             quorate_slice* out_value, quorate_error*) {
    position_of(handle)->at = position_of(handle)->bucket->lower_bound(from_c(key));
    return give(position_of(handle), out_key, out_value);
  }
  static quorate_status next(quorate_cursor* handle, quorate_slice* out_key,
                             quorate_slice* out_value, quorate_error*) {
    ++position_of(handle)->at;
    return give(position_of(handle), out_key, out_value);
  }
  static quorate_status stats(quorate_backend*, quorate_backend_stats* out, quorate_error*) {
    out->size = out->size_in_use = 0;
    return QUORATE_OK;
  }
  static const void* get_extension(quorate_backend*, const char*) { return nullptr; }

  static constexpr quorate_backend_factory table(uint32_t capabilities) {
    return {sizeof(quorate_backend_factory),
            capabilities,
            open_table,
            close,
            write,
            read_open,
            read_close,
            get,
            cursor_open,
            cursor_close,
            seek,
            next,
            stats,
            get_extension};
  }
  static const quorate_backend_factory kDurable;
  static const quorate_backend_factory kVolatile;

  mutable std::mutex mutex_;
  std::shared_ptr<const Buckets> content_;  // guarded by mutex_
  const bool durable_;
  std::atomic<quorate_status> fail_{QUORATE_OK};
  std::atomic<int> open_reads_{0};
};

inline const quorate_backend_factory TestEngineDisk::kDurable = table(QUORATE_BACKEND_DURABLE);
inline const quorate_backend_factory TestEngineDisk::kVolatile = table(0);

}  // namespace quorate::test
