// SPDX-License-Identifier: Apache-2.0
// The C side: quorate_frontend_factory over Server.
#include "sdk/entry.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "frontend_etcd/address.h"
#include "frontend_etcd/server.h"
#include "sdk/error.h"
#include "sdk/options.h"

struct quorate_frontend {
  quorate::frontend_etcd::Server server;
};

namespace quorate::frontend_etcd {
namespace {

constexpr quorate_option_spec kOptions[] = {
    {"max-concurrent-streams", "4294967295", "open calls of one connection", QUORATE_OPTION_INT, 0},
    {"grpc-keepalive-min-time", "5s", "a client that pings more often is cut off",
     QUORATE_OPTION_DURATION_MS, 0},
    {"grpc-keepalive-interval", "2h", "a connection this long without a word is pinged",
     QUORATE_OPTION_DURATION_MS, 0},
    {"grpc-keepalive-timeout", "20s", "and closed when it does not answer for so long",
     QUORATE_OPTION_DURATION_MS, 0},
    {"election-timeout", "1000",
     "the cluster's, in milliseconds: a stream that wants a leader ends after three without one",
     QUORATE_OPTION_INT, 0},
    {"max-request-bytes", "1572864", "the largest request, in bytes", QUORATE_OPTION_BYTES, 0},
    {"max-txn-ops", "128", "the most operations of one list of a transaction", QUORATE_OPTION_INT,
     0},
    {"cors", "*", "the origin that browsers may call from", QUORATE_OPTION_STRING, 0},
};

// Options given to the plugin win over the server's flag of the same name, and that over the
// default. Flags are texts of Go's kind, where durations may be joined: "1h30m".
class SettingsReader {
 public:
  explicit SettingsReader(const quorate_frontend_options& given)
      : given_(given), options_(kOptions, given.options, given.option_count) {
    if (given.host != nullptr && given.host->get_extension != nullptr)
      config_ = static_cast<const quorate_host_config*>(
          given.host->get_extension(given.host->ctx, QUORATE_HOST_CONFIG));
  }

  Settings read() const {
    Settings settings;
    settings.streams_max = static_cast<uint32_t>(
        std::clamp<int64_t>(integer("max-concurrent-streams"), 1, UINT32_MAX));
    settings.keepalive_min_time = duration("grpc-keepalive-min-time");
    settings.keepalive_interval = duration("grpc-keepalive-interval");
    settings.keepalive_timeout = duration("grpc-keepalive-timeout");
    settings.election_timeout =
        milliseconds(std::clamp<int64_t>(integer("election-timeout"), 1, INT32_MAX));
    settings.request_bytes_max =
        sdk::parse_bytes(text("max-request-bytes")).value_or(settings.request_bytes_max);
    settings.limits.txn_ops =
        static_cast<uint32_t>(std::clamp<int64_t>(integer("max-txn-ops"), 0, UINT32_MAX));
    settings.cors = text("cors");
    // It goes into a header line as it is.
    if (std::any_of(settings.cors.begin(), settings.cors.end(),
                    [](unsigned char c) { return std::iscntrl(c) != 0; }))
      bad("cors", "an origin on one line");
    return settings;
  }

 private:
  const char* text(const char* key) const {
    for (uint32_t i = 0; i < given_.option_count; ++i)
      if (std::string_view(given_.options[i].key) == key) return options_.text(key);
    const char* flag = config_ == nullptr ? nullptr : config_->get(config_->ctx, key);
    return flag == nullptr || *flag == '\0' ? options_.text(key) : flag;
  }
  int64_t integer(const char* key) const {
    const auto value = sdk::parse_int(text(key));
    if (!value) bad(key, "a whole number");
    return *value;
  }
  milliseconds duration(const char* key) const {
    std::string_view rest = text(key);
    uint64_t total = 0;
    do {
      size_t end = 0;
      while (end < rest.size() && std::isdigit(static_cast<unsigned char>(rest[end])) != 0) ++end;
      while (end < rest.size() && std::isdigit(static_cast<unsigned char>(rest[end])) == 0) ++end;
      const auto part = sdk::parse_duration_ms(rest.substr(0, end));
      if (!part || *part > uint64_t{1} << 40) bad(key, "a duration, for instance 5s");
      total += *part;
      rest.remove_prefix(end);
    } while (!rest.empty());
    return milliseconds(static_cast<int64_t>(total));
  }
  [[noreturn]] void bad(const char* key, const std::string& expected) const {
    throw sdk::Failure(QUORATE_INVALID_ARGUMENT,
                       "option " + std::string(key) + " is '" + text(key) + "'; write " + expected);
  }

  const quorate_frontend_options& given_;
  const sdk::Options options_;
  const quorate_host_config* config_ = nullptr;
};

quorate_status create(const quorate_frontend_options* options, const quorate_services* services,
                      quorate_frontend** out, quorate_error* error) {
  return sdk::barrier(error, [&] {
    if (options->listen_url_count == 0)
      throw sdk::Failure(QUORATE_INVALID_ARGUMENT,
                         "no listen URL was given; write one, for instance http://127.0.0.1:2379");
    *out = new quorate_frontend{
        Server(*services, options->host,
               std::vector<std::string>(options->listen_urls,
                                        options->listen_urls + options->listen_url_count),
               SettingsReader(*options).read())};
  });
}

quorate_status start(quorate_frontend* frontend, quorate_error* error) {
  return sdk::barrier(error, [frontend] { frontend->server.start(); });
}

void stop(quorate_frontend* frontend, uint64_t drain_ms) {
  constexpr uint64_t kHour = 3600 * 1000;
  sdk::barrier(nullptr, [&] {
    frontend->server.stop(milliseconds(static_cast<int64_t>(std::min(drain_ms, kHour))));
  });
}

void destroy(quorate_frontend* frontend) {
  delete frontend;
}

const char* bound(quorate_frontend* frontend, uint32_t index) {
  return frontend->server.bound(index);
}

const void* get_extension(quorate_frontend*, const char* id) {
  static constexpr quorate_frontend_address kAddress{sizeof(quorate_frontend_address), &bound};
  return std::string_view(id) == QUORATE_FRONTEND_ADDRESS ? &kAddress : nullptr;
}

constexpr quorate_frontend_factory kFactory{
    sizeof(quorate_frontend_factory), 0, &create, &start, &stop, &destroy, &get_extension};

struct Door {
  static constexpr const char* kId = "org.quorate.frontend.etcd";
  static constexpr const char* kVersion = "0.1.0";
  static constexpr const char* kFactoryId = QUORATE_FRONTEND_FACTORY;
  static const void* factory() { return &kFactory; }
  static std::span<const quorate_option_spec> options() { return kOptions; }
};

constexpr quorate_plugin kPlugin = sdk::OneFactory<Door>::kPlugin;

}  // namespace
}  // namespace quorate::frontend_etcd

QUORATE_PLUGIN_ENTRY(frontend_etcd, quorate::frontend_etcd::kPlugin)
