// SPDX-License-Identifier: Apache-2.0
// A TCP proxy on loopback that does to a connection what a network does, and a raw client.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace quorate::conformance {

// Forwards both ways until it is told otherwise.
class Proxy {
 public:
  explicit Proxy(uint16_t target_port);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Takes no byte and forwards none, and says nothing to new connections.
  void freeze(bool frozen) { frozen_ = frozen; }
  // Flips a bit in the next piece that goes to the target and is at least so long.
  void corrupt_piece_of(size_t size_min) { corrupt_from_ = size_min; }
  bool has_corrupted() const { return corrupt_from_ == 0; }
  // Cuts every connection behind the next piece to the target, of which one half goes through.
  void truncate_piece_of(size_t size_min) { truncate_from_ = size_min; }
  void cut();

 private:
  struct Link {
    int client = -1, target = -1;
  };

  void run();
  void add(int client);
  bool forward(int from, int to, bool to_target);
  void close_all();

  uint16_t target_port_, port_ = 0;
  int listener_ = -1;
  std::vector<Link> links_;
  std::atomic<bool> frozen_ = false, stop_ = false, cut_ = false;
  std::atomic<size_t> corrupt_from_ = 0, truncate_from_ = 0;
  std::thread thread_;
};

// Connects to the port, writes, and reads until the other side closes. False if it does not within
// a time that no healthy transport takes.
bool closes_after(uint16_t port, const std::string& bytes);

// Accepts connections at a port of its own and says nothing.
class MuteListener {
 public:
  MuteListener();
  ~MuteListener();
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  uint16_t port_ = 0;  // before fd_, which fills it in
  int fd_;
};

}  // namespace quorate::conformance
