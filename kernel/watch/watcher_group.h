// SPDX-License-Identifier: Apache-2.0
// The synced watchers, found by the key of a change. Owned by the watch hub.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "watch/interval_tree.h"
#include "watch/watcher.h"

namespace quorate::watch {

class WatcherGroup {
 public:
  // watcher: stays where it is until it is removed; its spec does not change.
  void add(Watcher* watcher);
  // REQUIRES: it was added.
  void remove(Watcher* watcher);
  size_t size() const { return size_; }

  // Calls visit(Watcher*) for each whose range holds `key`, in an order that depends on the calls
  // alone. The group must not change meanwhile.
  template <typename Visit>
  void visit(Slice key, Visit&& visit) const {
    if (const auto found = single_.find(key); found != single_.end()) {
      for (Watcher* watcher : found->second) visit(watcher);
    }
    ranges_.visit(key, visit);
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(Slice key) const { return std::hash<Slice>()(key); }
  };
  std::unordered_map<std::string, std::vector<Watcher*>, Hash, std::equal_to<>> single_;
  IntervalTree<Watcher*> ranges_;
  size_t size_ = 0;
};

}  // namespace quorate::watch
