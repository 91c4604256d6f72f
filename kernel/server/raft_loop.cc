// SPDX-License-Identifier: Apache-2.0
#include "server/raft_loop.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "quorate/transport.h"
#include "raft/raft.h"

namespace quorate::server {
namespace {

template <typename T>
void append_all(std::vector<T>& to, std::vector<T>& from) {
  if (to.empty()) {
    to.swap(from);
    return;
  }
  for (T& item : from) to.push_back(std::move(item));
  from.clear();
}

constexpr size_t kConfWaitingMax = 64;
// Of a change that another member handed on: its caller waits there no longer than this.
constexpr uint64_t kForwardedLifeNs = 7'000'000'000;
// Nothing stays so long beyond its deadline. What an RPC brings back may be late when it comes.
constexpr uint64_t kLateNs = 1'000'000'000;
constexpr uint64_t kEncodingBytesMax = 8 << 10;  // of a message, beside its payloads, as a rule

}  // namespace

RaftLoop::RaftLoop(Executor* executor, const Parts& parts, raft::RawNode node,
                   const raft::ConfState& conf_state)
    : Loop(executor),
      parts_(parts),
      output_(parts.output),
      node_(std::move(node)),
      ticks_(parts.tick_ms * 1'000'000),
      logger_(parts.logger),
      haste_(parts.seed, parts.tick_ms * 1'000'000),
      next_forwarded_(parts.first_read_id),
      next_read_id_(parts.first_read_id) {
  note_configuration(conf_state);
}

void RaftLoop::note_configuration(const raft::ConfState& state) {
  alone_ = state.voters_outgoing.empty() && state.voters == std::vector<raft::NodeId>{parts_.self};
}

void RaftLoop::start() {
  wake();
}

void RaftLoop::propose(Proposals proposals) {
  uint64_t bytes = 0;
  for (const Proposal& proposal : proposals.items) bytes += proposal.payload.size();
  proposal_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  post(std::move(proposals));
}

bool RaftLoop::offer(PeerMessages messages) {
  if (peer_bytes_.load(std::memory_order_relaxed) > parts_.peer_bytes_max) return false;
  peer_bytes_.fetch_add(messages.bytes, std::memory_order_relaxed);
  post(std::move(messages));
  return true;
}

void RaftLoop::on_turn(std::vector<RaftEvent>& events) {
  for (RaftEvent& event : events) std::visit([this](auto& news) { take(news); }, event);
  tick_if_due();
  campaign_if_due();
  feed_node();
  bool changed = false;
  while (node_.has_ready()) {
    hand_over(node_.ready());
    changed = true;
    // A round that ended, or a leader that appeared, lets more work in.
    feed_node();
  }
  if (changed) output_->status_changed(node_.hard_state(), node_.soft_state());
  // What raft took was handed to the log in this very turn.
  for (raft::EntryId snapshot : std::exchange(stepped_, {})) {
    output_->snapshot_stepped(snapshot,
                              std::any_of(snapshots_.begin(), snapshots_.end(),
                                          [&](const auto& each) { return each.id() == snapshot; }));
  }
}

void RaftLoop::feed_node() {
  propose_waiting();
  ask_leader();
  start_read_round();
}

// ---------------------------------------------------------------- events

void RaftLoop::take(Proposals& event) {
  append_all(waiting_proposals_, event.items);
}

void RaftLoop::take(ConfProposal& event) {
  if (waiting_conf_.size() >= kConfWaitingMax) {
    refuse(event.request, Code::kTooManyRequests);
    return;
  }
  waiting_conf_.push_back(std::move(event));
}

void RaftLoop::take(ReadRequest& event) {
  append_all(waiting_reads_, event.waiters);
}

void RaftLoop::take(LeaderRequest& event) {
  append_all(event.again ? questions_again_ : waiting_questions_, event.questions);
}

void RaftLoop::take(PeerMessages& event) {
  for (raft::Message& message : event.messages) {
    if (is_repeated(message)) continue;
    queue_forwarded_changes(message);
    if (message.type == raft::MessageType::kMsgSnap) stepped_.push_back(message.snapshot->id());
    note_haste(message);
    step(std::move(message));
  }
  peer_bytes_.fetch_sub(event.bytes, std::memory_order_relaxed);
}

bool RaftLoop::is_repeated(const raft::Message& message) {
  if (message.type != raft::MessageType::kMsgProp || message.context == 0) return false;
  constexpr uint64_t kCount = (uint64_t{1} << kStartIdCountBits) - 1;
  ForwardedFrom& origin = forwarded_from_[message.from];
  if (const uint64_t start = message.context & ~kCount; start != origin.start)
    origin = {start, ReplayWindow()};
  return !origin.numbers.is_new(message.context & kCount);
}

void RaftLoop::number_proposals(std::vector<raft::Message>& messages) {
  for (raft::Message& message : messages)
    if (message.type == raft::MessageType::kMsgProp && message.context == 0)
      message.context = next_forwarded_++;
}

void RaftLoop::take(PeerEvent& event) {
  const uint64_t now = parts_.clock->now_ns();
  if (event.state == QUORATE_PEER_CONNECTED) {
    if (haste_.connected(event.peer, now)) node_.report_peer_connected(event.peer);
    return;
  }
  node_.report_unreachable(event.peer);
  if (event.state != QUORATE_PEER_RESET) return;
  node_.report_peer_reset(event.peer);
  if (event.peer != node_.soft_state().leader) return;
  haste_.reset(event.peer, now);
  wake_at(haste_.due_ns());
}

void RaftLoop::take(SnapshotSent& event) {
  node_.report_snapshot(event.peer, event.status);
}

void RaftLoop::take(PeerAddresses& event) {
  output_->set_peers(event);
}

void RaftLoop::take(TransferLeader& event) {
  const raft::NodeId to = event.to != 0 ? event.to : best_follower();
  if (to != 0) node_.transfer_leader(to);
}

void RaftLoop::take(WalSynced& event) {
  for (raft::Message& reply : event.replies) step(std::move(reply));
  for (const raft::AppendDone& done : event.done) {
    node_.append_done(done, event.durable);
    if (!done.snapshot) continue;
    QUORATE_CHECK(!snapshots_.empty() && snapshots_.front().id() == *done.snapshot,
                  "the log holds a snapshot's record that was not handed to it");
    output_->snapshot_durable(snapshots_.front());
    snapshots_.pop_front();
  }
}

void RaftLoop::take(Applied& event) {
  node_.apply_done(event.index, event.bytes);
}

void RaftLoop::take(ConfApplied& event) {
  note_configuration(event.state);
  node_.conf_state_applied(event.index, event.state);
}

void RaftLoop::step(raft::Message message) {
  const raft::MessageType type = message.type;
  const raft::NodeId from = message.from;
  if (Status status = node_.step(std::move(message)); !status.ok())
    logger_.warn("{} of {} was refused: {}", raft::message_type_name(type),
                 from == parts_.self ? "this member" : "a peer", status.to_string());
}

// ---------------------------------------------------------------- time

void RaftLoop::tick_if_due() {
  const uint64_t now = parts_.clock->now_ns();
  const bool first = ticks_.next_ns() == 0;
  const uint64_t passed = ticks_.passed(now);
  if (first) wake_at(ticks_.next_ns());
  if (passed == 0) return;
  node_.tick(passed);
  wake_at(ticks_.next_ns());
  append_all(waiting_questions_, questions_again_);
  ticked_ns_ = now;
  drop_late(waiting_questions_, now);
  drop_late(waiting_conf_, now);
  drop_late_proposals(now);
  drop_late(waiting_reads_, now);
  drop_late(round_, now);
  note_log_needed();
  output_->ticked(now);
}

// The only voter need not wait to be sure that nobody leads. Others wait for the clock, unless the
// leader's process was seen to end.
void RaftLoop::campaign_if_due() {
  if (alone_ && node_.soft_state().leader == 0) node_.campaign();
  if (haste_.due_ns() == 0) return;
  const uint64_t now = parts_.clock->now_ns();
  const raft::SoftState soft = node_.soft_state();
  if (soft.leader != 0 && soft.leader != haste_.leader()) return haste_.give_up();
  if (now >= haste_.due_ns()) {
    // It may have been heard since by what was still on its way, or have been connected in vain.
    if (soft.leader != 0) node_.report_peer_reset(soft.leader);
    node_.campaign();
    haste_.tried(now);
  }
  if (haste_.due_ns() != 0) wake_at(haste_.due_ns());
}

void RaftLoop::note_haste(const raft::Message& message) {
  if (haste_.due_ns() == 0) return;
  const uint64_t now = parts_.clock->now_ns();
  if (is_vote_request(message))
    haste_.another_campaigns(message.type == raft::MessageType::kMsgPreVote, now);
  else if (is_from_leader(message) && message.term >= node_.hard_state().term)
    haste_.heard(message.from, now);
}

// 0: this member does not lead, or leads alone.
raft::NodeId RaftLoop::best_follower() const {
  if (node_.soft_state().role != raft::Role::kLeader) return 0;
  raft::PeerProgress best;
  for (const raft::PeerProgress& peer : node_.status().progress) {
    const bool able = peer.id != parts_.self && !peer.learner && peer.recent_active;
    if (able && (best.id == 0 || peer.match > best.match)) best = peer;
  }
  return best.id;
}

// Only a leader knows how far the others are. A follower keeps what it may, for it may lead soon.
void RaftLoop::note_log_needed() {
  raft::Index needed = alone_ ? UINT64_MAX : 0;
  if (node_.soft_state().role == raft::Role::kLeader) {
    needed = UINT64_MAX;
    for (const raft::PeerProgress& peer : node_.status().progress)
      if (peer.id != parts_.self) needed = std::min(needed, peer.match + 1);
  }
  output_->log_needed(needed);
}

// ---------------------------------------------------------------- what waits for a leader

void RaftLoop::propose_waiting() {
  if (node_.soft_state().leader == 0) return;
  std::vector<Proposal> proposals;
  proposals.swap(waiting_proposals_);
  for (std::span<const Proposal> rest = proposals; !rest.empty();) rest = propose_group(rest);
  propose_conf_changes();
}

// Proposes as many as fit into one message to the leader, and returns the rest. What has gathered
// while nobody led may be more than any peer takes at once, and is refused or lost as a whole.
std::span<const Proposal> RaftLoop::propose_group(std::span<const Proposal> proposals) {
  std::vector<Bytes> payloads;
  payloads.reserve(proposals.size());
  uint64_t bytes = 0;
  for (const Proposal& proposal : proposals) {
    const uint64_t more = proposal.payload.size();
    if (!payloads.empty() && bytes + more > parts_.group_bytes_max) break;
    payloads.push_back(proposal.payload);
    bytes += more;
  }
  proposal_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  const std::span<const Proposal> group = proposals.first(payloads.size());
  if (!node_.propose(payloads).ok()) output_->proposals_refused(group, Code::kTooManyRequests);
  return proposals.subspan(group.size());
}

void RaftLoop::refuse(uint64_t request, Code code) {
  const Proposal refused{request, {}};
  output_->proposals_refused({&refused, 1}, code);
}

// A write that takes effect long after its client was told that it may have: nobody expects it.
void RaftLoop::drop_late_proposals(uint64_t now_ns) {
  uint64_t bytes = 0;
  std::erase_if(waiting_proposals_, [&](const Proposal& proposal) {
    if (!is_late(proposal, now_ns)) return false;
    bytes += proposal.payload.size();
    return true;
  });
  proposal_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

// One at a time. The leader holds back what comes while one is under way: the core would put an
// empty entry in its place, and nobody could answer its caller.
void RaftLoop::propose_conf_changes() {
  const bool leads = node_.soft_state().role == raft::Role::kLeader;
  while (!waiting_conf_.empty() && (!leads || node_.may_change_conf())) {
    const ConfProposal conf = std::move(waiting_conf_.front());
    waiting_conf_.pop_front();
    Code refusal = Code::kOk;
    if (conf.promotes && !leads) {
      refusal = Code::kLeaderChanged;
    } else if (conf.promotes && !follows_closely(conf.change.steps.front().node)) {
      refusal = Code::kLearnerNotReady;
    } else if (!node_.propose_conf_change(conf.change, conf.context).ok()) {
      refusal = Code::kTooManyRequests;
    }
    if (refusal != Code::kOk) refuse(conf.request, refusal);
  }
}

// A learner that is promoted while it lags would be a voter that cannot vote for long.
bool RaftLoop::follows_closely(raft::NodeId learner) const {
  const raft::NodeStatus status = node_.status();
  raft::Index own = 0, match = 0;
  for (const raft::PeerProgress& peer : status.progress) {
    if (peer.id == learner) match = peer.match;
    if (peer.id == parts_.self) own = peer.match;
  }
  return match * 10 >= own * 9;
}

// The same for a change that another member handed on.
void RaftLoop::queue_forwarded_changes(raft::Message& message) {
  if (message.type != raft::MessageType::kMsgProp || node_.soft_state().role != raft::Role::kLeader)
    return;
  std::erase_if(message.entries, [this](const raft::Entry& entry) {
    if (entry.type != raft::EntryType::kConfChange) return false;
    Result<raft::DecodedConfChange> change = raft::decode_conf_change(entry.payload);
    if (change && waiting_conf_.size() < kConfWaitingMax) {
      waiting_conf_.push_back({0, std::move(change->change), std::move(change->context),
                               parts_.clock->now_ns() + kForwardedLifeNs});
    }
    return true;
  });
}

// A leader's answer stands on a round of its own: it must lead still when the answer is made.
void RaftLoop::ask_leader() {
  const raft::SoftState state = node_.soft_state();
  if (waiting_questions_.empty() || state.leader == 0) return;
  std::vector<Question> questions = std::exchange(waiting_questions_, {});
  if (state.leader == parts_.self) {
    uint64_t deadline_ns = 0;
    for (const Question& question : questions)
      deadline_ns = std::max(deadline_ns, question.deadline_ns);
    waiting_reads_.push_back({nullptr, std::move(questions), 0, deadline_ns});
    return;
  }
  // Who took this member for the leader looks again itself: two that each take the other for it
  // would else hand a question to and fro.
  const auto own = std::stable_partition(questions.begin(), questions.end(),
                                         [](const Question& q) { return q.forwarded; });
  std::vector<Question> theirs(std::make_move_iterator(questions.begin()),
                               std::make_move_iterator(own));
  questions.erase(questions.begin(), own);
  if (!theirs.empty()) output_->questions_refused(std::move(theirs), Code::kNotLeader);
  if (!questions.empty()) output_->ask_leader(state.leader, std::move(questions));
}

void RaftLoop::start_read_round() {
  if (round_id_ != 0 || waiting_reads_.empty() || node_.soft_state().leader == 0) return;
  round_.swap(waiting_reads_);
  round_id_ = next_read_id_++;
  node_.read_index(round_id_);
}

void RaftLoop::finish_read_round(const raft::ReadState& state) {
  if (state.request != round_id_) return;
  round_id_ = 0;
  if (state.ok) {
    output_->reads_ready(state.index, std::exchange(round_, {}));
  } else {
    // The leader was lost meanwhile: the reads join the next round, or meet their deadline.
    append_all(round_, waiting_reads_);
    waiting_reads_ = std::exchange(round_, {});
  }
}

void RaftLoop::hand_over(raft::Ready ready) {
  number_proposals(ready.messages);
  if (!ready.messages.empty()) output_->send(std::move(ready.messages));
  if (ready.append.snapshot) snapshots_.push_back(*ready.append.snapshot);
  if (!ready.append.empty()) output_->append(std::move(ready.append));
  if (ready.soft_state) note_role(*ready.soft_state);
  if (!ready.committed.empty()) output_->committed(std::move(ready.committed));
  for (const raft::ReadState& state : ready.read_states) finish_read_round(state);
  for (const raft::LogWindow& window : ready.load) output_->load(window);
}

void RaftLoop::measure(QueueDepths& to) const {
  const uint64_t late_ns = ticked_ns_ - std::min(ticked_ns_, kLateNs);
  const auto is_late = [late_ns](const auto& waiting) {
    return waiting.deadline_ns != 0 && waiting.deadline_ns < late_ns;
  };
  const auto add = [&](const char* name, const char* late_name, const auto&... queues) {
    to.add(name, (queues.size() + ...), UINT64_MAX);
    to.add(late_name, (std::count_if(queues.begin(), queues.end(), is_late) + ...), 0);
  };
  add("writes that wait for a leader", "writes that waited for a leader too long",
      waiting_proposals_);
  add("reads that wait for a leader", "reads that waited for a leader too long", waiting_reads_,
      round_);
  add("questions that wait for a leader", "questions that waited for a leader too long",
      waiting_questions_, questions_again_);
  to.add("changes of members that wait", waiting_conf_.size(), kConfWaitingMax);
  const uint64_t one_more = parts_.request_bytes_max + kEncodingBytesMax;
  to.add("bytes of proposals", proposal_bytes_.load(std::memory_order_relaxed),
         parts_.proposal_bytes_max + one_more);
  to.add("bytes of messages from peers", peer_bytes_.load(std::memory_order_relaxed),
         parts_.peer_bytes_max + parts_.group_bytes_max + one_more);

  // Their limits are held by raft, and checked by raft::NodeInvariants.
  uint64_t inflight = 0;
  for (const raft::Progress& peer : raft().progress())
    if (peer.recent_active) inflight += peer.inflights().size();
  to.add("messages that peers have not acknowledged", inflight, UINT64_MAX);
  to.add("bytes that are not committed", raft().log().uncommitted_bytes(), UINT64_MAX);
  to.add("bytes on their way to the log", raft().log().in_progress_bytes(), UINT64_MAX);
  to.add("bytes on their way to apply", raft().log().applying_bytes(), UINT64_MAX);
}

void RaftLoop::note_role(const raft::SoftState& state) {
  const bool led = soft_state_.role == raft::Role::kLeader;
  const bool leads = state.role == raft::Role::kLeader;
  soft_state_ = state;
  if (leads && !led) {
    const raft::Term term = node_.hard_state().term;
    logger_.info("this member leads since term {}", term);
    output_->leadership_started(term, node_.last_index());
  } else if (led && !leads) {
    logger_.warn("this member no longer leads");
    output_->leadership_ended();
  }
}

}  // namespace quorate::server
