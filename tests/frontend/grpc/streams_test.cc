// SPDX-License-Identifier: Apache-2.0
// The calls that are streams, and the small services, driven with grpc++.
#include <catch2/catch.hpp>

#include <set>
#include <thread>

#include "frontend/fixture.h"
#include "frontend/grpc/grpc_client.h"

namespace quorate::tests {
namespace {

// One watch stream of a client.
class WatchCall {
 public:
  explicit WatchCall(GrpcClient& client, const std::string& has_leader = "") {
    if (!has_leader.empty()) context_.AddMetadata("hasleader", has_leader);
    stream_ = client.watch->Watch(&context_);
  }

  void create(const std::string& key, int64_t id = 0,
              const std::function<void(pb::WatchCreateRequest*)>& more = nullptr) {
    pb::WatchRequest request;
    request.mutable_create_request()->set_key(key);
    request.mutable_create_request()->set_watch_id(id);
    if (more != nullptr) more(request.mutable_create_request());
    stream_->Write(request);
  }
  void cancel(int64_t id) {
    pb::WatchRequest request;
    request.mutable_cancel_request()->set_watch_id(id);
    stream_->Write(request);
  }
  void ask_progress() {
    pb::WatchRequest request;
    request.mutable_progress_request();
    stream_->Write(request);
  }
  void half_close() { stream_->WritesDone(); }
  pb::WatchResponse read() {
    pb::WatchResponse response;
    if (!stream_->Read(&response)) throw std::runtime_error("the watch stream ended");
    return response;
  }
  grpc::Status finish() {
    pb::WatchResponse ignored;
    while (stream_->Read(&ignored)) {
    }
    return stream_->Finish();
  }
  void give_up() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<pb::WatchRequest, pb::WatchResponse>> stream_;
};

// A client's stream, and the kernel's side of it.
struct Watching {
  Frontend frontend;
  GrpcClient client;
  WatchCall call;

  explicit Watching(Given given = {})
      : frontend(std::move(given)), client(frontend.address()), call(client) {}

