// SPDX-License-Identifier: Apache-2.0
#include "daemon/flags.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>
#include <vector>

namespace quorate::daemon {
namespace {

constexpr std::string_view kMember = "Member";
constexpr std::string_view kEngine = "Engine and plugins";
constexpr std::string_view kClustering = "Clustering";
constexpr std::string_view kSecurity = "Security";
constexpr std::string_view kAuth = "Auth";
constexpr std::string_view kMonitoring = "Profiling and monitoring";
constexpr std::string_view kLogging = "Logging";
constexpr std::string_view kTuning = "Tuning and checks";
constexpr std::string_view kUnsafe = "Unsafe";

using enum Kind;
using enum Standing;

constexpr Flag kFlags[] = {
    {"name", kMember, kText, "default", kWorks, "Human-readable name of this member."},
    {"data-dir", kMember, kText, "", kWorks,
     "Directory of the member's data; ${name}.etcd when empty."},
    {"wal-dir", kMember, kText, "", kWorks, "Directory of the log, when it is to lie elsewhere."},
    {"config-file", kMember, kText, "", kNotBuilt, "Read the settings from a YAML file instead."},
    {"listen-client-urls", kMember, kUrls, "http://localhost:2379", kWorks,
     "Addresses to serve clients on: an IP or localhost."},
    {"listen-peer-urls", kMember, kUrls, "http://localhost:2380", kWorks,
     "Addresses to serve the other members on: an IP or localhost."},
    {"listen-client-http-urls", kMember, kUrls, "", kNotBuilt,
     "Addresses for HTTP alone, apart from gRPC."},
    {"heartbeat-interval", kMember, kCount, "100", kWorks,
     "Milliseconds between a leader's heartbeats."},
    {"election-timeout", kMember, kCount, "1000", kWorks,
     "Milliseconds without a leader before an election; five heartbeats at least, 50000 at most."},
    {"lease-reads", kMember, kBool, "false", kWorks,
     "Answer reads without asking the others. Stale when a member's clock stops (suspended host, "
     "moved virtual machine) or runs faster than another's by more than an eighth."},
    {"initial-election-tick-advance", kMember, kBool, "true", kNoEffect,
     "Shorten the first wait for an election."},
    {"quota-backend-bytes", kMember, kSigned, "0", kWorks,
     "Size at which writes stop; 0: 2 GiB, negative: none."},
    {"max-txn-ops", kMember, kCount, "128", kWorks, "Most operations in one transaction."},
    {"max-request-bytes", kMember, kCount, "1572864", kWorks,
     "Largest request accepted from a client."},
    {"max-concurrent-streams", kMember, kCount, "4294967295", kWorks,
     "Most calls a connection may have open."},
    {"grpc-keepalive-min-time", kMember, kDuration, "5s", kWorks,
     "Shortest pause a client must keep between pings."},
    {"grpc-keepalive-interval", kMember, kDuration, "2h", kWorks,
     "How often an idle connection is pinged; 0: never."},
    {"grpc-keepalive-timeout", kMember, kDuration, "20s", kWorks,
     "How long a ping may stay unanswered."},
    {"socket-reuse-port", kMember, kBool, "false", kNotBuilt, "Set SO_REUSEPORT on listeners."},
    {"socket-reuse-address", kMember, kBool, "false", kNoEffect,
     "Set SO_REUSEADDR on listeners; always done."},
    {"raft-read-timeout", kMember, kDuration, "5s", kNoEffect,
     "Read timeout of a peer connection."},
    {"raft-write-timeout", kMember, kDuration, "5s", kNoEffect,
     "Write timeout of a peer connection."},
    {"enable-grpc-gateway", kMember, kBool, "true", kNoEffect,
     "Serve the JSON gateway; not built yet, so its paths answer 404."},

    {"backend", kEngine, kText, "lmdb", kWorks,
     "Storage engine: lmdb, rocksdb, memory, or the path of a plugin."},
    {"backend-option", kEngine, kKeyValues, "", kWorks,
     "A setting of the engine, as key=value; may be repeated."},
    {"transport", kEngine, kText, "tcp", kWorks, "How members talk: tcp, or the path of a plugin."},
    {"transport-option", kEngine, kKeyValues, "", kWorks,
     "A setting of the transport, as key=value; may be repeated."},
    {"plugin-dir", kEngine, kText, "", kWorks,
     "Where plugins are found by name; beside the program when empty."},

    {"initial-advertise-peer-urls", kClustering, kUrls, "http://localhost:2380", kWorks,
     "This member's peer addresses, as the others reach them."},
    {"advertise-client-urls", kClustering, kUrls, "http://localhost:2379", kWorks,
     "This member's client addresses, as clients reach them."},
    {"initial-cluster", kClustering, kText, "", kWorks,
     "First start: all members as name=url,name=url; this member alone when empty."},
    {"initial-cluster-state", kClustering, kText, "new", kWorks,
     "First start: new, or existing to join a cluster that this member was added to."},
    {"initial-cluster-token", kClustering, kText, "etcd-cluster", kWorks,
     "First start: enters the ids, to keep clusters apart."},
    {"discovery", kClustering, kText, "", kNotBuilt, "Bootstrap through a discovery service."},
    {"discovery-srv", kClustering, kText, "", kNotBuilt, "Bootstrap through DNS SRV records."},
    {"discovery-srv-name", kClustering, kText, "", kNotBuilt, "Suffix of the SRV name."},
    {"discovery-fallback", kClustering, kText, "exit", kNoEffect,
     "What to do when discovery fails."},
    {"discovery-proxy", kClustering, kText, "", kNotBuilt,
     "HTTP proxy towards the discovery service."},
    {"discovery-token", kClustering, kText, "", kNotBuilt, "Token of the cluster to discover."},
    {"discovery-endpoints", kClustering, kText, "", kNotBuilt,
     "Endpoints of the discovery service."},
    {"strict-reconfig-check", kClustering, kBool, "true", kWorks,
     "Refuse membership changes that would lose the quorum."},
    {"pre-vote", kClustering, kBool, "true", kWorks, "Ask for votes before raising the term."},
    {"max-learners", kClustering, kCount, "1", kNoEffect, "Most learners at a time."},
    {"auto-compaction-retention", kClustering, kText, "0", kNotBuilt,
     "History to keep; 0: never compact by itself."},
    {"auto-compaction-mode", kClustering, kText, "periodic", kWorks, "periodic or revision."},

    {"cert-file", kSecurity, kText, "", kNotBuilt, "Certificate shown to clients."},
    {"key-file", kSecurity, kText, "", kNotBuilt, "Key of the certificate shown to clients."},
    {"client-cert-auth", kSecurity, kBool, "false", kNotBuilt, "Ask clients for a certificate."},
    {"client-crl-file", kSecurity, kText, "", kNotBuilt, "Client certificates that are revoked."},
    {"client-cert-allowed-hostname", kSecurity, kText, "", kNotBuilt,
     "Host name that a client certificate must bear."},
    {"trusted-ca-file", kSecurity, kText, "", kNotBuilt,
     "CA that client certificates must come from."},
    {"auto-tls", kSecurity, kBool, "false", kNotBuilt,
     "TLS for clients with a certificate made at start."},
    {"peer-cert-file", kSecurity, kText, "", kNotBuilt, "Certificate shown to members."},
    {"peer-key-file", kSecurity, kText, "", kNotBuilt, "Key of the certificate shown to members."},
    {"peer-client-cert-auth", kSecurity, kBool, "false", kNotBuilt,
     "Ask members for a certificate."},
    {"peer-crl-file", kSecurity, kText, "", kNotBuilt, "Member certificates that are revoked."},
    {"peer-trusted-ca-file", kSecurity, kText, "", kNotBuilt,
     "CA that member certificates must come from."},
    {"peer-cert-allowed-cn", kSecurity, kText, "", kNotBuilt,
     "Common name that a member certificate must bear."},
    {"peer-cert-allowed-hostname", kSecurity, kText, "", kNotBuilt,
     "Host name that a member certificate must bear."},
    {"peer-auto-tls", kSecurity, kBool, "false", kNotBuilt,
     "TLS between members with certificates made at start."},
    {"peer-skip-client-san-verification", kSecurity, kBool, "false", kNotBuilt,
     "Do not check the names in member certificates."},
    {"client-cert-file", kSecurity, kText, "", kNotBuilt, "Certificate to use as a client."},
    {"client-key-file", kSecurity, kText, "", kNotBuilt,
     "Key of the certificate to use as a client."},
    {"peer-client-cert-file", kSecurity, kText, "", kNotBuilt,
     "Certificate to use towards members."},
    {"peer-client-key-file", kSecurity, kText, "", kNotBuilt,
     "Key of the certificate to use towards members."},
    {"self-signed-cert-validity", kSecurity, kCount, "1", kNoEffect,
     "Years that a certificate made at start is valid."},
    {"cipher-suites", kSecurity, kText, "", kNotBuilt, "TLS cipher suites."},
    {"tls-min-version", kSecurity, kText, "TLS1.2", kNoEffect, "Lowest TLS version."},
    {"tls-max-version", kSecurity, kText, "", kNoEffect, "Highest TLS version."},
    {"cors", kSecurity, kText, "*", kNotBuilt, "Origins allowed to read replies in a browser."},
    {"host-whitelist", kSecurity, kText, "*", kNotBuilt, "Host names that HTTP requests may bear."},

    {"auth-token", kAuth, kText, "simple", kNotBuilt, "Kind of token: simple or jwt,..."},
    {"auth-token-ttl", kAuth, kCount, "300", kNoEffect,
     "Seconds that an unused simple token lives."},
    {"bcrypt-cost", kAuth, kCount, "10", kWorks, "Cost of hashing a password, 4 to 31."},

    {"listen-metrics-urls", kMonitoring, kUrls, "", kNotBuilt,
     "More addresses for metrics and health."},
    {"metrics", kMonitoring, kText, "basic", kNotBuilt,
     "basic, or extensive for latency histograms of each call."},
    {"enable-pprof", kMonitoring, kBool, "false", kNotBuilt,
     "Go's profiler; not a part of Quorate: use perf."},
    {"enable-distributed-tracing", kMonitoring, kBool, "false", kNotBuilt,
     "Send OpenTelemetry traces."},
    {"distributed-tracing-address", kMonitoring, kText, "localhost:4317", kNoEffect,
     "Collector of the traces."},
    {"distributed-tracing-service-name", kMonitoring, kText, "etcd", kNoEffect,
     "Service name in the traces."},
    {"distributed-tracing-instance-id", kMonitoring, kText, "", kNoEffect,
     "Instance in the traces."},
    {"distributed-tracing-sampling-rate", kMonitoring, kCount, "0", kNoEffect,
     "Traces for each million calls."},

    {"logger", kLogging, kText, "zap", kNoEffect, "zap is the one form of etcd's that is left."},
    {"log-level", kLogging, kText, "info", kWorks, "debug, info, warn, error, panic or fatal."},
    {"log-outputs", kLogging, kText, "default", kWorks,
     "Comma list of default (stderr), stderr, stdout, or files."},
    {"log-format", kLogging, kText, "json", kWorks, "json, or console for people."},
    {"enable-log-rotation", kLogging, kBool, "false", kNotBuilt, "Rotate log files by size."},
    {"log-rotation-config-json", kLogging, kText, "", kNoEffect, "How log files are rotated."},
    {"warning-apply-duration", kLogging, kDuration, "100ms", kNoEffect,
     "Log a request that took longer to apply."},
    {"warning-unary-request-duration", kLogging, kDuration, "300ms", kNoEffect,
     "Log a call that took longer."},

    {"snapshot-count", kTuning, kCount, "10000", kNoEffect,
     "Entries between snapshots; Quorate takes them by time and size."},
    {"snapshot-catchup-entries", kTuning, kCount, "5000", kNoEffect,
     "Entries kept for slow followers; Quorate counts bytes."},
    {"max-snapshots", kTuning, kCount, "5", kNoEffect, "Snapshot files kept; Quorate has none."},
    {"max-wals", kTuning, kCount, "5", kNoEffect, "Log files kept; Quorate recycles its own."},
    {"backend-batch-interval", kTuning, kDuration, "100ms", kWorks,
     "Longest time until the engine is written."},
    {"backend-batch-limit", kTuning, kCount, "10000", kNoEffect,
     "Operations in one engine batch; Quorate counts bytes."},
    {"backend-bbolt-freelist-type", kTuning, kText, "map", kNoEffect,
     "Free list of bbolt; not one of our engines."},
    {"memory-mlock", kTuning, kBool, "false", kNotBuilt, "Lock the store in memory."},
    {"watch-progress-notify-interval", kTuning, kDuration, "10m", kWorks,
     "Pause between progress notices of a watch; 100ms at least."},
    {"compaction-batch-limit", kTuning, kCount, "1000", kNoEffect, "Revisions dropped in one go."},
    {"compaction-sleep-interval", kTuning, kDuration, "10ms", kNoEffect,
     "Pause between the batches of a compaction."},
    {"corrupt-check-time", kTuning, kDuration, "0s", kNoEffect,
     "Pause between comparisons of all members; one member has nobody to compare with."},
    {"compact-hash-check-time", kTuning, kDuration, "1m", kNoEffect,
     "Pause between comparisons of compaction hashes."},
    {"downgrade-check-time", kTuning, kDuration, "5s", kNoEffect,
     "Pause between checks of a downgrade."},
    {"bootstrap-defrag-threshold-megabytes", kTuning, kCount, "0", kNotBuilt,
     "Defragment at start when that much would be freed."},
    {"feature-gates", kTuning, kText, "", kWorks, "Name=true or Name=false, as a comma list."},
    {"v2-deprecation", kTuning, kText, "not-yet", kNoEffect,
     "A stage of leaving etcd's v2 store, which Quorate never had."},

    {"force-new-cluster", kUnsafe, kBool, "false", kNotBuilt,
     "Start a one-member cluster from this member's data."},
    {"unsafe-no-fsync", kUnsafe, kBool, "false", kWorks,
     "Never sync: a crash of the machine loses acknowledged writes."},
};

constexpr std::string_view kExperimental = "experimental-";

constexpr Flag kFormer[] = {
    {"experimental-initial-corrupt-check", kTuning, kBool, "false", kNoEffect, ""},
    {"experimental-compact-hash-check-enabled", kTuning, kBool, "false", kNoEffect, ""},
    {"experimental-enable-lease-checkpoint", kTuning, kBool, "false", kNotBuilt, ""},
    {"experimental-enable-lease-checkpoint-persist", kTuning, kBool, "false", kNotBuilt, ""},
    {"experimental-stop-grpc-service-on-defrag", kTuning, kBool, "false", kNotBuilt, ""},
    {"experimental-txn-mode-write-with-shared-buffer", kTuning, kBool, "true", kNoEffect, ""},
    {"experimental-set-member-localaddr", kTuning, kBool, "false", kNotBuilt, ""},
};

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

template <typename Number>
bool is_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Status bad_value(const Flag& flag, std::string_view value, std::string_view instead) {
  return Status(Code::kInvalidArgument,
                fmt::format("--{}: '{}' is not {}", flag.name, value, instead));
}

}  // namespace

std::span<const Flag> all_flags() {
  return kFlags;
}

std::span<const Flag> former_flags() {
  return kFormer;
}

bool is_own_flag(const Flag& flag) {
  return flag.group == kEngine;
}

const Flag* find_flag(std::string_view name) {
  const auto named = [](std::string_view wanted) {
    return [wanted](const Flag& flag) { return flag.name == wanted; };
  };
  const Flag* flag = std::find_if(std::begin(kFlags), std::end(kFlags), named(name));
  if (flag != std::end(kFlags)) return flag;
  flag = std::find_if(std::begin(kFormer), std::end(kFormer), named(name));
  if (flag != std::end(kFormer)) return flag;
  if (!name.starts_with(kExperimental)) return nullptr;
  name.remove_prefix(kExperimental.size());
  flag = std::find_if(std::begin(kFlags), std::end(kFlags), named(name));
  return flag != std::end(kFlags) && !is_own_flag(*flag) ? flag : nullptr;
}

std::string_view nearest_flag(std::string_view typed) {
  std::string_view nearest;
  size_t best = std::max<size_t>(3, typed.size() / 4) + 1;
  for (const Flag& flag : kFlags) {
    const size_t distance = edit_distance(typed, flag.name);
    if (distance < best) {
      best = distance;
      nearest = flag.name;
    }
  }
  return nearest;
}

std::string variable_name(std::string_view flag) {
  std::string name(flag);
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return name;
}

std::optional<bool> parse_bool(std::string_view text) {
  constexpr std::string_view kTrue[] = {"true", "True", "TRUE", "t", "T", "1"};
  constexpr std::string_view kFalse[] = {"false", "False", "FALSE", "f", "F", "0"};
  if (std::find(std::begin(kTrue), std::end(kTrue), text) != std::end(kTrue)) return true;
  if (std::find(std::begin(kFalse), std::end(kFalse), text) != std::end(kFalse)) return false;
  return std::nullopt;
}

Result<int64_t> parse_duration_ms(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1e-6}, {"us", 1e-3}, {"µs", 1e-3}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3},
  };
  const Status malformed(Code::kInvalidArgument,
                         fmt::format("'{}' is not a duration; write 100ms, 5s or 1h30m", text));
  if (text == "0") return 0;
  if (text.empty()) return malformed;
  double total = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || number < 0) return malformed;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const size_t unit_size = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view unit = text.substr(0, unit_size);
    const auto* known = std::find_if(std::begin(kUnits), std::end(kUnits),
                                     [&](const auto& entry) { return entry.first == unit; });
    if (known == std::end(kUnits)) return malformed;
    total += number * known->second;
    text.remove_prefix(unit_size);
  }
  if (!(total < 9e15)) return malformed;
  return static_cast<int64_t>(total);
}

Status check_value(const Flag& flag, std::string_view value) {
  switch (flag.kind) {
    case kBool: return parse_bool(value) ? Status() : bad_value(flag, value, "true or false");
    case kCount:
      return is_number<uint64_t>(value) ? Status() : bad_value(flag, value, "a whole number");
    case kSigned:
      return is_number<int64_t>(value) ? Status() : bad_value(flag, value, "a whole number");
    case kDuration: {
      const auto duration = parse_duration_ms(value);
      if (duration) return Status();
      return Status(duration.error()).with_context(fmt::format("--{}", flag.name));
    }
    case kKeyValues: {
      const size_t equals = value.find('=');
      if (equals != 0 && equals != std::string_view::npos) return Status();
      return bad_value(flag, value, "key=value");
    }
    case kText:
    case kUrls: return Status();
  }
  return Status();
}

}  // namespace quorate::daemon
