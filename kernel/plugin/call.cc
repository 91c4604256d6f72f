// SPDX-License-Identifier: Apache-2.0
#include "plugin/call.h"

#include <cstring>
#include <string>

namespace quorate::plugin {

Code to_code(quorate_status status) {
  const Code code = static_cast<Code>(status);
  return code_name(code) == "unknown" ? Code::kInternal : code;
}

Status CallError::status(quorate_status status, std::string_view who, std::string_view what) const {
  if (status == QUORATE_OK) return Status();
  const Code code = to_code(status);
  // A plugin may have filled the room without an end.
  std::string_view said(error_.message, strnlen(error_.message, sizeof(error_.message)));
  if (said.empty()) said = code_name(code);
  std::string text;
  text.append(who).append(": ").append(what).append(": ").append(said);
  if (code == Code::kInternal && status != QUORATE_INTERNAL)
    text.append(" (unknown status ").append(std::to_string(status)).append(")");
  if (error_.native_code != 0)
    text.append(" (native code ").append(std::to_string(error_.native_code)).append(")");
  return Status(code, std::move(text));
}

Status missing_handle(std::string_view who, std::string_view what) {
  std::string text;
  text.append(who).append(": ").append(what).append(": the plugin said OK but gave no handle");
  return Status(Code::kInternal, std::move(text));
}

}  // namespace quorate::plugin