  FakeKernel& kernel() { return frontend.kernel; }
  FakeStream stream(size_t adds = 0) {
    return kernel().stream(0, [adds](const FakeStream& one) { return one.adds.size() >= adds; });
  }
  // Creates a watcher and plays the kernel's part; the number the front-end gave it.
  uint64_t created(const std::string& key, size_t nth, int64_t id = 0,
                   const std::function<void(pb::WatchCreateRequest*)>& more = nullptr) {
    call.create(key, id, more);
    const uint64_t number = stream(nth).adds[nth - 1].first;
    kernel().created(0, number, 7);
    call.read();
    return number;
  }
  void closed(uint64_t number, quorate_status code, int64_t compact_revision = 0) {
    kernel().tell(0, {{number, 9, compact_revision, QUORATE_WATCH_CLOSED, code, nullptr, 0, 0}});
  }
};

TEST_CASE("a create reaches the kernel and its reply the client", "[frontend][watch]") {
  Watching w;
  w.call.create("k", 0, [](pb::WatchCreateRequest* create) {
    create->set_range_end("m");
    create->set_start_revision(5);
    create->set_progress_notify(true);
    create->set_prev_kv(true);
    create->add_filters(pb::WatchCreateRequest::NODELETE);
  });
  const auto [number, request] = w.stream(1).adds[0];
  schema::SegmentReader reader(request);
  const auto create = reader.root<schema::WatchCreate>();
  CHECK(text(create.getKey()) == "k");
  CHECK(text(create.getRangeEnd()) == "m");
  CHECK(create.getStartRevision() == 5);
  CHECK(create.getProgressNotify());
  CHECK(create.getPrevKv());
  CHECK_FALSE(create.getNoPut());
  CHECK(create.getNoDelete());

  w.kernel().created(0, number, 8);
  const pb::WatchResponse reply = w.call.read();
  CHECK(reply.created());
  CHECK_FALSE(reply.canceled());
  CHECK(reply.watch_id() == 0);
  CHECK(reply.header().revision() == 8);
  CHECK(reply.header().member_id() == 2);
  CHECK(reply.header().raft_term() == 3);
}

TEST_CASE("an empty key is the first key", "[frontend][watch]") {
  Watching w;
  w.call.create("", 0, [](auto* create) { create->set_range_end(std::string(1, '\0')); });
  const FakeStream stream = w.stream(1);
  schema::SegmentReader reader(stream.adds[0].second);
  CHECK(text(reader.root<schema::WatchCreate>().getKey()) == std::string(1, '\0'));
  CHECK(text(reader.root<schema::WatchCreate>().getRangeEnd()) == std::string(1, '\0'));
}

TEST_CASE("ids count from 0 and skip those in use", "[frontend][watch]") {
  Watching w;
  std::vector<int64_t> ids;
  const std::vector<int64_t> wishes{0, 2, 0, 0, 0};
  for (size_t i = 0; i < wishes.size(); ++i) {
    w.call.create("k", wishes[i]);
    w.kernel().created(0, w.stream(i + 1).adds[i].first, 7);
    ids.push_back(w.call.read().watch_id());
  }
  CHECK(ids == std::vector<int64_t>{0, 2, 1, 3, 4});
}

TEST_CASE("a create that cannot be is refused in its turn", "[frontend][watch]") {
  Watching w;
  w.created("k", 1, 5);
  w.call.create("first");
  std::string reason;
  SECTION("a taken id") {
    w.call.create("k", 5);
    reason = "mvcc: duplicate watch ID provided on the WatchStream";
  }
  SECTION("an empty range") {
    w.call.create("k", 6, [](auto* create) { create->set_range_end("k"); });
    reason = "mvcc: watcher range is empty";
  }
  SECTION("a negative revision") {
    w.call.create("k", 6, [](auto* create) { create->set_start_revision(-1); });
    reason = "etcdserver: mvcc: required revision has been compacted";
  }
  w.kernel().created(0, w.stream(2).adds[1].first, 7);
  CHECK(w.call.read().watch_id() == 0);
  const pb::WatchResponse refused = w.call.read();
  CHECK(refused.created());
  CHECK(refused.canceled());
  CHECK(refused.watch_id() == -1);
  CHECK(refused.cancel_reason() == reason);
  CHECK(refused.header().revision() == 7);
}

TEST_CASE("a create that the kernel refuses says why, and frees its id", "[frontend][watch]") {
  const auto [code, reason] = GENERATE(table<quorate_status, std::string>({
      {QUORATE_PERMISSION_DENIED,
       "rpc error: code = PermissionDenied desc = etcdserver: permission denied"},
      {QUORATE_INVALID_AUTH_TOKEN,
       "rpc error: code = Unauthenticated desc = etcdserver: invalid auth token"},
      {QUORATE_AUTH_OLD_REVISION,
       "rpc error: code = InvalidArgument desc = etcdserver: revision of auth store is old"},
      {QUORATE_USER_EMPTY,
       "rpc error: code = InvalidArgument desc = etcdserver: user name is empty"},
      {QUORATE_WATCH_EMPTY_RANGE, "mvcc: watcher range is empty"},
  }));
  Watching w;
  w.call.create("k");
  w.closed(w.stream(1).adds[0].first, code);
  const pb::WatchResponse refused = w.call.read();
  CHECK(refused.created());
  CHECK(refused.canceled());
  CHECK(refused.watch_id() == -1);
  CHECK(refused.cancel_reason() == reason);
  w.call.create("k");
  w.kernel().created(0, w.stream(2).adds[1].first, 7);
  CHECK(w.call.read().watch_id() == 0);
}

TEST_CASE("events are passed on as they are", "[frontend][watch]") {
  Watching w;
  const uint64_t number = w.created("k", 1, 9);
  const std::string value = GENERATE(std::string("v"), std::string(50'000, 'v'));
  w.kernel().events(0, number, 12, {put_event("k", value, 12), put_event("k2", value, 12)});
  const pb::WatchResponse reply = w.call.read();
  CHECK(reply.watch_id() == 9);
  CHECK(reply.header().revision() == 12);
  REQUIRE(reply.events_size() == 2);
  CHECK(reply.events(1).kv().key() == "k2");
  CHECK(reply.events(0).kv().value() == value);
  CHECK_FALSE(reply.fragment());
}

TEST_CASE("a large response is cut only when fragments were asked for", "[frontend][watch]") {
  Watching w;
  const bool fragment = GENERATE(false, true);
  const uint64_t number =
      w.created("k", 1, 0, [fragment](auto* create) { create->set_fragment(fragment); });
  const std::string event = put_event("k", std::string(1'500'000, 'v'), 12);
  w.kernel().events(0, number, 12, {event, event, event});
  std::vector<bool> cuts;
  int events = 0;
  while (events < 3) {
    const pb::WatchResponse reply = w.call.read();
    events += reply.events_size();
    cuts.push_back(reply.fragment());
  }
  CHECK(cuts == (fragment ? std::vector<bool>{true, true, false} : std::vector<bool>{false}));
}

TEST_CASE("a cancelled watcher is told so and then silent", "[frontend][watch]") {
  Watching w;
  const uint64_t number = w.created("k", 1);
  const uint64_t other = w.created("other", 2);
  w.call.cancel(77);  // unknown: no reply
  w.call.cancel(0);
  w.kernel().stream(0, [](const FakeStream& one) { return one.removes.size() == 1; });
  w.kernel().events(0, number, 8, {put_event("k", "late", 8)});
  w.closed(number, QUORATE_OK);
  w.kernel().events(0, other, 9, {put_event("other", "v", 9)});
  const pb::WatchResponse canceled = w.call.read();
  CHECK(canceled.canceled());
  CHECK(canceled.watch_id() == 0);
  CHECK(canceled.cancel_reason().empty());
  CHECK(canceled.header().revision() == 9);
  CHECK(w.call.read().watch_id() == 1);
}

TEST_CASE("compaction ends a watcher whose id stays taken", "[frontend][watch]") {
  Watching w;
  const uint64_t number = w.created("k", 1);
  w.closed(number, QUORATE_COMPACTED, 42);
  const pb::WatchResponse compacted = w.call.read();
  CHECK(compacted.canceled());
  CHECK(compacted.compact_revision() == 42);
  CHECK(compacted.cancel_reason().empty());
  CHECK(compacted.header().revision() == 0);
  CHECK(compacted.header().cluster_id() == 1);

  w.call.ask_progress();  // dropped: an ended watcher blocks it
  w.call.cancel(0);
  const pb::WatchResponse canceled = w.call.read();
  CHECK(canceled.canceled());
  CHECK(canceled.watch_id() == 0);
  CHECK(w.stream().progress_asks == 0);
  CHECK(w.stream().removes.empty());
}

TEST_CASE("progress that was asked for is for the whole stream", "[frontend][watch]") {
  Watching w;
  w.created("k", 1);
  w.call.ask_progress();
  w.kernel().stream(0, [](const FakeStream& one) { return one.progress_asks == 1; });
  w.kernel().tell(0, {{QUORATE_WATCH_ALL, 20, 0, QUORATE_WATCH_PROGRESS, 0, nullptr, 0, 0}});
  const pb::WatchResponse progress = w.call.read();
  CHECK(progress.watch_id() == -1);
  CHECK(progress.header().revision() == 20);
  CHECK_FALSE(progress.created());
  CHECK_FALSE(progress.canceled());
  CHECK(progress.events_size() == 0);
}

TEST_CASE("a watcher's own progress carries its id", "[frontend][watch]") {
  Watching w;
  const uint64_t number = w.created("k", 1, 5);
  w.kernel().tell(0, {{number, 30, 0, QUORATE_WATCH_PROGRESS, 0, nullptr, 0, 0}});
  const pb::WatchResponse progress = w.call.read();
  CHECK(progress.watch_id() == 5);
  CHECK(progress.header().revision() == 30);
  CHECK(progress.events_size() == 0);
}

TEST_CASE("watchers go on after the client has ended its side", "[frontend][watch]") {
  Watching w;
  const uint64_t number = w.created("k", 1);
  w.call.half_close();
  w.kernel().events(0, number, 12, {put_event("k", "v", 12)});
  CHECK(w.call.read().events_size() == 1);
  CHECK_FALSE(w.stream().closed_by_client);
}

TEST_CASE("a client that goes away closes the kernel's stream", "[frontend][watch]") {
  Watching w;
  w.created("k", 1);
  w.call.give_up();
  CHECK(w.kernel()
            .stream(0, [](const FakeStream& one) { return one.closed_by_client; })
            .closed_by_client);
  CHECK(w.call.finish().error_code() == grpc::StatusCode::CANCELLED);
}

TEST_CASE("a stream that the kernel ends, ends with its error", "[frontend][watch]") {
  Watching w;
  w.stream();
  w.kernel().end_stream(0, QUORATE_NO_LEADER);
  const grpc::Status status = w.call.finish();
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message() == "etcdserver: no leader");
}

TEST_CASE("a stream that cannot be opened fails at once", "[frontend][watch]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  frontend.kernel.refuse_watch_with(QUORATE_NO_LEADER);
  WatchCall call(client, "true");
  CHECK(call.finish().error_message() == "etcdserver: no leader");
}

TEST_CASE("stop ends watch streams with an error", "[frontend][watch]") {
  Watching w;
  w.created("k", 1);
  std::thread stopper([&] { w.frontend.stop(20'000); });
  const grpc::Status status = w.call.finish();
  stopper.join();
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message() == "etcdserver: server stopped");
}

TEST_CASE("a slow stream is held back and resumed, and loses nothing", "[frontend][watch]") {
  Watching w;
  const uint64_t number = w.created("k", 1);
  const std::string event = put_event("k", std::string(100'000, 'v'), 12);
  // The client reads nothing until the kernel has been told BUSY.
  int sent = 0;
  while (w.kernel().events(0, number, 12, {event}) == QUORATE_OK) ++sent;
  CHECK(sent >= 10);
  for (int i = 0; i < sent; ++i) REQUIRE(w.call.read().events_size() == 1);
  CHECK(w.kernel().stream(0, [](const FakeStream& one) { return one.resumes >= 1; }).resumes >= 1);
  CHECK(w.kernel().events(0, number, 13, {event}) == QUORATE_OK);
  CHECK(w.call.read().header().revision() == 13);
}

TEST_CASE("nothing of the kernel's is held after the end", "[frontend][watch]") {
  auto frontend = std::make_unique<Frontend>();
  {
    GrpcClient client(frontend->address());
    WatchCall call(client);
    call.create("k");
    const uint64_t number =
        frontend->kernel.stream(0, [](const FakeStream& one) { return one.adds.size() == 1; })
            .adds[0]
            .first;
    frontend->kernel.created(0, number, 7);
    const std::string event = put_event("k", std::string(100'000, 'v'), 12);
    while (frontend->kernel.events(0, number, 12, {event}) == QUORATE_OK) {
    }
  }
  frontend->destroy();
  CHECK(frontend->kernel.everything_released());
}

// ---- lease

TEST_CASE("keep-alives are answered in the order asked", "[frontend][lease]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  frontend.kernel.hold();
  frontend.kernel.answer_with([](schema::Request::Reader request, schema::Response::Builder to) {
    to.initLease().setTtl(request.getLease().getKeepAlive() == 2 ? 0 : 60);
    return QUORATE_OK;
  });
  grpc::ClientContext context;
  const auto stream = client.lease->LeaseKeepAlive(&context);
  for (int64_t id = 1; id <= 3; ++id) {
    pb::LeaseKeepAliveRequest request;
    request.set_id(id);
    stream->Write(request);
  }
  stream->WritesDone();
  frontend.kernel.asked(2);
  for (const size_t index : {2, 0, 1}) frontend.kernel.answer_held(index);
  pb::LeaseKeepAliveResponse response;
  for (int64_t id = 1; id <= 3; ++id) {
    REQUIRE(stream->Read(&response));
    CHECK(response.id() == id);
    CHECK(response.ttl() == (id == 2 ? 0 : 60));
    CHECK(response.header().revision() == 7);
  }
  CHECK_FALSE(stream->Read(&response));
  CHECK(stream->Finish().ok());
}

TEST_CASE("a keep-alive stream without asks ends well when half-closed", "[frontend][lease]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  grpc::ClientContext context;
  const auto stream = client.lease->LeaseKeepAlive(&context);
  stream->WritesDone();
  CHECK(stream->Finish().ok());
}

TEST_CASE("a keep-alive that fails ends its stream", "[frontend][lease]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  frontend.kernel.answer_code(QUORATE_NO_LEADER);
  grpc::ClientContext context;
  const auto stream = client.lease->LeaseKeepAlive(&context);
  for (int i = 0; i < 3; ++i) stream->Write(pb::LeaseKeepAliveRequest());
  CHECK(stream->Finish().error_message() == "etcdserver: no leader");
}

TEST_CASE("keep-alives refused at once end their stream", "[frontend][lease]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  frontend.kernel.refuse_with(QUORATE_BUSY);
  grpc::ClientContext context;
  const auto stream = client.lease->LeaseKeepAlive(&context);
  for (int i = 0; i < 3; ++i) stream->Write(pb::LeaseKeepAliveRequest());
  CHECK(stream->Finish().error_message() == "etcdserver: too many requests");
}

// ---- health

TEST_CASE("the server is healthy and knows no other service", "[frontend][health]") {
  Frontend frontend;
  GrpcClient client(frontend.address());
  namespace hp = ::grpc::health::v1;
  hp::HealthCheckRequest request;
  hp::HealthCheckResponse response;
  {
    grpc::ClientContext context;
    CHECK(client.health->Check(&context, request, &response).ok());
    CHECK(response.status() == hp::HealthCheckResponse::SERVING);
  }
  {
    grpc::ClientContext context;
    const auto watch = client.health->Watch(&context, request);
    REQUIRE(watch->Read(&response));
    CHECK(response.status() == hp::HealthCheckResponse::SERVING);
    context.TryCancel();
    watch->Finish();
  }
  request.set_service("other");
  grpc::ClientContext context;
  const grpc::Status status = client.health->Check(&context, request, &response);
  CHECK(status.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(status.error_message() == "unknown service");
}

}  // namespace
}  // namespace quorate::tests
