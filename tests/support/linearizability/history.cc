// SPDX-License-Identifier: Apache-2.0
#include "support/linearizability/history.h"

namespace quorate::linearizability {

History::History() {
  texts_.emplace_back();
}

Name History::name(std::string_view text) {
  const auto found = names_.find(text);
  if (found != names_.end()) return found->second;
  const auto name = static_cast<Name>(texts_.size());
  names_.emplace(texts_.emplace_back(text), name);
  return name;
}

}  // namespace quorate::linearizability
