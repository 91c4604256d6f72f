// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "frontend/fixture.h"
#include "frontend/grpc/grpc_client.h"

namespace quorate::tests {
namespace {

void fill(schema::RangeResult::Builder range, const std::vector<std::string>& records) {
  range.setCount(static_cast<int64_t>(records.size()));
  range.setPairs(records.size());
  const std::string run = run_of(records);
  range.setKvBytes(run.size());
  range.setKvs(data(run));
}

TEST_CASE("a put reaches the kernel field by field and its answer the client", "[frontend]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  frontend.kernel.answer_with([](schema::Request::Reader, schema::Response::Builder response) {
    auto put = response.initPut();
    put.setHasPrev(true);
    put.setPrevKv(data(record("k", "old", 4, 5, 2, 9)));
    return QUORATE_OK;
  });
  pb::PutRequest request;
  request.set_key("k");
  request.set_value("v");
  request.set_lease(77);
  request.set_prev_kv(true);
  request.set_ignore_value(true);
  request.set_ignore_lease(true);
  pb::PutResponse response;
  grpc::ClientContext context;
  const grpc::Status status = client.kv->Put(&context, request, &response);

  CHECK(status.error_message() == "");
  REQUIRE(status.ok());
  CHECK(response.header().cluster_id() == 1);
  CHECK(response.header().member_id() == 2);
  CHECK(response.header().revision() == 7);
  CHECK(response.header().raft_term() == 3);
  CHECK(response.prev_kv().value() == "old");
  CHECK(response.prev_kv().lease() == 9);

  const Asked asked = frontend.kernel.asked(0);
  schema::SegmentReader reader(asked.request);
  const auto put = reader.root<schema::Request>().getPut();
  CHECK(text(put.getKey()) == "k");
  CHECK(text(put.getValue()) == "v");
  CHECK(put.getLease() == 77);
  CHECK(put.getPrevKv());
  CHECK(put.getIgnoreValue());
  CHECK(put.getIgnoreLease());
}

TEST_CASE("a range's records are spliced into the answer", "[frontend]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  // The second is long enough to be sent from where it lies.
  const std::string value = GENERATE(std::string("v"), std::string(100'000, 'x'));
  frontend.kernel.answer_with([&](schema::Request::Reader, schema::Response::Builder response) {
    fill(response.initRange(), {record("a", value), record("b", value)});
    response.getRange().setMore(true);
    response.getRange().setCount(12);
    return QUORATE_OK;
  });
  pb::RangeRequest request;
  request.set_key("a");
  pb::RangeResponse response;
  grpc::ClientContext context;
  REQUIRE(client.kv->Range(&context, request, &response).ok());
  REQUIRE(response.kvs_size() == 2);
  CHECK(response.kvs(0).key() == "a");
  CHECK(response.kvs(1).value() == value);
  CHECK(response.more());
  CHECK(response.count() == 12);
  CHECK(response.header().revision() == 7);
}

}  // namespace
}  // namespace quorate::tests
