// SPDX-License-Identifier: Apache-2.0
// The whole member, front-end border to disk.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/random.h"
#include "test_member.h"

namespace quorate::test {
namespace {

std::string record_value(const std::string& run, const std::string& value) {
  return run.find(value) != std::string::npos ? value : "";
}

TEST_CASE("a first start serves, and a put is read at its revision", "[member]") {
  TestMember member;
  member.start();
  CHECK(member.put("a", "one") == 2);
  CHECK(member.put("a", "two") == 3);
  CHECK(record_value(member.runs("a"), "two") == "two");
  CHECK(record_value(member.runs("a", "", 2), "one") == "one");
  CHECK(member.count("a", kOpenEnd) == 1);
}

TEST_CASE("reads of the past and of the future are refused by name", "[member]") {
  TestMember member;
  member.start();
  for (int i = 0; i < 5; ++i) member.put("a", std::to_string(i));
  CHECK(member.call(compact_request(4)).code == Code::kOk);
  CHECK(member.call(range_request("a", "", 3)).code == Code::kCompacted);
  CHECK(member.call(range_request("a", "", 4)).code == Code::kOk);
  CHECK(member.call(range_request("a", "", 99)).code == Code::kFutureRevision);
  CHECK(member.call(compact_request(4)).code == Code::kCompacted);
  CHECK(member.call(compact_request(99)).code == Code::kFutureRevision);
}

TEST_CASE("a physical compaction is answered once the engine has forgotten", "[member]") {
  TestMember member;
  member.start();
  for (int i = 0; i < 10; ++i) member.put("a", std::to_string(i));
  const Answer before = member.call(hash_kv_request(11));
  CHECK(member.call(compact_request(9, true)).code == Code::kOk);
  const Answer after = member.call(hash_kv_request(11));
  CHECK(before.reader().root<schema::Response>().getMaintenance().getHash().getHash() !=
        after.reader().root<schema::Response>().getMaintenance().getHash().getHash());
}

TEST_CASE("a physical compaction at what a process before this one compacted is answered",
          "[member]") {
  TestMember member;
  member.start();
  for (int i = 0; i < 10; ++i) member.put("a", std::to_string(i));
  REQUIRE(member.call(compact_request(9, true)).code == Code::kOk);
  member.crash(1);
  member.start();
  CHECK(member.call(compact_request(9, true)).code == Code::kCompacted);
}

TEST_CASE("bad requests are refused at the border", "[member]") {
  TestMember member;
  member.start();
  CHECK(member.call(put_request("", "v")).code == Code::kEmptyKey);
  CHECK(member.call(put_request("k", std::string(2 << 20, 'v'))).code == Code::kRequestTooLarge);
  CHECK(member.call(put_request("k", "v", 77)).code == Code::kLeaseNotFound);
  CHECK(member.call(Bytes::copy(std::string(24, '\xff'))).code == Code::kDamagedRequest);
  CHECK(member.call(Bytes::copy("short")).code == Code::kDamagedRequest);
  CHECK(member.count("k") == 0);
}

TEST_CASE("what was acknowledged is there after any crash, and no revision comes twice",
          "[member]") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    TestMember member(seed);
    std::map<std::string, int64_t> acknowledged;  // key to revision
    std::set<int64_t> revisions;
    int next = 0;
    for (int life = 0; life < 4; ++life) {
      member.start();
      for (const auto& [key, revision] : acknowledged) {
        CAPTURE(key);
        CHECK(member.count(key, "", revision) == 1);
        if (revision > 2) CHECK(member.count(key, "", revision - 1) == 0);
      }
      std::vector<std::pair<std::string, std::shared_ptr<Answer>>> sent;
      const uint64_t steps = 50 + random.below(300);
      for (uint64_t step = 0; step < steps; ++step) {
        if (random.one_in(3)) {
          const std::string key = "k" + std::to_string(next++);
          sent.emplace_back(key,
                            member.send(put_request(key, std::string(random.below(3000), 'v'))));
        }
        if (random.one_in(20)) member.env.advance_ms(random.below(150));
        member.env.run_one();
      }
      for (const auto& [key, answer] : sent) {
        if (!answer->done() || answer->code != Code::kOk) continue;
        CHECK(revisions.insert(answer->revision()).second);
        acknowledged[key] = answer->revision();
      }
      member.crash(seed * 100 + static_cast<uint64_t>(life));
    }
    CHECK(acknowledged.size() > 10);
  }
}

