// SPDX-License-Identifier: Apache-2.0
#include "auth/token_table.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace quorate::auth {

std::optional<uint64_t> issued_at(std::string_view token) {
  const size_t dot = token.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const char* const begin = token.data() + dot + 1;
  const char* const end = token.data() + token.size();
  uint64_t index = 0;
  const auto [stop, error] = std::from_chars(begin, end, index);
  if (error != std::errc() || stop != end) return std::nullopt;
  return index;
}

void TokenTable::assign(std::string_view token, std::string_view user, uint64_t now_ns) {
  const MutexLock lock(mutex_);
  put({std::string(token), {std::string(user), 0}, now_ns + simple_ttl_ns_, true});
}

void TokenTable::remember(std::string_view token, const TokenOwner& owner, uint64_t expires_ns) {
  const MutexLock lock(mutex_);
  put({std::string(token), owner, expires_ns, false});
}

std::optional<TokenOwner> TokenTable::find(std::string_view token, uint64_t now_ns) {
  const MutexLock lock(mutex_);
  const auto found = by_token_.find(token);
  if (found == by_token_.end()) return std::nullopt;
  const Entries::iterator entry = found->second;
  if (entry->expires_ns <= now_ns) {
    erase(entry);
    return std::nullopt;
  }
  // Threads may come here in another order than they read the clock.
  if (entry->simple) entry->expires_ns = std::max(entry->expires_ns, now_ns + simple_ttl_ns_);
  Entries& entries = entries_of(entry->simple);
  entries.splice(entries.end(), entries, entry);
  return entry->owner;
}

void TokenTable::drop_user(std::string_view user) {
  const MutexLock lock(mutex_);
  for (const bool simple : {true, false}) {
    Entries& entries = entries_of(simple);
    for (auto entry = entries.begin(); entry != entries.end();)
      entry = entry->owner.user == user ? erase(entry) : std::next(entry);
  }
}

void TokenTable::clear() {
  const MutexLock lock(mutex_);
  by_token_.clear();
  simple_.clear();
  checked_.clear();
}

void TokenTable::sweep(uint64_t now_ns) {
  const MutexLock lock(mutex_);
  // By the order of use the simple ones end in order. The checked ones end by what they say, in any
  // order; there are no more of them than the table may keep.
  while (!simple_.empty() && simple_.front().expires_ns <= now_ns) erase(simple_.begin());
  for (auto entry = checked_.begin(); entry != checked_.end();)
    entry = entry->expires_ns <= now_ns ? erase(entry) : std::next(entry);
}

size_t TokenTable::size() const {
  const MutexLock lock(mutex_);
  return by_token_.size();
}

void TokenTable::put(Entry entry) {
  const auto known = by_token_.find(entry.token);
  if (known != by_token_.end()) erase(known->second);
  Entries& entries = entries_of(entry.simple);
  if (entries.size() >= each_max_) erase(entries.begin());
  entries.push_back(std::move(entry));
  by_token_.emplace(entries.back().token, std::prev(entries.end()));
}

TokenTable::Entries::iterator TokenTable::erase(Entries::iterator entry) {
  by_token_.erase(entry->token);
  return entries_of(entry->simple).erase(entry);
}

}  // namespace quorate::auth
