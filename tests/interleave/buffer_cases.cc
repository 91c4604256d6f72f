// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include "cases.h"
#include "storage/record_log.h"

namespace quorate::interleave {
namespace {

using storage::RecordLog;

// One fiber appends batches, others read. The first block of the log is almost full, so the second
// is made while they look.
class BufferScene : public Scene {
 protected:
  BufferScene() {
    for (int64_t main = 1; main <= kBefore; ++main) append(main);
    publish();
  }
  static constexpr int64_t kBefore = 255;

  static std::string text(int64_t main) { return "record " + std::to_string(main); }
  void append(int64_t main) {
    const std::string bytes = text(main);
    char* const to = log.append({main, 0}, false, bytes.size());
    std::memcpy(to, bytes.data(), bytes.size());
    appended_ = main;
  }
  void publish() {
    log.publish();
    done_ = appended_;
  }
  // Revisions are whole numbers from 1 on, so what is visible is a count.
  void read() {
    const int64_t done_before = done_;
    const auto visible = static_cast<int64_t>(log.visible());
    expect(visible >= done_before, "a batch that was published is not seen");
    if (batches_.find("," + std::to_string(visible) + ",") == std::string::npos)
      fail("a part of a batch is seen: " + std::to_string(visible) + " records");
    for (int64_t main = visible; main > kBefore - 2; --main) {
      const RecordLog::Entry& entry = log.at(static_cast<uint64_t>(main - 1));
      expect(entry.revision.main == main && std::string(entry.record()) == text(main),
             "a record is not what was appended");
    }
    const RecordLog::Entry* const found = log.find({visible, 0});
    expect(found != nullptr && std::string(found->record()) == text(visible),
           "a visible record is not found");
    const RecordLog::Entry* const later = log.find({appended_ + 1, 0});
    expect(later == nullptr || later->revision.main <= appended_, "a record of the future");
    const auto bound = static_cast<int64_t>(log.lower_bound({visible, 0}));
    expect(bound == visible - 1, "a look-up by revision lands elsewhere");
  }
  void check() override {
    read();
    expect(static_cast<int64_t>(log.visible()) == done_, "records are missing at the end");
  }

  RecordLog log;
  int64_t appended_ = 0, done_ = 0;
  std::string batches_ = ",255,257,258,";  // counts between batches
};

class AppendAndRead final : public BufferScene {
  std::vector<Operation> operations() override {
    return {{"append",
             [this] {
               append(256);
               append(257);
               publish();
               append(258);
               publish();
             }},
            {"read", [this] { read(); }},
            {"read", [this] { read(); }}};
  }
};

class AppendAndReadTwice final : public BufferScene {
  std::vector<Operation> operations() override {
    return {{"append",
             [this] {
               append(256);
               append(257);
               publish();
               append(258);
               publish();
             }},
            {"reads", [this] {
               const uint64_t first = log.visible();
               read();
               expect(log.visible() >= first, "what was visible is so no more");
             }}};
  }
};

}  // namespace

std::vector<Case> buffer_cases() {
  return {{"buffer.append-and-two-reads", [] { return std::make_unique<AppendAndRead>(); }},
          {"buffer.append-and-read-twice", [] { return std::make_unique<AppendAndReadTwice>(); }}};
}

}  // namespace quorate::interleave
