// SPDX-License-Identifier: Apache-2.0
// What a member is told at start. Plain values: who fills it in (the daemon from flags, a test, the
// simulator) has checked each alone; bootstrap.h checks them against the data directory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace quorate::server {

// A plugin and the options for it, by name ("lmdb") or path ("/opt/x.so").
struct PluginChoice {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
};

struct InitialMember {
  std::string name;
  std::vector<std::string> peer_urls;
};

struct Config {
  std::string name = "default";
  std::string data_dir;  // created 0700 when absent
  std::string wal_dir;   // empty: <data_dir>/wal
  PluginChoice backend{"lmdb", {}};
  std::vector<PluginChoice> frontends{{"etcd", {}}};
  PluginChoice transport{"tcp", {}};

  std::vector<std::string> listen_client_urls;
  std::vector<std::string> advertise_client_urls;
  std::vector<std::string> listen_peer_urls;  // empty: no transport; a member that stays alone
  std::vector<std::string> advertise_peer_urls;
  std::vector<InitialMember> initial_cluster;
  std::string initial_cluster_token = "etcd-cluster";
  bool initial_cluster_existing = false;  // a first start joins instead of founding
  bool strict_reconfig_check = true;      // refuse a change of members that endangers the quorum

  uint64_t heartbeat_ms = 100;  // one raft tick
  uint64_t election_ms = 1000;  // a multiple of it; at least five times
  bool pre_vote = true;         // without: whoever was cut off deposes the leader when it is back
  bool lease_reads = false;     // trusts clocks: what it assumes of them stands in raft::Config
  int64_t quota_bytes = 0;      // 0: 2 GiB; negative: none
  uint64_t request_bytes_max = 1572864;
  uint32_t txn_ops_max = 128;
  uint64_t freeze_interval_ms = 100;  // of the write buffer
  uint64_t progress_interval_ms = 600'000;
  uint64_t state_hash_interval_ms = 1000;  // between two comparisons with the other members
  int reader_threads = 1;
  bool unsafe_no_fsync = false;
  uint64_t wal_segment_bytes = uint64_t{16} << 20;     // of segments made from now on
  uint64_t wal_keep_bytes_max = uint64_t{1} << 30;     // for followers that lag
  uint64_t log_memory_bytes_max = uint64_t{64} << 20;  // of the log, beside the WAL
  // What may wait, and where: bytes of payload unless it says otherwise. One that is larger than
  // its limit passes alone.
  uint64_t append_bytes_max = uint64_t{1} << 20;               // in one message to a peer
  uint64_t inflight_messages_max = 256;                        // to one peer, not acknowledged
  uint64_t inflight_bytes_max = uint64_t{16} << 20;            // the same
  uint64_t append_in_progress_bytes_max = uint64_t{16} << 20;  // on their way to the WAL's disk
  uint64_t uncommitted_bytes_max = uint64_t{64} << 20;         // of a leader
  uint64_t committed_bytes_max = uint64_t{16} << 20;           // handed to apply
  uint64_t proposal_bytes_max = uint64_t{32} << 20;  // for a leader; half of a transport's queue
  uint64_t peer_bytes_max = uint64_t{64} << 20;      // of messages that came from peers, whole
  uint64_t apply_backlog_max = 5000;  // entries behind the commit index; then writes are refused

  // Every setting by its flag's name, as text, for plugins that ask (host.h).
  std::vector<std::pair<std::string, std::string>> flags;
};

// The wait for a request without a deadline of its own: five seconds beside two election timeouts.
inline uint64_t request_timeout_ms(const Config& config) {
  return 5000 + 2 * config.election_ms;
}

// The shortest TTL of a lease, in seconds: one and a half election timeouts, rounded up, so that a
// lease outlives the change of leader that its owner cannot renew it in.
inline uint32_t lease_ttl_min(const Config& config) {
  return static_cast<uint32_t>((3 * config.election_ms + 1999) / 2000);
}

// What the store may take up; 0: anything.
inline uint64_t quota_bytes(const Config& config) {
  constexpr uint64_t kDefault = uint64_t{2} << 30;
  if (config.quota_bytes < 0) return 0;
  return config.quota_bytes == 0 ? kDefault : static_cast<uint64_t>(config.quota_bytes);
}

inline std::string wal_dir(const Config& config) {
  return config.wal_dir.empty() ? config.data_dir + "/wal" : config.wal_dir;
}

// As a member's record holds them.
inline std::vector<std::string> sorted_client_urls(const Config& config) {
  std::vector<std::string> urls = config.advertise_client_urls;
  std::sort(urls.begin(), urls.end());
  return urls;
}

}  // namespace quorate::server
