// SPDX-License-Identifier: Apache-2.0
// What the command line and the environment ask for, checked and in types that cannot be wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"

namespace quorate::daemon {

enum class Action { kServe, kPrintHelp, kPrintVersion };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  bool json = true;
  std::vector<std::string> outputs{"stderr"};  // stderr, stdout, or files
};

struct NamedMember {
  std::string name;
  std::vector<std::string> peer_urls;
};

struct Options {
  Action action = Action::kServe;

  std::string name;
  std::string data_dir;
  std::string wal_dir;  // empty: inside data_dir
  std::string backend;
  std::vector<std::pair<std::string, std::string>> backend_options;
  std::string transport;
  std::string plugin_dir;  // empty: beside the program

  std::vector<std::string> listen_client_urls;
  std::vector<std::string> listen_peer_urls;
  std::vector<std::string> advertise_client_urls;
  std::vector<std::string> advertise_peer_urls;
  std::vector<NamedMember> initial_cluster;
  std::string initial_cluster_token;
  bool joins_existing = false;

  uint64_t heartbeat_ms = 0;
  uint64_t election_ms = 0;  // a multiple of heartbeat_ms
  int64_t quota_bytes = 0;   // 0: 2 GiB; negative: none
  uint64_t request_bytes_max = 0;
  uint32_t txn_ops_max = 0;
  uint64_t freeze_interval_ms = 0;
  uint64_t progress_interval_ms = 0;
  bool unsafe_no_fsync = false;

  LogOptions log;
  // Every flag with its effective text, in the order of the help.
  std::vector<std::pair<std::string, std::string>> flags;
  // Sentences for the log: what was accepted and yet deserves a look.
  std::vector<std::string> warnings;
};

// args: the command line without the program's name. environment: "NAME=value" entries; those that
// begin with QUORATE_ or ETCD_ are settings. An error is one line that says what to write instead.
// Touches no file and no network.
Result<Options> parse_options(std::span<const std::string> args,
                              std::span<const std::string> environment);

// What only a first start needs: the member finds itself in the initial cluster, under exactly the
// addresses it advertises, and the build can start such a cluster.
Status check_first_start(const Options& options);

std::string help_text();
std::string version_text();

}  // namespace quorate::daemon
