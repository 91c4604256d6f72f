// SPDX-License-Identifier: Apache-2.0
// history_check [--json] [--search] FILE...: judges each file, a history of its own ("-": the
// standard input). --search: without the revisions. Exit code: 0 all clean, 1 a violation, 2 a file
// that cannot be read or no verdict.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/linearizability/check.h"
#include "support/linearizability/history_json.h"

namespace {

using namespace quorate::linearizability;

enum Exit { kClean = 0, kViolated = 1, kNoVerdict = 2 };

struct Options {
  bool json = false;
  bool search = false;
  std::vector<std::string> files;
};

quorate::Result<History> read(const std::string& file) {
  std::ios::sync_with_stdio(false);
  if (file == "-") return read_history(std::cin);
  std::ifstream in(file);
  if (!in) return quorate::Status(quorate::Code::kIoError, std::strerror(errno));
  return read_history(in);
}

void print_problem(const Options& options, const std::string& file, const std::string& problem) {
  if (options.json)
    std::cout << nlohmann::json{{"file", file}, {"verdict", "bad_input"}, {"problem", problem}}
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
              << "\n";
  else
    std::cerr << file << ": " << problem << "\n";
}

void print(const Options& options, const std::string& file, const History& history,
           const Report& report) {
  if (!options.json) {
    std::cout << file << ": " << to_text(history, report);
    return;
  }
  auto line = nlohmann::ordered_json::parse(to_json(history, report));
  line["file"] = file;
  std::cout << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

Exit judge(const Options& options, const std::string& file) {
  const quorate::Result<History> history = read(file);
  if (!history) {
    print_problem(options, file, std::string(history.error().message()));
    return kNoVerdict;
  }
  const Report report = options.search ? check_by_search(*history) : check(*history);
  print(options, file, *history, report);
  if (report.verdict == Verdict::kOk) return kClean;
  return report.verdict == Verdict::kViolation ? kViolated : kNoVerdict;
}

int usage() {
  std::cerr << "usage: history_check [--json] [--search] FILE...   (- for the standard input)\n";
  return kNoVerdict;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    if (argument == "--json")
      options.json = true;
    else if (argument == "--search")
      options.search = true;
    else if (argument.size() > 1 && argument.starts_with("-"))
      return usage();
    else
      options.files.push_back(argument);
  }
  if (options.files.empty()) return usage();
  // A violation outweighs a file without verdict.
  bool violated = false, no_verdict = false;
  for (const std::string& file : options.files) {
    const Exit exit = judge(options, file);
    violated |= exit == kViolated;
    no_verdict |= exit == kNoVerdict;
  }
  if (violated) return kViolated;
  return no_verdict ? kNoVerdict : kClean;
}
