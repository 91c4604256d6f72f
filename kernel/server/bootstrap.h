// SPDX-License-Identifier: Apache-2.0
// From a data directory to a member that can start: the first start makes the log, the engine and
// the ids; a later one reads them back and refuses what does not fit together. A first start that
// was cut short at any point is simply begun again: nothing was acknowledged yet.
//
//   <data-dir>/LOCK      held while a process uses the directory
//   <data-dir>/MEMBER    whose directory this is, as text
//   <data-dir>/wal/      the log (or --wal-dir)
//   <data-dir>/backend/  generations of the engine, and CURRENT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "env/env.h"
#include "plugin/backend.h"
#include "raft/raw_node.h"
#include "server/config.h"
#include "server/first_cluster.h"
#include "server/state.h"
#include "storage/generations.h"
#include "wal/wal.h"

namespace quorate::server {

// What MEMBER says.
struct MemberFile {
  uint64_t cluster_id = 0;
  uint64_t member_id = 0;
  std::string token;  // of the cluster
  // Of a joiner: ids and peer URLs of the members when it joined. It finds them there until the log
  // tells where they are.
  std::vector<cluster::Member> peers;
  friend bool operator==(const MemberFile&, const MemberFile&) = default;
};
std::string encode_member_file(const MemberFile& member);
// kCorrupt, naming `path`, when the text is none that encode_member_file wrote.
Result<MemberFile> decode_member_file(Slice text, const std::string& path);

struct Bootstrapped {
  std::unique_ptr<FileLock> lock;
  MemberFile member;
  bool is_new = false;
  // While the store knows no member: those that are known otherwise.
  std::vector<cluster::Member> peers;
  std::unique_ptr<wal::Wal> wal;
  raft::InitialState raft;
  storage::OpenedEngine engine;
  std::unique_ptr<LoadedState> state;
};

// How an engine of this member is opened, for every generation.
// backend: outlives the engines.
storage::OpenOptions store_options(const Config& config, const plugin::BackendFactory& backend,
                                   const plugin::HostServices& host, const Logger& logger);

// Every error is a sentence for the operator that names the directory: kBusy (another process has
// it), kInvalidArgument (a directory of etcd's, of another cluster or engine, of a member that was
// removed; an --initial-cluster that does not fit), kUnavailable (a joiner reaches nobody),
// kCorrupt, kIoError.
// backend: outlives what is returned. fetch: called on a first start only; null: nobody is asked.
Result<Bootstrapped> bootstrap(Env& env, const Config& config,
                               const plugin::BackendFactory& backend,
                               const plugin::HostServices& host, const FetchCluster& fetch,
                               const Logger& logger);

}  // namespace quorate::server
