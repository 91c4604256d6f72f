// SPDX-License-Identifier: Apache-2.0
// Verbs over the C table of the transport under judgement, and the kernel's side of it, faked: it
// writes down what it hears and answers as a test tells it. QUORATE_PLUGIN names the library; it is
// loaded with dlopen(), so that a stranger's plugin needs nothing of the kernel's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quorate/transport.h"

namespace quorate::conformance {

inline constexpr uint64_t kCluster = 0xc1;

// The plugin's library, loaded at the first call and kept. Ends the program with a sentence when it
// is no transport plugin.
const quorate_plugin& plugin();
const quorate_transport_factory& factory();

// http://127.0.0.1:port, with a port that was free a moment ago.
std::string free_url();
uint16_t port_of(const std::string& url);

// Shared bytes as the kernel lends them: ours for the call, the transport's if it retains them.
class Buf {
 public:
  explicit Buf(std::string bytes);
  ~Buf();
  Buf(const Buf&) = delete;
  Buf& operator=(const Buf&) = delete;

  const quorate_buf& get() const { return buf_; }
  // How many are held by anybody.
  static int64_t alive();

 private:
  quorate_buf buf_{};
};

class Member;

struct Reply {
  Member* member = nullptr;
  int times = 0;
  quorate_status code = QUORATE_OK;
  std::string bytes;
};

// An outgoing snapshot as the worker sees it. Lives as long as its member.
struct Stream {
  quorate_stream* handle = nullptr;
  Member* member = nullptr;
  int ready = 0, done = 0;
  quorate_status verdict = QUORATE_OK;

  quorate_status write(const std::string& block);
  void finish(quorate_status code = QUORATE_OK);
};

struct IncomingSnapshot {
  uint64_t name = 0, from = 0;
  std::string meta;
  std::vector<std::string> blocks;
  int ends = 0;
  quorate_status end_code = QUORATE_OK;
};

// What one transport's kernel has heard and how it answers. All fields are guarded by the member's
// mutex; tests touch the answers before traffic starts, or by with().
struct Kernel {
  std::map<uint64_t, std::vector<std::string>> messages;  // by sender
  size_t batches = 0;
  std::vector<std::pair<uint64_t, uint32_t>> states;  // (member, QUORATE_PEER_*)
  std::map<uint64_t, uint32_t> state;
  std::map<uint64_t, std::string> reason;
  std::vector<uint64_t> authorized;  // claims of member ids, in order
  std::vector<std::string> calls;
  std::vector<uint64_t> callers, tokens;
  std::vector<IncomingSnapshot> snapshots;
  bool heard_unauthorized = false;

  std::set<uint64_t> refused;  // members that authorize() turns away
  bool answers_calls = true;   // each with "re:" and the request
  bool judges = true;          // each ended snapshot gets its verdict at once
  std::deque<quorate_status> begin_answers, block_answers;  // then OK
  bool blocked = false;                                     // on_messages does not return
};

class Member {
 public:
  using Options = std::map<std::string, std::string>;

  // Listens at `url` unless it is empty; the options are given as far as the plugin knows them.
  Member(uint64_t id, std::string url, const Options& options = {}, uint64_t cluster = kCluster);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  uint64_t id() const { return id_; }
  const std::string& url() const { return url_; }
  quorate_transport* handle() { return transport_; }

  void know(uint64_t id, const std::string& url);
  void know(const Member& other) { know(other.id(), other.url()); }
  void forget(uint64_t id) { factory().remove_peer(transport_, id); }
  void send(uint64_t to, uint32_t channel, const std::vector<std::string>& parts);
  // The reply lives as long as the member.
  Reply& call(uint64_t to, const std::string& url, const std::string& request,
              uint64_t timeout_ms = 60'000);
  void answer(uint64_t token, quorate_status code, const std::string& bytes);
  // nullptr when it is refused.
  Stream* open_stream(uint64_t to, const std::string& meta);
  void judge(uint64_t snapshot, quorate_status verdict);
  void ready(uint64_t snapshot);
  void stop(uint64_t drain_ms = 0);
  void destroy();
  quorate_peer_stats stats(uint64_t peer);

  // Waits until it is true of what the kernel has heard; false after a time no healthy transport
  // takes.
  bool wait(const std::function<bool(Kernel&)>& is_true);
  bool wait_state(uint64_t peer, uint32_t state);
  void with(const std::function<void(Kernel&)>& run);
  template <class T>
  T get(const std::function<T(Kernel&)>& run) {
    const std::lock_guard lock(mutex_);
    return run(kernel_);
  }

 private:
  friend struct Receiver;
  friend struct Stream;

  const uint64_t id_;
  const std::string url_;
  Options options_;  // what is given lives as long as the transport
  std::vector<quorate_option> given_;
  quorate_receiver receiver_{};
  quorate_transport* transport_ = nullptr;
  bool stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  Kernel kernel_;
  std::deque<Reply> replies_;
  std::deque<Stream> streams_;
};

// Two members that know each other and are connected both ways.
struct Pair {
  explicit Pair(const Member::Options& options = {});

  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  Member a, b;
};

}  // namespace quorate::conformance
