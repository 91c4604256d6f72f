// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <spdlog/fmt/fmt.h>
#include <boost/program_options.hpp>

#include "daemon/flags.h"
#include "daemon/url.h"
#include "server/version.h"

namespace quorate::daemon {
namespace {

namespace po = boost::program_options;
using Values = std::vector<std::string>;

constexpr uint64_t kElectionMsMax = 50'000;
constexpr uint64_t kRequestBytesWarn = 10 << 20;
constexpr uint64_t kRequestBytesMax = 100 << 20;
constexpr int64_t kProgressMsMin = 100;
constexpr int64_t kQuotaBytesWarn = int64_t{8} << 30;
constexpr const char* kStray = "stray";  // an argument that belongs to no flag

template <typename... Args>
Status refused(fmt::format_string<Args...> format, Args&&... args) {
  return Status(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}

// What was given, by the flag's present name. The last of several wins, as in etcd; a flag that may
// be repeated keeps them all.
class Given {
 public:
  // source: as a person would name it, "--name" or "the variable ETCD_NAME".
  Status add(const Flag& flag, const std::string& source, const std::string& value) {
    if (flag.kind != Kind::kText && flag.kind != Kind::kUrls) {
      QUORATE_TRY(check_value(flag, value));
    }
    Setting& setting = settings_[std::string(flag.name)];
    if (setting.source.empty()) setting.source = source;
    if (setting.source != source) {
      return refused("{} and {} set the same thing; remove one of them", setting.source, source);
    }
    setting.values.push_back(value);
    return Status();
  }

  bool has(std::string_view name) const { return settings_.count(std::string(name)) > 0; }

  // The value given, or else the default.
  std::string text(std::string_view name) const {
    const auto found = settings_.find(std::string(name));
    return found != settings_.end() ? found->second.values.back()
                                    : std::string(find_flag(name)->default_value);
  }
  Values all(std::string_view name) const {
    const auto found = settings_.find(std::string(name));
    return found != settings_.end() ? found->second.values : Values{};
  }
  bool flag(std::string_view name) const { return *parse_bool(text(name)); }
  template <typename Number>
  Number number(std::string_view name) const {
    const std::string value = text(name);
    Number result{};
    std::from_chars(value.data(), value.data() + value.size(), result);
    return result;
  }
  int64_t duration_ms(std::string_view name) const { return *parse_duration_ms(text(name)); }
  // Whether the flag was given with another meaning than its default's.
  bool departs(const Flag& flag) const {
    if (!has(flag.name)) return false;
    const std::string value = text(flag.name);
    if (flag.kind == Kind::kBool) return parse_bool(value) != parse_bool(flag.default_value);
    return value != flag.default_value && !value.empty();
  }

 private:
  struct Setting {
    std::string source;
    Values values;
  };
  std::map<std::string, Setting, std::less<>> settings_;
};

// Go's reading of the command line, which etcd's users know: one dash is as good as two, a switch
// takes a value only after '=', and any other flag takes the next argument, whatever it looks like.
std::vector<po::option> read_as_go_does(Values& args) {
  po::option option;
  std::string token = args.front();
  args.erase(args.begin());
  option.original_tokens = {token};
  if (token.size() < 2 || token[0] != '-' || token == "--") {
    option.string_key = kStray;
    option.value = {token};
    return {option};
  }
  token.erase(0, token[1] == '-' ? 2 : 1);
  const size_t equals = token.find('=');
  option.string_key = token.substr(0, equals);
  const Flag* flag = find_flag(option.string_key);
  if (equals != std::string::npos) {
    option.value = {token.substr(equals + 1)};
  } else if (flag != nullptr && flag->kind == Kind::kBool) {
    option.value = {"true"};
  } else if (flag != nullptr && !args.empty()) {
    option.value = {args.front()};
    args.erase(args.begin());
  }
  return {option};
}

Status unknown_flag(std::string_view name) {
  const std::string_view nearest = nearest_flag(name);
  if (nearest.empty()) return refused("unknown flag --{}; --help lists the flags", name);
  return refused("unknown flag --{}; did you mean --{}?", name, nearest);
}

Status stray_argument(std::string_view argument) {
  if (parse_bool(argument)) {
    return refused("'{}' stands alone; a switch takes its value after '=', as in --pre-vote={}",
                   argument, argument);
  }
  return refused("'{}' is not a flag; settings are written --name=value", argument);
}

// Reads the command line into `given`; tells whether help or the version was asked for.
Result<Action> read_command_line(std::span<const std::string> args, Given& given) {
  po::options_description none;
  const auto parsed = po::command_line_parser(Values(args.begin(), args.end()))
                          .options(none)
                          .extra_style_parser(read_as_go_does)
                          .allow_unregistered()
                          .run();
  for (const po::option& option : parsed.options) {
    const std::string& name = option.string_key;
    if (name == kStray) return stray_argument(option.value.front());
    if (name == "help" || name == "h") return Action::kPrintHelp;
    if (name == "version") return Action::kPrintVersion;
    const Flag* flag = find_flag(name);
    if (flag == nullptr) return unknown_flag(name);
    if (option.value.empty()) return refused("--{} needs a value; write --{}=...", name, name);
    QUORATE_TRY(given.add(*flag, "--" + name, option.value.front()));
  }
  return Action::kServe;
}

// The flag that a variable sets; null for none. A flag of our own has no ETCD_ form.
const Flag* flag_of_variable(std::string_view prefix, std::string_view name) {
  std::string flag_name(name);
  for (char& c : flag_name)
    c = c == '_' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  const Flag* flag = find_flag(flag_name);
  const bool foreign = flag != nullptr && prefix == "ETCD_" && is_own_flag(*flag);
  return foreign ? nullptr : flag;
}

Status read_environment(std::span<const std::string> environment, Given& given,
                        std::vector<std::string>& warnings) {
  for (const std::string& entry : environment) {
    for (const std::string_view prefix : {"QUORATE_", "ETCD_"}) {
      const size_t equals = entry.find('=');
      if (!entry.starts_with(prefix) || equals == std::string::npos) continue;
      const std::string variable = entry.substr(0, equals);
      const std::string value = entry.substr(equals + 1);
      if (value.empty()) continue;
      const Flag* flag = flag_of_variable(prefix, variable.substr(prefix.size()));
      if (flag == nullptr) {
        warnings.push_back(fmt::format("the variable {} is not a setting; ignoring it", variable));
        continue;
      }
      QUORATE_TRY(given.add(*flag, "the variable " + variable, value));
    }
  }
  return Status();
}

Status refuse_what_is_not_built(const Given& given) {
  const auto refuse = [&given](const Flag& flag) {
    if (flag.standing != Standing::kNotBuilt || !given.departs(flag)) return Status();
    return refused("--{} is not built yet and must not be ignored; leave it out", flag.name);
  };
  for (const Flag& flag : all_flags()) QUORATE_TRY(refuse(flag));
  for (const Flag& flag : former_flags()) QUORATE_TRY(refuse(flag));
  return Status();
}

Result<std::string> one_of(const Given& given, std::string_view flag,
                           std::initializer_list<std::string_view> choices) {
  const std::string value = given.text(flag);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  return refused("--{}: '{}' is unknown; write one of: {}", flag, value, fmt::join(choices, ", "));
}

Result<std::vector<std::string>> urls_of(const Given& given, std::string_view flag, UrlUse use) {
  auto urls = parse_urls(given.text(flag), use);
  if (urls) return urls;
  return Status(urls.error()).with_context(fmt::format("--{}", flag));
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(separator, begin), list.size());
    if (end > begin) parts.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Status read_addresses(const Given& given, Options& options) {
  if (given.has("listen-client-urls") && !given.has("advertise-client-urls")) {
    return refused(
        "--listen-client-urls needs --advertise-client-urls beside it: the addresses at which "
        "clients reach this member");
  }
  const auto read = [&given](std::string_view flag, UrlUse use, std::vector<std::string>& out) {
    auto urls = urls_of(given, flag, use);
    if (urls) out = std::move(*urls);
    return urls.status();
  };
  QUORATE_TRY(read("listen-client-urls", UrlUse::kListen, options.config.listen_client_urls));
  QUORATE_TRY(read("listen-peer-urls", UrlUse::kListen, options.config.listen_peer_urls));
  QUORATE_TRY(
      read("advertise-client-urls", UrlUse::kAdvertise, options.config.advertise_client_urls));
  QUORATE_TRY(
      read("initial-advertise-peer-urls", UrlUse::kAdvertise, options.config.advertise_peer_urls));
  for (const std::string& url : options.config.listen_client_urls) {
    const auto& peers = options.config.listen_peer_urls;
    if (std::find(peers.begin(), peers.end(), url) != peers.end()) {
      return refused(
          "{} is in --listen-client-urls and in --listen-peer-urls; give one of them "
          "another port",
          url);
    }
  }
  return Status();
}

Status add_initial_member(std::string_view entry, std::vector<server::InitialMember>& cluster) {
  const size_t equals = entry.find('=');
  if (equals == 0 || equals == std::string_view::npos) {
    return refused("--initial-cluster: '{}' is not name=url", entry);
  }
  auto urls = parse_urls(entry.substr(equals + 1), UrlUse::kAdvertise);
  if (!urls) return std::move(urls).error().with_context("--initial-cluster");
  const std::string_view name = entry.substr(0, equals);
  const auto member =
      std::find_if(cluster.begin(), cluster.end(),
                   [&](const server::InitialMember& known) { return known.name == name; });
  if (member == cluster.end()) {
    cluster.push_back({std::string(name), std::move(*urls)});
  } else {
    member->peer_urls.push_back(std::move(urls->front()));
  }
  return Status();
}

Status read_cluster(const Given& given, Options& options) {
  options.config.initial_cluster_token = given.text("initial-cluster-token");
  auto state = one_of(given, "initial-cluster-state", {"new", "existing"});
  if (!state) return state.status();
  options.config.initial_cluster_existing = *state == "existing";
  options.config.strict_reconfig_check = given.flag("strict-reconfig-check");
  options.config.pre_vote = given.flag("pre-vote");
  for (const std::string& entry : split(given.text("initial-cluster"), ',')) {
    QUORATE_TRY(add_initial_member(entry, options.config.initial_cluster));
  }
  if (options.config.initial_cluster.empty()) {
    options.config.initial_cluster.push_back(
        {options.config.name, options.config.advertise_peer_urls});
  }
  return one_of(given, "auto-compaction-mode", {"periodic", "revision"}).status();
}

Status read_timing(const Given& given, Options& options) {
  const auto heartbeat = given.number<uint64_t>("heartbeat-interval");
  const auto election = given.number<uint64_t>("election-timeout");
  if (heartbeat == 0) return refused("--heartbeat-interval must be at least 1");
  if (election > kElectionMsMax) {
    return refused("--election-timeout={} is too long; write {} or less", election, kElectionMsMax);
  }
  if (heartbeat > kElectionMsMax || election < 5 * heartbeat) {
    return refused("--election-timeout={} must be at least five times --heartbeat-interval={}",
                   election, heartbeat);
  }
  options.config.lease_reads = given.flag("lease-reads");
  options.config.heartbeat_ms = heartbeat;
  options.config.election_ms = election - election % heartbeat;
  const auto progress = given.duration_ms("watch-progress-notify-interval");
  if (progress < kProgressMsMin) {
    return refused("--watch-progress-notify-interval must be at least {}ms", kProgressMsMin);
  }
  options.config.progress_interval_ms = static_cast<uint64_t>(progress);
  const auto freeze = given.duration_ms("backend-batch-interval");
  if (freeze < 1) return refused("--backend-batch-interval must be at least 1ms");
  options.config.freeze_interval_ms = static_cast<uint64_t>(freeze);
  return Status();
}

Status read_limits(const Given& given, Options& options) {
  options.config.quota_bytes = given.number<int64_t>("quota-backend-bytes");
  if (options.config.quota_bytes > kQuotaBytesWarn) {
    options.warnings.push_back(
        "--quota-backend-bytes is above 8 GiB; a copy of the store, as a "
        "defragmentation makes, will take long");
  }
  options.config.request_bytes_max = given.number<uint64_t>("max-request-bytes");
  if (options.config.request_bytes_max == 0 ||
      options.config.request_bytes_max > kRequestBytesMax) {
    return refused("--max-request-bytes must be from 1 to {}", kRequestBytesMax);
  }
  if (options.config.request_bytes_max > kRequestBytesWarn) {
    options.warnings.push_back("--max-request-bytes is above 10 MiB; large requests delay others");
  }
  const auto txn_ops = given.number<uint64_t>("max-txn-ops");
  if (txn_ops > UINT32_MAX) return refused("--max-txn-ops must be at most {}", UINT32_MAX);
  options.config.txn_ops_max = static_cast<uint32_t>(txn_ops);
  const auto cost = given.number<uint64_t>("bcrypt-cost");
  if (cost < 4 || cost > 31) return refused("--bcrypt-cost must be from 4 to 31");
  return Status();
}

Status read_plugin_options(const Given& given, std::string_view flag,
                           server::PluginChoice& plugin) {
  for (const std::string& setting : given.all(flag)) {
    const size_t equals = setting.find('=');
    std::string key = setting.substr(0, equals);
    for (const auto& [known, value] : plugin.options) {
      if (known == key) return refused("--{} gives '{}' twice; write it once", flag, key);
    }
    plugin.options.emplace_back(std::move(key), setting.substr(equals + 1));
  }
  return Status();
}

Status read_plugins(const Given& given, Options& options) {
  options.plugin_dir = given.text("plugin-dir");
  options.config.backend.name = given.text("backend");
  if (options.config.backend.name.empty())
    return refused("--backend is empty; write lmdb, rocksdb or memory");
  options.config.transport.name = given.text("transport");
  if (options.config.transport.name.empty()) return refused("--transport is empty; write tcp");
  QUORATE_TRY(read_plugin_options(given, "backend-option", options.config.backend));
  return read_plugin_options(given, "transport-option", options.config.transport);
}

// Gates of what this build does anyway, or what means nothing to it, may be set; the others must
// stay false.
Status read_gates(const Given& given) {
  constexpr std::string_view kHarmless[] = {"CompactHashCheck", "InitialCorruptCheck",
                                            "TxnModeWriteWithSharedBuffer", "FastLeaseKeepAlive"};
  constexpr std::string_view kNotBuiltGates[] = {"LeaseCheckpoint", "LeaseCheckpointPersist",
                                                 "PriorityRequest", "SetMemberLocalAddr",
                                                 "StopGRPCServiceOnDefrag"};
  const auto has = [](const auto& names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  for (const std::string& gate : split(given.text("feature-gates"), ',')) {
    const size_t equals = gate.find('=');
    const std::string name = gate.substr(0, equals);
    const auto on =
        equals == std::string::npos ? std::nullopt : parse_bool(gate.substr(equals + 1));
    if (!on) return refused("--feature-gates: '{}' is not Name=true or Name=false", gate);
    if (has(kHarmless, name)) continue;
    if (!has(kNotBuiltGates, name)) {
      return refused("--feature-gates: '{}' is unknown; known are {}, {}", name,
                     fmt::join(kHarmless, ", "), fmt::join(kNotBuiltGates, ", "));
    }
    if (*on) return refused("--feature-gates: {} is not built yet; leave it out", name);
  }
  return Status();
}

Status read_log(const Given& given, LogOptions& log) {
  auto logger = one_of(given, "logger", {"zap"});
  if (!logger) return logger.status();
  auto level = one_of(given, "log-level", {"debug", "info", "warn", "error", "panic", "fatal"});
  if (!level) return level.status();
  log.level = *level == "debug"  ? LogLevel::kDebug
              : *level == "info" ? LogLevel::kInfo
              : *level == "warn" ? LogLevel::kWarn
                                 : LogLevel::kError;
  auto format = one_of(given, "log-format", {"json", "console"});
  if (!format) return format.status();
  log.json = *format == "json";
  log.outputs = split(given.text("log-outputs"), ',');
  std::replace(log.outputs.begin(), log.outputs.end(), std::string("default"),
               std::string("stderr"));
  if (log.outputs.empty()) return refused("--log-outputs is empty; write stderr, stdout or a file");
  return Status();
}

Status read_all(const Given& given, Options& options) {
  QUORATE_TRY(refuse_what_is_not_built(given));
  options.config.name = given.text("name");
  if (options.config.name.empty()) return refused("--name is empty; give the member a name");
  options.config.data_dir = given.text("data-dir");
  if (options.config.data_dir.empty()) options.config.data_dir = options.config.name + ".etcd";
  options.config.wal_dir = given.text("wal-dir");
  options.config.unsafe_no_fsync = given.flag("unsafe-no-fsync");
  QUORATE_TRY(read_addresses(given, options));
  QUORATE_TRY(read_cluster(given, options));
  QUORATE_TRY(read_timing(given, options));
  QUORATE_TRY(read_limits(given, options));
  QUORATE_TRY(read_plugins(given, options));
  QUORATE_TRY(read_gates(given));
  QUORATE_TRY(read_log(given, options.log));
  for (const Flag& flag : all_flags()) {
    options.config.flags.emplace_back(flag.name, given.text(flag.name));
  }
  return Status();
}

constexpr std::string_view machine() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "unknown";
#endif
}

}  // namespace

Result<Options> parse_options(std::span<const std::string> args,
                              std::span<const std::string> environment) {
  Given given;
  Options options;
  auto action = read_command_line(args, given);
  if (!action) return action.status();
  options.action = *action;
  if (options.action != Action::kServe) return options;
  QUORATE_TRY(read_environment(environment, given, options.warnings));
  QUORATE_TRY(read_all(given, options));
  return options;
}

std::string help_text() {
  std::string text =
      "Usage: quorated [flags]\n"
      "  Starts a member of a replicated key-value store that etcd clients can use.\n"
      "  A flag is written --name=value. The variable QUORATE_NAME, or ETCD_NAME, means the same;\n"
      "  one setting must not be given in two ways.\n"
      "  --version prints the version, --help this text.\n";
  std::string_view group;
  for (const Flag& flag : all_flags()) {
    if (flag.group != group) text += fmt::format("\n{}:\n", group = flag.group);
    const std::string_view note = flag.standing == Standing::kNotBuilt   ? " [not built yet]"
                                  : flag.standing == Standing::kNoEffect ? " [no effect]"
                                                                         : "";
    text +=
        fmt::format("  --{} '{}'\n      {}{}\n", flag.name, flag.default_value, flag.help, note);
  }
  return text;
}

std::string version_text() {
  return fmt::format("etcd Version: {}\nQuorate Version: {}\nOS/Arch: linux/{}\n",
                     server::kServerVersion, QUORATE_VERSION, machine());
}

}  // namespace quorate::daemon
