// SPDX-License-Identifier: Apache-2.0
// A kernel without a store: it writes down what a front-end asks and answers what the test says,
// from a thread of its own, as a kernel would.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quorate/frontend.h"
#include "quorate/host.h"
#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::tests {

// How often the front-end holds bytes that this one gave out; 0 at the end or something leaks.
struct SharedText {
  explicit SharedText(std::string bytes);
  quorate_buf buf();
  void drop();  // the maker's own hold

  std::string text;
  std::atomic<int> holds{1};
};

struct Asked {
  std::string request;  // a bare segment
  std::string token, api_version, remote;
  uint32_t flags = 0;
  uint64_t timeout_ms = 0;
  uint64_t call_id = 0;
  void* user = nullptr;
};

// A watch stream as the kernel sees it.
struct FakeStream {
  uint64_t id = 0;
  quorate_on_watch on_watch = nullptr;
  void* user = nullptr;
  std::string token;
  uint32_t flags = 0;
  std::vector<std::pair<uint64_t, std::string>> adds;  // watch, request
  std::vector<uint64_t> removes;
  int progress_asks = 0;
  int resumes = 0;
  bool closed_by_client = false;
  bool ended = false;
};

struct FakePull {
  uint64_t id = 0;
  quorate_on_piece on_piece = nullptr;
  void* user = nullptr;
  std::string request;
  uint64_t credit = 0;
  bool closed = false;
  bool ended = false;
};

class FakeKernel {
 public:
  // Fills the response and says the code.
  using Answer = std::function<quorate_status(schema::Request::Reader, schema::Response::Builder)>;

  FakeKernel();
  ~FakeKernel();
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  const quorate_services* services() { return &services_; }

  // ---- calls
  void answer_with(Answer answer);
  void answer_code(quorate_status code);
  void refuse_with(quorate_status code);  // at submit_batch
  // Requests wait until answer_held(); `index` counts all that were ever asked.
  void hold();
  void answer_held(size_t index);
  Asked asked(size_t index);  // waits for it
  size_t asked_count();
  size_t cancel_count();
  void wait_for_cancel(size_t count);
  std::vector<size_t> batch_sizes();

  // ---- watch
  void refuse_watch_with(quorate_status code);
  // The stream-th stream opened, in a state where `ready` holds. Waits for it.
  FakeStream stream(size_t index, const std::function<bool(const FakeStream&)>& ready = nullptr);
  // Tells the stream something, on the kernel's thread; what on_watch said.
  quorate_status tell(size_t index, std::vector<quorate_watch_item> items);
  void created(size_t index, uint64_t watch, int64_t revision);
  quorate_status events(size_t index, uint64_t watch, int64_t revision,
                        const std::vector<std::string>& events);
  void end_stream(size_t index, quorate_status code);

  // ---- pulls
  FakePull pull(size_t index, const std::function<bool(const FakePull&)>& ready = nullptr);
  void piece(size_t index, uint32_t kind, quorate_status code, const std::string& bytes);

  // What a host does between stop() and destroy(): completes and closes everything.
  void finish_all();
  // Waits until the front-end holds none of the bytes it was given.
  bool everything_released();
  std::string error() const { return error_; }

 private:
  friend struct FakeKernelCalls;

  struct Waiting {
    Asked asked;
    quorate_on_done done = nullptr;
    void* sink = nullptr;
    bool answered = false;
    bool cancelled = false;
  };

  void run();
  void post(std::function<void()> job);
  void call(const std::function<void()>& job);  // on the kernel's thread, and waits
  void answer(Waiting& waiting, quorate_status forced);
  template <typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, Ready ready, const char* what);

  quorate_services services_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::deque<Waiting> waiting_;
  std::vector<size_t> batches_;
  std::deque<FakeStream> streams_;
  std::deque<FakePull> pulls_;
  std::deque<SharedText> texts_;
  Answer answer_;
  quorate_status refusal_ = QUORATE_OK;
  quorate_status watch_refusal_ = QUORATE_OK;
  size_t cancels_ = 0;
  bool holding_ = false;
  bool stopping_ = false;
  std::string error_;
  std::thread thread_;
};

// The bytes of a response that `fill` makes, with the header {1, 2, 7, 3}.
std::string response_bytes(const std::function<void(schema::Response::Builder)>& fill);

}  // namespace quorate::tests
