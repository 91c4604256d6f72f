// SPDX-License-Identifier: Apache-2.0
#include "conformance/transport/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace quorate::conformance {
namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

int listen_anywhere(uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(fd, 64) != 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("cannot listen on loopback");
  port = ntohs(address.sin_port);
  return fd;
}

int connect_to(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

bool write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t count = ::send(fd, bytes, size, MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

Proxy::Proxy(uint16_t target_port) : target_port_(target_port) {
  listener_ = listen_anywhere(port_);
  thread_ = std::thread([this] { run(); });
}

Proxy::~Proxy() {
  stop_ = true;
  thread_.join();
  close_all();
  ::close(listener_);
}

void Proxy::cut() {
  cut_ = true;
}

void Proxy::run() {
  while (!stop_) {
    if (cut_.exchange(false)) close_all();
    std::vector<pollfd> polled{{listener_, POLLIN, 0}};
    if (!frozen_)
      for (const Link& link : links_) {
        polled.push_back({link.client, POLLIN, 0});
        polled.push_back({link.target, POLLIN, 0});
      }
    ::poll(polled.data(), polled.size(), 5);
    // From the end, so that a link that goes leaves the others' places as they are.
    for (size_t i = (polled.size() - 1) / 2; i > 0; --i) {
      const Link link = links_[i - 1];
      const bool alive =
          (polled[2 * i - 1].revents == 0 || forward(link.client, link.target, true)) &&
          (polled[2 * i].revents == 0 || forward(link.target, link.client, false));
      if (alive) continue;
      ::close(link.client);
      ::close(link.target);
      links_.erase(links_.begin() + static_cast<ptrdiff_t>(i - 1));
    }
    if (polled[0].revents != 0) add(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
  }
}

void Proxy::add(int client) {
  const int target = connect_to(target_port_);
  if (client >= 0 && target >= 0) {
    links_.push_back({client, target});
  } else if (client >= 0) {
    ::close(client);
  }
}

bool Proxy::forward(int from, int to, bool to_target) {
  char bytes[64 * 1024];
  const ssize_t count = ::read(from, bytes, sizeof bytes);
  if (count <= 0) return false;
  const auto size = static_cast<size_t>(count);
  if (to_target && corrupt_from_ != 0 && size >= corrupt_from_) {
    bytes[size / 2] = static_cast<char>(bytes[size / 2] ^ 0x10);
    corrupt_from_ = 0;
  }
  if (to_target && truncate_from_ != 0 && size >= truncate_from_) {
    write_all(to, bytes, size / 2);
    truncate_from_ = 0;
    return false;
  }
  return write_all(to, bytes, size);
}

void Proxy::close_all() {
  for (const Link& link : links_) {
    ::close(link.client);
    ::close(link.target);
  }
  links_.clear();
}

bool closes_after(uint16_t port, const std::string& bytes) {
  const int fd = connect_to(port);
  if (fd < 0) return false;
  write_all(fd, bytes.data(), bytes.size());
  bool closed = false;
  pollfd polled{fd, POLLIN, 0};
  while (!closed && ::poll(&polled, 1, 60'000) > 0) {
    char ignored[4096];
    closed = ::read(fd, ignored, sizeof ignored) <= 0;
  }
  ::close(fd);
  return closed;
}

MuteListener::MuteListener() : fd_(listen_anywhere(port_)) {}

MuteListener::~MuteListener() {
  ::close(fd_);
}

}  // namespace quorate::conformance
