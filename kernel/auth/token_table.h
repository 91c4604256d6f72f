// SPDX-License-Identifier: Apache-2.0
// Who is behind a token: the simple tokens that this member knows, and the tokens signed elsewhere
// (JWT) whose signature it has checked. In memory only; a restart forgets. One of the five shared
// classes: any thread. Times are of the monotonic clock, so a wall clock that jumps ends no token.
//
// A look-up and a drop each happen at one instant: who begins after a drop has returned does not
// find the token, and the use of a token does not bring it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "env/mutex.h"

namespace quorate::auth {

struct TokenOwner {
  std::string user;
  // The revision of the auth store that a signed token names; 0: a simple token, which follows the
  // store's own.
  uint64_t auth_revision = 0;
};

// The log index at which a simple token ("letters.index") was issued: a member that has not applied
// it waits before it calls the token unknown. Nothing: not a simple token.
std::optional<uint64_t> issued_at(std::string_view token);

class TokenTable {
 public:
  // simple_ttl_ns: a simple token ends when it was not used for so long. each_max, above 0: as many
  // simple tokens, and as many checked ones, are kept; the one not used for longest makes room.
  TokenTable(uint64_t simple_ttl_ns, size_t each_max)
      : simple_ttl_ns_(simple_ttl_ns), each_max_(each_max) {}
  TokenTable(const TokenTable&) = delete;
  TokenTable& operator=(const TokenTable&) = delete;

  // A simple token from now on stands for `user`. [apply loop]
  void assign(std::string_view token, std::string_view user, uint64_t now_ns);
  // A signed token has been checked: it stands for `owner` up to `expires_ns`, which no use moves.
  void remember(std::string_view token, const TokenOwner& owner, uint64_t expires_ns);
  // Whose token it is; nothing: unknown here, or ended. A simple one lives on from now.
  std::optional<TokenOwner> find(std::string_view token, uint64_t now_ns);

  // The user's password changed, or the user is gone: its tokens are nobody's. Linear in their
  // number. [apply loop]
  void drop_user(std::string_view user);
  // Auth was switched off: no token means anything. [apply loop]
  void clear();
  // Lets go of what ended unused.
  void sweep(uint64_t now_ns);
  size_t size() const;

 private:
  struct Entry {
    std::string token;
    TokenOwner owner;
    uint64_t expires_ns = 0;
    bool simple = true;
  };
  using Entries = std::list<Entry>;  // the one not used for longest first

  Entries& entries_of(bool simple) QUORATE_REQUIRES(mutex_) { return simple ? simple_ : checked_; }
  void put(Entry entry) QUORATE_REQUIRES(mutex_);
  Entries::iterator erase(Entries::iterator entry) QUORATE_REQUIRES(mutex_);

  const uint64_t simple_ttl_ns_;
  const size_t each_max_;
  mutable Mutex mutex_{"tokens"};
  Entries simple_ QUORATE_GUARDED_BY(mutex_);
  Entries checked_ QUORATE_GUARDED_BY(mutex_);
  // The keys are views of the entries' own text.
  absl::flat_hash_map<std::string_view, Entries::iterator> by_token_ QUORATE_GUARDED_BY(mutex_);
};

}  // namespace quorate::auth
