// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "conformance/backend/engine.h"

namespace quorate::conformance {
namespace {

TEST_CASE("the last operation on a key of a batch wins", "[batch]") {
  Fixture f;
  f.engine.write(Batch()
                     .put(0, "a", "1")
                     .put(0, "a", "2")
                     .put(0, "b", "1")
                     .erase(0, "b")
                     .erase(0, "c")
                     .put(0, "c", "1"));
  CHECK(f.engine.view()->scan(0) == Pairs{{"a", "2"}, {"c", "1"}});
}

TEST_CASE("deleting what is not there is no error", "[batch]") {
  Fixture f;
  f.engine.write(Batch().erase(0, "never").put(0, "a", "1"));
  f.engine.write(Batch().erase(0, "a").erase(0, "a"));
  CHECK(f.engine.view()->scan(0).empty());
}

TEST_CASE("an empty batch is taken", "[batch]") {
  Fixture f;
  f.engine.write(Batch());
  CHECK(f.engine.view()->scan(0).empty());
}

TEST_CASE("a batch with one bad operation changes nothing", "[batch]") {
  Fixture f;
  f.engine.write(Batch().put(0, "a", "old").put(1, "b", "old"));
  const auto half = [] { return Batch().put(0, "a", "new").erase(1, "b").put(2, "c", "new"); };
  const Batch bad[] = {half().put(kBucketCount, "k", "v"), half().put(0, "", "v"),
                       half().erase(0, ""), half().of_kind(0, 0, "k"), half().of_kind(3, 0, "k")};
  for (const Batch& batch : bad) {
    const Answer answer = f.engine.try_write(batch);
    CHECK(answer.status == QUORATE_INVALID_ARGUMENT);
    CHECK_FALSE(answer.message.empty());
  }
  const auto view = f.engine.view();
  CHECK(view->scan(0) == Pairs{{"a", "old"}});
  CHECK(view->scan(1) == Pairs{{"b", "old"}});
  CHECK(view->scan(2).empty());
  f.engine.write(half());
  CHECK(f.engine.view()->get(0, "a") == "new");
}

TEST_CASE("a bucket that does not exist cannot be read", "[batch]") {
  Fixture f;
  const auto view = f.engine.view();
  quorate_slice value{};
  const quorate_slice key = {reinterpret_cast<const uint8_t*>("k"), 1};
  CHECK(factory().get(view->handle(), kBucketCount, key, &value, nullptr) ==
        QUORATE_INVALID_ARGUMENT);
  quorate_cursor* cursor = nullptr;
  CHECK(factory().cursor_open(view->handle(), kBucketCount, &cursor, nullptr) ==
        QUORATE_INVALID_ARGUMENT);
}

TEST_CASE("an append hint changes nothing, right or wrong", "[batch]") {
  Fixture f;
  f.engine.write(Batch().append(0, "m", "1").append(0, "n", "1"));
  f.engine.write(Batch().append(0, "a", "wrong").append(0, "o", "right").append(0, "o", "again"));
  f.engine.write(Batch().append(0, "m", "2").append(0, "b", "wrong").append(0, "p", "right"));
  CHECK(
      f.engine.view()->scan(0) ==
      Pairs{
          {"a", "wrong"}, {"b", "wrong"}, {"m", "2"}, {"n", "1"}, {"o", "again"}, {"p", "right"}});
}

TEST_CASE("values up to 16 MiB come back as they were", "[batch][large]") {
  Fixture f;
  std::string large(16u << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 2654435761u >> 24);
  for (const size_t size : {size_t{1}, size_t{4095}, size_t{4096}, size_t{2} << 20, large.size()}) {
    f.engine.write(Batch().put(0, "k", large.substr(0, size)).put(0, number_key(size), "beside"));
    const auto view = f.engine.view();
    CHECK((view->get(0, "k") == large.substr(0, size)));
    const auto cursor = view->cursor(0);
    REQUIRE(cursor->seek("k"));
    CHECK((cursor->value() == large.substr(0, size)));
  }
}

TEST_CASE("a batch of twenty thousand operations is taken whole", "[batch]") {
  Fixture f;
  Batch batch;
  for (uint64_t i = 0; i < 20000; ++i) batch.append(0, number_key(i), std::string(100, 'v'));
  f.engine.write(batch);
  CHECK(f.engine.view()->scan(0).size() == 20000);
}

TEST_CASE("stats count what is stored and the views that are open", "[batch][stats]") {
  Fixture f;
  f.engine.write(Batch().put(0, "k", std::string(1u << 20, 'v')));
  const auto one = f.engine.view();
  const quorate_backend_stats with_one = f.engine.stats();
  CHECK(with_one.open_reads == 1);
  CHECK(with_one.size >= 1u << 20);
  CHECK(with_one.size_in_use <= with_one.size);
  CHECK(with_one.size_in_use >= 1u << 20);
  {
    const auto two = f.engine.view();
    CHECK(f.engine.stats().open_reads == 2);
  }
  CHECK(f.engine.stats().open_reads == 1);
}

TEST_CASE("an unknown extension is absent", "[batch]") {
  Fixture f;
  CHECK(factory().get_extension(f.engine.handle(), "quorate.backend.no-such-thing/1") == nullptr);
}

}  // namespace
}  // namespace quorate::conformance
