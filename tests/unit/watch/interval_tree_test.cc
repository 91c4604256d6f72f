// SPDX-License-Identifier: Apache-2.0
#include "watch/interval_tree.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"

namespace quorate::watch {
namespace {

std::vector<int> hits(const IntervalTree<int>& tree, Slice key) {
  std::vector<int> found;
  tree.visit(key, [&](int value) { found.push_back(value); });
  std::sort(found.begin(), found.end());
  return found;
}
KeyRange between(Slice begin, Slice end) {
  return {begin, end, false, false};
}
KeyRange from(Slice begin) {
  return {begin, {}, false, true};
}

TEST_CASE("a range holds its begin and not its end", "[interval]") {
  IntervalTree<int> tree;
  tree.insert(between("b", "d"), 1);
  CHECK(hits(tree, "a").empty());
  CHECK(hits(tree, "b") == std::vector{1});
  CHECK(hits(tree, "czzz") == std::vector{1});
  CHECK(hits(tree, "d").empty());
}

TEST_CASE("an open range ends nowhere", "[interval]") {
  IntervalTree<int> tree;
  tree.insert(from("b"), 1);
  tree.insert(between("b", "c"), 2);
  CHECK(hits(tree, "\xff\xff") == std::vector{1});
  CHECK(hits(tree, "b") == std::vector{1, 2});
}

TEST_CASE("values of one range leave one at a time", "[interval]") {
  IntervalTree<int> tree;
  tree.insert(between("a", "b"), 1);
  tree.insert(between("a", "b"), 2);
  CHECK(tree.erase(between("a", "b"), 1));
  CHECK_FALSE(tree.erase(between("a", "b"), 1));
  CHECK_FALSE(tree.erase(between("a", "c"), 2));
  CHECK(hits(tree, "a") == std::vector{2});
  CHECK(tree.erase(between("a", "b"), 2));
  CHECK(hits(tree, "a").empty());
  CHECK(tree.size() == 0);
}

TEST_CASE("keys compare as unsigned bytes", "[interval]") {
  IntervalTree<int> tree;
  tree.insert(between("\x7f", "\xff"), 1);
  CHECK(hits(tree, "\x80") == std::vector{1});
  CHECK(hits(tree, "\x01").empty());
}

TEST_CASE("a tree answers as a list of ranges does, whatever is put in and taken out",
          "[interval]") {
  struct Kept {
    std::string begin, end;
    bool open;
    KeyRange range() const { return {begin, end, false, open}; }
  };
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const auto text = [&] {
      std::string key;
      for (uint64_t n = 1 + random.below(2); n > 0; --n) {
        key.push_back(static_cast<char>('a' + random.below(8)));
      }
      return key;
    };
    IntervalTree<int> tree;
    std::map<int, Kept> model;
    for (int step = 0; step < 400; ++step) {
      if (model.empty() || random.below(5) < 3) {
        Kept kept{text(), text(), random.one_in(8)};
        if (!kept.open && kept.begin >= kept.end) continue;
        tree.insert(kept.range(), step);
        model[step] = kept;
      } else {
        auto gone = std::next(model.begin(), static_cast<long>(random.below(model.size())));
        REQUIRE(tree.erase(gone->second.range(), gone->first));
        model.erase(gone);
      }
      const std::string key = text();
      std::vector<int> expected;
      for (const auto& [value, kept] : model) {
        if (kept.range().contains(key)) expected.push_back(value);
      }
      REQUIRE(hits(tree, key) == expected);
      REQUIRE(tree.size() == model.size());
    }
  }
}

}  // namespace
}  // namespace quorate::watch
