// SPDX-License-Identifier: Apache-2.0
// quorate-sim: runs the simulation for one seed or many; see docs/simulation.md.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "plugin/loader.h"
#include "sim/minimise.h"
#include "sim/simulation.h"

extern "C" const quorate_plugin* quorate_static_backend_memory(void);

namespace po = boost::program_options;

namespace quorate::sim {
namespace {

// What to print when the process aborts: a check of the kernel's own failed.
char g_how_to_repeat[512];

void on_abort(int) {
  const auto ignored = write(STDERR_FILENO, g_how_to_repeat, std::strlen(g_how_to_repeat));
  static_cast<void>(ignored);
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

std::string command_for(const Options& options) {
  std::string command =
      fmt::format("quorate-sim --seed {} --engine {}", options.seed, options.engine.name);
  if (options.profile != Profile::kAny)
    command += fmt::format(" --profile {}", name_of(options.profile));
  if (options.faults) {
    std::string list;
    for (const size_t fault : *options.faults) list += fmt::format("{},", fault);
    if (!list.empty()) list.pop_back();
    command += fmt::format(" --faults={}", list.empty() ? "none" : list);
  }
  return command;
}

void print_json(const RunResult& result) {
  std::string faults;
  for (size_t i = 0; i < result.faults.size(); ++i)
    if (result.faults[i] != 0)
      faults += fmt::format("{}\"{}\":{}", faults.empty() ? "" : ",",
                            name_of(static_cast<FaultKind>(i)), result.faults[i]);
  std::vector<double> failovers_ms;
  for (const uint64_t ns : result.failovers_ns)
    failovers_ms.push_back(static_cast<double>(ns) / 1e6);
  fmt::print(
      "{{\"seed\":{},\"clean\":{},\"trace\":\"{:016x}\",\"events\":{},\"simulated_s\":{:.3f},"
      "\"calls\":{},\"unknown_calls\":{},\"watch_events\":{},\"entries\":{},\"starts\":{},"
      "\"snapshots\":{},\"checker\":\"{}\",\"failovers_ms\":[{:.1f}],\"faults\":{{{}}}}}\n",
      result.seed, result.clean(), result.trace_hash, result.events,
      static_cast<double>(result.simulated_ns) / 1e9, result.calls, result.unknown_calls,
      result.watch_events, result.entries, result.starts, result.snapshots,
      result.clean() ? "" : name_of(result.violations[0].checker), fmt::join(failovers_ms, ","),
      faults);
  std::fflush(stdout);
}

void print_failure(const Options& options, const RunResult& result) {
  fmt::print("seed {} FAILED\n", result.seed);
  for (const Violation& violation : result.violations)
    fmt::print("  [{}] at {:.3f} ms: {}\n", name_of(violation.checker),
               static_cast<double>(violation.at_ns) / 1e6, violation.sentence);
  fmt::print("  again: {} --trace\n", command_for(options));
  std::fflush(stdout);
}

void print_failovers(std::vector<uint64_t> took_ns) {
  std::sort(took_ns.begin(), took_ns.end());
  const auto part = [&](double of) {
    return static_cast<double>(took_ns[static_cast<size_t>(of * (took_ns.size() - 1))]) / 1e6;
  };
  fmt::print(
      "{} kills of a leader; until another has committed an entry: median {:.0f} ms, 95% within "
      "{:.0f}, 99.9% within {:.0f}, most {:.0f}\n",
      took_ns.size(), part(0.5), part(0.95), part(0.999), part(1));
}

// Throws what there is instead if no name is `name`.
template <typename Names>
size_t place_in(const Names& names, std::string_view kind, const std::string& name) {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names))
    throw std::invalid_argument(
        fmt::format("there is no {} '{}'; there are: {}", kind, name, fmt::join(names, ", ")));
  return static_cast<size_t>(found - std::begin(names));
}

int run_all(int argc, char** argv) {
  po::options_description flags("quorate-sim: real servers under virtual time and faults by seed");
  flags.add_options()("help", "this text")                          //
      ("seed", po::value<uint64_t>(), "one run")                    //
      ("seeds", po::value<std::string>(), "FIRST-LAST: many runs")  //
      ("engine", po::value<std::string>()->default_value("memory"),
       "memory, or a backend plugin's name or path")                                     //
      ("plugin-dir", po::value<std::string>(), "where plugins are")                      //
      ("faults", po::value<std::string>(), "only these of the schedule: 3,7,9 or none")  //
      ("profile", po::value<std::string>()->default_value("any"),
       "what may happen: any, steady (nothing that is a reason for an election), kills (leaders of "
       "a healthy cluster are killed; prints how long none led), storm (leaders come and go), "
       "tight (queues are full after a request or two)")(
          "without", po::value<std::vector<std::string>>(), "turns a checker off")     //
      ("twice", "each run twice; the traces must agree")                               //
      ("minimise", "on a failure, look for a smaller schedule (default with --seed)")  //
      ("no-minimise", "do not")                                                        //
      ("keep-going", "with --seeds: go on after a failure")                            //
      ("trace", "faults and log lines to standard error")                              //
      ("schedule", "print the schedule of the seed and end")                           //
      ("json", "a line for each run");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, flags), given);
  po::notify(given);
  if (given.count("help") != 0 || (given.count("seed") == 0 && given.count("seeds") == 0)) {
    std::cout << flags << "\n";
    return given.count("help") != 0 ? 0 : 2;
  }

  Options options;
  options.trace = given.count("trace") != 0;
  options.profile =
      static_cast<Profile>(place_in(kProfileNames, "profile", given["profile"].as<std::string>()));
  if (given.count("without") != 0)
    for (const std::string& name : given["without"].as<std::vector<std::string>>())
      options.verdicts.turn_off(static_cast<Checker>(place_in(kCheckerNames, "checker", name)));
  if (given.count("faults") != 0) {
    options.faults.emplace();
    std::string list = given["faults"].as<std::string>();
    for (size_t at = 0; list != "none" && at < list.size();) {
      size_t used = 0;
      options.faults->insert(std::stoul(list.substr(at), &used));
      at += used + 1;
    }
  }
  uint64_t first = 0, last = 0;
  if (given.count("seed") != 0) {
    first = last = given["seed"].as<uint64_t>();
  } else {
    const std::string text = given["seeds"].as<std::string>();
    const size_t dash = text.find('-');
    first = std::stoull(text);
    last = dash == std::string::npos ? first : std::stoull(text.substr(dash + 1));
  }
  if (given.count("schedule") != 0) {
    size_t number = 0;
    for (const Fault& fault : schedule_of(first, options.profile))
      fmt::print("{:>3} {}\n", number++, to_text(fault));
    return 0;
  }

  const std::string plugin_dir =
      given.count("plugin-dir") != 0
          ? given["plugin-dir"].as<std::string>()
          : (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
             "lib/quorate/plugins")
                .string();
  plugin::PluginLoader loader(plugin_dir, {{"backend_memory", quorate_static_backend_memory()}},
                              Logger());
  options.engine.name = given["engine"].as<std::string>();
  const Result<plugin::BackendFactory> factory = loader.backend(options.engine.name);
  if (!factory) {
    fmt::print(stderr, "{}\n", factory.error().to_string());
    return 2;
  }
  options.engine.table = factory->table();
  options.engine.in_memory = options.engine.name == "memory";
  const char* const shared_memory = "/dev/shm";
  std::string dir =
      (std::filesystem::is_directory(shared_memory) ? std::filesystem::path(shared_memory)
                                                    : std::filesystem::temp_directory_path()) /
      "quorate-sim-XXXXXX";
  if (mkdtemp(dir.data()) == nullptr) {
    fmt::print(stderr, "cannot make a directory like {}\n", dir);
    return 2;
  }
  options.real_dir = dir;
  std::signal(SIGABRT, on_abort);

  const bool json = given.count("json") != 0;
  const bool minimise_it = given.count("no-minimise") == 0 && !options.faults && !options.trace &&
                           (given.count("minimise") != 0 || given.count("seed") != 0);
  uint64_t failures = 0;
  std::vector<uint64_t> failovers_ns;
  for (uint64_t seed = first; seed <= last; ++seed) {
    options.seed = seed;
    const std::string text = fmt::format(
        "seed {} FAILED: the process aborted\n  again: {} --trace\n", seed, command_for(options));
    std::snprintf(g_how_to_repeat, sizeof g_how_to_repeat, "%s", text.c_str());
    RunResult result = run(options);
    if (given.count("twice") != 0) {
      const RunResult second = run(options);
      if (second.trace_hash != result.trace_hash)
        result.violations.push_back(
            {Checker::kMember, 0, "two runs of the seed took different ways"});
    }
    if (json) print_json(result);
    failovers_ns.insert(failovers_ns.end(), result.failovers_ns.begin(), result.failovers_ns.end());
    if (result.clean()) continue;
    ++failures;
    if (!json) print_failure(options, result);
    if (minimise_it) {
      const Options smaller = minimise(options, result);
      fmt::print("  with {} of {} faults: {} --trace\n", smaller.faults->size(),
                 result.schedule.size(), command_for(smaller));
      for (const size_t fault : *smaller.faults)
        fmt::print("    {:>3} {}\n", fault, to_text(result.schedule[fault]));
    }
    if (given.count("keep-going") == 0) break;
  }
  if (!json && !failovers_ns.empty()) print_failovers(std::move(failovers_ns));
  std::error_code ignored;
  std::filesystem::remove_all(dir, ignored);
  if (!json && failures == 0) fmt::print("{} seeds clean\n", last - first + 1);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace quorate::sim

int main(int argc, char** argv) {
  try {
    return quorate::sim::run_all(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "quorate-sim: {}; --help lists the flags\n", error.what());
    return 2;
  }
}
