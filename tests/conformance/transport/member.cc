// SPDX-License-Identifier: Apache-2.0
#include "conformance/transport/member.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace quorate::conformance {
namespace {

constexpr std::chrono::seconds kPatience{60};
std::atomic<int64_t> bufs_alive = 0;

[[noreturn]] void die(const std::string& sentence) {
  std::fprintf(stderr, "conformance_transport: %s\n", sentence.c_str());
  std::_Exit(2);
}

quorate_error empty_error() {
  quorate_error error{};
  error.struct_size = sizeof error;
  return error;
}

const quorate_plugin& load() {
  const char* path = std::getenv("QUORATE_PLUGIN");
  if (path == nullptr) die("set QUORATE_PLUGIN to the path of a transport plugin");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) die(dlerror());
  const auto* table = static_cast<const quorate_plugin*>(dlsym(library, "quorate_entry"));
  if (table == nullptr) die(std::string(path) + " has no quorate_entry");
  if (table->abi_major != QUORATE_ABI_MAJOR)
    die(std::string(path) + " was built for another major version of the ABI");
  if (table->get_factory(QUORATE_TRANSPORT_FACTORY) == nullptr)
    die(std::string(path) + " is no transport plugin");
  quorate_error error = empty_error();
  if (table->init(nullptr, &error) != QUORATE_OK) die(std::string("init: ") + error.message);
  return *table;
}

std::string copy(quorate_slice bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

struct SharedBytes {
  explicit SharedBytes(std::string from) : bytes(std::move(from)) { ++bufs_alive; }
  ~SharedBytes() { --bufs_alive; }
  const std::string bytes;
  std::atomic<int> holders = 1;
};

void retain(void* owner) {
  ++static_cast<SharedBytes*>(owner)->holders;
}

void release(void* owner) {
  auto* bytes = static_cast<SharedBytes*>(owner);
  if (--bytes->holders == 0) delete bytes;
}

}  // namespace

const quorate_plugin& plugin() {
  static const quorate_plugin& loaded = load();
  return loaded;
}

const quorate_transport_factory& factory() {
  return *static_cast<const quorate_transport_factory*>(
      plugin().get_factory(QUORATE_TRANSPORT_FACTORY));
}

std::string free_url() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    die("the system has no free port");
  ::close(fd);
  return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

uint16_t port_of(const std::string& url) {
  return static_cast<uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
}

Buf::Buf(std::string bytes) {
  auto* shared = new SharedBytes(std::move(bytes));
  buf_.bytes = {reinterpret_cast<const uint8_t*>(shared->bytes.data()), shared->bytes.size()};
  buf_.owner = shared;
  buf_.retain = &retain;
  buf_.release = &release;
}

Buf::~Buf() {
  release(buf_.owner);
}

int64_t Buf::alive() {
  return bufs_alive;
}

// The functions of quorate_receiver.
struct Receiver {
  static Member& member(void* ctx) { return *static_cast<Member*>(ctx); }

  // Runs with the lock held and tells who waits.
  template <class Run>
  static auto hear(void* ctx, Run&& run) {
    Member& self = member(ctx);
    const std::lock_guard lock(self.mutex_);
    self.changed_.notify_all();
    return run(self, self.kernel_);
  }

