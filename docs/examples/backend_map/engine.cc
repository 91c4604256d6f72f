// SPDX-License-Identifier: Apache-2.0
// The smallest whole backend: a std::map for each bucket. A write copies what it changes and
// publishes it; a view holds what was published when it was opened. It forgets everything when it
// is closed, and says so: kCapabilities has no QUORATE_BACKEND_DURABLE.
#include <map>
#include <memory>
#include <mutex>

#include "sdk/backend.h"

namespace quorate::backend_map {

using Bucket = std::map<std::string, std::string, std::less<>>;
using Buckets = std::vector<std::shared_ptr<const Bucket>>;

class Engine {
 public:
  static constexpr const char* kId = "org.example.backend.map";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr uint32_t kCapabilities = 0;
  static constexpr std::array<quorate_option_spec, 0> kOptions = {};

  explicit Engine(const sdk::BackendConfig& config)
      : published_(config.buckets.size(), std::make_shared<const Bucket>()) {}

  void write(std::span<const quorate_op> ops) {
    Buckets buckets = published();
    std::map<uint32_t, std::shared_ptr<Bucket>> changed;
    for (const quorate_op& op : ops) {
      std::shared_ptr<Bucket>& bucket = changed[op.bucket];
      if (!bucket) bucket = std::make_shared<Bucket>(*buckets[op.bucket]);
      if (op.kind == QUORATE_OP_PUT)
        bucket->insert_or_assign(std::string(sdk::view(op.key)), sdk::view(op.value));
      else
        bucket->erase(std::string(sdk::view(op.key)));
    }
    for (auto& [number, bucket] : changed) buckets[number] = std::move(bucket);
    const std::lock_guard lock(mutex_);
    published_.swap(buckets);
  }

  sdk::EngineStats stats() {
    uint64_t size = 0;
    for (const auto& bucket : published())
      for (const auto& [key, value] : *bucket) size += key.size() + value.size();
    return {size, size};
  }

  const void* extension(const char*) { return nullptr; }

  struct View {
    explicit View(Engine& engine) : buckets(engine.published()) {}
    bool get(uint32_t bucket, std::string_view key, std::string_view& value) const {
      const auto found = buckets[bucket]->find(key);
      if (found != buckets[bucket]->end()) value = found->second;
      return found != buckets[bucket]->end();
    }
    const Buckets buckets;
  };

  class Cursor {
   public:
    Cursor(const View& view, uint32_t bucket) : bucket_(*view.buckets[bucket]) {}
    bool seek(std::string_view key, sdk::Pair& pair) {
      at_ = bucket_.lower_bound(key);
      return take(pair);
    }
    bool next(sdk::Pair& pair) {
      ++at_;
      return take(pair);
    }

   private:
    bool take(sdk::Pair& pair) const {
      if (at_ == bucket_.end()) return false;
      pair = {at_->first, at_->second};
      return true;
    }
    const Bucket& bucket_;
    Bucket::const_iterator at_;
  };

 private:
  Buckets published() {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  std::mutex mutex_;
  Buckets published_;  // guarded by mutex_
};

}  // namespace quorate::backend_map

QUORATE_PLUGIN_ENTRY(backend_map,
                     quorate::sdk::BackendPlugin<quorate::backend_map::Engine>::kPlugin)
