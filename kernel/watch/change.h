// SPDX-License-Identifier: Apache-2.0
// What apply tells the watch hub: one change of one key.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace quorate::watch {

struct Change {
  int64_t revision = 0;    // main; changes of one revision follow one another, in sub order
  bool is_delete = false;  //
  Slice key;               // borrowed until the end of the apply batch, as is record
  Slice record;            // mvccpb.KeyValue in wire form, as stored; of a delete: the key alone
  bool created = false;    // a put on a key that did not exist: there is no previous pair
};

}  // namespace quorate::watch
