// SPDX-License-Identifier: Apache-2.0
#include "transport_tcp/snapshots.h"

#include <algorithm>
#include <utility>

namespace quorate::transport_tcp {
namespace {

// What a block takes of the credit: so that empty ones are bounded too.
uint64_t cost(size_t block_size) {
  return block_size + kHeaderSize;
}

}  // namespace

OutgoingStream::OutgoingStream(Core& core, Transport& transport, OutgoingStreams& streams,
                               uint64_t to, Parts meta, void* user)
    : Link(core),
      transport_(transport),
      streams_(streams),
      to_(to),
      meta_(std::move(meta)),
      user_(user) {}

quorate_status OutgoingStream::write(const quorate_buf& block, bool& wake) {
  if (block.bytes.size > core_.settings.block_bytes_max) return QUORATE_INVALID_ARGUMENT;
  const std::lock_guard lock(mutex_);
  if (over_) return verdict_ == QUORATE_OK ? QUORATE_CANCELLED : verdict_;
  if (finished_) return QUORATE_INVALID_ARGUMENT;
  if (accepted_ >= credit_) {
    writer_waits_ = true;
    return QUORATE_BUSY;
  }
  accepted_ += cost(block.bytes.size);
  wake = blocks_.empty();
  blocks_.emplace_back(block);
  return QUORATE_OK;
}

void OutgoingStream::finish(quorate_status code) {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  finish_code_ = code;
}

void OutgoingStream::start(Addresses addresses) {
  if (core_.stopping || addresses.empty() || core_.member_id == 0)
    return end_with(QUORATE_UNAVAILABLE);
  dial(std::move(addresses), to_, Purpose::kSnapshot);
}

void OutgoingStream::opened() {
  connection_->send(Kind::kBegin, 0, 0, std::move(meta_));
  run();
}

// Sends what the worker gave, and looks whether the end has come.
void OutgoingStream::run() {
  std::deque<SharedBuf> blocks;
  std::unique_lock lock(mutex_);
  if (over_) {
    if (!finished_ || std::exchange(reported_, true)) return;
    const quorate_status verdict = verdict_;
    lock.unlock();
    const auto self = shared_from_this();
    streams_.remove(this);
    core_.receiver.on_stream(core_.receiver.ctx, user_, QUORATE_STREAM_DONE, verdict);
    return;
  }
  const bool given_up = finished_ && finish_code_ != QUORATE_OK;
  if (given_up) blocks_.clear();
  if (!connection_ || !connection_->is_open()) {
    if (!given_up) return;
    // Nobody has heard of it, so nobody will judge it.
    over_ = true;
    verdict_ = finish_code_;
    lock.unlock();
    close_link();
    return run();
  }
  blocks.swap(blocks_);
  const bool ends = finished_ && !std::exchange(end_sent_, finished_);
  const quorate_status code = finish_code_;
  lock.unlock();
  for (SharedBuf& block : blocks) {
    Parts parts;
    parts.push_back(std::move(block));
    connection_->send(Kind::kBlock, 0, 0, std::move(parts));
  }
  if (ends) connection_->send(Kind::kEnd, wire_code(code), 0);
}

bool OutgoingStream::received(std::span<const Frame> frames) {
  const auto self = shared_from_this();
  for (const Frame& frame : frames) {
    if (frame.kind == Kind::kCredit) {
      {
        const std::lock_guard lock(mutex_);
        credit_ = std::max(credit_, frame.id);
      }
      note_ready();
    } else if (frame.kind == Kind::kDone) {
      // A yes to what was not all there would be a lie.
      const bool early = !end_sent_ && frame.code == QUORATE_OK;
      end_with(early ? quorate_status{QUORATE_CORRUPT} : frame.code);
      return true;
    } else {
      return false;
    }
  }
  return true;
}

void OutgoingStream::lost(const Closure&) {
  end_with(QUORATE_UNAVAILABLE);
}

void OutgoingStream::give_up(quorate_status code) {
  end_with(code);
}

void OutgoingStream::end_with(quorate_status verdict) {
  const auto self = shared_from_this();
  close_link();
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(over_, true)) verdict_ = verdict;
    // What was given up is not installed, whatever the other side says.
    if (verdict_ == QUORATE_OK) verdict_ = finish_code_;
    blocks_.clear();
  }
  meta_.clear();
  note_ready();
  run();
}

void OutgoingStream::note_ready() {
  {
    const std::lock_guard lock(mutex_);
    if (!writer_waits_ || (!over_ && accepted_ >= credit_)) return;
    writer_waits_ = false;
    if (finished_) return;
  }
  core_.receiver.on_stream(core_.receiver.ctx, user_, QUORATE_STREAM_READY, QUORATE_OK);
}

