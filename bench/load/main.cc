// SPDX-License-Identifier: Apache-2.0
// quorate-load: a closed-loop load of etcd puts or gets, for any server that speaks etcd's gRPC.
// One thread, one epoll; the latency of a call runs from its submission to the end of its stream.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <boost/program_options.hpp>

#include "load/calls.h"
#include "load/connection.h"
#include "load/histogram.h"
#include "load/process_figures.h"

namespace quorate::bench {
namespace {

namespace po = boost::program_options;
constexpr int kPollMs = 10;
constexpr int kPacedPollMs = 1;

struct Settings {
  std::string endpoint = "127.0.0.1:2379";
  CallShape calls;
  uint32_t connections = 1;
  uint32_t outstanding = 1;  // in all
  double warmup_seconds = 1;
  double seconds = 5;
  bool fill = false;
  double rate = 0;  // calls a second at most; 0: as many as come back
  std::string record;
  std::vector<pid_t> server_pids;
  bool json = false;
};

// Of all of them together; nothing when one of them cannot be had, or there is none.
std::optional<ProcessFigures> figures_of(const std::vector<pid_t>& pids) {
  std::optional<ProcessFigures> sum;
  for (const pid_t pid : pids) {
    const std::optional<ProcessFigures> one = process_figures(pid);
    if (!one) return std::nullopt;
    if (!sum) sum.emplace();
    sum->cpu_seconds += one->cpu_seconds;
    sum->written_bytes += one->written_bytes;
    sum->resident_bytes += one->resident_bytes;
  }
  return sum;
}

struct Outcome {
  double seconds = 0;
  Tally tally;
  double client_cpu_seconds = 0;
  std::optional<ProcessFigures> before, after;
};

int connect_to(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error("--endpoint is host:port");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = endpoint.substr(0, colon), port = endpoint.substr(colon + 1);
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    throw std::runtime_error(endpoint + ": " + gai_strerror(error));
  }
  const int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
  const int connected = connect(fd, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  if (connected != 0) throw std::runtime_error(fmt::format("{}: {}", endpoint, strerror(errno)));
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

// The connections of one phase, and the poll that drives them.
class Phase {
 public:
  Phase(const Settings& settings, CallSource* calls, Tally* tally)
      : tally_(tally),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        rate_(settings.rate),
        begin_ns_(now_ns()) {
    const uint32_t count = std::min(settings.connections, settings.outstanding);
    for (uint32_t i = 0; i < count; ++i) {
      const int fd = connect_to(settings.endpoint);
      const int flags = fcntl(fd, F_GETFL);
      fcntl(fd, F_SETFL, flags | O_NONBLOCK);
      connections_.push_back(std::make_unique<Connection>(fd, settings.endpoint, calls, tally));
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = connections_.back().get();
      epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    }
    for (uint32_t i = 0; i < count; ++i) {
      shares_.push_back(settings.outstanding / count + (i < settings.outstanding % count));
    }
    if (rate_ > 0) tally_->calls_max = 0;
    top_up();
  }
  ~Phase() { close(epoll_); }

  // Works until the clock has passed `until_ns`, or until no call is under way.
  void run_until(uint64_t until_ns) {
    epoll_event events[64];
    while (now_ns() < until_ns && (paced() || under_way() > 0)) {
      if (paced()) allow_more();
      const int count =
          epoll_wait(epoll_, events, std::size(events), paced() ? kPacedPollMs : kPollMs);
      for (int i = 0; i < count; ++i) {
        auto& connection = *static_cast<Connection*>(events[i].data.ptr);
        bool alive = true;
        if (events[i].events & EPOLLOUT) alive = connection.flush();
        if (alive && events[i].events & ~EPOLLOUT) alive = connection.on_readable();
        go_on(connection, alive);
      }
      if (tally_->record != nullptr) std::fflush(tally_->record);
    }
  }
  // Sends nothing new and waits for what is under way.
  void drain() {
    tally_->sending = false;
    run_until(now_ns() + 10'000'000'000);
  }

 private:
  bool paced() const { return rate_ > 0 && tally_->sending; }
  // What the rate allows by now. Of the calls that could not go in time, those of the last second
  // are made up for.
  void allow_more() {
    const double allowed = rate_ * static_cast<double>(now_ns() - begin_ns_) / 1e9 - forgone_;
    const auto whole = static_cast<uint64_t>(std::max(allowed, 0.0));
    tally_->calls_max = whole;
    top_up();
    const auto missed = static_cast<double>(whole - std::min(tally_->sent, whole));
    forgone_ += std::max(missed - rate_, 0.0);
  }
  void top_up() {
    for (size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = *connections_[i];
      if (connection.under_way() >= shares_[i]) continue;
      connection.start(shares_[i] - connection.under_way());
      go_on(connection, connection.flush());
    }
  }
  void go_on(Connection& connection, bool alive) {
    if (!alive) throw std::runtime_error("a connection ended: " + connection.error());
    epoll_event event{};
    event.events = EPOLLIN | (connection.wants_write() ? EPOLLOUT : 0u);
    event.data.ptr = &connection;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd(), &event);
  }
  uint64_t under_way() const {
    uint64_t calls = 0;
    for (const auto& connection : connections_) calls += connection->under_way();
    return calls;
  }

  Tally* const tally_;
  const int epoll_;
  const double rate_;
  const uint64_t begin_ns_;
  double forgone_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<uint32_t> shares_;  // of the outstanding calls, by connection
};

// Puts every key once, so that gets find something.
void fill(const Settings& settings) {
  Settings filling = settings;
  filling.calls.kind = CallKind::kPut;
  filling.calls.random_keys = false;
  filling.outstanding = 256;
  filling.connections = 8;
  filling.rate = 0;
  CallSource calls(filling.calls);
  Tally tally;
  tally.calls_max = filling.calls.keys;
  Phase phase(filling, &calls, &tally);
  phase.run_until(UINT64_MAX);
  if (!tally.first_error.empty()) throw std::runtime_error("filling: " + tally.first_error);
}

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

uint64_t after_seconds(double seconds) {
  return now_ns() + static_cast<uint64_t>(seconds * 1e9);
}

Outcome measure(const Settings& settings) {
  CallSource calls(settings.calls);
  Outcome outcome;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> record(
      settings.record.empty() ? nullptr : std::fopen(settings.record.c_str(), "a"), &std::fclose);
  if (!settings.record.empty() && !record) {
    throw std::runtime_error(fmt::format("--record {}: {}", settings.record, strerror(errno)));
  }
  outcome.tally.record = record.get();
  Phase phase(settings, &calls, &outcome.tally);
  phase.run_until(after_seconds(settings.warmup_seconds));

  const uint64_t begin = now_ns();
  const double cpu_before = own_cpu_seconds();
  outcome.before = figures_of(settings.server_pids);
  outcome.tally.counting = true;
  phase.run_until(after_seconds(settings.seconds));
  outcome.tally.counting = false;
  outcome.after = figures_of(settings.server_pids);
  outcome.client_cpu_seconds = own_cpu_seconds() - cpu_before;
  outcome.seconds = static_cast<double>(now_ns() - begin) / 1e9;

  phase.drain();
  return outcome;
}

struct Figure {
  const char* name;
  const char* unit;
  double value;
};

std::vector<Figure> figures(const Outcome& outcome) {
  const Histogram& latency = outcome.tally.latency_ns;
  const auto calls = static_cast<double>(latency.total());
  const auto ms = [&](double percent) {
    return static_cast<double>(latency.percentile(percent)) / 1e6;
  };
  std::vector<Figure> all = {
      {"calls", "", calls},
      {"calls_per_second", "1/s", calls / outcome.seconds},
      {"p50_ms", "ms", ms(50)},
      {"p90_ms", "ms", ms(90)},
      {"p99_ms", "ms", ms(99)},
      {"p999_ms", "ms", ms(99.9)},
      {"max_ms", "ms", static_cast<double>(latency.max()) / 1e6},
      {"failed", "", static_cast<double>(outcome.tally.failed)},
      {"implausible", "", static_cast<double>(outcome.tally.implausible)},
      {"client_cpu_us_per_call", "us", outcome.client_cpu_seconds * 1e6 / calls},
      {"client_cpu_share", "of a core", outcome.client_cpu_seconds / outcome.seconds},
  };
  if (outcome.before && outcome.after && calls > 0) {
    const double cpu = outcome.after->cpu_seconds - outcome.before->cpu_seconds;
    const auto written =
        static_cast<double>(outcome.after->written_bytes - outcome.before->written_bytes);
    all.push_back({"server_cpu_us_per_call", "us", cpu * 1e6 / calls});
    all.push_back({"server_cpu_share", "of a core", cpu / outcome.seconds});
    all.push_back({"server_written_bytes_per_call", "B", written / calls});
    all.push_back({"server_resident_mib", "MiB",
                   static_cast<double>(outcome.after->resident_bytes) / (1 << 20)});
  }
  return all;
}

void print(const Settings& settings, const Outcome& outcome) {
  const char* kind = settings.calls.kind == CallKind::kPut ? "put"
                     : settings.calls.serializable         ? "serializable get"
                                                           : "linearizable get";
  if (settings.json) {
    fmt::print(
        R"({{"call":"{}","outstanding":{},"connections":{},"key_bytes":{},"value_bytes":{},)", kind,
        settings.outstanding, settings.connections, settings.calls.key_bytes,
        settings.calls.value_bytes);
    fmt::print(R"("keys":{},"seconds":{:.3f})", settings.calls.keys, outcome.seconds);
    for (const Figure& figure : figures(outcome)) {
      fmt::print(R"(,"{}":{:.4f})", figure.name, figure.value);
    }
    fmt::print("}}\n");
    return;
  }
  fmt::print("{}, {} outstanding on {} connections, {} keys of {} B, values of {} B, {:.1f} s\n",
             kind, settings.outstanding, settings.connections, settings.calls.keys,
             settings.calls.key_bytes, settings.calls.value_bytes, outcome.seconds);
  for (const Figure& figure : figures(outcome)) {
    fmt::print("  {:<30} {:>14.3f} {}\n", figure.name, figure.value, figure.unit);
  }
  if (!outcome.tally.first_error.empty()) {
    fmt::print("  first error: {}\n", outcome.tally.first_error);
  }
}

// False: there was nothing to do but print the help.
bool parse(int argc, char** argv, Settings& settings) {
  std::string call, order;
  auto& calls = settings.calls;
  po::options_description all("quorate-load: a closed loop of etcd puts or gets");
  auto add = all.add_options();
  add("help", "print this");
  add("endpoint", po::value(&settings.endpoint)->default_value(settings.endpoint), "host:port");
  add("call", po::value(&call)->default_value("put"), "put or range");
  add("serializable", po::bool_switch(&calls.serializable), "gets from the member's own state");
  add("connections", po::value(&settings.connections)->default_value(1), "TCP connections");
  add("outstanding", po::value(&settings.outstanding)->default_value(1), "calls under way in all");
  add("keys", po::value(&calls.keys)->default_value(calls.keys), "different keys, 10^8 at most");
  add("key-bytes", po::value(&calls.key_bytes)->default_value(calls.key_bytes), "8 at least");
  add("value-bytes", po::value(&calls.value_bytes)->default_value(calls.value_bytes), "of a put");
  add("key-prefix", po::value(&calls.key_prefix), "the keys begin so; key-bytes - 8 at most");
  add("rate", po::value(&settings.rate)->default_value(0), "calls a second at most; 0: any");
  add("record", po::value(&settings.record), "append key and revision of each answered put here");
  add("order", po::value(&order)->default_value("random"), "of the keys: random or sequential");
  add("seed", po::value(&calls.seed)->default_value(1), "of random keys");
  add("fill", po::bool_switch(&settings.fill), "put every key once before");
  add("warmup", po::value(&settings.warmup_seconds)->default_value(1), "seconds not measured");
  add("seconds", po::value(&settings.seconds)->default_value(5), "seconds measured");
  add("server-pid", po::value(&settings.server_pids),
      "report its CPU and disk; the sum of several");
  add("json", po::bool_switch(&settings.json), "one JSON object instead of a table");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, all), given);
  po::notify(given);
  if (given.count("help") > 0) {
    std::cout << all;
    return false;
  }
  if (call != "put" && call != "range") throw std::runtime_error("--call is put or range");
  if (order != "random" && order != "sequential") {
    throw std::runtime_error("--order is random or sequential");
  }
  if (calls.key_bytes < 8 || calls.keys == 0 || calls.keys > 100'000'000) {
    throw std::runtime_error("--key-bytes is at least 8, --keys from 1 to 10^8");
  }
  if (calls.key_prefix.size() > calls.key_bytes - 8) {
    throw std::runtime_error("--key-prefix leaves no room for 8 digits in --key-bytes");
  }
  if (!settings.record.empty() && call != "put") {
    throw std::runtime_error("--record is for puts");
  }
  if (settings.connections == 0 || settings.outstanding == 0) {
    throw std::runtime_error("--connections and --outstanding are at least 1");
  }
  calls.kind = call == "put" ? CallKind::kPut : CallKind::kRange;
  calls.random_keys = order == "random";
  return true;
}

}  // namespace
}  // namespace quorate::bench

int main(int argc, char** argv) {
  using namespace quorate::bench;
  try {
    Settings settings;
    if (!parse(argc, argv, settings)) return 0;
    if (settings.fill) fill(settings);
    const Outcome outcome = measure(settings);
    print(settings, outcome);
    return outcome.tally.latency_ns.total() == 0 || outcome.tally.failed > 0 ? 1 : 0;
  } catch (const std::exception& error) {
    std::cerr << "quorate-load: " << error.what() << '\n';
    return 2;
  }
}
