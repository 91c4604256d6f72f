// SPDX-License-Identifier: Apache-2.0
#include "storage/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quorate::storage {

EngineView& EngineView::operator=(EngineView&& other) noexcept {
  if (this != &other) {
    give_back();
    engine_ = std::move(other.engine_);
    read_ = std::move(other.read_);
    batch_ = other.batch_;
  }
  return *this;
}

void EngineView::give_back() {
  if (read_ == nullptr) return;
  engine_->take_back(std::move(read_), batch_);
  engine_.reset();
}

Engine::Engine(std::unique_ptr<plugin::Backend> backend, uint64_t generation, uint64_t epoch)
    : backend_(std::move(backend)), generation_(generation), epoch_(epoch) {}

Status Engine::write(std::span<const plugin::Op> ops, uint64_t batch) {
  yield_point("engine.write");
  QUORATE_TRY(backend_->write(ops));
  written_.store(batch, std::memory_order_release);
  return Status();
}

Result<EngineView> Engine::view(uint64_t batch) const {
  EngineView view;
  view.engine_ = shared_from_this();
  std::vector<Idle> stale;  // closed outside the lock
  {
    const MutexLock lock(mutex_);
    const auto old = std::partition(idle_.begin(), idle_.end(),
                                    [&](const Idle& idle) { return idle.batch >= batch; });
    std::move(old, idle_.end(), std::back_inserter(stale));
    idle_.erase(old, idle_.end());
    if (!idle_.empty()) {
      view.read_ = std::move(idle_.back().read);
      view.batch_ = idle_.back().batch;
      idle_.pop_back();
      return view;
    }
  }
  // Read before opening: the view sees at least what was written by then.
  view.batch_ = written_batch();
  QUORATE_CHECK(view.batch_ >= batch, "a read view names a batch that is written");
  yield_point("engine.open");
  Result<plugin::EngineRead> read = backend_->read_open();
  if (!read) return std::move(read).error();
  view.read_ = std::make_unique<plugin::EngineRead>(*std::move(read));
  return view;
}

void Engine::drop_idle_views() const {
  std::vector<Idle> idle;
  const MutexLock lock(mutex_);
  idle_.swap(idle);
}

void Engine::take_back(std::unique_ptr<plugin::EngineRead> read, uint64_t batch) const {
  // An old view holds old pages in the engine, and the next reader could not use it anyway.
  if (batch < written_batch()) return;
  const MutexLock lock(mutex_);  // let go before a `read` that finds no room is closed
  if (idle_.size() < kIdleViewsMax) idle_.push_back({std::move(read), batch});
}

}  // namespace quorate::storage
