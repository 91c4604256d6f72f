// SPDX-License-Identifier: Apache-2.0
// How fast the simulator is on one core: events a second, and virtual time against real time, for
// three members with the memory engine and no faults.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "plugin/loader.h"
#include "sim/simulation.h"

extern "C" const quorate_plugin* quorate_static_backend_memory(void);

namespace po = boost::program_options;
using namespace quorate;

namespace {

struct Load {
  const char* name;
  size_t clients;
  uint64_t think_ms_max;
};
constexpr Load kLoads[] = {{"idle", 0, 1000}, {"moderate", 4, 400}, {"busy", 8, 10}};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

int measure(uint64_t seconds, const std::string& only, bool json) {
  if (!only.empty() && std::none_of(std::begin(kLoads), std::end(kLoads),
                                    [&](const Load& load) { return only == load.name; }))
    throw std::invalid_argument("there is no load '" + only + "'");
  plugin::PluginLoader loader("/nowhere", {{"backend_memory", quorate_static_backend_memory()}},
                              Logger());
  const Result<plugin::BackendFactory> engine = loader.backend("memory");
  if (!json)
    fmt::print("{:<10}{:>14}{:>12}{:>12}{:>14}{:>16}\n", "load", "simulated s", "calls", "CPU s",
               "events/s", "times real time");
  for (const Load& load : kLoads) {
    if (!only.empty() && only != load.name) continue;
    sim::Options options;
    options.engine.table = engine->table();
    options.real_dir = "/tmp";
    options.calm = sim::Calm{seconds * 1'000'000'000, load.clients, load.think_ms_max * 1'000'000};
    const double before = cpu_seconds();
    const sim::RunResult result = sim::run(options);
    const double took = cpu_seconds() - before;
    if (!result.clean()) {
      fmt::print(stderr, "the run failed: {}\n", result.violations[0].sentence);
      return 1;
    }
    const double simulated = static_cast<double>(result.simulated_ns) / 1e9;
    const double rate = static_cast<double>(result.events) / took;
    if (json)
      fmt::print(
          "{{\"load\":\"{}\",\"simulated_s\":{:.1f},\"calls\":{},\"cpu_s\":{:.3f},"
          "\"events_per_s\":{:.0f},\"times_real_time\":{:.0f}}}\n",
          load.name, simulated, result.calls, took, rate, simulated / took);
    else
      fmt::print("{:<10}{:>14.1f}{:>12}{:>12.3f}{:>14.0f}{:>16.0f}\n", load.name, simulated,
                 result.calls, took, rate, simulated / took);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  po::options_description flags("sim_speed: how fast the simulator is on one core");
  flags.add_options()("help", "this text")("seconds", po::value<uint64_t>()->default_value(600),
                                           "of virtual time for each load")(
      "load", po::value<std::string>()->default_value(""),
      "idle, moderate or busy: this one alone")("json", "a line each");
  try {
    po::variables_map given;
    po::store(po::parse_command_line(argc, argv, flags), given);
    po::notify(given);
    if (given.count("help") != 0) {
      std::cout << flags << "\n";
      return 0;
    }
    return measure(given["seconds"].as<uint64_t>(), given["load"].as<std::string>(),
                   given.count("json") != 0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sim_speed: {}; --help lists the flags\n", error.what());
    return 2;
  }
}