  static quorate_status authorize(void* ctx, const quorate_peer_identity* who) {
    return hear(ctx, [&](Member&, Kernel& kernel) -> quorate_status {
      kernel.authorized.push_back(who->member_id);
      return kernel.refused.count(who->member_id) != 0 ? QUORATE_PERMISSION_DENIED : QUORATE_OK;
    });
  }
  static void check_authorized(Kernel& kernel, uint64_t from) {
    bool known = false;
    for (const uint64_t id : kernel.authorized) known = known || id == from;
    if (!known || kernel.refused.count(from) != 0) kernel.heard_unauthorized = true;
  }
  static void on_messages(void* ctx, uint64_t from, const quorate_slice* messages, size_t count) {
    Member& self = member(ctx);
    std::unique_lock lock(self.mutex_);
    check_authorized(self.kernel_, from);
    ++self.kernel_.batches;
    for (size_t i = 0; i < count; ++i) self.kernel_.messages[from].push_back(copy(messages[i]));
    self.changed_.notify_all();
    self.changed_.wait(lock, [&self] { return !self.kernel_.blocked; });
  }
  static void on_peer(void* ctx, uint64_t id, uint32_t state, const char* reason) {
    hear(ctx, [&](Member&, Kernel& kernel) {
      kernel.states.emplace_back(id, state);
      kernel.state[id] = state;
      kernel.reason[id] = reason;
    });
  }
  static void on_call(void* ctx, const quorate_peer_identity* who, uint64_t token,
                      quorate_slice request) {
    bool answers = false;
    hear(ctx, [&](Member&, Kernel& kernel) {
      check_authorized(kernel, who->member_id);
      kernel.calls.push_back(copy(request));
      kernel.callers.push_back(who->member_id);
      kernel.tokens.push_back(token);
      answers = kernel.answers_calls;
    });
    if (answers) member(ctx).answer(token, QUORATE_OK, "re:" + copy(request));
  }
  static void on_stream(void* ctx, void* user, uint32_t event, quorate_status code) {
    hear(ctx, [&](Member&, Kernel&) {
      auto& stream = *static_cast<Stream*>(user);
      if (event == QUORATE_STREAM_READY) {
        ++stream.ready;
      } else {
        ++stream.done;
        stream.verdict = code;
      }
    });
  }
  static quorate_status next(std::deque<quorate_status>& answers) {
    if (answers.empty()) return QUORATE_OK;
    const quorate_status answer = answers.front();
    answers.pop_front();
    return answer;
  }
  static IncomingSnapshot& find(Kernel& kernel, uint64_t name) {
    for (IncomingSnapshot& one : kernel.snapshots)
      if (one.name == name) return one;
    return kernel.snapshots.emplace_back();
  }
  static quorate_status snapshot_begin(void* ctx, uint64_t name, uint64_t from,
                                       quorate_slice meta) {
    return hear(ctx, [&](Member&, Kernel& kernel) {
      check_authorized(kernel, from);
      IncomingSnapshot& one = find(kernel, name);
      one.name = name;
      one.from = from;
      one.meta = copy(meta);
      return next(kernel.begin_answers);
    });
  }
  static quorate_status snapshot_block(void* ctx, uint64_t name, quorate_slice block) {
    return hear(ctx, [&](Member&, Kernel& kernel) {
      const quorate_status answer = next(kernel.block_answers);
      if (answer == QUORATE_OK) find(kernel, name).blocks.push_back(copy(block));
      return answer;
    });
  }
  static void snapshot_end(void* ctx, uint64_t name, quorate_status sender) {
    bool judges = false;
    hear(ctx, [&](Member&, Kernel& kernel) {
      IncomingSnapshot& one = find(kernel, name);
      ++one.ends;
      one.end_code = sender;
      judges = kernel.judges;
    });
    if (judges) member(ctx).judge(name, sender);
  }
};

quorate_status Stream::write(const std::string& block) {
  const Buf buf(block);
  return factory().stream_write(handle, &buf.get());
}

void Stream::finish(quorate_status code) {
  factory().stream_finish(handle, code);
}

Member::Member(uint64_t id, std::string url, const Options& options, uint64_t cluster)
    : id_(id), url_(std::move(url)) {
  // A machine that is busy shall not look like a peer that is silent.
  options_ = {{"redial-min", "5ms"},
              {"redial-max", "50ms"},
              {"silent-after", "20s"},
              {"dial-timeout", "20s"}};
  for (const auto& [key, value] : options) options_[key] = value;
  uint32_t count = 0;
  const quorate_option_spec* specs = plugin().options(QUORATE_TRANSPORT_FACTORY, &count);
  for (uint32_t i = 0; i < count; ++i)
    if (const auto found = options_.find(specs[i].key); found != options_.end())
      given_.push_back({found->first.c_str(), found->second.c_str()});

  quorate_transport_options create{};
  create.struct_size = sizeof create;
  create.option_count = static_cast<uint32_t>(given_.size());
  create.options = given_.data();
  receiver_ = {sizeof(quorate_receiver),  this,
               &Receiver::authorize,      &Receiver::on_messages,
               &Receiver::on_peer,        &Receiver::on_call,
               &Receiver::on_stream,      &Receiver::snapshot_begin,
               &Receiver::snapshot_block, &Receiver::snapshot_end};
  quorate_error error = empty_error();
  if (factory().create(&create, &receiver_, &transport_, &error) != QUORATE_OK)
    throw std::runtime_error(std::string("create: ") + error.message);
  if (!url_.empty() && factory().listen(transport_, url_.c_str(), &error) != QUORATE_OK) {
    factory().destroy(transport_);
    throw std::runtime_error(std::string("listen: ") + error.message);
  }
  if (id != 0) factory().set_self(transport_, cluster, id);
}

