// SPDX-License-Identifier: Apache-2.0
// What a member refuses because of its place in the cluster: a learner, and one without a leader.
#include <catch2/catch.hpp>

#include <functional>

#include "frontend/fixture.h"
#include "frontend/h2_client.h"
#include "frontend/raw/calls.h"
#include "frontend_etcd/core.h"
#include "frontend_etcd/wire.h"

namespace quorate::tests {
namespace {

using frontend_etcd::wire::Writer;

const std::string kWatch = "/etcdserverpb.Watch/Watch";
const std::string kKeepAlive = "/etcdserverpb.Lease/LeaseKeepAlive";
const std::string kHealthWatch = "/grpc.health.v1.Health/Watch";
const Headers kWantsLeader{{"hasleader", "true"}};

std::string range_request(bool serializable) {
  std::string bytes = put_request();
  Writer(bytes).number(7, serializable);
  return bytes;
}

std::string create_request() {
  std::string bytes;
  Writer(bytes).bytes_always(1, put_request());
  return bytes;
}

std::string message(uint32_t stream, const std::string& bytes) {
  return frame(kData, 0, stream, grpc_message(bytes));
}

void lose_leader(FakeHost& host) {
  host.change([](quorate_member_info& member) { member.leader_id = 0; });
}

void find_leader(FakeHost& host) {
  host.change([](quorate_member_info& member) { member.leader_id = 5; });
}

TEST_CASE("a call that wants a leader is refused while none is known", "[frontend][leader]") {
  Frontend frontend;
  frontend.host.member.leader_id = 0;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request(), kWantsLeader));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "14");
  CHECK(reply.message() == "etcdserver: no leader");
  CHECK(frontend.kernel.asked_count() == 0);

  client.send(H2Client::call(3, kPut, put_request()) +
              H2Client::call(5, kPut, put_request(), {{"hasleader", "TRUE"}}));
  CHECK(client.reply(3).status() == "0");
  CHECK(client.reply(5).status() == "0");

  find_leader(frontend.host);
  client.send(H2Client::call(7, kPut, put_request(), kWantsLeader));
  CHECK(client.reply(7).status() == "0");
}

TEST_CASE("a stream that wants a leader does not open while none is known", "[frontend][leader]") {
  Frontend frontend;
  frontend.host.member.leader_id = 0;
  H2Client client(frontend.port());
  const std::string path = GENERATE(as<std::string>{}, kWatch, kKeepAlive, kHealthWatch);
  client.send(open_call(1, path, kWantsLeader));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "14");
  CHECK(reply.message() == "etcdserver: no leader");
}

TEST_CASE("streams that want a leader end when none was known for long", "[frontend][leader]") {
  Given given;
  given.options = {{"election-timeout", "1"}};
  Frontend frontend(given);
  FakeKernel& kernel = frontend.kernel;
  H2Client client(frontend.port());
  kernel.hold();
  client.send(open_call(1, kWatch, kWantsLeader) + open_call(3, kKeepAlive, kWantsLeader) +
              message(3, std::string("\x08\x01")) + open_call(5, kHealthWatch, kWantsLeader) +
              open_call(7, kWatch) + message(7, create_request()));
  kernel.asked(0);
  kernel.stream(1, [](const FakeStream& one) { return one.adds.size() == 1; });
  lose_leader(frontend.host);

  for (const uint32_t stream : {1, 3, 5}) {
    const Reply reply = client.reply(stream);
    CHECK(reply.status() == "14");
    CHECK(reply.message() == "etcdserver: no leader");
  }
  kernel.stream(0, [](const FakeStream& one) { return one.closed_by_client; });
  kernel.wait_for_cancel(1);
  CHECK_FALSE(kernel.stream(1).closed_by_client);

  kernel.created(1, 1, 7);
  kernel.end_stream(1, QUORATE_STOPPED);
  const Reply other = client.reply(7);
  CHECK_FALSE(other.data.empty());
  CHECK(other.message() == "etcdserver: server stopped");
}

TEST_CASE("each loss of a leader counts anew", "[frontend][leader]") {
  Given given;
  given.options = {{"election-timeout", "1"}};
  Frontend frontend(given);
  frontend.host.member.leader_id = 0;
  frontend.start();
  find_leader(frontend.host);
  H2Client client(frontend.port());
  client.send(open_call(1, kWatch, kWantsLeader));
  frontend.kernel.stream(0);
  lose_leader(frontend.host);
  CHECK(client.reply(1).message() == "etcdserver: no leader");
}

// A stream as Core sees it, without clocks and threads.
struct Bound final : frontend_etcd::LeaderBound {
  void leader_lost() override { ++losses; }
  int losses = 0;
};

TEST_CASE("a leader that comes back in time keeps the streams", "[frontend][leader]") {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  FakeHost host;
  frontend_etcd::Settings settings;
  settings.election_timeout = hours(1);
  frontend_etcd::Core core({}, host.host(), settings);
  std::vector<std::function<void()>> posted;
  core.bind([&posted](std::function<void()> run) { posted.push_back(std::move(run)); },
            [](frontend_etcd::Time) {});
  const auto run_posted = [&posted] {
    for (const auto& run : std::exchange(posted, {})) run();
  };
  core.follow_member();
  run_posted();
  Bound bound;
  core.bind_to_leader(bound);
  core.expire_due(core.now() + hours(100));
  CHECK(bound.losses == 0);

  lose_leader(host);
  run_posted();
  const frontend_etcd::Time lost = core.now();
  // A change of something else does not count anew.
  host.change([](quorate_member_info& member) { member.alarms = QUORATE_ALARM_NOSPACE; });
  run_posted();
  core.expire_due(lost + hours(3) - milliseconds(1));
  CHECK(bound.losses == 0);
  SECTION("it comes back") {
    find_leader(host);
    run_posted();
    core.expire_due(lost + hours(100));
    CHECK(bound.losses == 0);
    lose_leader(host);
    run_posted();
    core.expire_due(core.now() + hours(3));
    CHECK(bound.losses == 1);
  }
  SECTION("it does not") {
    core.expire_due(lost + hours(3));
    CHECK(bound.losses == 1);
    CHECK_FALSE(bound.is_linked());
  }
}

