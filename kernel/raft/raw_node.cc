// SPDX-License-Identifier: Apache-2.0
#include "raft/raw_node.h"

#include "raft/raft.h"

namespace quorate::raft {

RawNode::RawNode(const Config& config, InitialState state)
    : raft_(std::make_unique<Raft>(config, std::move(state))) {}
RawNode::~RawNode() = default;
RawNode::RawNode(RawNode&&) noexcept = default;

void RawNode::tick(uint64_t passed) {
  raft_->tick(passed);
}
Status RawNode::step(Message message) {
  return raft_->step(std::move(message));
}
Status RawNode::propose(std::span<const Bytes> payloads) {
  return raft_->propose(payloads);
}
Status RawNode::propose_conf_change(const ConfChange& change, Bytes context) {
  return raft_->propose_conf_change(change, std::move(context));
}
bool RawNode::may_change_conf() const {
  return raft_->may_change_conf();
}
void RawNode::read_index(RequestId id) {
  raft_->read_index(id);
}
void RawNode::transfer_leader(NodeId to) {
  raft_->transfer_leader(to);
}
void RawNode::campaign() {
  raft_->campaign();
}
void RawNode::append_done(const AppendDone& done, const Durable& durable) {
  QUORATE_CHECK(done.sequence <= durable.sequence(), "an append counts before it is durable");
  raft_->append_done(done);
}
void RawNode::apply_done(Index index, uint64_t bytes) {
  raft_->apply_done(index, bytes);
}
void RawNode::conf_state_applied(Index index, const ConfState& state) {
  raft_->conf_state_applied(index, state);
}
void RawNode::report_unreachable(NodeId peer) {
  raft_->report_unreachable(peer);
}
void RawNode::report_peer_reset(NodeId peer) {
  raft_->report_peer_reset(peer);
}
void RawNode::report_peer_connected(NodeId peer) {
  raft_->report_peer_connected(peer);
}
void RawNode::report_snapshot(NodeId peer, SnapshotStatus status) {
  raft_->report_snapshot(peer, status);
}
bool RawNode::has_ready() const {
  return raft_->has_ready();
}
Ready RawNode::ready() {
  return raft_->ready();
}
NodeStatus RawNode::status() const {
  return raft_->status();
}
HardState RawNode::hard_state() const {
  return raft_->hard_state();
}
SoftState RawNode::soft_state() const {
  return raft_->soft_state();
}
Index RawNode::applied() const {
  return raft_->log().applied();
}
Index RawNode::last_index() const {
  return raft_->log().last_index();
}
const Raft& RawNode::inner() const {
  return *raft_;
}

}  // namespace quorate::raft