Member::~Member() {
  destroy();
}

void Member::know(uint64_t id, const std::string& url) {
  quorate_error error = empty_error();
  const char* const urls[] = {url.c_str()};
  if (factory().set_peer(transport_, id, urls, 1, &error) != QUORATE_OK)
    throw std::runtime_error(std::string("set_peer: ") + error.message);
}

void Member::send(uint64_t to, uint32_t channel, const std::vector<std::string>& parts) {
  std::deque<Buf> bufs;
  std::vector<quorate_buf> raw;
  for (const std::string& part : parts) raw.push_back(bufs.emplace_back(part).get());
  const quorate_message message{to, channel, static_cast<uint32_t>(raw.size()), raw.data()};
  factory().send(transport_, &message, 1);
}

Reply& Member::call(uint64_t to, const std::string& url, const std::string& request,
                    uint64_t timeout_ms) {
  Reply* reply = nullptr;
  {
    const std::lock_guard lock(mutex_);
    reply = &replies_.emplace_back();
    reply->member = this;
  }
  const quorate_on_reply done = [](void* user, quorate_status code, quorate_slice bytes) {
    auto& waiting = *static_cast<Reply*>(user);
    const std::lock_guard lock(waiting.member->mutex_);
    ++waiting.times;
    waiting.code = code;
    waiting.bytes = copy(bytes);
    waiting.member->changed_.notify_all();
  };
  const Buf buf(request);
  factory().call(transport_, to, url.c_str(), &buf.get(), timeout_ms, done, reply);
  return *reply;
}

void Member::answer(uint64_t token, quorate_status code, const std::string& bytes) {
  const Buf buf(bytes);
  factory().reply(transport_, token, code, &buf.get());
}

Stream* Member::open_stream(uint64_t to, const std::string& meta) {
  Stream* stream = nullptr;
  {
    const std::lock_guard lock(mutex_);
    stream = &streams_.emplace_back();
  }
  stream->member = this;
  const Buf buf(meta);
  quorate_error error = empty_error();
  const quorate_status status =
      factory().stream_open(transport_, to, &buf.get(), stream, &stream->handle, &error);
  return status == QUORATE_OK ? stream : nullptr;
}

void Member::judge(uint64_t snapshot, quorate_status verdict) {
  factory().on_snapshot(transport_, snapshot, QUORATE_STREAM_DONE, verdict);
}

void Member::ready(uint64_t snapshot) {
  factory().on_snapshot(transport_, snapshot, QUORATE_STREAM_READY, QUORATE_OK);
}

void Member::stop(uint64_t drain_ms) {
  if (!std::exchange(stopped_, true)) factory().stop(transport_, drain_ms);
}

void Member::destroy() {
  if (transport_ == nullptr) return;
  with([](Kernel& kernel) { kernel.blocked = false; });
  stop();
  factory().destroy(transport_);
  transport_ = nullptr;
}

quorate_peer_stats Member::stats(uint64_t peer) {
  const auto* extension = static_cast<const quorate_transport_stats*>(
      factory().get_extension(transport_, QUORATE_TRANSPORT_STATS));
  std::vector<quorate_peer_stats> all(16);
  if (extension == nullptr) return {};
  all.resize(std::min(all.size(), extension->read(transport_, all.data(), all.size())));
  for (const quorate_peer_stats& one : all)
    if (one.member_id == peer) return one;
  return {};
}

bool Member::wait(const std::function<bool(Kernel&)>& is_true) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return is_true(kernel_); });
}

bool Member::wait_state(uint64_t peer, uint32_t state) {
  return wait([&](Kernel& kernel) { return kernel.state[peer] == state; });
}

void Member::with(const std::function<void(Kernel&)>& run) {
  const std::lock_guard lock(mutex_);
  run(kernel_);
  changed_.notify_all();
}

Pair::Pair(const Member::Options& options) : a(1, free_url(), options), b(2, free_url(), options) {
  a.know(b);
  b.know(a);
  if (!a.wait_state(2, QUORATE_PEER_CONNECTED) || !b.wait_state(1, QUORATE_PEER_CONNECTED))
    throw std::runtime_error("two members do not connect");
}

}  // namespace quorate::conformance
