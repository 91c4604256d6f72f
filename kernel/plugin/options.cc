// SPDX-License-Identifier: Apache-2.0
#include "plugin/options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace quorate::plugin {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};
constexpr Unit kByteUnits[] = {{"", 1},
                               {"B", 1},
                               {"KiB", uint64_t{1} << 10},
                               {"MiB", uint64_t{1} << 20},
                               {"GiB", uint64_t{1} << 30},
                               {"TiB", uint64_t{1} << 40}};
constexpr Unit kDurationUnits[] = {
    {"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}};

std::optional<std::string> plain_int(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return std::to_string(number);
}

std::optional<std::string> plain_number(const std::string& text, std::span<const Unit> units) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view name(stop, static_cast<size_t>(end - stop));
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const Unit& candidate) { return candidate.name == name; });
  if (unit == units.end()) return std::nullopt;
  // Signed as well, so that no plugin has to think of it.
  if (number > std::numeric_limits<int64_t>::max() / unit->factor) return std::nullopt;
  return std::to_string(number * unit->factor);
}

std::optional<std::string> plain_value(uint32_t type, const std::string& text) {
  switch (type) {
    case QUORATE_OPTION_INT: return plain_int(text);
    case QUORATE_OPTION_BOOL:
      return text == "true" || text == "false" ? std::optional(text) : std::nullopt;
    case QUORATE_OPTION_BYTES: return plain_number(text, kByteUnits);
    case QUORATE_OPTION_DURATION_MS: return plain_number(text, kDurationUnits);
    case QUORATE_OPTION_PATH: return text.empty() ? std::nullopt : std::optional(text);
    default: return text;
  }
}

// The type's name, and what a value of it looks like.
std::pair<std::string_view, std::string_view> type_words(uint32_t type) {
  switch (type) {
    case QUORATE_OPTION_INT: return {"int", "a whole number, as 4"};
    case QUORATE_OPTION_BOOL: return {"bool", "true or false"};
    case QUORATE_OPTION_BYTES: return {"bytes", "a size, as 64MiB (B, KiB, MiB, GiB, TiB)"};
    case QUORATE_OPTION_DURATION_MS: return {"duration", "a duration, as 100ms (ms, s, m, h)"};
    case QUORATE_OPTION_PATH: return {"path", "a path"};
    default: return {"text", "text"};
  }
}

const quorate_option_spec* find_spec(OptionSpecs specs, std::string_view key) {
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const quorate_option_spec& spec) { return key == spec.key; });
  return found == specs.end() ? nullptr : &*found;
}

bool is_given(const Options& given, std::string_view key) {
  return std::any_of(given.begin(), given.end(),
                     [&](const Option& option) { return option.key == key; });
}

std::string describe(const quorate_option_spec& spec) {
  std::string text(spec.key);
  text.append(" (").append(type_words(spec.type).first);
  if (spec.flags & QUORATE_OPTION_REQUIRED) text += ", required";
  if (spec.default_value) text.append(", default ").append(spec.default_value);
  text += ")";
  if (spec.help && *spec.help) text.append(": ").append(spec.help);
  return text;
}

Status refusal(std::string_view who, std::string reason) {
  return Status(Code::kInvalidArgument, std::string(who) + ": " + std::move(reason));
}

Status unknown_option(std::string_view who, OptionSpecs specs, const std::string& key) {
  if (specs.empty()) return refusal(who, "unknown option \"" + key + "\": it takes no options");
  return refusal(who,
                 "unknown option \"" + key + "\"; its options are:\n" + describe_options(specs));
}

}  // namespace

Result<Options> check_options(std::string_view who, OptionSpecs specs, const Options& given) {
  Options checked;
  for (const Option& option : given) {
    const quorate_option_spec* const spec = find_spec(specs, option.key);
    if (!spec) return unknown_option(who, specs, option.key);
    if (is_given(checked, option.key))
      return refusal(who, "option \"" + option.key + "\" is given twice");
    std::optional<std::string> plain = plain_value(spec->type, option.value);
    if (!plain) {
      const bool secret = (spec->flags & QUORATE_OPTION_SECRET) != 0;
      return refusal(who, "option \"" + option.key + "\" cannot be " +
                              (secret ? "what was given" : "\"" + option.value + "\"") +
                              ": write " + std::string(type_words(spec->type).second));
    }
    checked.push_back({option.key, std::move(*plain)});
  }
  for (const quorate_option_spec& spec : specs)
    if ((spec.flags & QUORATE_OPTION_REQUIRED) && !is_given(checked, spec.key))
      return refusal(who, "a required option is missing: " + describe(spec));
  return checked;
}

std::string describe_options(OptionSpecs specs) {
  std::string text;
  for (const quorate_option_spec& spec : specs) {
    if (!text.empty()) text += "\n";
    text += "  " + describe(spec);
  }
  return text;
}

}  // namespace quorate::plugin
