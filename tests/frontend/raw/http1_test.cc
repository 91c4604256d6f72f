// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <chrono>

#include "frontend/fixture.h"
#include "frontend/h2_client.h"

namespace quorate::tests {
namespace {

struct HttpReply {
  std::string head, body;
  std::string status() const { return head.substr(9, 3); }
};

HttpReply get(Frontend& frontend, const std::string& target, const std::string& method = "GET") {
  RawClient client(frontend.port());
  client.send(method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string all = client.receive_all();
  const size_t end = all.find("\r\n\r\n");
  return {all.substr(0, end + 2), all.substr(end + 4)};
}

TEST_CASE("health is true when all is well", "[frontend]") {
  Frontend frontend;
  const HttpReply reply = get(frontend, "/health");
  CHECK(reply.status() == "200");
  CHECK(reply.body == "{\"health\":\"true\",\"reason\":\"\"}");
  const Asked asked = frontend.kernel.asked(0);
  CHECK(asked.flags == QUORATE_CALL_AS_HEALTH);
  schema::SegmentReader reader(asked.request);
  CHECK(reader.root<schema::Request>().getRange().getLimit() == 1);
  CHECK_FALSE(reader.root<schema::Request>().getRange().getSerializable());
}

TEST_CASE("health says what is wrong", "[frontend]") {
  Frontend frontend;
  std::string reason;
  std::string target = "/health";
  SECTION("an alarm") {
    frontend.host.member.alarms = QUORATE_ALARM_NOSPACE;
    reason = "ALARM NOSPACE";
  }
  SECTION("another alarm, the first being excluded") {
    frontend.host.member.alarms = QUORATE_ALARM_NOSPACE | QUORATE_ALARM_CORRUPT;
    target = "/health?exclude=NOSPACE";
    reason = "ALARM CORRUPT";
  }
  SECTION("no leader") {
    frontend.host.member.leader_id = 0;
    reason = "RAFT NO LEADER";
  }
  SECTION("a read that fails") {
    frontend.kernel.answer_code(QUORATE_TIMEOUT);
    reason = "RANGE ERROR:etcdserver: request timed out";
  }
  const HttpReply reply = get(frontend, target);
  CHECK(reply.status() == "503");
  CHECK(reply.body == "{\"health\":\"false\",\"reason\":\"" + reason + "\"}\n");
}

TEST_CASE("local health needs no leader and reads locally", "[frontend]") {
  Frontend frontend;
  frontend.host.member.leader_id = 0;
  CHECK(get(frontend, "/health?serializable=true").status() == "200");
  const Asked asked = frontend.kernel.asked(0);
  schema::SegmentReader reader(asked.request);
  CHECK(reader.root<schema::Request>().getRange().getSerializable());
}

TEST_CASE("health follows the member's leader", "[frontend]") {
  Frontend frontend;
  CHECK(get(frontend, "/health").status() == "200");
  frontend.host.change([](quorate_member_info& member) { member.leader_id = 0; });
  CHECK(get(frontend, "/health").status() == "503");
  CHECK(get(frontend, "/health?serializable=true").status() == "200");
  frontend.host.change([](quorate_member_info& member) { member.leader_id = 5; });
  CHECK(get(frontend, "/health").status() == "200");
}

TEST_CASE("a learner says how it is, to clients of HTTP", "[frontend]") {
  Frontend frontend;
  frontend.host.member.flags = QUORATE_MEMBER_LEARNER;
  CHECK(get(frontend, "/health").status() == "200");
  CHECK(get(frontend, "/version").status() == "200");
  CHECK(get(frontend, "/metrics").status() == "200");
}

TEST_CASE("answers of health are counted", "[frontend]") {
  Frontend frontend;
  get(frontend, "/health");
  frontend.host.change([](quorate_member_info& member) { member.leader_id = 0; });
  get(frontend, "/health");
  get(frontend, "/health");
  get(frontend, "/readyz");
  CHECK(frontend.host.recorded("etcd_server_health_success") == 1);
  CHECK(frontend.host.recorded("etcd_server_health_failures") == 2);
}

TEST_CASE("excluded alarms do not matter", "[frontend]") {
  Frontend frontend;
  frontend.host.member.alarms = QUORATE_ALARM_NOSPACE | QUORATE_ALARM_CORRUPT;
  CHECK(get(frontend, "/health?exclude=NOSPACE&exclude=CORRUPT").status() == "200");
}

TEST_CASE("only GET asks for health", "[frontend]") {
  Frontend frontend;
  const HttpReply reply = get(frontend, "/health", "POST");
  CHECK(reply.status() == "405");
  CHECK_THAT(reply.head, Catch::Contains("Allow: GET\r\n"));
  CHECK(reply.body == "Method Not Allowed\n");
}

TEST_CASE("readyz and livez run their checks", "[frontend]") {
  Frontend frontend;
  CHECK(get(frontend, "/livez").body == "ok\n");
  CHECK(get(frontend, "/livez?verbose").body == "[+]serializable_read ok\nok\n");
  CHECK(get(frontend, "/readyz/linearizable_read").body == "ok\n");
  CHECK(get(frontend, "/readyz/nothing").status() == "404");
  CHECK(get(frontend, "/readyz?verbose").body ==
        "[+]data_corruption ok\n[+]serializable_read ok\n[+]linearizable_read ok\n"
        "[+]non_learner ok\nok\n");
}

TEST_CASE("readyz lists the checks that fail", "[frontend]") {
  Frontend frontend;
  frontend.host.member.flags = QUORATE_MEMBER_LEARNER;
  const HttpReply reply = get(frontend, "/readyz?exclude=serializable_read");
  CHECK(reply.status() == "503");
  CHECK(reply.body ==
        "[+]data_corruption ok\n[+]linearizable_read ok\n"
        "[-]non_learner failed: not supported for learner\n");
}

TEST_CASE("version is plain numbers", "[frontend]") {
  Frontend frontend;
  CHECK(get(frontend, "/version").body ==
        "{\"etcdserver\":\"3.6.0\",\"etcdcluster\":\"3.6.0\",\"storage\":\"3.6.0\"}");
  frontend.host.member.cluster_version[0] = '\0';
  CHECK(get(frontend, "/version").body ==
        "{\"etcdserver\":\"3.6.0\",\"etcdcluster\":\"not_decided\",\"storage\":\"unknown\"}");
}

TEST_CASE("metrics are the host's", "[frontend]") {
  Frontend frontend;
  const HttpReply reply = get(frontend, "/metrics");
  CHECK(reply.body == "a_metric 1\n");
  CHECK_THAT(reply.head, Catch::Contains("Content-Type: text/plain; version=0.0.4"));
}

TEST_CASE("what is not there is not found", "[frontend]") {
  Frontend frontend;
  const HttpReply reply = get(frontend, "/nothing");
  CHECK(reply.status() == "404");
  CHECK(reply.body == "404 page not found\n");
}

TEST_CASE("every answer carries the CORS headers", "[frontend]") {
  Frontend frontend;
  const HttpReply reply = get(frontend, "/anything", "OPTIONS");
  CHECK(reply.status() == "200");
  CHECK(reply.body.empty());
  CHECK_THAT(reply.head, Catch::Contains("Access-Control-Allow-Origin: *\r\n"));
  CHECK_THAT(reply.head,
             Catch::Contains("Access-Control-Allow-Methods: POST, GET, OPTIONS, PUT, DELETE\r\n"));
  CHECK_THAT(reply.head,
             Catch::Contains("Access-Control-Allow-Headers: accept, content-type, authorization"));
}

TEST_CASE("a connection serves one request after the other", "[frontend]") {
  Frontend frontend;
  RawClient client(frontend.port());
  client.send(
      "GET /version HTTP/1.1\r\n\r\nPOST /nothing HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345");
  client.send("GET /health HTTP/1.1\r\n\r\nGET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string all = client.receive_all();
  const size_t version = all.find("etcdserver"), nothing = all.find("404 page"),
               health = all.find("\"health\""), metrics = all.find("a_metric");
  CHECK(version < nothing);
  CHECK(nothing < health);
  CHECK(health < metrics);
  CHECK(metrics != std::string::npos);
}

TEST_CASE("a request may come a byte at a time", "[frontend]") {
  Frontend frontend;
  RawClient client(frontend.port());
  for (const char byte : std::string("GET /version HTTP/1.0\r\n\r\n")) client.send({&byte, 1});
  CHECK_THAT(client.receive_all(), Catch::Contains("etcdserver"));
}

TEST_CASE("bad HTTP ends the connection with a status", "[frontend]") {
  Frontend frontend;
  RawClient client(frontend.port());
  const auto [request, status] = GENERATE(table<std::string, std::string>({
      {"nonsense\r\n\r\n", "400"},
      {"GET / HTTP/9.1\r\n\r\n", "400"},
      {"GET /" + std::string(20'000, 'x'), "431"},
  }));
  client.send(request);
  CHECK_THAT(client.receive_all(), Catch::StartsWith("HTTP/1.1 " + status));
}

TEST_CASE("a client that talks on after the end of its connection loses it", "[frontend]") {
  Frontend frontend;
  RawClient client(frontend.port());
  client.send("GET /version HTTP/1.0\r\n\r\n");
  CHECK_THAT(client.receive_all(), Catch::Contains("etcdserver"));
  // Only a failing test talks so long.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool open = true;
  while (open && std::chrono::steady_clock::now() < patience) open = client.send("more");
  CHECK_FALSE(open);
}

TEST_CASE("a client that leaves while its health is asked leaves nothing behind", "[frontend]") {
  Frontend frontend;
  frontend.kernel.hold();
  {
    RawClient client(frontend.port());
    client.send("GET /health HTTP/1.1\r\n\r\n");
    frontend.kernel.asked(0);
  }
  frontend.kernel.wait_for_cancel(1);
  frontend.destroy();
  CHECK(frontend.kernel.everything_released());
}

}  // namespace
}  // namespace quorate::tests
