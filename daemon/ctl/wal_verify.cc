// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/wal_verify.h"

#include <spdlog/fmt/fmt.h>

#include "daemon/ctl/json.h"

namespace quorate::ctl {
namespace {

using wal::LogState;

struct Counter final : wal::LogVisitor {
  Status on_segment(const wal::SegmentHeader&) override {
    ++segments;
    return Status();
  }
  Status on_batch(const wal::BatchHeader& header, uint64_t) override {
    batches += header.kind == wal::BatchKind::kBatch ? 1 : 0;
    return Status();
  }
  Status on_hard_state(const raft::HardState&) override { return Status(); }
  Status on_snapshot(raft::SnapshotMeta) override { return Status(); }
  Status on_entry(raft::Entry) override { return Status(); }
  uint64_t segments = 0;
  uint64_t batches = 0;
};

std::string entries_text(uint64_t first, uint64_t last) {
  if (first > last) return "no entry";
  if (first == last) return fmt::format("entry {}", first);
  return fmt::format("entries {} to {}", first, last);
}

std::string whole_text(const LogState& state) {
  return fmt::format("{}, committed up to {}, term {}",
                     entries_text(state.base.index + 1, state.last.index), state.hard_state.commit,
                     state.hard_state.term);
}

bool grew(FileSystem& files, const std::string& dir, const LogState& before) {
  Counter counter;
  LogState after;
  static_cast<void>(wal::scan_log(files, dir, counter, after));
  return after.path != before.path || after.offset != before.offset || after.chain != before.chain;
}

std::string loss_text(FileSystem& files, const std::string& dir, const LogState& state) {
  const wal::Behind behind = wal::look_behind(files, dir, state);
  std::string text = "Nothing stands before it";
  if (!state.path.empty()) text = "Before it stand " + whole_text(state);
  text += "; behind it ";
  if (behind.batches == 0) {
    text += "nothing is whole";
  } else {
    text +=
        fmt::format("{} batches are whole, from batch {} on, with {}", behind.batches,
                    behind.first_batch, entries_text(behind.entries.first, behind.entries.last));
  }
  if (!behind.entries.empty() && behind.entries.first > state.last.index + 1)
    text += fmt::format("; lost: {}", entries_text(state.last.index + 1, behind.entries.first - 1));
  if (behind.commit > state.last.index)
    text += fmt::format("; entries up to {} were committed", behind.commit);
  return text;
}

}  // namespace

Report report_on(FileSystem& files, const std::string& dir, const Status& result,
                 const LogState& state) {
  Report report;
  report.state = state;
  const bool sound = result.ok() && state.marked && state.torn.empty();
  if (!sound && grew(files, dir, state)) {
    report.verdict = Verdict::kUnreadable;
    report.sentence = dir +
                      " changed while it was read, so a member runs on it: stop it, or look at a "
                      "copy of the directory";
  } else if (result.code() == Code::kCorrupt) {
    report.verdict = Verdict::kDamaged;
    report.sentence = fmt::format("{}. {}", result.message(), loss_text(files, dir, state));
  } else if (!result.ok()) {
    report.verdict = Verdict::kUnreadable;
    report.sentence = std::string(result.message());
  } else if (!state.torn.empty()) {
    report.verdict = Verdict::kTorn;
    report.sentence = fmt::format(
        "{} is whole up to a torn end: {}; batch {} in {} was not written to its end, so nobody "
        "was told of it, and the member drops it when it starts. After a kill or a power cut this "
        "is as it should be",
        dir, whole_text(state), state.batch + 1, state.torn);
  } else if (!state.marked) {
    report.verdict = Verdict::kTorn;
    report.sentence = fmt::format(
        "{} is whole: {}; it ends without a mark in {}, as a kill or a power cut leaves it", dir,
        whole_text(state), state.place());
  } else {
    report.sentence = fmt::format("{} is whole: {}; it ends with a mark", dir, whole_text(state));
  }
  return report;
}

Report verify_log(FileSystem& files, const std::string& dir) {
  Counter counter;
  LogState state;
  const Status result = wal::scan_log(files, dir, counter, state);
  Report report = report_on(files, dir, result, state);
  report.segments = counter.segments;
  report.batches = counter.batches;
  return report;
}

std::string to_text(const Report& report, bool json) {
  if (!json)
    return fmt::format("{}\n{} segments and {} batches were read\n", report.sentence,
                       report.segments, report.batches);
  constexpr const char* kNames[] = {"whole", "torn", "damaged", "unreadable"};
  const LogState& state = report.state;
  return fmt::format(
      R"({{"verdict":"{}","segments":{},"batches":{},"base":{},"last":{},"term":{},"vote":{},)"
      R"("commit":{},"marked":{},"end":{},"message":{}}})"
      "\n",
      kNames[static_cast<int>(report.verdict)], report.segments, report.batches, state.base.index,
      state.last.index, state.hard_state.term, state.hard_state.vote, state.hard_state.commit,
      state.marked, json_string(state.place()), json_string(report.sentence));
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWhole:
    case Verdict::kTorn: return 0;
    case Verdict::kDamaged: return 1;
    case Verdict::kUnreadable: return 2;
  }
  return 2;
}

}  // namespace quorate::ctl
