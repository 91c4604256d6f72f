// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/transport.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "sdk/error.h"
#include "transport_tcp/address.h"
#include "transport_tcp/calls.h"
#include "transport_tcp/connection_io.h"
#include "transport_tcp/peers.h"
#include "transport_tcp/sessions.h"
#include "transport_tcp/snapshots.h"

namespace quorate::transport_tcp {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Task = std::function<void()>;

constexpr milliseconds kAcceptPause{100};  // after an error, most likely too many open files
constexpr milliseconds kIdleLook{2};
constexpr size_t kConnectionsMax = 2048;

struct Outgoing {
  uint64_t to;
  uint32_t channel;
  Parts parts;
  size_t size;
  std::shared_ptr<PeerGauge> gauge;
};

milliseconds tick_time(const Settings& settings) {
  const milliseconds shortest =
      std::min({settings.ping_interval, settings.silent_after, settings.dial_timeout});
  return std::clamp(shortest / 4, milliseconds(2), milliseconds(250));
}

}  // namespace

struct Transport::Loop {
  Loop(const quorate_receiver& receiver, const quorate_host* host, const Settings& settings)
      : core(io, receiver, settings, sdk::Log(host, "org.quorate.transport.tcp")) {
    core.arm = [this](Time at) { arm(at); };
    core.admit = [this](const std::shared_ptr<Connection>& connection, const Hello& hello) {
      const Admission admission = sessions.admit(connection, hello);
      if (admission.code == QUORATE_OK) connection->set_gauge(gauge_of(hello.from));
      return admission;
    };
    core.after(tick_time(settings), [this] { tick(); });
    thread = std::thread([this] { run(); });
  }

  ~Loop() {
    stop(milliseconds(0));
    asio::post(io, [this] {
      drain_mailbox();  // what still waits for an answer gets it
      core.end_turn();
      work.reset();
      io.stop();
    });
    thread.join();
  }

  void run() {
    for (;;) try {
        io.run();
        return;
      } catch (const std::exception& error) {
        core.log.error(std::string("a turn of the transport failed: ") + error.what());
      }
  }

  // ---- mailbox
  void post(Task task) {
    const std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    wake();
  }
  // Under the lock: one wake-up for all that comes before it is served.
  void wake() {
    if (!std::exchange(awake, true)) asio::post(io, [this] { turn(); });
  }
  void turn() {
    drain_mailbox();
    core.end_turn();
  }
  void drain_mailbox() {
    std::vector<Task> now_tasks;
    std::vector<Outgoing> now_messages;
    {
      const std::lock_guard lock(mutex);
      now_tasks.swap(tasks);
      now_messages.swap(messages);
      awake = false;
    }
    // First, because what was sent just before stop() shall still leave.
    for (Outgoing& message : now_messages) transmit(message);
    for (const Task& task : now_tasks) task();
  }
  void transmit(Outgoing& message) {
    Peer* const peer = core.stopping ? nullptr : peers.find(message.to);
    if (peer != nullptr && peer->gauge() == message.gauge)
      return peer->send(message.channel, std::move(message.parts), message.size);
    message.gauge->queued[message.channel] -= message.size;
    ++message.gauge->failures;
  }

  // Any thread. Takes what the peer's bound leaves room for; one message always fits.
  void send(std::vector<Outgoing> outgoing) {
    const std::lock_guard lock(mutex);
    for (Outgoing& message : outgoing) {
      const auto found = gauges.find(message.to);
      if (found == gauges.end()) continue;
      PeerGauge& gauge = *found->second;
      auto& queued = gauge.queued[message.channel];
      const uint64_t before = queued;
      if (message.size > core.settings.message_bytes_max ||
          (before > 0 && before + message.size > core.settings.queue_bytes_max)) {
        ++gauge.failures;
        continue;
      }
      queued += message.size;
      message.gauge = found->second;
      messages.push_back(std::move(message));
    }
    if (!messages.empty()) wake();
  }

