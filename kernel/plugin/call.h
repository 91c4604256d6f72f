// SPDX-License-Identifier: Apache-2.0
// One call across a C table: room for the plugin's error, and the Status made of it.
#pragma once

#include <string_view>

#include "base/status.h"
#include "quorate/abi.h"

namespace quorate::plugin {

// A code that this build does not know counts as kInternal.
Code to_code(quorate_status status);

// Lives for one call, on the stack.
class CallError {
 public:
  CallError() {
    error_.struct_size = sizeof(error_);
    error_.code = QUORATE_OK;
    error_.native_code = 0;
    error_.message[0] = '\0';
  }
  CallError(const CallError&) = delete;
  CallError& operator=(const CallError&) = delete;

  quorate_error* out() { return &error_; }

  // "lmdb: write: the map is full (native code -30792)". OK when `status` is QUORATE_OK.
  // who: the plugin's short name. what: the call, as a person would say it.
  Status status(quorate_status status, std::string_view who, std::string_view what) const;

 private:
  quorate_error error_;
};

// A plugin's broken promise: OK, and nothing to hold.
Status missing_handle(std::string_view who, std::string_view what);

}  // namespace quorate::plugin