// ---- learners

TEST_CASE("a learner serves status and its own reads alone", "[frontend][learner]") {
  Frontend frontend;
  frontend.host.member.flags = QUORATE_MEMBER_LEARNER;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, "/etcdserverpb.Maintenance/Status", "") +
              H2Client::call(3, kRange, range_request(true)));
  CHECK(client.reply(1).status() == "0");
  CHECK(client.reply(3).status() == "0");
  CHECK(frontend.kernel.asked_count() == 2);
}

TEST_CASE("a learner refuses all other calls", "[frontend][learner]") {
  Frontend frontend;
  frontend.host.member.flags = QUORATE_MEMBER_LEARNER;
  frontend.host.member.leader_id = 0;
  H2Client client(frontend.port());
  const std::string path =
      GENERATE(as<std::string>{}, kPut, kRange, "/etcdserverpb.KV/Txn", "/etcdserverpb.KV/Compact",
               "/etcdserverpb.Lease/LeaseGrant", "/etcdserverpb.Lease/LeaseLeases",
               "/etcdserverpb.Cluster/MemberList", "/etcdserverpb.Cluster/MemberAdd",
               "/etcdserverpb.Maintenance/HashKV", "/etcdserverpb.Maintenance/MoveLeader",
               "/etcdserverpb.Auth/AuthStatus", "/grpc.health.v1.Health/Check");
  client.send(H2Client::call(1, path, "", kWantsLeader));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "9");
  CHECK(reply.message() == "etcdserver: rpc not supported for learner");
  CHECK(frontend.kernel.asked_count() == 0);
}

TEST_CASE("a learner opens no stream", "[frontend][learner]") {
  Frontend frontend;
  frontend.host.member.flags = QUORATE_MEMBER_LEARNER;
  H2Client client(frontend.port());
  const std::string path = GENERATE(as<std::string>{}, kWatch, kKeepAlive, kHealthWatch);
  client.send(open_call(1, path));
  const Reply reply = client.reply(1);
  CHECK(reply.status() == "9");
  CHECK(reply.message() == "etcdserver: rpc not supported for learner");
}

TEST_CASE("a read-only transaction on a learner is refused, serializable or not",
          "[frontend][learner]") {
  Frontend frontend;
  frontend.host.member.flags = QUORATE_MEMBER_LEARNER;
  std::string op, txn;
  Writer(op).bytes_always(1, range_request(true));
  Writer(txn).bytes_always(2, op);
  H2Client client(frontend.port());
  client.send(H2Client::call(1, "/etcdserverpb.KV/Txn", txn));
  CHECK(client.reply(1).status() == "9");
}

TEST_CASE("bytes that are no request are that on a learner too", "[frontend][learner]") {
  Frontend frontend;
  frontend.host.member.flags = QUORATE_MEMBER_LEARNER;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, "\x0a\x7fk"));
  CHECK(client.reply(1).status() == "13");
}

TEST_CASE("a learner that is promoted serves at once", "[frontend][learner]") {
  Frontend frontend;
  frontend.host.member.flags = QUORATE_MEMBER_LEARNER;
  H2Client client(frontend.port());
  client.send(H2Client::call(1, kPut, put_request()));
  CHECK(client.reply(1).status() == "9");
  frontend.host.change([](quorate_member_info& member) { member.flags = QUORATE_MEMBER_READY; });
  client.send(H2Client::call(3, kPut, put_request()));
  CHECK(client.reply(3).status() == "0");
}

// ---- what a change of the leader does to streams

TEST_CASE("a stream ends with the error that the loss of the leader has", "[frontend][leader]") {
  Frontend frontend;
  H2Client client(frontend.port());
  const auto [code, status, text] = GENERATE(table<quorate_status, std::string, std::string>({
      {QUORATE_NO_LEADER, "14", "etcdserver: no leader"},
      {QUORATE_LEADER_CHANGED, "14", "etcdserver: leader changed"},
      {QUORATE_TIMEOUT, "14", "etcdserver: request timed out"},
      {QUORATE_TIMEOUT_LEADER_FAILURE, "14",
       "etcdserver: request timed out, possibly due to previous leader failure"},
      {QUORATE_TIMEOUT_CONNECTION_LOST, "14",
       "etcdserver: request timed out, possibly due to connection lost"},
      {QUORATE_NOT_PRIMARY_LESSOR, "2", "not a primary lessor"},
  }));
  Reply reply;
  SECTION("a keep-alive") {
    frontend.kernel.answer_code(code);
    client.send(open_call(1, kKeepAlive) + message(1, std::string("\x08\x01")));
    reply = client.reply(1);
  }
  SECTION("a watch") {
    client.send(open_call(1, kWatch));
    frontend.kernel.stream(0);
    frontend.kernel.end_stream(0, code);
    reply = client.reply(1);
  }
  CHECK(reply.status() == status);
  CHECK(reply.message() == text);
}

}  // namespace
}  // namespace quorate::tests
