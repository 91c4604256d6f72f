// SPDX-License-Identifier: Apache-2.0
#include "load/process_figures.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace quorate::bench {

std::optional<ProcessFigures> process_figures(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream stat_file(folder + "/stat");
  std::string stat((std::istreambuf_iterator<char>(stat_file)), {});
  // The second field, the name, may hold blanks; behind its bracket the fields are plain.
  const size_t bracket = stat.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(bracket + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;

  ProcessFigures figures;
  figures.cpu_seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream io(folder + "/io");
  for (std::string key; io >> key;) {
    uint64_t value = 0;
    io >> value;
    if (key == "write_bytes:") figures.written_bytes = value;
  }
  uint64_t pages = 0;
  std::ifstream statm(folder + "/statm");
  statm >> pages >> pages;
  figures.resident_bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return figures;
}

}  // namespace quorate::bench