  std::shared_ptr<PeerGauge> gauge_of(uint64_t member_id) {
    const std::lock_guard lock(mutex);
    const auto found = gauges.find(member_id);
    return found == gauges.end() ? nullptr : found->second;
  }

  // ---- timers
  void arm(Time at) {
    timer.expires_at(at);
    timer.async_wait([this](error_code error) {
      if (error) return;
      core.run_due();
      core.end_turn();
    });
  }
  void tick() {
    const Time now = Core::now();
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(core.connections.size());
    for (const auto& [pointer, connection] : core.connections) all.push_back(connection);
    for (const auto& connection : all) connection->tick(now);
    sessions.tick();
    calls.tick(now);
    core.after(tick_time(core.settings), [this] { tick(); });
  }

  // ---- listening
  tcp::endpoint resolve(const Address& address) {
    const auto port = static_cast<uint16_t>(std::stoul(address.port));
    if (address.host.empty() || address.host == "*") return tcp::endpoint(tcp::v6(), port);
    asio::io_context own;
    tcp::resolver resolver(own);
    error_code error;
    const auto found = resolver.resolve(address.host, address.port, tcp::resolver::passive, error);
    if (error || found.empty())
      throw sdk::Failure(QUORATE_UNAVAILABLE, "cannot resolve the host of " + address.url + ": " +
                                                  error.message() +
                                                  "; write an address of this machine");
    for (const auto& one : found)
      if (one.endpoint().address().is_v4()) return one.endpoint();
    return found.begin()->endpoint();
  }

  void listen(const std::string& url) {
    const Address address = parse_url(url);
    auto acceptor = std::make_shared<tcp::acceptor>(io);
    try {
      const tcp::endpoint endpoint = resolve(address);
      acceptor->open(endpoint.protocol());
      acceptor->set_option(tcp::acceptor::reuse_address(true));
      acceptor->bind(endpoint);
      acceptor->listen(1024);
    } catch (const boost::system::system_error& error) {
      throw sdk::Failure(QUORATE_UNAVAILABLE,
                         "cannot listen on " + url + ": " + error.code().message() +
                             "; stop what uses it, or choose another peer URL",
                         error.code().value());
    }
    core.log.info("listening for peers on http://" + text_of(acceptor->local_endpoint()));
    post([this, acceptor] {
      if (core.stopping) return;
      acceptors.push_back(acceptor);
      accept(*acceptor);
    });
  }

  void accept(tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](error_code error, tcp::socket socket) {
      if (core.stopping || error == asio::error::operation_aborted) return;
      if (!error) {
        add(std::move(socket));
        accept(acceptor);
        return core.end_turn();
      }
      core.log.warn("cannot accept a connection: " + error.message());
      core.after(kAcceptPause, [this, &acceptor] {
        if (!core.stopping) accept(acceptor);
      });
    });
  }

  void add(tcp::socket socket) {
    error_code error;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) return;
    if (core.connections.size() >= kConnectionsMax)
      return core.log.warn("closed a connection of " + text_of(remote) + ": there are " +
                           std::to_string(kConnectionsMax) + " already");
    Connection::accept(core, std::make_unique<Connection::Io>(std::move(socket)), text_of(remote));
  }

  // ---- stop
  bool idle() const {
    return calls.idle() && answers.idle() && streams.idle() && sessions.idle() &&
           std::all_of(core.connections.begin(), core.connections.end(),
                       [](const auto& one) { return one.second->queued_bytes() == 0; });
  }
  // What ends by itself tells nobody; while it stops, the transport looks.
  void watch_idle() {
    if (all_closed) return;
    if (idle()) return tell(&Loop::is_idle);
    core.after(kIdleLook, [this] { watch_idle(); });
  }
  void tell(bool Loop::*what) {
    const std::lock_guard lock(stop_mutex);
    this->*what = true;
    stop_changed.notify_all();
  }
  void begin_stop() {
    core.stopping = true;
    error_code ignored;
    for (const auto& acceptor : acceptors) acceptor->close(ignored);
    watch_idle();
  }
  void close_all() {
    core.stopping = true;
    peers.close_all();
    calls.give_up_all();
    streams.give_up_all();
    sessions.close_all();
    const auto all = core.connections;  // those that have not said who they are
    for (const auto& [pointer, connection] : all) connection->close();
    tell(&Loop::all_closed);
  }
  void stop(milliseconds drain) {
    if (std::exchange(stopped, true)) return;
    post([this] { begin_stop(); });
    std::unique_lock lock(stop_mutex);
    stop_changed.wait_for(lock, drain, [this] { return is_idle; });
    post([this] { close_all(); });
    stop_changed.wait(lock, [this] { return all_closed; });
  }

  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  asio::steady_timer timer{io};
  Core core;
  Answers answers{core};
  Sessions sessions{core, answers};
  Peers peers{core};
  Calls calls{core};
  OutgoingStreams streams;
  std::vector<std::shared_ptr<tcp::acceptor>> acceptors;

  std::mutex mutex;  // guards the mailbox and the list of gauges
  std::vector<Task> tasks;
  std::vector<Outgoing> messages;
  bool awake = false;
  std::map<uint64_t, std::shared_ptr<PeerGauge>> gauges;

  // Between stop() and the I/O thread.
  bool stopped = false;  // the host's side of it
  std::mutex stop_mutex;
  std::condition_variable stop_changed;
  bool is_idle = false;
  bool all_closed = false;

  std::thread thread;
};

