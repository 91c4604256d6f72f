// SPDX-License-Identifier: Apache-2.0
// Random appends, syncs, releases, faults and crashes against a model. What may be found after a
// crash is the state of the last sync, or that of any append queued since: nothing else.
#include "fixture.h"

namespace quorate::wal::test {
namespace {

struct Model {
  raft::HardState hard_state;
  std::vector<raft::Entry> log;  // log[i].index == i + 1
  raft::Index last() const { return log.size(); }

  void append(const raft::Append& append) {
    if (!append.entries.empty()) log.resize(append.entries.front().index - 1);
    log.insert(log.end(), append.entries.begin(), append.entries.end());
    if (append.hard_state) hard_state = *append.hard_state;
  }

  // Whether this state is what was found, as far back as that reaches.
  bool is(const Recovered& found) const {
    if (found.log.last().index != last()) return false;
    const raft::EntryId base = found.log.previous;
    if (base.index > 0 && log[base.index - 1].id() != base) return false;
    if (!std::equal(log.begin() + static_cast<long>(base.index), log.end(),
                    found.log.entries.begin(), found.log.entries.end()))
      return false;
    return hard_state.term == found.hard_state.term && hard_state.vote == found.hard_state.vote &&
           found.hard_state.commit <= hard_state.commit;
  }
};

class CrashRun : public Fixture {
 public:
  explicit CrashRun(uint64_t seed) : random_(seed) {
    options.segment_bytes = (8 + random_.below(16)) * kBlock;
    create();
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      switch (random_.below(14)) {
        case 0:
        case 1:
        case 2:
        case 3: queue_append(); break;
        case 4:
        case 5:
        case 6: sync(); break;
        case 7: commit(); break;
        case 8: mark(); break;
        case 9: release(); break;
        case 10: sync_with_fault(); break;
        case 11:
        case 12: name_next(); break;
        default: crash();
      }
    }
    crash();
  }

 private:
  // States that a crash may leave, the one of the last sync in front.
  Model& newest() { return states_.back(); }

  void queue_append() {
    Model next = newest();
    raft::Append append = append_of({});
    if (random_.one_in(4)) {
      ++next.hard_state.term;
      append.hard_state =
          raft::HardState{next.hard_state.term, random_.below(3), next.hard_state.commit};
    }
    const raft::Index committed = next.hard_state.commit;
    raft::Index first = next.last() + 1;
    // A new term may cut what is not committed.
    if (append.hard_state && first > committed + 1) first -= random_.below(first - committed);
    const uint64_t count = random_.below(4);
    for (uint64_t i = 0; i < count; ++i)
      append.entries.push_back(entry(next.hard_state.term, first + i, payload()));
    if (append.entries.empty() && !append.hard_state) return;
    next.append(append);
    states_.push_back(next);
    wal->append(append);
  }

  std::string payload() {
    const size_t sizes[] = {0, 10, 500, kCopyBytesMax, kCopyBytesMax + 1, 9000};
    return std::string(sizes[random_.below(6)], static_cast<char>('a' + random_.below(26)));
  }

  void sync() {
    REQUIRE(wal->sync().to_string() == "ok");
    states_.erase(states_.begin(), states_.end() - 1);
  }

  // Raises the commit index within what is durable, without a sync.
  void commit() {
    const raft::Index durable = states_.size() == 1 ? newest().last() : 0;
    raft::HardState& state = newest().hard_state;
    if (durable <= state.commit) return;
    state.commit += 1 + random_.below(durable - state.commit);
    raft::Append append = append_of({});
    append.hard_state = state;
    append.must_sync = false;
    wal->append(append);
  }

  void mark() {
    if (!wal->has_queued()) REQUIRE(wal->mark_end().to_string() == "ok");
  }

  void release() {
    const raft::Index index = states_.front().hard_state.commit;
    released_ = std::max(released_, index);
    for (uint64_t number : wal->release(index, index)) {
      const bool reuse = wal->spares() < kSparesMax && !random_.one_in(4);
      auto spare = retire(disk(), options.dir, number, reuse ? wal->next_spare_path() : "",
                          options.segment_bytes);
      REQUIRE(spare.has_value());
      if (*spare) wal->add_spare(**spare);
    }
  }

  // The pool may come to it, or half-way, or not before the log does.
  void name_next() {
    if (wal->spares() == 0) make_spare();
    const auto next = wal->name_next();
    if (!next || random_.one_in(4)) return;
    if (random_.one_in(4)) {
      REQUIRE(disk().rename(next->spare_path, path(next->number)).ok());
      return;
    }
    REQUIRE(name_segment(disk(), options.dir, *next, true).ok());
    if (!random_.one_in(4)) wal->next_named(next->number);
  }

  void sync_with_fault() {
    const SimDisk::Op ops[] = {SimDisk::Op::kWrite, SimDisk::Op::kSync, SimDisk::Op::kRename,
                               SimDisk::Op::kSyncDir};
    disk().fail(ops[random_.below(4)], 1 + static_cast<int>(random_.below(3)), Code::kIoError);
    const Status status = wal->sync();
    disk().clear_faults();
    if (status.ok()) {
      states_.erase(states_.begin(), states_.end() - 1);
    } else {
      crash();
    }
  }

  void crash() {
    wal.reset();
    if (random_.one_in(3))
      disk().kill();
    else
      env.crash(random_.next());
    if (random_.one_in(4)) fail_opening();
    const Status status = open();
    REQUIRE(status.to_string() == "ok");
    CHECK(found.log.previous.index <= released_);
    auto state = std::find_if(states_.begin(), states_.end(),
                              [&](const Model& model) { return model.is(found); });
    REQUIRE(state != states_.end());
    Model kept = *state;
    kept.hard_state.commit = found.hard_state.commit;
    states_.assign(1, kept);
  }

  // A start that fails half-way, then perhaps another crash, must change nothing.
  void fail_opening() {
    const SimDisk::Op ops[] = {SimDisk::Op::kRead, SimDisk::Op::kWrite, SimDisk::Op::kSync,
                               SimDisk::Op::kSyncDir};
    disk().fail(ops[random_.below(4)], 1, Code::kIoError);
    static_cast<void>(open());
    wal.reset();
    if (random_.one_in(2))
      env.crash(random_.next());
    else
      disk().kill();
  }

  Random random_;
  std::vector<Model> states_{Model{}};
  raft::Index released_ = 0;
};

TEST_CASE("whatever happens, a crash leaves the last sync or something queued since", "[wal]") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    CrashRun(seed).run(60);
  }
}

}  // namespace
}  // namespace quorate::wal::test
