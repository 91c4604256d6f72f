// SPDX-License-Identifier: Apache-2.0
#include "frontend/fake_kernel.h"

#include <chrono>
#include <stdexcept>

#include "sdk/slice.h"

namespace quorate::tests {
namespace {

// Only a failing test ever waits so long.
constexpr std::chrono::seconds kPatience{20};

std::string text(quorate_slice slice) {
  return std::string(sdk::view(slice));
}

}  // namespace

SharedText::SharedText(std::string bytes) : text(std::move(bytes)) {}

quorate_buf SharedText::buf() {
  return {sdk::slice(text), this, [](void* owner) { ++static_cast<SharedText*>(owner)->holds; },
          [](void* owner) { --static_cast<SharedText*>(owner)->holds; }};
}

void SharedText::drop() {
  --holds;
}

struct FakeKernelCalls {
  static FakeKernel& of(void* ctx) { return *static_cast<FakeKernel*>(ctx); }

  static void submit_batch(void* ctx, quorate_on_done done, void* sink, quorate_submission* items,
                           size_t stride, size_t count) {
    FakeKernel& kernel = of(ctx);
    const std::lock_guard lock(kernel.mutex_);
    kernel.batches_.push_back(count);
    for (size_t i = 0; i < count; ++i) {
      auto& item =
          *reinterpret_cast<quorate_submission*>(reinterpret_cast<char*>(items) + i * stride);
      item.status = kernel.refusal_;
      if (item.status != QUORATE_OK) continue;
      FakeKernel::Waiting& waiting = kernel.waiting_.emplace_back();
      waiting.done = done;
      waiting.sink = sink;
      item.call_id = kernel.waiting_.size();
      waiting.asked = {text(item.request),
                       text(item.call->token),
                       text(item.call->client_api_version),
                       text(item.call->remote_address),
                       item.call->flags,
                       item.call->timeout_ms,
                       item.call_id,
                       item.user};
      if (!kernel.holding_)
        kernel.jobs_.push_back([&kernel, &waiting] { kernel.answer(waiting, QUORATE_OK); });
    }
    kernel.changed_.notify_all();
  }

  static void cancel(void* ctx, uint64_t call_id) {
    FakeKernel& kernel = of(ctx);
    const std::lock_guard lock(kernel.mutex_);
    ++kernel.cancels_;
    FakeKernel::Waiting& waiting = kernel.waiting_[call_id - 1];
    waiting.cancelled = true;
    kernel.jobs_.push_back([&kernel, &waiting] { kernel.answer(waiting, QUORATE_CANCELLED); });
    kernel.changed_.notify_all();
  }

  static quorate_status watch_open(void* ctx, const quorate_call* call, quorate_on_watch on_watch,
                                   void* user, uint64_t* stream, quorate_error*) {
    FakeKernel& kernel = of(ctx);
    const std::lock_guard lock(kernel.mutex_);
    if (kernel.watch_refusal_ != QUORATE_OK) return kernel.watch_refusal_;
    FakeStream& opened = kernel.streams_.emplace_back();
    *stream = opened.id = kernel.streams_.size();
    opened.on_watch = on_watch;
    opened.user = user;
    opened.token = text(call->token);
    opened.flags = call->flags;
    kernel.changed_.notify_all();
    return QUORATE_OK;
  }

  template <typename Change>
  static void change(void* ctx, uint64_t stream, Change what) {
    FakeKernel& kernel = of(ctx);
    const std::lock_guard lock(kernel.mutex_);
    what(kernel.streams_.at(stream - 1));
    kernel.changed_.notify_all();
  }
  static quorate_status watch_add(void* ctx, uint64_t stream, uint64_t watch,
                                  quorate_slice request) {
    change(ctx, stream, [&](FakeStream& of) { of.adds.emplace_back(watch, text(request)); });
    return QUORATE_OK;
  }
  static void watch_remove(void* ctx, uint64_t stream, uint64_t watch) {
    change(ctx, stream, [&](FakeStream& of) { of.removes.push_back(watch); });
  }
  static void watch_progress(void* ctx, uint64_t stream) {
    change(ctx, stream, [](FakeStream& of) { ++of.progress_asks; });
  }
  static void watch_resume(void* ctx, uint64_t stream) {
    change(ctx, stream, [](FakeStream& of) { ++of.resumes; });
  }
  static void watch_close(void* ctx, uint64_t stream) {
    change(ctx, stream, [](FakeStream& of) { of.closed_by_client = true; });
    FakeKernel& kernel = of(ctx);
    kernel.post([&kernel, stream] { kernel.end_stream(stream - 1, QUORATE_CANCELLED); });
  }

