// SPDX-License-Identifier: Apache-2.0
// The append path of the log against the least that a disk asks for: a loop of pwrite and fdatasync
// of the same bytes into a file of the same kind, whole blocks at block boundaries, without header,
// checksum, chain or recovery. Both take turns of a few milliseconds, so that what disturbs the
// machine disturbs both.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "base/random.h"
#include "wal/wal.h"

namespace quorate::bench {
namespace {

namespace po = boost::program_options;

constexpr double kTurnSeconds = 0.02;

struct Shape {
  size_t entries;  // of one batch
  size_t bytes;    // of an entry's payload
  size_t total() const { return entries * bytes; }
};
constexpr Shape kShapes[] = {{1, 256},   {8, 256},    {64, 256},  {512, 256},  {8, 4096},
                             {64, 4096}, {256, 4096}, {1, 65536}, {1, 1048576}};

struct Settings {
  std::string dir = ".";
  double seconds = 1;
  Shape only{0, 256};  // entries 0: all shapes
  bool json = false;
};

struct Outcome {
  double wal_seconds = 0;  // of one batch
  double bare_seconds = 0;
  double ratio() const { return bare_seconds / wal_seconds; }
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

std::string random_text(size_t size) {
  Random random(size);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

// A log whose segments come back as spares, as in a member whose engine keeps up.
class WalWriter {
 public:
  WalWriter(Env& env, const std::string& dir, const Shape& shape) : env_(env), shape_(shape) {
    wal::Options options;
    options.dir = dir;
    auto made = wal::Wal::create(env, options, {1, 1}, std::nullopt, Logger());
    require(made.status());
    wal_ = std::move(*made);
    while (wal_->spares() < wal::kSparesMade) make_spare();
    name_next();
    payload_ = Bytes::take(random_text(shape.bytes));
  }

  // Seconds of a number of batches.
  double write(size_t batches) {
    std::vector<raft::Append> appends(batches);
    for (raft::Append& append : appends) fill(append);
    double seconds = 0;
    for (raft::Append& append : appends) {
      const uint64_t segment = wal_->head().segment;
      const double begin = now();
      wal_->append(std::move(append));
      require(wal_->sync());
      seconds += now() - begin;
      if (wal_->head().segment != segment) recycle();
    }
    return seconds;
  }

 private:
  void fill(raft::Append& append) {
    append.must_sync = true;
    for (size_t i = 0; i < shape_.entries; ++i)
      append.entries.push_back({1, ++last_, raft::EntryType::kNormal, payload_});
  }

  void make_spare() {
    wal::SpareMaker maker(env_.files(), wal_->next_spare_path(), wal_->options().segment_bytes,
                          true);
    for (;;) {
      auto spare = maker.step();
      require(spare.status());
      if (!*spare) continue;
      wal_->add_spare(**spare);
      return;
    }
  }

  void name_next() {
    const auto next = wal_->name_next();
    if (!next) return;
    require(wal::name_segment(env_.files(), wal_->options().dir, *next, true));
    wal_->next_named(next->number);
  }

  // What the pool does in a member.
  void recycle() {
    for (const uint64_t number : wal_->release(last_, last_)) {
      const bool room = wal_->spares() < wal::kSparesMax;
      auto spare = wal::retire(env_.files(), wal_->options().dir, number,
                               room ? wal_->next_spare_path() : std::string(),
                               wal_->options().segment_bytes);
      require(spare.status());
      if (*spare) wal_->add_spare(**spare);
    }
    name_next();
  }

  Env& env_;
  const Shape shape_;
  std::unique_ptr<wal::Wal> wal_;
  Bytes payload_;
  raft::Index last_ = 0;
};

class BareWriter {
 public:
  BareWriter(const std::string& path, const Shape& shape)
      : text_(random_text(wal::to_blocks(shape.total()))),
        file_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    if (file_ < 0) fail("cannot create " + path);
    const std::string zeros(1 << 20, '\0');
    for (uint64_t at = 0; at < wal::kSegmentBytes; at += zeros.size()) put(zeros, at);
    sync();
  }
  ~BareWriter() { ::close(file_); }
  BareWriter(const BareWriter&) = delete;
  BareWriter& operator=(const BareWriter&) = delete;

  double write(size_t batches) {
    const double begin = now();
    for (size_t i = 0; i < batches; ++i) {
      if (offset_ + text_.size() > wal::kSegmentBytes) offset_ = 0;
      put(text_, offset_);
      sync();
      offset_ += text_.size();
    }
    return now() - begin;
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
  }
  void put(const std::string& text, uint64_t at) const {
    const ssize_t put = ::pwrite(file_, text.data(), text.size(), static_cast<off_t>(at));
    if (put != static_cast<ssize_t>(text.size())) fail("pwrite");
  }
  void sync() const {
    if (::fdatasync(file_) != 0) fail("fdatasync");
  }

  const std::string text_;
  const int file_;
  uint64_t offset_ = 0;
};

// A directory of its own, removed with all that is in it.
class Scratch {
 public:
  explicit Scratch(const std::string& dir) : path_(dir + "/wal-bench-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot create " + path_ + ": " + std::strerror(errno));
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Outcome compare(Env& env, const Settings& settings, const Shape& shape) {
  const Scratch scratch(settings.dir);
  const std::string& dir = scratch.path();
  WalWriter wal(env, dir + "/log", shape);
  BareWriter bare(dir + "/bare", shape);
  wal.write(3);
  const double once = std::max(bare.write(3) / 3, 1e-6);
  const size_t batches = std::max<size_t>(1, static_cast<size_t>(kTurnSeconds / once));
  Outcome sum;
  size_t turns = 0;
  for (const double end = now() + settings.seconds; now() < end; ++turns) {
    // Who comes second finds the disk busier, or less so.
    if (turns % 2 == 0) sum.wal_seconds += wal.write(batches);
    sum.bare_seconds += bare.write(batches);
    if (turns % 2 == 1) sum.wal_seconds += wal.write(batches);
  }
  const auto written = static_cast<double>(std::max<size_t>(turns, 1) * batches);
  return {sum.wal_seconds / written, sum.bare_seconds / written};
}

void print(const Settings& settings, const Shape& shape, const Outcome& outcome) {
  const auto mb = static_cast<double>(shape.total()) / 1e6;
  const double wal_us = outcome.wal_seconds * 1e6, bare_us = outcome.bare_seconds * 1e6;
  const double wal_mb = mb / outcome.wal_seconds, bare_mb = mb / outcome.bare_seconds;
  if (settings.json) {
    fmt::print(R"({{"entries":{},"entry_bytes":{},"wal_us":{:.2f},"bare_us":{:.2f},)"
               R"("wal_mb_per_s":{:.2f},"bare_mb_per_s":{:.2f},"ratio":{:.3f}}})"
               "\n",
               shape.entries, shape.bytes, wal_us, bare_us, wal_mb, bare_mb, outcome.ratio());
  } else {
    fmt::print("{:>7} {:>8} {:>11.1f} {:>11.1f} {:>11.2f} {:>11.2f} {:>8.2f}\n", shape.entries,
               shape.bytes, wal_us, bare_us, wal_mb, bare_mb, outcome.ratio());
  }
  std::fflush(stdout);
}

// False: there was nothing to do but print the help.
bool parse(int argc, char** argv, Settings& settings) {
  po::options_description all("quorate-wal-bench: the log's appends against bare writes and syncs");
  auto add = all.add_options();
  add("help", "print this");
  add("dir", po::value(&settings.dir)->default_value(settings.dir),
      "a directory on the disk to measure");
  add("seconds", po::value(&settings.seconds)->default_value(settings.seconds), "for each row");
  add("entries", po::value(&settings.only.entries), "of a batch: this row alone");
  add("bytes", po::value(&settings.only.bytes)->default_value(settings.only.bytes),
      "with --entries: of an entry's payload");
  add("json", po::bool_switch(&settings.json), "one JSON object a row");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, all), given);
  po::notify(given);
  if (given.count("help") == 0) return true;
  std::cout << all;
  return false;
}

void run(const Settings& settings) {
  const auto env = make_posix_env();
  if (!settings.json)
    fmt::print("{:>7} {:>8} {:>11} {:>11} {:>11} {:>11} {:>8}\n", "entries", "of bytes", "log us",
               "bare us", "log MB/s", "bare MB/s", "ratio");
  std::vector<Shape> shapes(std::begin(kShapes), std::end(kShapes));
  if (settings.only.entries > 0) shapes = {settings.only};
  Outcome all;
  for (const Shape& shape : shapes) {
    const Outcome outcome = compare(*env, settings, shape);
    print(settings, shape, outcome);
    all.wal_seconds += 1 / outcome.ratio();
    all.bare_seconds += 1;
  }
  if (!settings.json) fmt::print("ratio over all rows: {:.2f}\n", all.ratio());
}

}  // namespace
}  // namespace quorate::bench

int main(int argc, char** argv) {
  using namespace quorate::bench;
  try {
    Settings settings;
    if (parse(argc, argv, settings)) run(settings);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "quorate-wal-bench: " << error.what() << '\n';
    return 2;
  }
}
