// SPDX-License-Identifier: Apache-2.0
//   fuzz_wal DIRECTORY MUTATIONS   runs each file of the corpus, inputs made of real logs, and that
//                                  many seeded mutations of them
//   fuzz_wal DIRECTORY --write     writes the inputs made of real logs to the corpus
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "real_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace quorate::wal {
namespace {

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string real_body() {
  Batch batch;
  batch.add(raft::HardState{3, 1, 0});
  batch.add(raft::SnapshotMeta{9, 2, {{1, 2, 3}, {4}, {5, 6}, {7}, true}});
  batch.add(raft::Entry{3, 10, raft::EntryType::kNormal, Bytes::copy("value")});
  batch.add(raft::Entry{3, 11, raft::EntryType::kConfChange, Bytes::copy("conf")});
  std::string body;
  for (Slice part : batch.parts()) body.append(part);
  return body;
}

std::vector<std::string> made_inputs() {
  test::TestEnv env;
  const std::vector<std::string> log = test::write_two_segments(env, 16 * kBlockBytes);
  return {std::string(1, '\0') + log[0], std::string(1, '\1') + real_body(),
          std::string(1, '\2') + log[0].substr(0, kBlockBytes), std::string(1, '\3') + log[1]};
}

std::string mutated(std::string input, Random& random) {
  for (uint64_t count = 1 + random.below(4); count > 0 && input.size() > 1; --count) {
    // Mostly where things are decided: near the beginning of a block.
    const size_t blocks = input.size() / kBlockBytes + 1;
    const size_t at = std::min(input.size() - 1, 1 + random.below(blocks) * kBlockBytes +
                                                     random.below(random.one_in(3) ? 4096 : 80));
    switch (random.below(5)) {
      case 0: input[at] = static_cast<char>(input[at] ^ (1 << random.below(8))); break;
      case 1: input[at] = static_cast<char>(random.next()); break;
      case 2: input.resize(at); break;
      case 3: input.insert(at, 1 + random.below(8), static_cast<char>(random.next())); break;
      default: input.erase(at, 1 + random.below(8));
    }
  }
  return input;
}

std::vector<std::string> read_corpus(const std::string& dir) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(dir)) paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void write_corpus(const std::string& dir) {
  const std::vector<std::string> inputs = made_inputs();
  const char* const names[] = {"segment", "body", "header", "second"};
  for (size_t i = 0; i < inputs.size(); ++i)
    std::ofstream(dir + "/" + names[i], std::ios::binary) << inputs[i];
}

}  // namespace
}  // namespace quorate::wal

int main(int argc, char** argv) {
  using namespace quorate::wal;
  if (argc != 3) {
    std::fprintf(stderr, "usage: fuzz_wal DIRECTORY MUTATIONS|--write\n");
    return 2;
  }
  if (std::string(argv[2]) == "--write") {
    write_corpus(argv[1]);
    return 0;
  }
  std::vector<std::string> inputs = read_corpus(argv[1]);
  for (std::string& input : made_inputs()) inputs.push_back(std::move(input));
  for (const std::string& input : inputs) run(input);
  const int mutations = std::atoi(argv[2]);
  for (int seed = 1; seed <= mutations; ++seed) {
    quorate::Random random(static_cast<uint64_t>(seed));
    run(mutated(inputs[random.below(inputs.size())], random));
  }
  std::printf("%zu inputs and %d mutations of them: nothing broke\n", inputs.size(), mutations);
  return 0;
}
