// SPDX-License-Identifier: Apache-2.0
// A value or the Status that says why there is none. It is spelled as std::expected, so that a
// later standard can replace it by an alias; error() is a Status and never OK.
#pragma once

#include <utility>
#include <variant>

#include "base/check.h"
#include "base/status.h"

namespace quorate {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Status error) : state_(std::in_place_index<1>, std::move(error)) {  // NOLINT: implicit
    QUORATE_CHECK(!std::get<1>(state_).ok(), "a Result without a value needs an error");
  }

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Preconditions: has_value().
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    QUORATE_CHECK(has_value(), "the Result holds an error");
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    QUORATE_CHECK(has_value(), "the Result holds an error");
    return *std::get_if<0>(&state_);
  }
  // Preconditions: !has_value().
  const Status& error() const& {
    QUORATE_CHECK(!has_value(), "the Result holds a value");
    return *std::get_if<1>(&state_);
  }
  Status&& error() && {
    QUORATE_CHECK(!has_value(), "the Result holds a value");
    return std::move(*std::get_if<1>(&state_));
  }
  // OK, or a copy of the error.
  Status status() const { return has_value() ? Status() : error(); }

 private:
  std::variant<T, Status> state_;
};

template <typename T>
bool succeeded(const Result<T>& result) {
  return result.has_value();
}
template <typename T>
Status to_status(Result<T>&& result) {
  return std::move(result).error();
}

}  // namespace quorate
