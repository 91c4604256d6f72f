// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/entry_summary.h"

#include <catch2/catch.hpp>

#include "apply/request.h"
#include "raft/conf_change.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::ctl {
namespace {

capnp::Data::Reader data(std::string_view text) {
  return {reinterpret_cast<const kj::byte*>(text.data()), text.size()};
}

// What `fill` makes of a request, as a log entry would be told.
template <typename Root = schema::Request, typename Fill>
std::string told(Fill fill, apply::EntryHeader header = {}) {
  schema::SegmentBuilder segment;
  fill(segment.start<Root>());
  return summary_of(
      {1, 5, raft::EntryType::kNormal, apply::encode_entry(header, segment.finish())});
}

TEST_CASE("a put is told by its key, never by its value", "[ctl]") {
  const auto fill = [](auto request) {
    auto put = request.initPut();
    put.setKey(data("greeting"));
    put.setValue(data("hello"));
    put.setLease(0x1f);
  };
  CHECK(told(fill) == "put \"greeting\", 5 bytes, lease 1f");
  apply::EntryHeader header;
  header.user = "alice";
  CHECK(told(fill, header) == "put \"greeting\", 5 bytes, lease 1f, by \"alice\"");
}

TEST_CASE("ranges and transactions are told in full", "[ctl]") {
  CHECK(told([](auto request) {
          auto erase = request.initDeleteRange();
          erase.setKey(data("a"));
          erase.setRangeEnd(data("b"));
        }) == "delete from \"a\" to \"b\"");
  CHECK(told([](auto request) {
          auto txn = request.initTxn();
          txn.initCompare(1);
          txn.initSuccess(1)[0].initPut().setKey(data("k"));
        }) == "txn, 1 compares, then [put \"k\", 0 bytes], else []");
}

TEST_CASE("a password is not told, nor its hash", "[ctl]") {
  const std::string text = told([](auto request) {
    auto add = request.initAuth().initUserAdd();
    add.setName("bob");
    add.setHashedPassword("$2b$secret");
  });
  CHECK(text == "auth, action 4, user \"bob\"");
}

TEST_CASE("the kernel's own entries are told too", "[ctl]") {
  apply::EntryHeader header;
  header.kind = apply::EntryKind::kInternal;
  CHECK(told<schema::Internal>([](auto internal) { internal.setClusterVersion("3.6.0"); },
                               header) == "cluster version \"3.6.0\"");
  CHECK(summary_of({1, 1, raft::EntryType::kNormal, {}}) == "the first entry of a leader's term");
}

TEST_CASE("a change of members is told with the member", "[ctl]") {
  apply::EntryHeader header;
  header.kind = apply::EntryKind::kConfChange;
  const Bytes context = apply::encode_entry(
      header, R"({"id":5,"peerURLs":["http://a:2380"],"name":"a"}                    )");
  raft::ConfChange change;
  change.steps = {{raft::ConfChangeType::kAddNode, 5}};
  CHECK(summary_of({1, 2, raft::EntryType::kConfChange,
                    raft::encode_conf_change(change, context.slice())}) ==
        "members v5: 5 \"a\" http://a:2380");
}

TEST_CASE("what is no entry says so, and does not end the program", "[ctl]") {
  CHECK(summary_of({1, 2, raft::EntryType::kNormal, Bytes::copy("abc")}).starts_with("not read"));
  CHECK(summary_of({1, 2, raft::EntryType::kConfChange, Bytes::copy("abc")})
            .starts_with("not readable: "));
  CHECK(
      summary_of({1, 2, raft::EntryType::kNormal, apply::encode_entry({}, std::string(64, '\xff'))})
          .starts_with("not readable: "));
}

TEST_CASE("bytes are quoted in ASCII, and long ones cut", "[ctl]") {
  CHECK(quoted(Slice("a\"b\\\x01\xff", 6)) == R"("a\"b\\\x01\xff")");
  CHECK(quoted(std::string(200, 'k')) == "\"" + std::string(80, 'k') + "\"... (200 bytes)");
}

}  // namespace
}  // namespace quorate::ctl