Transport::Transport(const quorate_receiver& receiver, const quorate_host* host,
                     const Settings& settings)
    : loop_(std::make_unique<Loop>(receiver, host, settings)) {}

Transport::~Transport() = default;

void Transport::listen(const std::string& url) {
  loop_->listen(url);
}

void Transport::set_self(uint64_t cluster_id, uint64_t member_id) {
  loop_->post([loop = loop_.get(), cluster_id, member_id] {
    loop->core.cluster_id = cluster_id;
    loop->core.member_id = member_id;
    loop->calls.renew();
    loop->peers.dial_all();
  });
}

void Transport::stop(milliseconds drain) {
  loop_->stop(drain);
}

void Transport::set_peer(uint64_t member_id, const std::vector<std::string>& urls) {
  if (member_id == 0) throw sdk::Failure(QUORATE_INVALID_ARGUMENT, "a peer's id is never 0");
  if (urls.empty())
    throw sdk::Failure(QUORATE_INVALID_ARGUMENT,
                       "peer " + std::to_string(member_id) + " has no URL; give one at least");
  Addresses addresses;
  for (const std::string& url : urls) addresses.push_back(parse_url(url));
  std::shared_ptr<PeerGauge> gauge;
  {
    const std::lock_guard lock(loop_->mutex);
    auto& known = loop_->gauges[member_id];
    if (!known) known = std::make_shared<PeerGauge>();
    gauge = known;
  }
  loop_->post([loop = loop_.get(), member_id, addresses, gauge] {
    if (!loop->core.stopping) loop->peers.set(member_id, addresses, gauge);
  });
}

void Transport::remove_peer(uint64_t member_id) {
  {
    const std::lock_guard lock(loop_->mutex);
    loop_->gauges.erase(member_id);
  }
  loop_->post([loop = loop_.get(), member_id] {
    loop->peers.remove(member_id);
    loop->calls.give_up(member_id);
    loop->streams.give_up(member_id);
    loop->sessions.close_member(member_id);
  });
}

void Transport::send(const quorate_message* messages, size_t count) {
  std::vector<Outgoing> outgoing;
  outgoing.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const quorate_message& message = messages[i];
    if (message.channel > QUORATE_CHANNEL_APPEND) continue;
    Outgoing& out = outgoing.emplace_back();
    out.to = message.to;
    out.channel = message.channel;
    out.parts.reserve(message.part_count);
    for (uint32_t part = 0; part < message.part_count; ++part)
      out.parts.emplace_back(message.parts[part]);
    out.size = size_of(out.parts);
  }
  loop_->send(std::move(outgoing));
}

