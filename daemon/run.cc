// SPDX-License-Identifier: Apache-2.0
#include "daemon/run.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include <spdlog/fmt/fmt.h>

#include "daemon/host_events.h"
#include "daemon/log_output.h"
#include "env/env.h"
#include "plugin/loader.h"
#include "server/server.h"

namespace quorate::daemon {
namespace {

constexpr uint64_t kDrainMs = 5000;

// Plugins lie beside the program: <prefix>/bin/quorated, <prefix>/lib/quorate/plugins.
std::string default_plugin_dir() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib/quorate/plugins").string();
}

// Each client is a descriptor; the soft limit is often a thousand.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void ignore_broken_pipes() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

void say_what_starts(const Options& options, const Logger& logger) {
  for (const std::string& warning : options.warnings) logger.warn("{}", warning);
  logger.info("starting member {} on engine {} with data in {}", options.config.name,
              options.config.backend.name, options.config.data_dir);
}

Status stop(server::Server& server, HostEvents& events, const Logger& logger) {
  events.let_signals_end_the_process();
  QUORATE_TRY(server.stop(kDrainMs));
  logger.info("stopped");
  return Status();
}

// From the first event to the last; the member's failure or OK.
Status serve(server::Server& server, HostEvents& events, const Options& options,
             const Logger& logger) {
  while (true) {
    switch (events.wait()) {
      case HostEvent::kFailed: return events.failure();
      case HostEvent::kReady: {
        QUORATE_TRY(server.serve());
        for (const std::string& url : options.config.listen_client_urls) {
          logger.info("serving clients at {} without TLS", url);
        }
        logger.info("ready to serve client requests");
        break;
      }
      case HostEvent::kRemoved: {
        logger.warn("the member has been permanently removed from the cluster");
        logger.warn("data-dir used by this member must be removed: {}", options.config.data_dir);
        return stop(server, events, logger);
      }
      case HostEvent::kSignal: {
        logger.info("stopping on a signal; clients have {} ms to finish", kDrainMs);
        return stop(server, events, logger);
      }
    }
  }
}

Status run_member(const Options& options, const Logger& logger) {
  HostEvents events;
  raise_descriptor_limit();
  ignore_broken_pipes();
  say_what_starts(options, logger);

  server::Config config = options.config;
  config.reader_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
  const std::string plugin_dir =
      options.plugin_dir.empty() ? default_plugin_dir() : options.plugin_dir;
  const auto env = make_posix_env();
  plugin::PluginLoader plugins(plugin_dir, {}, logger.named("plugin"));
  auto server = server::Server::start(*env, std::move(config), plugins, &events, logger);
  if (!server) return server.status();
  return serve(**server, events, options, logger);
}

}  // namespace

int run(const Options& options) {
  auto output = LogOutput::open(options.log);
  if (!output) {
    fmt::print(stderr, "quorated: {}\n", output.error().message());
    return 1;
  }
  const Logger logger(output->get(), "quorated");
  const Status status = run_member(options, logger);
  if (status.ok()) return 0;
  logger.error("the member ends: {}", status.message());
  return 1;
}

}  // namespace quorate::daemon
