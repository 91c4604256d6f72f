// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to everything that reads a log. Input: one byte that chooses, then
//   0  a segment file as it is: opened as the only segment of a log
//   1  the body of a batch whose header and checksums are made right around it: what the checksums
//      would otherwise keep from the record reader reaches it
//   2  a segment header, its checksum made right
//   3  the newest of two segment files: begun, torn, or not begun
// Whatever is accepted must be a log without gaps, must take an append, and must read back the
// same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/coding.h"
#include "base/crc32c.h"
#include "real_log.h"
#include "wal/reader.h"

namespace quorate::wal {
namespace {

constexpr uint64_t kBytes = 16 * kBlockBytes;

void check_log(const raft::LogSlice& log) {
  raft::EntryId last = log.previous;
  for (const raft::Entry& entry : log.entries) {
    QUORATE_CHECK(entry.index == last.index + 1, "a log with a gap was accepted");
    QUORATE_CHECK(entry.term >= last.term, "a log whose term falls was accepted");
    last = entry.id();
  }
}

// segments: from number 1 on.
void open_and_go_on(const std::vector<std::string>& segments) {
  test::TestEnv env;
  Options options;
  options.dir = "/wal";
  options.segment_bytes = kBytes;
  QUORATE_CHECK(env.disk().create_dir("/wal").ok(), "no directory");
  for (size_t i = 0; i < segments.size(); ++i)
    env.disk().set_content("/wal/" + segment_name(i + 1), segments[i]);
  Recovered found;
  {
    const auto wal = Wal::open(env, options, {}, found);
    if (!wal) return;
    check_log(found.log);
    raft::Append append;
    append.sequence = 1;
    append.must_sync = true;
    const raft::EntryId last = found.log.last();
    if (last.index == ~raft::Index{0}) return;
    append.entries.push_back(
        {last.term, last.index + 1, raft::EntryType::kNormal, Bytes::copy("x")});
    (*wal)->append(append);
    QUORATE_CHECK((*wal)->sync().ok(), "an accepted log takes no append");
  }
  Recovered again;
  QUORATE_CHECK(Wal::open(env, options, {}, again).has_value(), "an accepted log opens only once");
  QUORATE_CHECK(again.log.previous == found.log.previous, "the base moved");
  QUORATE_CHECK(again.log.entries.size() == found.log.entries.size() + 1, "an entry came or went");
  static_cast<void>(
      read_window(env.files(), options.dir, {~uint64_t{0}}, found.log.previous.index + 1, 1 << 20));
}

// Of the log whose second segment fuzz_wal_main.cc mutates.
std::string first_segment() {
  test::TestEnv env;
  return test::write_two_segments(env, kBytes).front();
}

std::string segment_of_body(Slice body) {
  SegmentHeader header;
  header.segment = 1;
  header.bytes = kBytes;
  header.salt = 7;
  header.first_batch = 1;
  std::string content = encode_segment_header(header);
  BatchHeader batch;
  batch.body_bytes = static_cast<uint32_t>(body.size());
  batch.segment = 1;
  batch.number = 1;
  batch.body_crc = crc32c(body);
  batch.previous = header.checksum;
  content.resize(kBlockBytes + kBatchHeaderBytes);
  encode_batch_header(batch, header.seed(), content.data() + kBlockBytes);
  content.append(body);
  content.resize(kBytes);
  return content;
}

std::string segment_of_header(Slice bytes) {
  std::string content(bytes.substr(0, kBlockBytes - 4));
  content.resize(kBlockBytes - 4);
  put_le(content, crc32c(content));
  content.resize(kBytes);
  return content;
}

}  // namespace
}  // namespace quorate::wal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quorate::wal;
  if (size == 0) return 0;
  const quorate::Slice input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: open_and_go_on({std::string(input)}); break;
    case 1: open_and_go_on({segment_of_body(input.substr(0, kBytes - 2 * kBlockBytes))}); break;
    case 2: open_and_go_on({segment_of_header(input)}); break;
    default: open_and_go_on({first_segment(), std::string(input)});
  }
  return 0;
}
