// SPDX-License-Identifier: Apache-2.0
// The flags that quorated knows: etcd's names, defaults and meanings, and a few of its own. One
// table drives parsing, the environment, the help and the checks, so that no flag can be half
// known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quorate::daemon {

enum class Kind {
  kText,
  kBool,       // true or false; alone it means true
  kCount,      // a whole number from 0
  kSigned,     // a whole number
  kDuration,   // Go's form: 100ms, 1m30s; 0
  kUrls,       // a comma list; what an address may be is checked by its reader
  kKeyValues,  // k=v; the flag may be repeated
};

// What a flag does in this build.
enum class Standing {
  kWorks,
  kNoEffect,  // accepted: it tunes something that Quorate does not have, so nothing is lost
  kNotBuilt,  // refused unless it keeps its default: to ignore it would be a lie
};

struct Flag {
  std::string_view name;  // without the dashes
  std::string_view group;
  Kind kind;
  std::string_view default_value;
  Standing standing;
  std::string_view help;
};

// All flags, in the order of the help; those of one group follow one another.
std::span<const Flag> all_flags();

// Flags that became feature gates in 3.6 and are still accepted; not in the help.
std::span<const Flag> former_flags();

// Whether etcd has no such flag.
bool is_own_flag(const Flag& flag);

// The flag of that name, or of the name "experimental-..." that it bore before 3.6; null: none.
const Flag* find_flag(std::string_view name);

// The known name that a mistyped one is most like; empty when none is near.
std::string_view nearest_flag(std::string_view typed);

// LISTEN_CLIENT_URLS for listen-client-urls.
std::string variable_name(std::string_view flag);

// Whether `value` can be read as the flag's kind; the error says what to write instead.
Status check_value(const Flag& flag, std::string_view value);

// Go's spellings of a truth value: true, True, TRUE, t, T, 1 and their opposites.
std::optional<bool> parse_bool(std::string_view text);

// Go's text form of a duration, as milliseconds, rounded down.
Result<int64_t> parse_duration_ms(std::string_view text);

}  // namespace quorate::daemon