TEST_CASE("a stop leaves a checkpoint, so a restart has nothing to replay", "[member]") {
  TestMember member;
  member.start();
  for (int i = 0; i < 100; ++i) member.put("k" + std::to_string(i), "v");
  const Answer before = member.call(hash_kv_request());
  member.crash(7);
  member.start();
  const Answer after = member.call(hash_kv_request());
  CHECK(before.reader().root<schema::Response>().getMaintenance().getHash().getHash() ==
        after.reader().root<schema::Response>().getMaintenance().getHash().getHash());
}

TEST_CASE("a log that cannot be synced stops the member, and nothing more is acknowledged",
          "[member]") {
  TestMember member;
  member.start();
  member.put("before", "v");
  member.machine.disk().fail(SimDisk::Op::kSync, 1, Code::kIoError);
  auto lost = member.send(put_request("lost", "v"));
  member.env.advance_ms(500);
  CHECK_FALSE((lost->done() && lost->code == Code::kOk));
  CHECK_FALSE(member.failure.ok());
  INFO(member.failure.to_string());
  CHECK(member.failure.code() == Code::kIoError);
  member.crash(3);
  CHECK(lost->completions == 1);
  member.start();
  CHECK(member.count("before") == 1);
}

TEST_CASE("a range above one MiB comes in pieces, against credit", "[member]") {
  TestMember member;
  member.start();
  for (int i = 0; i < 30; ++i)
    member.put("k" + std::to_string(100 + i),
               std::string(100'000, static_cast<char>('a' + i % 26)));
  CHECK(member.call(range_request("k", "l")).code == Code::kUseRangeOpen);
  const uint64_t pull = member.open_pull(range_request("k", "l"));
  member.env.advance_ms(200);
  REQUIRE(member.pieces.size() == 1);
  CHECK(member.pieces[0].kind == QUORATE_PIECE_HEAD);
  const Bytes head = Bytes::copy(member.pieces[0].bytes);
  const uint64_t expected =
      schema::SegmentReader(head.slice()).root<schema::Response>().getRange().getKvBytes();
  uint64_t received = 0;
  for (int i = 0; i < 100 && member.pieces.back().kind != QUORATE_PIECE_END; ++i) {
    member.pieces.clear();
    member.services()->range_credit(member.services()->ctx, pull, 300'000);
    member.env.run_until_idle();
    for (const Piece& piece : member.pieces) {
      CHECK(piece.code == Code::kOk);
      received += piece.bytes.size();
      CHECK(piece.bytes.size() <= 300'000);
    }
  }
  CHECK(received == expected);
  CHECK(expected > 3'000'000);
}

TEST_CASE("a watch hears the past, then the present, in order", "[member]") {
  TestMember member;
  member.start();
  for (int i = 0; i < 3; ++i) member.put("k", std::to_string(i));
  const uint64_t stream = member.open_watches();
  const Bytes create = watch_request("k", "", 2);
  member.services()->watch_add(member.services()->ctx, stream, 5, to_c(create.slice()));
  member.env.advance_ms(200);
  member.put("k", "3");
  member.call(delete_request("k"));
  member.env.run_until_idle();
  REQUIRE_FALSE(member.watched.empty());
  CHECK(member.watched.front().kind == QUORATE_WATCH_CREATED);
  std::vector<std::string> events;
  int64_t last = 0;
  for (const WatchItem& item : member.watched) {
    CHECK(item.watch == 5);
    CHECK(item.revision >= last);
    last = item.revision;
    for (const std::string& event : item.events) events.push_back(event);
  }
  CHECK(events.size() == 5);
  CHECK(last == 6);
  member.services()->watch_close(member.services()->ctx, stream);
  member.env.run_until_idle();
  CHECK(member.watched.back().kind == QUORATE_WATCH_CLOSED);
  CHECK(member.watched.back().watch == QUORATE_WATCH_ALL);
}

TEST_CASE("a lease's keys go when it expires, and not while it is kept alive", "[member]") {
  TestMember member;
  member.start();
  const Answer granted = member.call(grant_request(2));
  const int64_t lease = granted.reader().root<schema::Response>().getLease().getId();
  CHECK(lease > 0);
  member.put("leased", "v", lease);
  for (int i = 0; i < 5; ++i) {
    member.env.advance_ms(1500);
    const Answer kept = member.call(keep_alive_request(lease));
    CHECK(kept.reader().root<schema::Response>().getLease().getTtl() == 2);
  }
  CHECK(member.count("leased") == 1);
  member.env.advance_ms(4000);
  CHECK(member.count("leased") == 0);
  const Answer gone = member.call(keep_alive_request(lease));
  CHECK(gone.code == Code::kOk);
  CHECK(gone.reader().root<schema::Response>().getLease().getTtl() == 0);
}

TEST_CASE("the engine gets what was applied after the interval that was asked for", "[member]") {
  for (const uint64_t interval_ms : {20, 100, 1000}) {
    CAPTURE(interval_ms);
    TestMember member;
    member.config.freeze_interval_ms = interval_ms;
    member.start();
    member.env.advance_ms(3000);
    const Metric& commits = member.server().metrics().histogram(
        "etcd_disk_backend_commit_duration_seconds", "",
        "How long a batch took to reach the engine.", exponential_bounds(0.001, 2, 14));
    const uint64_t before = commits.count();
    member.put("k", "v");
    member.env.advance_ms(interval_ms - 5);
    CHECK(commits.count() == before);
    member.env.advance_ms(10);
    CHECK(commits.count() == before + 1);
  }
}

TEST_CASE("a hash that takes long is bounded by its caller's patience, not by the member's",
          "[member]") {
  TestMember member;
  member.start();
  member.put("a", "1");
  const auto patient = [&](uint64_t timeout_ms, uint64_t until_ms) {
    member.env.set_pools_run(false);
    const auto answer = member.send(hash_kv_request(), timeout_ms);
    member.env.advance_ms(until_ms);
    member.env.set_pools_run(true);
    member.env.run_until_idle();
    return answer->code;
  };
  CHECK(patient(0, 60'000) == Code::kOk);
  CHECK(patient(30'000, 20'000) == Code::kOk);
  CHECK(patient(30'000, 31'000) == Code::kTimeout);
}

TEST_CASE("a lease lives for one and a half election timeouts at least", "[member]") {
  TestMember member;
  member.config.election_ms = 3000;
  member.start();
  const Answer granted = member.call(grant_request(1));
  CHECK(granted.reader().root<schema::Response>().getLease().getTtl() == 5);
}

TEST_CASE("a member alone leads, and its metrics say so", "[member]") {
  TestMember member;
  member.start();
  const std::string text = member.server().metrics().render();
  CHECK_THAT(text, Catch::Contains("\netcd_server_has_leader 1\n"));
  CHECK_THAT(text, Catch::Contains("\netcd_server_is_leader 1\n"));
  CHECK_THAT(text, Catch::Contains("\netcd_server_is_learner 0\n"));
}

TEST_CASE("a call is completed once, whether it is answered, cancelled or late", "[member]") {
  TestMember member;
  member.start();
  auto cancelled = member.send(put_request("c", "v"));
  member.services()->cancel(member.services()->ctx, member.last_call);
  auto late = member.send(put_request("l", "v"), 1);
  member.env.advance_ms(1000);
  CHECK(cancelled->completions == 1);
  CHECK(late->completions == 1);
}

TEST_CASE("a store above its quota raises NOSPACE, and refuses what adds data", "[member]") {
  TestMember member;
  member.config.quota_bytes = 200'000;
  member.start();
  Code code = Code::kOk;
  for (int i = 0; i < 1000 && code == Code::kOk; ++i) {
    code = member.call(put_request("k" + std::to_string(i), std::string(1000, 'v'))).code;
  }
  CHECK(code == Code::kQuotaExceeded);
  member.env.advance_ms(2000);
  CHECK((member.server().state().alarms.load() & QUORATE_ALARM_NOSPACE) != 0);
  CHECK(member.call(delete_request("k", "l")).code == Code::kOk);
  CHECK(member.call(put_request("k", "v")).code == Code::kQuotaExceeded);
}

}  // namespace
}  // namespace quorate::test
