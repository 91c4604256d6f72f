// SPDX-License-Identifier: Apache-2.0
#include "sim/minimise.h"

#include <algorithm>

namespace quorate::sim {

Options minimise(const Options& failing, const RunResult& failure, size_t runs_max) {
  Options best = failing;
  best.faults.emplace();
  for (size_t i = 0; i < failure.schedule.size(); ++i) best.faults->insert(i);
  size_t runs = 0;
  const auto fails = [&](const Options& options) {
    ++runs;
    const RunResult result = run(options);
    return !result.clean() && result.violations[0].checker == failure.violations[0].checker;
  };
  for (size_t group = best.faults->size(); group != 0 && runs < runs_max; group /= 2) {
    bool smaller = true;
    while (smaller && runs < runs_max) {
      smaller = false;
      const std::vector<size_t> all(best.faults->begin(), best.faults->end());
      for (size_t from = 0; from < all.size() && runs < runs_max; from += group) {
        Options fewer = best;
        for (size_t i = from; i < std::min(from + group, all.size()); ++i)
          fewer.faults->erase(all[i]);
        if (fewer.faults->size() == best.faults->size() || !fails(fewer)) continue;
        best = std::move(fewer);
        smaller = true;
      }
    }
  }
  return best;
}

}  // namespace quorate::sim
