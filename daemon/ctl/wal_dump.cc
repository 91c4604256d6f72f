// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/wal_dump.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "daemon/ctl/entry_summary.h"
#include "daemon/ctl/json.h"
#include "daemon/ctl/wal_verify.h"
#include "raft/text.h"
#include "wal/scan.h"

namespace quorate::ctl {
namespace {

bool is_mark(const wal::BatchHeader& header) {
  return header.kind == wal::BatchKind::kMark;
}

// What is printed of each thing, as a line.
class Form {
 public:
  virtual ~Form() = default;
  virtual std::string segment(const wal::SegmentHeader& header, const std::string& path) const = 0;
  virtual std::string batch(const wal::BatchHeader& header, uint64_t offset) const = 0;
  virtual std::string hard_state(const raft::HardState& state) const = 0;
  virtual std::string snapshot(const raft::SnapshotMeta& snapshot) const = 0;
  virtual std::string entry(const raft::Entry& entry) const = 0;
};

class TextForm final : public Form {
  std::string segment(const wal::SegmentHeader& h, const std::string& path) const override {
    return fmt::format(
        "segment {}: {}, {} bytes, format {}, cluster {:x}, member {:x}\n"
        "  before it: entry {} of term {}, {}; first batch {}\n",
        h.segment, path, h.bytes, h.version, h.identity.cluster_id, h.identity.member_id,
        h.log_end.index, h.log_end.term, raft::to_text(h.hard_state), h.first_batch);
  }
  std::string batch(const wal::BatchHeader& h, uint64_t offset) const override {
    if (is_mark(h))
      return fmt::format("  end mark at byte {}: vouches for batches up to {}\n", offset,
                         h.vouches);
    return fmt::format("  batch {} at byte {}: {} bytes, vouches for batches up to {}\n", h.number,
                       offset, h.body_bytes, h.vouches);
  }
  std::string hard_state(const raft::HardState& state) const override {
    return "    hard state " + raft::to_text(state) + "\n";
  }
  std::string snapshot(const raft::SnapshotMeta& snapshot) const override {
    return "    snapshot " + raft::to_text(snapshot) + "\n";
  }
  std::string entry(const raft::Entry& e) const override {
    return fmt::format("    entry {} of term {}, {}, {} bytes: {}\n", e.index, e.term,
                       e.type == raft::EntryType::kConfChange ? "conf change" : "normal",
                       e.payload.size(), summary_of(e));
  }
};

class JsonForm final : public Form {
  std::string segment(const wal::SegmentHeader& h, const std::string& path) const override {
    return fmt::format(
        R"({{"type":"segment","segment":{},"path":{},"bytes":{},"format":{},"cluster":"{:x}",)"
        R"("member":"{:x}","first_batch":{},"base":{},"base_term":{},"term":{},"vote":"{:x}",)"
        R"("commit":{}}})"
        "\n",
        h.segment, json_string(path), h.bytes, h.version, h.identity.cluster_id,
        h.identity.member_id, h.first_batch, h.log_end.index, h.log_end.term, h.hard_state.term,
        h.hard_state.vote, h.hard_state.commit);
  }
  std::string batch(const wal::BatchHeader& h, uint64_t offset) const override {
    return fmt::format(R"({{"type":"{}","batch":{},"offset":{},"bytes":{},"vouches":{}}})"
                       "\n",
                       is_mark(h) ? "mark" : "batch", h.number, offset, h.body_bytes, h.vouches);
  }
  std::string hard_state(const raft::HardState& state) const override {
    return fmt::format(R"({{"type":"hard_state","term":{},"vote":"{:x}","commit":{}}})"
                       "\n",
                       state.term, state.vote, state.commit);
  }
  std::string snapshot(const raft::SnapshotMeta& s) const override {
    return fmt::format(R"({{"type":"snapshot","index":{},"term":{},"members":{}}})"
                       "\n",
                       s.index, s.term, json_string(raft::to_text(s.conf_state)));
  }
  std::string entry(const raft::Entry& e) const override {
    return fmt::format(
        R"({{"type":"entry","index":{},"term":{},"kind":"{}","bytes":{},"summary":{}}})"
        "\n",
        e.index, e.term, e.type == raft::EntryType::kConfChange ? "conf_change" : "normal",
        e.payload.size(), json_string(summary_of(e)));
  }
};

// Lines of a batch wait until the batch is known to hold something that is asked for.
class Dump final : public wal::LogVisitor {
 public:
  Dump(std::string dir, const Command& command, const Form& form, const Print& print)
      : dir_(std::move(dir)), command_(command), form_(form), print_(print) {}

  Status on_segment(const wal::SegmentHeader& header) override {
    end_batch();
    ++segments;
    print_(form_.segment(header, dir_ + "/" + wal::segment_name(header.segment)));
    return Status();
  }
  Status on_batch(const wal::BatchHeader& header, uint64_t offset) override {
    end_batch();
    batches += is_mark(header) ? 0 : 1;
    lines_ = form_.batch(header, offset);
    wanted_ = command_.dumps_all();
    return Status();
  }
  Status on_hard_state(const raft::HardState& state) override {
    lines_ += form_.hard_state(state);
    return Status();
  }
  Status on_snapshot(raft::SnapshotMeta snapshot) override {
    lines_ += form_.snapshot(snapshot);
    return Status();
  }
  Status on_entry(raft::Entry entry) override {
    if (entry.index < command_.first || entry.index > command_.last) return Status();
    wanted_ = true;
    lines_ += form_.entry(entry);
    return Status();
  }
  void end_batch() {
    if (wanted_) print_(lines_);
    wanted_ = false;
    lines_.clear();
  }

  uint64_t segments = 0;
  uint64_t batches = 0;

 private:
  const std::string dir_;
  const Command& command_;
  const Form& form_;
  const Print& print_;
  std::string lines_;
  bool wanted_ = false;
};

}  // namespace

int dump_log(FileSystem& files, const std::string& dir, const Command& command,
             const Print& print) {
  const TextForm text;
  const JsonForm json;
  Dump dump(dir, command, command.json ? static_cast<const Form&>(json) : text, print);
  wal::LogState state;
  const Status result = wal::scan_log(files, dir, dump, state);
  dump.end_batch();
  Report report = report_on(files, dir, result, state);
  report.segments = dump.segments;
  report.batches = dump.batches;
  print(to_text(report, command.json));
  return exit_code(report.verdict);
}

}  // namespace quorate::ctl
