// SPDX-License-Identifier: Apache-2.0
// Options of a plugin: what a person wrote, checked against what the plugin says it takes, and
// spelled plainly before the plugin sees it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "quorate/plugin.h"

namespace quorate::plugin {

struct Option {
  std::string key;
  std::string value;
};
using Options = std::vector<Option>;

// The options one factory of one plugin takes. The specs are the plugin's static memory.
using OptionSpecs = std::span<const quorate_option_spec>;

// The same options in their plain spelling: an int, bytes and a duration as a decimal number
// ("1MiB" becomes "1048576", "2s" becomes "2000"), a bool as "true" or "false". Defaults are not
// filled in. An unknown key, a key given twice, a bad value or a missing required key is
// kInvalidArgument; the sentence names `who`, and for an unknown key the keys there are, each with
// its help. The value of a secret is in no sentence.
Result<Options> check_options(std::string_view who, OptionSpecs specs, const Options& given);

// "map-size (bytes, default 1GiB): how large the store may grow", a line each; empty without specs.
std::string describe_options(OptionSpecs specs);

}  // namespace quorate::plugin