void OutgoingStreams::add(std::shared_ptr<OutgoingStream> stream) {
  OutgoingStream* const key = stream.get();
  streams_.emplace(key, std::move(stream));
}

void OutgoingStreams::give_up(uint64_t member_id) {
  const auto all = streams_;
  for (const auto& [key, stream] : all)
    if (stream->to() == member_id) stream->give_up(QUORATE_UNAVAILABLE);
}

void OutgoingStreams::give_up_all() {
  const auto all = streams_;
  for (const auto& [key, stream] : all) stream->give_up(QUORATE_UNAVAILABLE);
}

IncomingStream::IncomingStream(Core& core, std::shared_ptr<Connection> connection, uint64_t name,
                               uint64_t from)
    : core_(core), connection_(std::move(connection)), name_(name), from_(from) {}

IncomingStream::~IncomingStream() {
  if (connection_) connection_->close();
}

bool IncomingStream::received(std::span<const Frame> frames) {
  const bool in_place =
      std::all_of(frames.begin(), frames.end(), [this](const Frame& frame) { return take(frame); });
  advance();
  return in_place;
}

bool IncomingStream::take(const Frame& frame) {
  if (sender_ended_) return false;
  switch (frame.kind) {
    case Kind::kBegin:
      if (stage_ != Stage::kNothing) return false;
      stage_ = Stage::kBeginning;
      meta_ = frame.body;
      return true;
    case Kind::kBlock:
      if (stage_ == Stage::kNothing || received_ >= taken_ + core_.settings.window_bytes)
        return false;
      received_ += cost(frame.body.size());
      if (stage_ == Stage::kEnded) return true;  // refused already; the sender will hear of it
      blocks_.emplace_back(frame.body);
      return true;
    case Kind::kEnd:
      if (stage_ == Stage::kNothing) return false;
      sender_ended_ = true;
      if (frame.code != QUORATE_OK && stage_ != Stage::kEnded) end(frame.code);
      return true;
    default: return false;
  }
}

// Gives the kernel what it takes.
void IncomingStream::advance() {
  const quorate_receiver& to = core_.receiver;
  while (!busy_ && (stage_ == Stage::kBeginning || stage_ == Stage::kBlocks)) {
    const bool begins = stage_ == Stage::kBeginning;
    begun_ = true;
    if (!begins && blocks_.empty()) {
      if (sender_ended_) end(QUORATE_OK);
      return;
    }
    const quorate_status status =
        begins ? to.snapshot_begin(to.ctx, name_, from_, sdk::slice(meta_))
               : to.snapshot_block(to.ctx, name_, sdk::slice(blocks_.front()));
    if (status == QUORATE_BUSY) {
      busy_ = true;
    } else if (status != QUORATE_OK) {
      failure_ = status;
      end(status);
    } else if (begins) {
      stage_ = Stage::kBlocks;
      meta_ = {};
      grant();
    } else {
      taken_ += cost(blocks_.front().size());
      blocks_.pop_front();
      grant();
    }
  }
}

// Not for each block: a quarter of the window is soon enough for the sender.
void IncomingStream::grant() {
  const uint64_t window = core_.settings.window_bytes;
  if (granted_ != 0 && taken_ + window < granted_ + window / 4 && !blocks_.empty()) return;
  if (taken_ + window == granted_) return;
  granted_ = taken_ + window;
  if (connection_) connection_->send(Kind::kCredit, 0, granted_);
}

void IncomingStream::end(quorate_status code) {
  stage_ = Stage::kEnded;
  blocks_.clear();
  if (begun_) {
    core_.receiver.snapshot_end(core_.receiver.ctx, name_, code);
  } else {
    // The kernel never heard of it, so there is nobody to judge it.
    over_ = true;
    if (connection_) connection_->send(Kind::kDone, wire_code(code), 0);
  }
}

void IncomingStream::on_snapshot(uint32_t event, quorate_status code) {
  if (event == QUORATE_STREAM_READY) {
    busy_ = false;
    return advance();
  }
  if (stage_ != Stage::kEnded || std::exchange(over_, true)) return;
  if (code == QUORATE_OK) code = failure_;
  if (connection_) connection_->send(Kind::kDone, wire_code(code), 0);
}

void IncomingStream::closed(const Closure&) {
  connection_.reset();
  if (stage_ != Stage::kEnded) end(QUORATE_UNAVAILABLE);
}

void IncomingStream::give_up() {
  if (connection_) connection_->close();
  closed({});
}

}  // namespace quorate::transport_tcp
