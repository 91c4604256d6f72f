// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/server.h"

#include <unistd.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <thread>
#include <unordered_map>

#include "frontend_etcd/connection.h"
#include "sdk/error.h"

namespace quorate::frontend_etcd {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

constexpr std::chrono::seconds kTick{1};
constexpr milliseconds kAcceptPause{100};  // after an error, most likely too many open files

[[noreturn]] void refuse(const std::string& text) {
  throw sdk::Failure(QUORATE_INVALID_ARGUMENT, text);
}

// A listen URL taken apart.
struct ListenUrl {
  explicit ListenUrl(const std::string& url) {
    if (url.starts_with("unix://")) {
      path = url.substr(7);
      if (path.empty())
        refuse("listen URL " + url + " names no path; write unix:///path/to/socket");
      return;
    }
    if (url.starts_with("https://"))
      refuse("listen URL " + url +
             " asks for TLS, which this front-end does not serve yet; write "
             "http://");
    if (!url.starts_with("http://"))
      refuse("listen URL '" + url + "' has no scheme that is served; write http://host:port");
    std::string rest = url.substr(7);
    if (!rest.empty() && rest.back() == '/') rest.pop_back();
    const size_t colon = rest.rfind(':');
    if (colon == std::string::npos || colon + 1 == rest.size() ||
        rest.find('/') != std::string::npos)
      refuse("listen URL " + url + " has no port, or a path; write http://host:port");
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  }

  std::string host, port;
  std::string path;  // of a unix socket, else empty
};

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(endpoint.port());
}

tcp::endpoint tcp_endpoint(const asio::generic::stream_protocol::endpoint& generic) {
  tcp::endpoint endpoint;
  endpoint.resize(std::min(generic.size(), endpoint.capacity()));
  std::memcpy(endpoint.data(), generic.data(), endpoint.size());
  return endpoint;
}

}  // namespace

struct Server::Loop {
  Loop(const quorate_services& services, const quorate_host* host, std::vector<std::string> listen,
       Settings settings)
      : urls(std::move(listen)),
        core(services, host, std::move(settings)),
        deadline_timer(io),
        tick_timer(io) {
    core.bind([this](std::function<void()> run) { asio::post(io, std::move(run)); },
              [this](Time at) { arm(at); });
  }

  // ---- start
  tcp::endpoint resolve(const ListenUrl& url, const std::string& text) {
    if (url.host.empty() || url.host == "*") return tcp::endpoint(tcp::v6(), port_of(url, text));
    tcp::resolver resolver(io);
    boost::system::error_code error;
    const auto found = resolver.resolve(url.host, url.port, tcp::resolver::passive, error);
    if (error || found.empty())
      throw sdk::Failure(QUORATE_UNAVAILABLE, "cannot resolve the host of listen URL " + text +
                                                  ": " + error.message() +
                                                  "; write an address of this machine");
    for (const auto& one : found)
      if (one.endpoint().address().is_v4()) return one.endpoint();
    return found.begin()->endpoint();
  }
  static uint16_t port_of(const ListenUrl& url, const std::string& text) {
    char* end = nullptr;
    const unsigned long port = std::strtoul(url.port.c_str(), &end, 10);
    if (*end != '\0' || port > 65535) refuse("listen URL " + text + " has no valid port");
    return static_cast<uint16_t>(port);
  }

  void listen(const std::string& text) {
    const ListenUrl url(text);
    auto acceptor = std::make_unique<Acceptor>(io);
    try {
      if (url.path.empty()) {
        const tcp::endpoint endpoint = resolve(url, text);
        acceptor->open(asio::generic::stream_protocol(endpoint.protocol()));
        acceptor->set_option(tcp::acceptor::reuse_address(true));
        acceptor->bind(endpoint);
      } else {
        const asio::local::stream_protocol::endpoint endpoint(url.path);
        acceptor->open(asio::generic::stream_protocol(endpoint.protocol()));
        acceptor->bind(endpoint);
        unix_paths.push_back(url.path);
      }
      acceptor->listen(1024);
    } catch (const boost::system::system_error& error) {
      throw sdk::Failure(QUORATE_UNAVAILABLE,
                         "cannot listen on " + text + ": " + error.code().message() +
                             "; stop what uses it, or choose another listen URL",
                         error.code().value());
    }
    bound.push_back(url.path.empty() ? "http://" + text_of(tcp_endpoint(acceptor->local_endpoint()))
                                     : text);
    acceptors.push_back(std::move(acceptor));
  }

  void start() {
    try {
      for (const std::string& url : urls) listen(url);
    } catch (...) {
      acceptors.clear();
      remove_unix_paths();
      bound.clear();
      throw;
    }
    for (const std::string& url : bound) core.log(QUORATE_LOG_INFO, "serving clients on " + url);
    core.follow_member();
    for (auto& acceptor : acceptors) accept(*acceptor);
    thread = std::thread([this] { run(); });
  }

  void run() {
    for (;;) try {
        io.run();
        return;
      } catch (const std::exception& error) {
        core.log(QUORATE_LOG_ERROR, std::string("a turn of the front-end failed: ") + error.what());
      }
  }

