// SPDX-License-Identifier: Apache-2.0
// One open generation of the engine: the backend, its epoch, and the pool of its views. It is held
// by counted pointers and closes when the last one goes, so a switch to another generation never
// takes an engine from under a reader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "env/mutex.h"
#include "env/yield.h"
#include "plugin/backend.h"
#include "storage/bucket.h"

namespace quorate::storage {

class Engine;

// An engine view on loan. It sees every batch up to batch(), perhaps later ones too. Goes back to
// the pool when it ends; holds its engine until then. One thread at a time.
class EngineView {
 public:
  EngineView() = default;
  EngineView(EngineView&&) noexcept = default;
  EngineView& operator=(EngineView&& other) noexcept;
  ~EngineView() { give_back(); }

  explicit operator bool() const { return read_ != nullptr; }
  uint64_t batch() const { return batch_; }
  plugin::EngineRead& read() { return *read_; }
  void give_back();

 private:
  friend class Engine;
  std::shared_ptr<const Engine> engine_;
  std::unique_ptr<plugin::EngineRead> read_;
  uint64_t batch_ = 0;
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  // generation: the number of its directory. epoch: of this opening; grows with every switch.
  Engine(std::unique_ptr<plugin::Backend> backend, uint64_t generation, uint64_t epoch);

  uint64_t generation() const { return generation_; }
  uint64_t epoch() const { return epoch_; }
  bool durable() const { return backend_->durable(); }
  const plugin::Backend& backend() const { return *backend_; }

  // The commit loop alone: writes one batch. After OK every view taken later sees it.
  Status write(std::span<const plugin::Op> ops, uint64_t batch);
  // The number of the last batch that was written. [any thread]
  uint64_t written_batch() const { return written_.load(std::memory_order_acquire); }

  // A view that sees every batch up to `batch`. REQUIRES: that batch is written. May block on disk.
  // [any thread]
  Result<EngineView> view(uint64_t batch) const;
  // Called once the engine is closed, on the thread that let go last; may block on disk. The commit
  // loop alone, once.
  void when_closed(std::function<void()> then) { closed_.then = std::move(then); }
  // Closes the views that wait in the pool, so that they hold no old pages. [any thread]
  void drop_idle_views() const;

 private:
  friend class EngineView;
  struct Idle {
    std::unique_ptr<plugin::EngineRead> read;
    uint64_t batch;
  };
  static constexpr size_t kIdleViewsMax = 8;
  void take_back(std::unique_ptr<plugin::EngineRead> read, uint64_t batch) const;

  struct Closed {
    std::function<void()> then;
    ~Closed() {
      if (then) then();
    }
  };
  Closed closed_;  // ends last
  const std::unique_ptr<plugin::Backend> backend_;
  const uint64_t generation_;
  const uint64_t epoch_;
  Atomic<uint64_t> written_{0, "engine.written"};
  mutable Mutex mutex_{"engine.views"};
  // After backend_: ends before it.
  mutable std::vector<Idle> idle_ QUORATE_GUARDED_BY(mutex_);
};

}  // namespace quorate::storage