void Transport::call(uint64_t member_id, const char* url, const quorate_buf& request,
                     uint64_t timeout_ms, quorate_on_reply done, void* user) {
  auto question = std::make_shared<Question>();
  question->member_id = member_id;
  question->request.emplace_back(request);
  constexpr uint64_t kDay = 24 * 3600 * 1000;
  question->timeout = milliseconds(static_cast<int64_t>(std::min(timeout_ms, kDay)));
  question->done = done;
  question->user = user;
  loop_->post([loop = loop_.get(), question, given = std::string(url == nullptr ? "" : url)] {
    Addresses addresses;
    const Peer* const peer =
        question->member_id == 0 ? nullptr : loop->peers.find(question->member_id);
    if (peer != nullptr) {
      addresses = peer->addresses();
    } else if (!given.empty()) {
      sdk::barrier(nullptr, [&] { addresses.push_back(parse_url(given)); });
    }
    loop->calls.ask(std::move(*question), std::move(addresses));
  });
}

void Transport::reply(uint64_t token, quorate_status code, const quorate_buf* reply) {
  auto parts = std::make_shared<Parts>();
  if (reply != nullptr) parts->emplace_back(*reply);
  loop_->post([loop = loop_.get(), token, code, parts] {
    loop->answers.reply(token, code, std::move(*parts));
  });
}

void Transport::on_snapshot(uint64_t stream, uint32_t event, quorate_status code) {
  loop_->post([loop = loop_.get(), stream, event, code] {
    loop->sessions.on_snapshot(stream, event, code);
  });
}

OutgoingStream* Transport::stream_open(uint64_t to, const quorate_buf* meta, void* user) {
  if (loop_->gauge_of(to) == nullptr)
    throw sdk::Failure(QUORATE_UNAVAILABLE,
                       "member " + std::to_string(to) + " is no peer; call set_peer() first");
  Parts parts;
  if (meta != nullptr) parts.emplace_back(*meta);
  if (size_of(parts) > loop_->core.settings.block_bytes_max)
    throw sdk::Failure(QUORATE_INVALID_ARGUMENT,
                       "a snapshot's meta is above max-block-bytes; raise that option");
  auto stream = std::make_shared<OutgoingStream>(loop_->core, *this, loop_->streams, to,
                                                 std::move(parts), user);
  loop_->post([loop = loop_.get(), stream, to] {
    loop->streams.add(stream);
    const Peer* const peer = loop->peers.find(to);
    stream->start(peer == nullptr ? Addresses() : peer->addresses());
  });
  return stream.get();
}

// A stream that is not finished is not freed, so its owner may still be asked for.
quorate_status Transport::stream_write(OutgoingStream& stream, const quorate_buf& block) {
  bool wake = false;
  const quorate_status status = stream.write(block, wake);
  if (wake) stream.transport().loop_->post([self = stream.shared_from_this()] { self->run(); });
  return status;
}

void Transport::stream_finish(OutgoingStream& stream, quorate_status code) {
  // Held before the worker's last word, after which the I/O thread may free it at any time.
  const auto self = stream.shared_from_this();
  Transport& transport = stream.transport();
  stream.finish(code);
  transport.loop_->post([self] { self->run(); });
}

size_t Transport::stats(quorate_peer_stats* out, size_t capacity) {
  const int64_t now = in_ms(Core::now());
  const std::lock_guard lock(loop_->mutex);
  size_t i = 0;
  for (const auto& [id, gauge] : loop_->gauges) {
    if (i >= capacity) break;
    out[i++] = {id,
                gauge->sent,
                gauge->received,
                gauge->failures,
                gauge->rtt_us,
                static_cast<uint64_t>(std::max<int64_t>(now - gauge->state_since_ms, 0))};
  }
  return loop_->gauges.size();
}

}  // namespace quorate::transport_tcp