  static quorate_status range_open(void* ctx, const quorate_call*, quorate_slice request,
                                   quorate_on_piece on_piece, void* user, uint64_t* pull,
                                   quorate_error*) {
    FakeKernel& kernel = of(ctx);
    const std::lock_guard lock(kernel.mutex_);
    FakePull& opened = kernel.pulls_.emplace_back();
    *pull = opened.id = kernel.pulls_.size();
    opened.on_piece = on_piece;
    opened.user = user;
    opened.request = text(request);
    kernel.changed_.notify_all();
    return QUORATE_OK;
  }
  static void range_credit(void* ctx, uint64_t pull, uint64_t bytes) {
    FakeKernel& kernel = of(ctx);
    const std::lock_guard lock(kernel.mutex_);
    kernel.pulls_.at(pull - 1).credit += bytes;
    kernel.changed_.notify_all();
  }
  static void range_rewind(void*, uint64_t) {}
  static void range_close(void* ctx, uint64_t pull) {
    FakeKernel& kernel = of(ctx);
    {
      const std::lock_guard lock(kernel.mutex_);
      kernel.pulls_.at(pull - 1).closed = true;
      kernel.changed_.notify_all();
    }
    kernel.post(
        [&kernel, pull] { kernel.piece(pull - 1, QUORATE_PIECE_END, QUORATE_CANCELLED, ""); });
  }
  static quorate_status snapshot_open(void*, const quorate_call*, uint32_t, quorate_on_piece, void*,
                                      uint64_t*, quorate_error*) {
    return QUORATE_UNSUPPORTED;
  }
  static const void* get_extension(void*, const char*) { return nullptr; }
};

FakeKernel::FakeKernel() {
  using C = FakeKernelCalls;
  services_ = {sizeof services_,  this,
               &C::submit_batch,  &C::cancel,
               &C::watch_open,    &C::watch_add,
               &C::watch_remove,  &C::watch_progress,
               &C::watch_resume,  &C::watch_close,
               &C::range_open,    &C::range_credit,
               &C::range_rewind,  &C::range_close,
               &C::snapshot_open, &C::get_extension};
  answer_code(QUORATE_OK);
  thread_ = std::thread([this] { run(); });
}

FakeKernel::~FakeKernel() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void FakeKernel::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

void FakeKernel::post(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  changed_.notify_all();
}

void FakeKernel::call(const std::function<void()>& job) {
  if (std::this_thread::get_id() == thread_.get_id()) return job();
  bool done = false;
  post([&] {
    job();
    const std::lock_guard lock(mutex_);
    done = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&done] { return done; });
}

template <typename Ready>
void FakeKernel::wait(std::unique_lock<std::mutex>& lock, Ready ready, const char* what) {
  if (!changed_.wait_for(lock, kPatience, ready))
    throw std::runtime_error(std::string("waited in vain for ") + what);
}

void FakeKernel::answer_with(Answer answer) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
}

void FakeKernel::answer_code(quorate_status code) {
  answer_with([code](schema::Request::Reader request, schema::Response::Builder response) {
    switch (request.which()) {
      case schema::Request::RANGE: response.initRange(); break;
      case schema::Request::PUT: response.initPut(); break;
      case schema::Request::DELETE_RANGE: response.initDeleteRange(); break;
      case schema::Request::TXN: response.initTxn(); break;
      case schema::Request::LEASE: response.initLease(); break;
      case schema::Request::AUTH: response.initAuth(); break;
      case schema::Request::CLUSTER: response.initCluster(); break;
      case schema::Request::MAINTENANCE:
        if (request.getMaintenance().isStatus()) response.initMaintenance().initStatus();
        if (request.getMaintenance().isHash() || request.getMaintenance().isHashKv())
          response.initMaintenance().initHash();
        if (request.getMaintenance().isAlarm()) response.initMaintenance().initAlarms(0);
        break;
      default: break;
    }
    return code;
  });
}

void FakeKernel::refuse_with(quorate_status code) {
  const std::lock_guard lock(mutex_);
  refusal_ = code;
}

void FakeKernel::hold() {
  const std::lock_guard lock(mutex_);
  holding_ = true;
}

void FakeKernel::answer(Waiting& waiting, quorate_status forced) {
  Answer how;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(waiting.answered, true)) return;
    how = answer_;
  }
  quorate_status code = forced;
  const std::string bytes = response_bytes([&](schema::Response::Builder response) {
    if (forced != QUORATE_OK) return;
    schema::SegmentReader reader(waiting.asked.request);
    code = how(reader.root<schema::Request>(), response);
  });
  SharedText* shared = nullptr;
  {
    const std::lock_guard lock(mutex_);
    shared = &texts_.emplace_back(bytes);
  }
  const quorate_completion completion{waiting.asked.user, code, 0, shared->buf()};
  waiting.done(waiting.sink, &completion, 1);
  shared->drop();
}

void FakeKernel::answer_held(size_t index) {
  Waiting* waiting = nullptr;
  {
    std::unique_lock lock(mutex_);
    wait(
        lock, [&] { return waiting_.size() > index; }, "a request");
    waiting = &waiting_[index];
  }
  call([this, waiting] { answer(*waiting, QUORATE_OK); });
}

Asked FakeKernel::asked(size_t index) {
  std::unique_lock lock(mutex_);
  wait(
      lock, [&] { return waiting_.size() > index; }, "a request");
  return waiting_[index].asked;
}

