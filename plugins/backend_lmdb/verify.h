// SPDX-License-Identifier: Apache-2.0
// Checks an LMDB data file before LMDB sees it. LMDB trusts its file: a damaged page number, offset
// or size makes it read wild memory, and a damaged head makes it fall back to an older commit
// without a word.
#pragma once

#include <string>

namespace quorate::backend_lmdb {

// Databases in the environment: one for each bucket, and one with the single record "commit": the
// number of the transaction that wrote it, in every transaction.
inline constexpr char kBucketPrefix[] = "bucket.";
inline constexpr char kControlDatabase[] = "control";
inline constexpr char kCommitKey[] = "commit";

// What holds after it returned: the two heads are of successive commits, and each names the tree
// that its commit wrote. With `deep`, which reads every page in use once: no page is used twice, or
// used and free; every page, node and overflow chain lies within its bounds; keys increase through
// each tree; the counts in a tree's head are those of its pages and entries; every record matches
// its checksum.
//
// Throws Failure: CORRUPT with the page, or IO_ERROR.
void verify_file(const std::string& path, bool deep);

}  // namespace quorate::backend_lmdb
