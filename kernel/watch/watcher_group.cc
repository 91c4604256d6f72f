// SPDX-License-Identifier: Apache-2.0
#include "watch/watcher_group.h"

#include <algorithm>

#include "base/check.h"

namespace quorate::watch {

void WatcherGroup::add(Watcher* watcher) {
  const KeyRange range = watcher->spec->range();
  if (range.single) {
    single_[watcher->spec->key].push_back(watcher);
  } else {
    ranges_.insert(range, watcher);
  }
  ++size_;
}

void WatcherGroup::remove(Watcher* watcher) {
  const KeyRange range = watcher->spec->range();
  bool found = false;
  if (range.single) {
    const auto at = single_.find(watcher->spec->key);
    QUORATE_CHECK(at != single_.end(), "a watcher left a group that it was not in");
    auto& watchers = at->second;
    const auto place = std::find(watchers.begin(), watchers.end(), watcher);
    found = place != watchers.end();
    if (found) watchers.erase(place);
    if (watchers.empty()) single_.erase(at);
  } else {
    found = ranges_.erase(range, watcher);
  }
  QUORATE_CHECK(found, "a watcher left a group that it was not in");
  --size_;
}

}  // namespace quorate::watch
