// SPDX-License-Identifier: Apache-2.0
// A network in the test's own time, behind the transport table: servers of one TestEnv that load
// the plugin() below reach each other through it. Links have a delay and may be cut one way or
// both; a server that is destroyed looks to the others like a process that died.
//
//   SimNetwork network(env);
//   ... servers with transport {"sim", {{"network", network.address()}}} ...
//   network.cut("http://a", "http://b");     // what a says does not reach b
//   network.heal();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "quorate/plugin.h"
#include "quorate/transport.h"
#include "support/test_env.h"
#include "support/test_plugin.h"

namespace quorate::test {

class SimNetwork {
 public:
  explicit SimNetwork(TestEnv& env, uint64_t seed = 1);
  ~SimNetwork();

  static const quorate_plugin& plugin();
  // The value of the transport's option "network".
  std::string address() const { return address_of(this); }

  // By URL, as the servers listen.
  void cut(const std::string& from, const std::string& to) { cut_.insert({from, to}); }
  void mend(const std::string& from, const std::string& to) { cut_.erase({from, to}); }
  void cut_both(const std::string& a, const std::string& b) {
    cut(a, b);
    cut(b, a);
  }
  void heal() { cut_.clear(); }
  // Of a message on its way: min to max.
  void set_delay_ns(uint64_t min, uint64_t max) {
    delay_min_ns_ = min;
    delay_max_ns_ = max;
  }
  // One message in `n` is lost, comes twice, or takes up to a hundred times as long; 0: none.
  void lose_one_in(uint64_t n) { lose_one_in_ = n; }
  void repeat_one_in(uint64_t n) { repeat_one_in_ = n; }
  void hold_one_in(uint64_t n) { hold_one_in_ = n; }
  // Nothing that `from` says reaches `to` before this time; then all of it does.
  void clog(const std::string& from, const std::string& to, uint64_t until_ns) {
    clogged_[{from, to}] = until_ns;
  }
  // The connections between the two break, as by a middlebox; both ends hear it, and dial again.
  void reset(const std::string& a, const std::string& b);

  uint64_t messages() const { return messages_; }
  uint64_t snapshots() const { return snapshots_; }
  uint64_t largest_message() const { return largest_message_; }  // bytes

 private:
  friend struct SimTable;
  struct Node;
  class Clockwork;
  struct Stream;
  using Action = std::function<void()>;

  void later(uint64_t delay_ns, Action action);
  // Runs `action` when what `from` says has come to `to`, if it comes, and both still live.
  void carry(Node& from, Node& to, Action action);
  // The same at `due_ns`, though the sender may have died since.
  void carry_message_at(uint64_t due_ns, const Node& from, const Node& to, Action action);
  // A question to an address comes from a host that waits for the answer, outside of all turns.
  void run_until_answered(uint64_t serial, uint64_t token);
  void look_at_links();
  void look_at_link(Node& node, uint64_t peer);
  Node* node_of(uint64_t id);
  Node* node_at(const std::string& url);
  Node* live(uint64_t serial);
  bool passes(const Node& from, const Node& to) const;
  bool passes(const std::set<std::string>& from, const std::set<std::string>& to) const;
  void remove(Node* node);
  uint64_t delay();
  uint64_t extra_delay();
  uint64_t delay_of(const Node& from, const Node& to);

  TestEnv& env_;
  Random random_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Clockwork> clockwork_;
  std::map<uint64_t, std::unique_ptr<Node>> nodes_;         // by serial
  std::map<uint64_t, std::set<std::string>> urls_of_dead_;  // by serial
  uint64_t next_serial_ = 1;
  uint64_t next_token_ = 1;
  std::set<std::pair<std::string, std::string>> cut_;
  uint64_t delay_min_ns_ = 200'000, delay_max_ns_ = 800'000;
  uint64_t lose_one_in_ = 0, repeat_one_in_ = 0, hold_one_in_ = 0;
  std::map<std::pair<std::string, std::string>, uint64_t> clogged_;
  uint64_t messages_ = 0, snapshots_ = 0, largest_message_ = 0;
};

}  // namespace quorate::test