size_t FakeKernel::asked_count() {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

size_t FakeKernel::cancel_count() {
  const std::lock_guard lock(mutex_);
  return cancels_;
}

void FakeKernel::wait_for_cancel(size_t count) {
  std::unique_lock lock(mutex_);
  wait(
      lock, [&] { return cancels_ >= count; }, "a cancel");
}

std::vector<size_t> FakeKernel::batch_sizes() {
  const std::lock_guard lock(mutex_);
  return batches_;
}

void FakeKernel::refuse_watch_with(quorate_status code) {
  const std::lock_guard lock(mutex_);
  watch_refusal_ = code;
}

FakeStream FakeKernel::stream(size_t index, const std::function<bool(const FakeStream&)>& ready) {
  std::unique_lock lock(mutex_);
  wait(
      lock, [&] { return streams_.size() > index && (ready == nullptr || ready(streams_[index])); },
      "a watch stream");
  return streams_[index];
}

quorate_status FakeKernel::tell(size_t index, std::vector<quorate_watch_item> items) {
  const FakeStream to = stream(index);
  quorate_status status = QUORATE_OK;
  call([&] { status = to.on_watch(to.user, items.data(), items.size()); });
  return status;
}

void FakeKernel::created(size_t index, uint64_t watch, int64_t revision) {
  tell(index, {{watch, revision, 0, QUORATE_WATCH_CREATED, 0, nullptr, 0, 0}});
}

quorate_status FakeKernel::events(size_t index, uint64_t watch, int64_t revision,
                                  const std::vector<std::string>& events) {
  std::vector<quorate_buf> bufs;
  std::vector<SharedText*> owners;
  for (const std::string& event : events) {
    const std::lock_guard lock(mutex_);
    owners.push_back(&texts_.emplace_back(event));
    bufs.push_back(owners.back()->buf());
  }
  const quorate_status status = tell(index, {{watch, revision, 0, QUORATE_WATCH_EVENTS, 0,
                                              bufs.data(), static_cast<uint32_t>(bufs.size()), 0}});
  for (SharedText* owner : owners) owner->drop();
  return status;
}

void FakeKernel::end_stream(size_t index, quorate_status code) {
  FakeStream to;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(streams_.at(index).ended, true)) return;
    to = streams_[index];
  }
  const quorate_watch_item item{QUORATE_WATCH_ALL, 0, 0, QUORATE_WATCH_CLOSED, code, nullptr, 0, 0};
  call([&] { to.on_watch(to.user, &item, 1); });
}

FakePull FakeKernel::pull(size_t index, const std::function<bool(const FakePull&)>& ready) {
  std::unique_lock lock(mutex_);
  wait(
      lock, [&] { return pulls_.size() > index && (ready == nullptr || ready(pulls_[index])); },
      "a pull");
  return pulls_[index];
}

void FakeKernel::piece(size_t index, uint32_t kind, quorate_status code, const std::string& bytes) {
  FakePull to;
  SharedText* shared = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (pulls_.at(index).ended) return;
    if (kind == QUORATE_PIECE_END) pulls_[index].ended = true;
    if (kind == QUORATE_PIECE_DATA) {
      if (bytes.size() > pulls_[index].credit) error_ = "a piece exceeds the credit";
      pulls_[index].credit -= std::min<uint64_t>(bytes.size(), pulls_[index].credit);
    }
    to = pulls_[index];
    shared = &texts_.emplace_back(bytes);
  }
  call([&] {
    const quorate_piece piece{kind, code, shared->buf()};
    to.on_piece(to.user, &piece);
  });
  shared->drop();
}

void FakeKernel::finish_all() {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() && streams_.empty() && pulls_.empty()) return;
  }
  call([this] {
    std::vector<Waiting*> open;
    size_t streams = 0, pulls = 0;
    {
      const std::lock_guard lock(mutex_);
      for (Waiting& waiting : waiting_)
        if (!waiting.answered) open.push_back(&waiting);
      streams = streams_.size();
      pulls = pulls_.size();
    }
    for (Waiting* waiting : open) answer(*waiting, QUORATE_CANCELLED);
    for (size_t i = 0; i < streams; ++i) end_stream(i, QUORATE_STOPPED);
    for (size_t i = 0; i < pulls; ++i) piece(i, QUORATE_PIECE_END, QUORATE_CANCELLED, "");
  });
}

bool FakeKernel::everything_released() {
  const std::lock_guard lock(mutex_);
  for (const SharedText& shared : texts_)
    if (shared.holds != 0) return false;
  return true;
}

std::string response_bytes(const std::function<void(schema::Response::Builder)>& fill) {
  schema::SegmentBuilder builder;
  auto response = builder.start<schema::Response>(256);
  auto header = response.initHeader();
  header.setClusterId(1);
  header.setMemberId(2);
  header.setRevision(7);
  header.setRaftTerm(3);
  fill(response);
  return std::string(builder.finish());
}

}  // namespace quorate::tests
