// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <catch2/catch.hpp>

#include <set>

#include "daemon/flags.h"

namespace quorate::daemon {
namespace {

using Words = std::vector<std::string>;

Result<Options> parse(const Words& args, const Words& environment = {}) {
  return parse_options(args, environment);
}
Options accepted(const Words& args, const Words& environment = {}) {
  auto options = parse(args, environment);
  INFO(options.status().to_string());
  REQUIRE(options.has_value());
  return *std::move(options);
}
std::string refusal(const Words& args, const Words& environment = {}) {
  const auto options = parse(args, environment);
  return options ? "accepted" : std::string(options.error().message());
}
std::string effective(const Options& options, std::string_view flag) {
  for (const auto& [name, value] : options.config.flags) {
    if (name == flag) return value;
  }
  return "no such flag";
}

TEST_CASE("without flags a member has etcd's defaults and LMDB", "[options]") {
  const Options options = accepted({});
  CHECK(options.config.name == "default");
  CHECK(options.config.data_dir == "default.etcd");
  CHECK(options.config.backend.name == "lmdb");
  CHECK(options.config.listen_client_urls == Words{"http://localhost:2379"});
  CHECK(options.config.advertise_client_urls == Words{"http://localhost:2379"});
  REQUIRE(options.config.initial_cluster.size() == 1);
  CHECK(options.config.initial_cluster[0].name == "default");
  CHECK(options.config.initial_cluster[0].peer_urls == Words{"http://localhost:2380"});
  CHECK(options.config.heartbeat_ms == 100);
  CHECK(options.config.election_ms == 1000);
  CHECK_FALSE(options.config.lease_reads);
  CHECK(options.config.transport.name == "tcp");
  CHECK(options.config.listen_peer_urls == Words{"http://localhost:2380"});
  CHECK_FALSE(options.config.initial_cluster_existing);
  CHECK(options.config.strict_reconfig_check);
  CHECK(options.config.request_bytes_max == 1572864);
  CHECK(options.config.txn_ops_max == 128);
  CHECK(options.config.freeze_interval_ms == 100);
  CHECK(options.config.progress_interval_ms == 600'000);
  CHECK(options.warnings.empty());
}

TEST_CASE("a flag is read as Go reads it", "[options]") {
  CHECK(accepted({"--name=a"}).config.name == "a");
  CHECK(accepted({"--name", "a"}).config.name == "a");
  CHECK(accepted({"-name", "a"}).config.name == "a");
  CHECK(accepted({"--name", "--b"}).config.name == "--b");
  CHECK(accepted({"--name=a", "--name=b"}).config.name == "b");
  CHECK(accepted({"--quota-backend-bytes", "-1"}).config.quota_bytes == -1);
  CHECK(accepted({"--unsafe-no-fsync", "--name=a"}).config.unsafe_no_fsync);
  CHECK_FALSE(accepted({"--unsafe-no-fsync=F"}).config.unsafe_no_fsync);
  CHECK(accepted({"--watch-progress-notify-interval=1m30.5s"}).config.progress_interval_ms ==
        90'500);
  CHECK(accepted({"--initial-cluster="}).config.initial_cluster.size() == 1);
}

TEST_CASE("a flag's name before 3.6 means the present one", "[options]") {
  CHECK(
      accepted({"--experimental-watch-progress-notify-interval=5s"}).config.progress_interval_ms ==
      5000);
  CHECK(refusal({"--experimental-backend=x"}).starts_with("unknown flag"));
}

TEST_CASE("variables set what flags set, under both prefixes", "[options]") {
  CHECK(accepted({}, {"QUORATE_NAME=a"}).config.name == "a");
  CHECK(accepted({}, {"ETCD_NAME=a"}).config.name == "a");
  CHECK(accepted({}, {"ETCD_NAME="}).config.name == "default");
  CHECK(accepted({}, {"QUORATE_BACKEND=rocksdb"}).config.backend.name == "rocksdb");
  CHECK(accepted({}, {"PATH=/bin", "ETCDCTL_API=3"}).warnings.empty());
  const Options options = accepted({}, {"ETCD_NMAE=a", "ETCD_BACKEND=rocksdb"});
  CHECK(options.warnings == Words{"the variable ETCD_NMAE is not a setting; ignoring it",
                                  "the variable ETCD_BACKEND is not a setting; ignoring it"});
  CHECK(options.config.backend.name == "lmdb");
}

TEST_CASE("engine and plugins are chosen by flags of our own", "[options]") {
  const Options options =
      accepted({"--backend=/opt/x.so", "--backend-option", "a=1", "--backend-option=b=c=d",
                "--transport=/opt/y.so", "--transport-option=a=2", "--plugin-dir=/opt"});
  CHECK(options.config.backend.name == "/opt/x.so");
  CHECK(options.config.backend.options ==
        std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", "c=d"}});
  CHECK(options.config.transport.name == "/opt/y.so");
  CHECK(options.config.transport.options ==
        std::vector<std::pair<std::string, std::string>>{{"a", "2"}});
  CHECK(options.plugin_dir == "/opt");
}

TEST_CASE("what kubeadm passes to a member without TLS is accepted", "[options]") {
  const Options options = accepted(
      {"--name=node", "--data-dir=/var/lib/etcd", "--advertise-client-urls=http://10.0.0.1:2379",
       "--initial-advertise-peer-urls=http://10.0.0.1:2380",
       "--initial-cluster=node=http://10.0.0.1:2380",
       "--listen-client-urls=http://127.0.0.1:2379,http://10.0.0.1:2379",
       "--listen-peer-urls=http://10.0.0.1:2380", "--snapshot-count=10000",
       "--feature-gates=InitialCorruptCheck=true", "--watch-progress-notify-interval=5s",
       "--experimental-initial-corrupt-check=true", "--client-cert-auth=false"});
  CHECK(options.config.listen_client_urls.size() == 2);
  CHECK(effective(options, "snapshot-count") == "10000");
}

TEST_CASE("help and version come before any complaint", "[options]") {
  CHECK(accepted({"--help"}).action == Action::kPrintHelp);
  CHECK(accepted({"-h"}).action == Action::kPrintHelp);
  CHECK(accepted({"--version"}).action == Action::kPrintVersion);
  CHECK(version_text().starts_with("etcd Version: 3.6.14\nQuorate Version: "));
}

TEST_CASE("the help names every flag once, in groups that hold together", "[options]") {
  const std::string help = help_text();
  std::set<std::string_view> names, groups;
  std::string_view group;
  for (const Flag& flag : all_flags()) {
    INFO(flag.name);
    CHECK(names.insert(flag.name).second);
    if (flag.group != group) CHECK(groups.insert(group = flag.group).second);
    CHECK(help.find("  --" + std::string(flag.name) + " '") != std::string::npos);
    CHECK(!flag.help.empty());
  }
}

TEST_CASE("every default is a legal value", "[options]") {
  for (const Flag& flag : all_flags()) {
    if (flag.kind == Kind::kKeyValues) continue;
    INFO(flag.name);
    CHECK(check_value(flag, flag.default_value).ok());
    if (flag.default_value.empty()) continue;
    Words args{"--" + std::string(flag.name) + "=" + std::string(flag.default_value)};
    if (flag.name == "listen-client-urls") args.push_back("--advertise-client-urls=http://a:1");
    CHECK(refusal(args) == "accepted");
  }
}

TEST_CASE("a bad setting is refused with one line that says what to write", "[options]") {
  struct Case {
    Words args;
    std::string sentence;
  };
  const std::string advertise = "--advertise-client-urls=http://h:1";
  const Case cases[] = {
      {{"--lisen-client-urls=x"},
       "unknown flag --lisen-client-urls; did you mean --listen-client-urls?"},
      {{"--bakend", "x"}, "unknown flag --bakend; did you mean --backend?"},
      {{"--entirely-other-thing"}, "unknown flag --entirely-other-thing; --help lists the flags"},
      {{"serve"}, "'serve' is not a flag; settings are written --name=value"},
      {{"--pre-vote", "false"},
       "'false' stands alone; a switch takes its value after '=', as in --pre-vote=false"},
      {{"--"}, "'--' is not a flag; settings are written --name=value"},
      {{"--name"}, "--name needs a value; write --name=..."},
      {{"--name="}, "--name is empty; give the member a name"},
      {{"--pre-vote=maybe"}, "--pre-vote: 'maybe' is not true or false"},
      {{"--max-txn-ops=-1"}, "--max-txn-ops: '-1' is not a whole number"},
      {{"--max-txn-ops=5000000000"}, "--max-txn-ops must be at most 4294967295"},
      {{"--max-request-bytes=0"}, "--max-request-bytes must be from 1 to 104857600"},
      {{"--quota-backend-bytes=2G"}, "--quota-backend-bytes: '2G' is not a whole number"},
      {{"--backend-batch-interval=5"},
       "--backend-batch-interval: '5' is not a duration; write 100ms, 5s or 1h30m"},
      {{"--backend-batch-interval=0"}, "--backend-batch-interval must be at least 1ms"},
      {{"--watch-progress-notify-interval=99ms"},
       "--watch-progress-notify-interval must be at least 100ms"},
      {{"--heartbeat-interval=0"}, "--heartbeat-interval must be at least 1"},
      {{"--heartbeat-interval=201"},
       "--election-timeout=1000 must be at least five times --heartbeat-interval=201"},
      {{"--heartbeat-interval=18446744073709551615"},
       "--election-timeout=1000 must be at least five times "
       "--heartbeat-interval=18446744073709551615"},
      {{"--election-timeout=50001"}, "--election-timeout=50001 is too long; write 50000 or less"},
      {{"--listen-client-urls=http://127.0.0.1:1"},
       "--listen-client-urls needs --advertise-client-urls beside it: the addresses at which "
       "clients reach this member"},
      {{"--listen-client-urls=http://example.com:1", advertise},
       "--listen-client-urls: 'http://example.com:1' names a host by DNS; to listen, write its IP "
       "address or localhost"},
      {{"--listen-client-urls=https://127.0.0.1:1", advertise},
       "--listen-client-urls: 'https://127.0.0.1:1' asks for TLS, which is not built yet; write "
       "http://host:port"},
      {{"--listen-client-urls=http://127.0.0.1:1,", advertise},
       "--listen-client-urls: '' has no scheme; write http://host:port"},
      {{"--listen-client-urls=http://localhost:2380", advertise},
       "http://localhost:2380 is in --listen-client-urls and in --listen-peer-urls; give one of "
       "them another port"},
      {{"--advertise-client-urls=10.0.0.1:1"},
       "--advertise-client-urls: '10.0.0.1:1' has no scheme; write http://host:port"},
      {{"--advertise-client-urls=http://h"},
       "--advertise-client-urls: 'http://h' needs a port; write http://host:port"},
      {{"--advertise-client-urls=http://h:99999"},
       "--advertise-client-urls: 'http://h:99999' needs a port; write http://host:port"},
      {{"--advertise-client-urls=http://h:1/x"},
       "--advertise-client-urls: 'http://h:1/x' has a path; write http://host:port alone"},
      {{"--advertise-client-urls=http://::1:1"},
       "--advertise-client-urls: 'http://::1:1' needs brackets around its IPv6 address; write "
       "http://[::1]:2379"},
      {{"--advertise-client-urls=http://:1"},
       "--advertise-client-urls: 'http://:1' names no host; write 0.0.0.0 for every address"},
      {{"--advertise-client-urls=ftp://h:1"},
       "--advertise-client-urls: 'ftp://h:1' has an unknown scheme; write http:// or unix://"},
      {{"--initial-cluster=a"}, "--initial-cluster: 'a' is not name=url"},
      {{"--initial-cluster=a=b"}, "--initial-cluster: 'b' has no scheme; write http://host:port"},
      {{"--initial-cluster-state=old"},
       "--initial-cluster-state: 'old' is unknown; write one of: new, existing"},
      {{"--backend="}, "--backend is empty; write lmdb, rocksdb or memory"},
      {{"--backend-option=x"}, "--backend-option: 'x' is not key=value"},
      {{"--backend-option=x=1", "--backend-option=x=2"},
       "--backend-option gives 'x' twice; write it once"},
      {{"--transport="}, "--transport is empty; write tcp"},
      {{"--transport-option=x=1", "--transport-option=x=2"},
       "--transport-option gives 'x' twice; write it once"},
      {{"--log-level=loud"},
       "--log-level: 'loud' is unknown; write one of: debug, info, warn, error, panic, fatal"},
      {{"--log-format=xml"}, "--log-format: 'xml' is unknown; write one of: json, console"},
      {{"--log-outputs="}, "--log-outputs is empty; write stderr, stdout or a file"},
      {{"--logger=capnslog"}, "--logger: 'capnslog' is unknown; write one of: zap"},
      {{"--bcrypt-cost=3"}, "--bcrypt-cost must be from 4 to 31"},
      {{"--feature-gates=Nothing=true"},
       "--feature-gates: 'Nothing' is unknown; known are CompactHashCheck, InitialCorruptCheck, "
       "TxnModeWriteWithSharedBuffer, FastLeaseKeepAlive, LeaseCheckpoint, "
       "LeaseCheckpointPersist, PriorityRequest, SetMemberLocalAddr, StopGRPCServiceOnDefrag"},
      {{"--feature-gates=LeaseCheckpoint"},
       "--feature-gates: 'LeaseCheckpoint' is not Name=true or Name=false"},
      {{"--feature-gates=LeaseCheckpoint=true"},
       "--feature-gates: LeaseCheckpoint is not built yet; leave it out"},
      {{"--experimental-enable-lease-checkpoint"},
       "--experimental-enable-lease-checkpoint is not built yet and must not be ignored; leave it "
       "out"},
      {{"--name=a", "--experimental-max-learners=2", "--max-learners=2"},
       "--experimental-max-learners and --max-learners set the same thing; remove one of them"},
  };
  for (const Case& bad : cases) {
    INFO(bad.args.front());
    CHECK(refusal(bad.args) == bad.sentence);
    CHECK(bad.sentence.find('\n') == std::string::npos);
  }
}

TEST_CASE("one setting given in two ways is refused", "[options]") {
  CHECK(refusal({"--name=a"}, {"ETCD_NAME=a"}) ==
        "--name and the variable ETCD_NAME set the same thing; remove one of them");
  CHECK(refusal({}, {"ETCD_NAME=a", "QUORATE_NAME=a"}) ==
        "the variable ETCD_NAME and the variable QUORATE_NAME set the same thing; remove one of "
        "them");
}

TEST_CASE("what is not built is refused rather than ignored", "[options]") {
  for (const std::string flag :
       {"cert-file=x", "trusted-ca-file=x", "client-cert-auth", "peer-auto-tls", "auth-token=jwt",
        "discovery=http://x:1", "discovery-srv=x", "auto-compaction-retention=1h",
        "listen-metrics-urls=http://127.0.0.1:1", "metrics=extensive", "force-new-cluster",
        "config-file=x", "cors=http://x", "host-whitelist=x"}) {
    const std::string name = flag.substr(0, flag.find('='));
    CHECK(refusal({"--" + flag}) ==
          "--" + name + " is not built yet and must not be ignored; leave it out");
  }
  CHECK(refusal({}, {"ETCD_CERT_FILE=x"}).starts_with("--cert-file is not built yet"));
  CHECK(refusal({"--client-cert-auth=0", "--cert-file="}) == "accepted");
}

TEST_CASE("the initial cluster lists members by name, each with all its addresses", "[options]") {
  const Options options =
      accepted({"--name=a", "--initial-cluster-state=existing", "--strict-reconfig-check=false",
                "--pre-vote=false", "--initial-cluster=a=http://h:1,b=http://h:2,a=http://h:3",
                "--initial-cluster-token=t"});
  const auto& cluster = options.config.initial_cluster;
  REQUIRE(cluster.size() == 2);
  CHECK(cluster[0].name == "a");
  CHECK(cluster[0].peer_urls == Words{"http://h:1", "http://h:3"});
  CHECK(cluster[1].name == "b");
  CHECK(cluster[1].peer_urls == Words{"http://h:2"});
  CHECK(options.config.initial_cluster_token == "t");
  CHECK(options.config.initial_cluster_existing);
  CHECK_FALSE(options.config.strict_reconfig_check);
  CHECK_FALSE(options.config.pre_vote);
  CHECK(accepted({}).config.pre_vote);
}

TEST_CASE("what is accepted and yet deserves a look becomes a warning", "[options]") {
  CHECK(accepted({"--quota-backend-bytes=8589934593"}).warnings.size() == 1);
  CHECK(accepted({"--max-request-bytes=10485761"}).warnings.size() == 1);
  CHECK(accepted({"--max-request-bytes=10485760"}).warnings.empty());
}

TEST_CASE("the log is told level, form and places", "[options]") {
  const LogOptions log =
      accepted({"--log-level=warn", "--log-format=console", "--log-outputs=default,/x"}).log;
  CHECK(log.level == LogLevel::kWarn);
  CHECK_FALSE(log.json);
  CHECK(log.outputs == Words{"stderr", "/x"});
}

TEST_CASE("an election timeout is rounded down to whole heartbeats", "[options]") {
  CHECK(accepted({"--heartbeat-interval=30", "--election-timeout=200"}).config.election_ms == 180);
}

TEST_CASE("reads trust clocks only when that is asked for", "[options]") {
  CHECK(accepted({"--lease-reads=true"}).config.lease_reads);
  CHECK_FALSE(accepted({"--lease-reads=false"}).config.lease_reads);
}

TEST_CASE("durations are Go's", "[options]") {
  CHECK(*parse_duration_ms("0") == 0);
  CHECK(*parse_duration_ms("1h2m3s4ms5us6ns") == 3723004);
  CHECK(*parse_duration_ms("1.5h") == 5'400'000);
  for (const char* bad : {"", "1", "s", "1x", "-1s", "1s ", "9999999999999h"}) {
    INFO(bad);
    CHECK_FALSE(parse_duration_ms(bad).has_value());
  }
}

}  // namespace
}  // namespace quorate::daemon