  // ---- connections
  void accept(Acceptor& acceptor) {
    acceptor.async_accept(
        [this, &acceptor](boost::system::error_code error, Connection::Socket socket) {
          if (stopping || error == asio::error::operation_aborted) return;
          if (!error) {
            add(std::move(socket));
            return accept(acceptor);
          }
          core.log(QUORATE_LOG_WARN, "cannot accept a connection: " + error.message());
          auto pause = std::make_shared<asio::steady_timer>(io, kAcceptPause);
          pause->async_wait([this, &acceptor, pause](boost::system::error_code cancelled) {
            if (!cancelled && !stopping) accept(acceptor);
          });
        });
  }

  void add(Connection::Socket socket) {
    boost::system::error_code ignored;
    socket.non_blocking(true, ignored);
    const auto remote = socket.remote_endpoint(ignored);
    std::string address = "@";
    if (remote.protocol().family() != AF_UNIX) {
      address = text_of(tcp_endpoint(remote));
      socket.set_option(tcp::no_delay(true), ignored);
    }
    core.update_now();
    auto connection = std::make_shared<Connection>(core, std::move(socket), std::move(address),
                                                   [this](Connection* closed) { removed(closed); });
    connections.emplace(connection.get(), connection);
    connection->start();
    if (!std::exchange(ticking, true)) tick();
  }

  void removed(Connection* connection) {
    connections.erase(connection);
    note_idle();
  }

  void tick() {
    tick_timer.expires_after(kTick);
    tick_timer.async_wait([this](boost::system::error_code error) {
      ticking = false;
      if (error) return;
      core.update_now();
      for (auto& connection : all_connections()) connection->tick();
      if (stopping) note_idle();
      if (!connections.empty() && !std::exchange(ticking, true)) tick();
    });
  }

  std::vector<std::shared_ptr<Connection>> all_connections() {
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(connections.size());
    for (auto& [pointer, connection] : connections) all.push_back(connection);
    return all;
  }

  void arm(Time at) {
    deadline_timer.expires_at(at);
    deadline_timer.async_wait([this](boost::system::error_code error) {
      if (!error) core.expire_due();
    });
  }

  // ---- stop
  void begin_stop() {
    core.update_now();
    stopping = true;
    boost::system::error_code ignored;
    for (auto& acceptor : acceptors) acceptor->close(ignored);
    for (auto& connection : all_connections()) connection->drain();
    core.end_turn();
    watch_idle();
  }

  // Answers come and go without telling the server; while it stops it looks after each turn.
  void watch_idle() {
    note_idle();
    if (all_idle()) return;
    auto again = std::make_shared<asio::steady_timer>(io, milliseconds(2));
    again->async_wait([this, again](boost::system::error_code) {
      if (!closing) watch_idle();
    });
  }

  bool all_idle() {
    for (auto& [pointer, connection] : connections)
      if (!connection->idle()) return false;
    return true;
  }

  void note_idle() {
    if (!stopping || !all_idle()) return;
    const std::lock_guard lock(mutex);
    idle = true;
    changed.notify_all();
  }

  void close_all() {
    closing = true;
    tick_timer.cancel();
    for (auto& connection : all_connections()) connection->close();
    core.end_turn();
    const std::lock_guard lock(mutex);
    all_closed = true;
    changed.notify_all();
  }

  void stop(milliseconds drain) {
    if (!thread.joinable() || std::exchange(stopped, true)) return;
    asio::post(io, [this] { begin_stop(); });
    std::unique_lock lock(mutex);
    changed.wait_for(lock, drain, [this] { return idle; });
    asio::post(io, [this] { close_all(); });
    changed.wait(lock, [this] { return all_closed; });
    remove_unix_paths();
  }

  ~Loop() {
    stop(milliseconds(0));
    work.reset();
    io.stop();
    if (thread.joinable()) thread.join();
    core.drain();  // what came last frees what waited for it
  }

  void remove_unix_paths() {
    for (const std::string& path : unix_paths) ::unlink(path.c_str());
    unix_paths.clear();
  }

  const std::vector<std::string> urls;
  Core core;  // outlives the connections, some of which only pending operations own
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::vector<std::string> bound;
  std::vector<std::string> unix_paths;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;
  asio::steady_timer deadline_timer;
  asio::steady_timer tick_timer;
  bool ticking = false;
  bool stopping = false;
  bool closing = false;
  bool stopped = false;  // the host's side of it
  std::thread thread;

  // Between stop() and the I/O thread.
  std::mutex mutex;
  std::condition_variable changed;
  bool idle = false;
  bool all_closed = false;
};

Server::Server(const quorate_services& services, const quorate_host* host,
               std::vector<std::string> listen_urls, Settings settings)
    : loop_(std::make_unique<Loop>(services, host, std::move(listen_urls), std::move(settings))) {
  for (const std::string& url : loop_->urls) ListenUrl check(url);
}

Server::~Server() = default;

void Server::start() {
  loop_->start();
}

void Server::stop(milliseconds drain) {
  loop_->stop(drain);
}

const char* Server::bound(uint32_t index) const {
  return index < loop_->bound.size() ? loop_->bound[index].c_str() : nullptr;
}

}  // namespace quorate::frontend_etcd
