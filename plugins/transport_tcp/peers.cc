// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/peers.h"

#include <algorithm>
#include <utility>

namespace quorate::transport_tcp {

Peer::Peer(Core& core, uint64_t id, std::shared_ptr<PeerGauge> gauge)
    : core_(core),
      id_(id),
      gauge_(std::move(gauge)),
      backoff_(core.settings.redial_min),
      random_(std::random_device()()) {
  for (uint32_t number = 0; number < 2; ++number) {
    channels_[number].peer = this;
    channels_[number].number = number;
  }
  gauge_->state_since_ms = in_ms(Core::now());
}

Peer::~Peer() {
  close();
}

void Peer::set_addresses(Addresses addresses) {
  addresses_ = std::move(addresses);
  next_address_ = 0;
  backoff_ = core_.settings.redial_min;
  if (state_ == QUORATE_PEER_CONNECTED) return;
  close();
  dial();
}

void Peer::dial() {
  if (core_.stopping || core_.member_id == 0 || addresses_.empty() || redial_pending_) return;
  if (channels_[0].connection || channels_[1].connection) return;
  const Address& address = addresses_[next_address_++ % addresses_.size()];
  for (Channel& channel : channels_) {
    channel.connection =
        Connection::dial(core_, channel, address, id_, static_cast<Purpose>(channel.number));
    channel.connection->set_gauge(gauge_);
  }
}

void Peer::channel_opened() {
  if (!channels_[0].connection->is_open() || !channels_[1].connection->is_open()) return;
  backoff_ = core_.settings.redial_min;
  report(QUORATE_PEER_CONNECTED,
         "connected to " + std::string(channels_[0].connection->identity().address));
}

void Peer::send(uint32_t channel, Parts parts, size_t size) {
  if (state_ != QUORATE_PEER_CONNECTED) {
    gauge_->queued[channel] -= size;
    ++gauge_->failures;
    return;
  }
  Channel& to = channels_[channel];
  to.pending.bytes += size;
  ++to.pending.frames;
  to.connection->send(Kind::kMessage, 0, 0, std::move(parts), std::max<size_t>(size, 1));
}

void Peer::Channel::written(Charge charge) {
  pending.frames -= charge.frames;
  // An empty message is charged one byte, so that it has a charge at all.
  const size_t bytes = std::min(charge.bytes, pending.bytes);
  pending.bytes -= bytes;
  peer->gauge_->queued[number] -= bytes;
}

void Peer::Channel::closed(const Closure& closure) {
  peer->lost(closure);
}

void Peer::close() {
  for (Channel& channel : channels_) {
    if (channel.connection) channel.connection->close();
    channel.connection.reset();
    gauge_->queued[channel.number] -= channel.pending.bytes;
    gauge_->failures += channel.pending.frames;
    channel.pending = {};
  }
  if (std::exchange(redial_pending_, false)) core_.cancel(redial_timer_);
}

void Peer::lost(const Closure& closure) {
  close();
  redial_later(closure.state == QUORATE_PEER_REFUSED);
  report(closure.state, closure.reason);
}

// Doubled each time, and somewhere in the upper half of it, so that members that lost each other at
// once do not dial in step. Who was refused will be again: no haste.
void Peer::redial_later(bool refused) {
  if (core_.stopping) return;
  if (refused) backoff_ = core_.settings.redial_max;
  const auto base = std::max<int64_t>(backoff_.count(), 1);
  const milliseconds delay(base / 2 +
                           static_cast<int64_t>(random_() % static_cast<uint64_t>(base)) / 2);
  backoff_ = std::min(2 * backoff_, core_.settings.redial_max);
  redial_pending_ = true;
  redial_timer_ = core_.after(delay, [this] {
    redial_pending_ = false;
    dial();
  });
}

void Peer::report(uint32_t state, const std::string& reason) {
  if (std::exchange(state_, state) == state) return;
  gauge_->state_since_ms = in_ms(Core::now());
  core_.log.info("peer " + std::to_string(id_) + ": " + reason);
  core_.receiver.on_peer(core_.receiver.ctx, id_, state, reason.c_str());
}

void Peers::set(uint64_t id, Addresses addresses, std::shared_ptr<PeerGauge> gauge) {
  auto& peer = peers_[id];
  if (peer && peer->gauge() != gauge) peer.reset();
  if (!peer) peer = std::make_unique<Peer>(core_, id, std::move(gauge));
  peer->set_addresses(std::move(addresses));
}

Peer* Peers::find(uint64_t id) {
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second.get();
}

void Peers::dial_all() {
  for (auto& [id, peer] : peers_) peer->dial();
}

void Peers::close_all() {
  for (auto& [id, peer] : peers_) peer->close();
}

}  // namespace quorate::transport_tcp
