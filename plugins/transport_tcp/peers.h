// SPDX-License-Identifier: Apache-2.0
// The members that set_peer() named: each has two connections of our dialling, which carry what we
// send; what it sends comes on connections of its own dialling. I/O thread only.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "transport_tcp/address.h"
#include "transport_tcp/connection.h"
#include "transport_tcp/core.h"
#include "transport_tcp/parts.h"

namespace quorate::transport_tcp {

// Both channels stand or fall together: CONNECTED means both are open, and the loss of one closes
// the other, so that none outlives the process it led to.
class Peer {
 public:
  Peer(Core& core, uint64_t id, std::shared_ptr<PeerGauge> gauge);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const Addresses& addresses() const { return addresses_; }
  void set_addresses(Addresses addresses);
  // Dials unless it does or is connected already.
  void dial();
  // `size`: of the parts, and counted in the gauge. Dropped unless connected.
  void send(uint32_t channel, Parts parts, size_t size);
  void close();
  const std::shared_ptr<PeerGauge>& gauge() const { return gauge_; }

 private:
  struct Channel final : ConnectionUser {
    void opened() override { peer->channel_opened(); }
    bool received(std::span<const Frame>) override { return false; }
    void written(Charge charge) override;
    void closed(const Closure& closure) override;

    Peer* peer = nullptr;
    uint32_t number = 0;
    std::shared_ptr<Connection> connection;
    Charge pending;  // accepted, not yet written
  };

  void channel_opened();
  void lost(const Closure& closure);
  void redial_later(bool refused);
  void report(uint32_t state, const std::string& reason);

  Core& core_;
  const uint64_t id_;
  const std::shared_ptr<PeerGauge> gauge_;
  Addresses addresses_;
  size_t next_address_ = 0;
  Channel channels_[2];
  uint32_t state_ = 0;  // QUORATE_PEER_*; 0: nothing reported yet
  milliseconds backoff_;
  bool redial_pending_ = false;
  Core::Timer redial_timer_;
  std::minstd_rand random_;
};

class Peers {
 public:
  explicit Peers(Core& core) : core_(core) {}

  void set(uint64_t id, Addresses addresses, std::shared_ptr<PeerGauge> gauge);
  void remove(uint64_t id) { peers_.erase(id); }
  Peer* find(uint64_t id);
  void dial_all();
  void close_all();

 private:
  Core& core_;
  std::map<uint64_t, std::unique_ptr<Peer>> peers_;
};

}  // namespace quorate::transport_tcp
