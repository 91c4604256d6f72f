// SPDX-License-Identifier: Apache-2.0
// Reads a plugin's options by the list of specs that it publishes.
//
// Values as text:
//   int       an optional '-', decimal digits
//   bool      true or false
//   bytes     decimal digits, then nothing or B, KiB, MiB, GiB, TiB (powers of 1024)
//   duration  decimal digits, then nothing or ms, s, m, h; nothing means milliseconds
// The host has refused unknown keys and bad values already; what comes past it (another host, a
// test) is refused here with a sentence.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "quorate/plugin.h"
#include "sdk/error.h"

namespace quorate::sdk {

inline std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

inline std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

// Digits and a unit out of `units`; nothing when the unit is none of them or the product does not
// fit.
inline std::optional<uint64_t> parse_with_unit(
    std::string_view text, std::initializer_list<std::pair<std::string_view, uint64_t>> units) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc()) return std::nullopt;
  const std::string_view unit(stop, static_cast<size_t>(end - stop));
  for (const auto& [name, factor] : units) {
    if (unit != name) continue;
    if (number > std::numeric_limits<uint64_t>::max() / factor) return std::nullopt;
    return number * factor;
  }
  return std::nullopt;
}

inline std::optional<uint64_t> parse_bytes(std::string_view text) {
  return parse_with_unit(text, {{"", 1},
                                {"B", 1},
                                {"KiB", uint64_t{1} << 10},
                                {"MiB", uint64_t{1} << 20},
                                {"GiB", uint64_t{1} << 30},
                                {"TiB", uint64_t{1} << 40}});
}

inline std::optional<uint64_t> parse_duration_ms(std::string_view text) {
  return parse_with_unit(
      text, {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}});
}

// A borrowed view of the options given and their specs. Each getter names a key of the specs; a key
// that was not given has its default. Throws Failure(QUORATE_INVALID_ARGUMENT).
class Options {
 public:
  Options(std::span<const quorate_option_spec> specs, const quorate_option* given, uint32_t count)
      : specs_(specs), given_(given, count) {
    for (const quorate_option& option : given_)
      if (find_spec(option.key) == nullptr)
        throw Failure(QUORATE_INVALID_ARGUMENT, unknown_key(option.key));
    for (const quorate_option_spec& spec : specs_)
      if ((spec.flags & QUORATE_OPTION_REQUIRED) != 0 && text(spec.key) == nullptr)
        throw Failure(QUORATE_INVALID_ARGUMENT,
                      "option " + std::string(spec.key) + " is missing; it has no default");
  }

  // The text given, else the default, else null. A key given twice has its last value.
  const char* text(std::string_view key) const {
    for (size_t i = given_.size(); i > 0; --i)
      if (key == given_[i - 1].key) return given_[i - 1].value;
    const quorate_option_spec* spec = find_spec(key);
    return spec == nullptr ? nullptr : spec->default_value;
  }

  int64_t integer(std::string_view key) const {
    return parsed(key, parse_int, "a whole number, for instance 4");
  }
  bool boolean(std::string_view key) const { return parsed(key, parse_bool, "true or false"); }
  uint64_t bytes(std::string_view key) const {
    return parsed(key, parse_bytes, "a size, for instance 64MiB");
  }
  uint64_t duration_ms(std::string_view key) const {
    return parsed(key, parse_duration_ms, "a duration, for instance 100ms or 5s");
  }

 private:
  const quorate_option_spec* find_spec(std::string_view key) const {
    for (const quorate_option_spec& spec : specs_)
      if (key == spec.key) return &spec;
    return nullptr;
  }

  std::string unknown_key(std::string_view key) const {
    std::string message = "unknown option " + std::string(key) + "; ";
    if (specs_.empty()) return message + "this plugin has none";
    message += "write one of:";
    for (const quorate_option_spec& spec : specs_) message += " " + std::string(spec.key);
    return message;
  }

  template <class T>
  T parsed(std::string_view key, std::optional<T> (*parse)(std::string_view),
           const char* expected) const {
    const char* value = text(key);
    const auto result = parse(value == nullptr ? std::string_view() : std::string_view(value));
    if (!result)
      throw Failure(QUORATE_INVALID_ARGUMENT, "option " + std::string(key) + " is '" +
                                                  std::string(value == nullptr ? "" : value) +
                                                  "'; write " + expected);
    return *result;
  }

  std::span<const quorate_option_spec> specs_;
  std::span<const quorate_option> given_;
};

}  // namespace quorate::sdk
