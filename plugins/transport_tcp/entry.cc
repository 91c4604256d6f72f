// SPDX-License-Identifier: Apache-2.0
// The C side: quorate_transport_factory over Transport.
#include "sdk/entry.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "sdk/error.h"
#include "sdk/options.h"
#include "transport_tcp/transport.h"

struct quorate_transport {
  quorate::transport_tcp::Transport transport;
};

namespace quorate::transport_tcp {
namespace {

constexpr quorate_option_spec kOptions[] = {
    {"ping-interval", "500ms", "each connection is pinged this often", QUORATE_OPTION_DURATION_MS,
     0},
    {"silent-after", "3s", "a peer that says nothing for so long is SILENT",
     QUORATE_OPTION_DURATION_MS, 0},
    {"dial-timeout", "2s", "time to connect and to greet", QUORATE_OPTION_DURATION_MS, 0},
    {"redial-min", "50ms", "the first pause before a peer is dialled again",
     QUORATE_OPTION_DURATION_MS, 0},
    {"redial-max", "1s", "the longest pause", QUORATE_OPTION_DURATION_MS, 0},
    {"max-message-bytes", "64MiB", "the largest message or call", QUORATE_OPTION_BYTES, 0},
    {"max-block-bytes", "8MiB", "the largest block of a snapshot", QUORATE_OPTION_BYTES, 0},
    {"queue-bytes", "64MiB", "bytes waiting for one peer and channel; more is dropped",
     QUORATE_OPTION_BYTES, 0},
    {"snapshot-window", "4MiB", "bytes of one incoming snapshot not yet taken",
     QUORATE_OPTION_BYTES, 0},
    {"tls.cert-file", nullptr, "this member's certificate", QUORATE_OPTION_PATH, 0},
    {"tls.key-file", nullptr, "its key", QUORATE_OPTION_PATH, 0},
    {"tls.trusted-ca-file", nullptr, "authorities that a peer's certificate may come from",
     QUORATE_OPTION_PATH, 0},
    {"tls.client-cert-auth", nullptr, "who dials must show a certificate", QUORATE_OPTION_BOOL, 0},
    {"tls.crl-file", nullptr, "revoked certificates", QUORATE_OPTION_PATH, 0},
    {"tls.allowed-cn", nullptr, "common names that may come in", QUORATE_OPTION_STRING, 0},
    {"tls.allowed-hostname", nullptr, "host names that may come in", QUORATE_OPTION_STRING, 0},
    {"tls.min-version", nullptr, "the oldest TLS that is spoken", QUORATE_OPTION_STRING, 0},
    {"tls.cipher-suites", nullptr, "the suites that are offered", QUORATE_OPTION_STRING, 0},
};

constexpr uint64_t kDay = 24 * 3600 * 1000;

milliseconds duration(const sdk::Options& options, const char* key) {
  return milliseconds(
      static_cast<int64_t>(std::clamp<uint64_t>(options.duration_ms(key), 1, kDay)));
}

uint64_t size(const sdk::Options& options, const char* key, uint64_t least, uint64_t most) {
  const uint64_t value = options.bytes(key);
  if (value < least || value > most)
    throw sdk::Failure(QUORATE_INVALID_ARGUMENT,
                       "option " + std::string(key) + " is " + std::to_string(value) + "; write " +
                           std::to_string(least) + " to " + std::to_string(most));
  return value;
}

Settings settings_of(const quorate_transport_options& given) {
  const sdk::Options options(kOptions, given.options, given.option_count);
  for (const quorate_option_spec& spec : kOptions)
    if (std::string_view(spec.key).starts_with("tls.") && options.text(spec.key) != nullptr)
      throw sdk::Failure(
          QUORATE_UNSUPPORTED,
          "option " + std::string(spec.key) +
              ": transport_tcp does not speak TLS yet; leave the option out and keep "
              "the peers' network closed to others");
  Settings settings;
  settings.ping_interval = duration(options, "ping-interval");
  settings.silent_after = duration(options, "silent-after");
  settings.dial_timeout = duration(options, "dial-timeout");
  settings.redial_min = duration(options, "redial-min");
  settings.redial_max = std::max(duration(options, "redial-max"), settings.redial_min);
  settings.message_bytes_max = size(options, "max-message-bytes", 4096, uint64_t{1} << 30);
  settings.block_bytes_max = size(options, "max-block-bytes", 4096, uint64_t{1} << 30);
  settings.queue_bytes_max = size(options, "queue-bytes", 1, uint64_t{1} << 40);
  settings.window_bytes = size(options, "snapshot-window", 1, uint64_t{1} << 40);
  if (settings.silent_after <= settings.ping_interval)
    throw sdk::Failure(QUORATE_INVALID_ARGUMENT,
                       "silent-after is not above ping-interval, so every peer would be SILENT; "
                       "write some multiple of it");
  return settings;
}

OutgoingStream& stream_of(quorate_stream* stream) {
  return *reinterpret_cast<OutgoingStream*>(stream);
}

quorate_status create(const quorate_transport_options* options, const quorate_receiver* receiver,
                      quorate_transport** out, quorate_error* error) {
  return sdk::barrier(error, [&] {
    *out = new quorate_transport{Transport(*receiver, options->host, settings_of(*options))};
  });
}

void stop(quorate_transport* self, uint64_t drain_ms) {
  sdk::barrier(nullptr, [&] {
    self->transport.stop(milliseconds(static_cast<int64_t>(std::min(drain_ms, kDay))));
  });
}

void destroy(quorate_transport* self) {
  delete self;
}

quorate_status listen(quorate_transport* self, const char* url, quorate_error* error) {
  return sdk::barrier(error, [&] { self->transport.listen(url); });
}

void set_self(quorate_transport* self, uint64_t cluster_id, uint64_t member_id) {
  sdk::barrier(nullptr, [&] { self->transport.set_self(cluster_id, member_id); });
}

quorate_status set_peer(quorate_transport* self, uint64_t member_id, const char* const* urls,
                        uint32_t count, quorate_error* error) {
  return sdk::barrier(error, [&] { self->transport.set_peer(member_id, {urls, urls + count}); });
}

void remove_peer(quorate_transport* self, uint64_t member_id) {
  sdk::barrier(nullptr, [&] { self->transport.remove_peer(member_id); });
}

void send(quorate_transport* self, const quorate_message* messages, size_t count) {
  sdk::barrier(nullptr, [&] { self->transport.send(messages, count); });
}

void call(quorate_transport* self, uint64_t member_id, const char* url, const quorate_buf* request,
          uint64_t timeout_ms, quorate_on_reply done, void* user) {
  sdk::barrier(nullptr,
               [&] { self->transport.call(member_id, url, *request, timeout_ms, done, user); });
}

void reply(quorate_transport* self, uint64_t token, quorate_status code, const quorate_buf* reply) {
  sdk::barrier(nullptr, [&] { self->transport.reply(token, code, reply); });
}

quorate_status stream_open(quorate_transport* self, uint64_t to, const quorate_buf* meta,
                           void* user, quorate_stream** out, quorate_error* error) {
  return sdk::barrier(error, [&] {
    *out = reinterpret_cast<quorate_stream*>(self->transport.stream_open(to, meta, user));
  });
}

quorate_status stream_write(quorate_stream* stream, const quorate_buf* block) {
  return sdk::barrier(nullptr, [&] { return Transport::stream_write(stream_of(stream), *block); });
}

void stream_finish(quorate_stream* stream, quorate_status code) {
  sdk::barrier(nullptr, [&] { Transport::stream_finish(stream_of(stream), code); });
}

void on_snapshot(quorate_transport* self, uint64_t stream, uint32_t event, quorate_status code) {
  sdk::barrier(nullptr, [&] { self->transport.on_snapshot(stream, event, code); });
}

size_t read_stats(quorate_transport* self, quorate_peer_stats* out, size_t capacity) {
  return self->transport.stats(out, capacity);
}

const void* get_extension(quorate_transport*, const char* id) {
  static constexpr quorate_transport_stats kStats{sizeof(quorate_transport_stats), &read_stats};
  return std::string_view(id) == QUORATE_TRANSPORT_STATS ? &kStats : nullptr;
}

constexpr quorate_transport_factory kFactory{sizeof(quorate_transport_factory),
                                             0,
                                             &create,
                                             &stop,
                                             &destroy,
                                             &listen,
                                             &set_self,
                                             &set_peer,
                                             &remove_peer,
                                             &send,
                                             &call,
                                             &reply,
                                             &stream_open,
                                             &stream_write,
                                             &stream_finish,
                                             &on_snapshot,
                                             &get_extension};

struct Door {
  static constexpr const char* kId = "org.quorate.transport.tcp";
  static constexpr const char* kVersion = "0.1.0";
  static constexpr const char* kFactoryId = QUORATE_TRANSPORT_FACTORY;
  static const void* factory() { return &kFactory; }
  static std::span<const quorate_option_spec> options() { return kOptions; }
};

constexpr quorate_plugin kPlugin = sdk::OneFactory<Door>::kPlugin;

}  // namespace
}  // namespace quorate::transport_tcp

QUORATE_PLUGIN_ENTRY(transport_tcp, quorate::transport_tcp::kPlugin)
