// SPDX-License-Identifier: Apache-2.0
// An engine that keeps everything in memory and nothing on disk: the fair baseline for the others,
// and the fastest way to run a test. Each bucket is a copy-on-write tree; a write works on copies
// and publishes them together, a view is a copy of what is published.
#include <mutex>

#include "backend_memory/tree.h"
#include "sdk/backend.h"

namespace quorate::backend_memory {

class Engine {
 public:
  static constexpr const char* kId = "org.quorate.backend.memory";
  static constexpr const char* kVersion = "1.0.0";
  static constexpr uint32_t kCapabilities = 0;
  static constexpr std::array<quorate_option_spec, 0> kOptions = {};

  explicit Engine(const sdk::BackendConfig& config) : published_(config.buckets.size()) {}

  void write(std::span<const quorate_op> ops) {
    std::vector<Tree> buckets = published();
    for (const quorate_op& op : ops) {
      if (op.kind == QUORATE_OP_PUT) {
        buckets[op.bucket].put(sdk::view(op.key), sdk::view(op.value));
      } else {
        buckets[op.bucket].erase(sdk::view(op.key));
      }
    }
    // What was published dies outside the lock: it may be the last owner of many nodes.
    const std::lock_guard lock(mutex_);
    published_.swap(buckets);
  }

  sdk::EngineStats stats() {
    uint64_t size = 0;
    for (const Tree& bucket : published()) size += bucket.size_bytes();
    return {size, size};
  }

  const void* extension(const char*) { return nullptr; }

  class View {
   public:
    explicit View(Engine& engine) : buckets_(engine.published()) {}

    bool get(uint32_t bucket, std::string_view key, std::string_view& value) const {
      const Item* item = buckets_[bucket].find(key);
      if (item != nullptr) value = item->value();
      return item != nullptr;
    }

   private:
    friend class Engine;
    std::vector<Tree> buckets_;
  };

  class Cursor {
   public:
    Cursor(const View& view, uint32_t bucket) : cursor_(view.buckets_[bucket]) {}

    bool seek(std::string_view key, sdk::Pair& pair) { return take(cursor_.seek(key), pair); }
    bool next(sdk::Pair& pair) { return take(cursor_.next(), pair); }

   private:
    static bool take(const Item* item, sdk::Pair& pair) {
      if (item != nullptr) pair = {item->key(), item->value()};
      return item != nullptr;
    }

    TreeCursor cursor_;
  };

 private:
  std::vector<Tree> published() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }

  mutable std::mutex mutex_;
  std::vector<Tree> published_;  // guarded by mutex_
};

}  // namespace quorate::backend_memory

QUORATE_PLUGIN_ENTRY(backend_memory,
                     quorate::sdk::BackendPlugin<quorate::backend_memory::Engine>::kPlugin)
