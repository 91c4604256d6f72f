// SPDX-License-Identifier: Apache-2.0
// Revisions as mvcc speaks of them: the pair lives in storage, beside the record's key.
#pragma once

#include "storage/record_key.h"

namespace quorate::mvcc {

using storage::Revision;

// The store of a new cluster stands at revision 1; the first change makes 2.
inline constexpr int64_t kFirstRevision = 1;
// The compact revision of a store that was never compacted.
inline constexpr int64_t kNeverCompacted = -1;

}  // namespace quorate::mvcc
