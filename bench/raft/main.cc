// SPDX-License-Identifier: Apache-2.0
// raft_fsm: how fast the Raft state machine is by itself. One thread plays all members: propose a
// batch, append, acknowledge, commit, apply, the next batch.
#include <sys/resource.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <boost/program_options.hpp>

#include "raft/allocations.h"
#include "raft/memory_group.h"

namespace quorate::bench {
namespace {

namespace po = boost::program_options;

struct Settings {
  uint64_t entries = 3'000'000;
  uint64_t batch = 64;
  uint64_t bytes = 256;
  uint64_t members = 3;
  uint64_t entries_per_second_min = 0;
  bool json = false;
};

struct Outcome {
  uint64_t entries = 0;
  uint64_t batches = 0;
  double cpu_seconds = 0;
  uint64_t payload_allocations = 0;
  uint64_t allocations = 0;  // all others
  double entries_per_second() const { return static_cast<double>(entries) / cpu_seconds; }
  double per_entry() const {
    return static_cast<double>(allocations) / static_cast<double>(entries);
  }
  double per_batch() const {
    return static_cast<double>(allocations) / static_cast<double>(batches);
  }
};

// One thread: its time on a core is the time of the program, whatever else the machine does.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Outcome measure(const Settings& settings) {
  MemoryGroup group(settings.members);
  const std::string text(settings.bytes, 'x');
  std::vector<Bytes> payloads(settings.batch);
  Outcome outcome;
  const auto one_batch = [&] {
    const uint64_t before = allocations();
    for (Bytes& payload : payloads) payload = Bytes::copy(text);
    outcome.payload_allocations += allocations() - before;
    group.propose(payloads);
    group.settle();
  };
  // Until the log has as much in memory as it may: from then on an entry leaves for each that
  // comes.
  const uint64_t warm_up = std::min<uint64_t>(settings.entries / 10, 500'000) / settings.batch;
  for (uint64_t i = 0; i < warm_up; ++i) one_batch();
  outcome = {};
  const raft::Index applied = group.applied();
  const uint64_t allocated = allocations();
  const double begin = cpu_seconds();
  outcome.batches = std::max<uint64_t>(1, settings.entries / settings.batch);
  for (uint64_t i = 0; i < outcome.batches; ++i) one_batch();
  outcome.cpu_seconds = cpu_seconds() - begin;
  outcome.allocations = allocations() - allocated - outcome.payload_allocations;
  outcome.entries = group.applied() - applied;
  if (outcome.entries != outcome.batches * settings.batch)
    throw std::runtime_error(fmt::format("{} entries were proposed and {} applied",
                                         outcome.batches * settings.batch, outcome.entries));
  return outcome;
}

void print_text(const Settings& settings, const Outcome& outcome) {
  std::cout << fmt::format(
      "{} members on one core, batches of {} entries of {} bytes\n"
      "  entries committed and applied everywhere   {}\n"
      "  core time                                  {:.2f} s\n"
      "  entries a second                           {:.0f}\n"
      "  allocations: the entry itself              {:.3f} an entry\n"
      "               all else                      {:.3f} an entry, {:.1f} a batch\n",
      settings.members, settings.batch, settings.bytes, outcome.entries, outcome.cpu_seconds,
      outcome.entries_per_second(),
      static_cast<double>(outcome.payload_allocations) / static_cast<double>(outcome.entries),
      outcome.per_entry(), outcome.per_batch());
}

void print_json(const Settings& settings, const Outcome& outcome) {
  std::cout << fmt::format(
      R"({{"members":{},"batch":{},"bytes":{},"entries":{},"cpu_seconds":{:.6f},)"
      R"("entries_per_second":{:.0f},"payload_allocations_per_entry":{:.4f},)"
      R"("other_allocations_per_entry":{:.4f},"other_allocations_per_batch":{:.2f}}})"
      "\n",
      settings.members, settings.batch, settings.bytes, outcome.entries, outcome.cpu_seconds,
      outcome.entries_per_second(),
      static_cast<double>(outcome.payload_allocations) / static_cast<double>(outcome.entries),
      outcome.per_entry(), outcome.per_batch());
}

// 0, or 1 with a sentence: an allocation for each entry beside its payload, or too slow.
int judge(const Settings& settings, const Outcome& outcome) {
  if (outcome.per_entry() >= 1) {
    std::cerr << fmt::format("{:.2f} allocations an entry beside the entry itself\n",
                             outcome.per_entry());
    return 1;
  }
  if (outcome.entries_per_second() < static_cast<double>(settings.entries_per_second_min)) {
    std::cerr << fmt::format("{:.0f} entries a second, at least {} were asked for\n",
                             outcome.entries_per_second(), settings.entries_per_second_min);
    return 1;
  }
  return 0;
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "raft_fsm: entries a second through the Raft state machine alone");
  auto add = options.add_options();
  add("help", "print this");
  add("entries", po::value(&settings.entries)->default_value(settings.entries), "how many in all");
  add("batch", po::value(&settings.batch)->default_value(settings.batch), "proposed at once");
  add("bytes", po::value(&settings.bytes)->default_value(settings.bytes), "of an entry");
  add("members", po::value(&settings.members)->default_value(settings.members), "all voters");
  add("at-least", po::value(&settings.entries_per_second_min), "entries a second, else exit 1");
  add("json", po::bool_switch(&settings.json), "print one line of JSON");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  if (given.contains("help")) {
    std::cout << options << "\n";
    return 0;
  }
  if (settings.batch == 0 || settings.members == 0 || settings.entries < settings.batch)
    throw std::runtime_error("--batch, --members and at least one batch of --entries are needed");
  const Outcome outcome = measure(settings);
  (settings.json ? print_json : print_text)(settings, outcome);
  return judge(settings, outcome);
}

}  // namespace
}  // namespace quorate::bench

int main(int argc, char** argv) {
  try {
    return quorate::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "raft_fsm: " << error.what() << "\n";
    return 2;
  }
}
