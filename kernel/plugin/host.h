// SPDX-License-Identifier: Apache-2.0
// The quorate_host that a plugin, or one object of a plugin, is given: a log and the services of
// interfaces/quorate/host.h. What stands behind the services is the server's business, said here as
// small interfaces.
#pragma once

#include <atomic>
#include <string_view>

#include "base/bytes.h"
#include "base/log.h"
#include "base/metrics.h"
#include "quorate/host.h"
#include "quorate/plugin.h"

namespace quorate::plugin {

// Told when leader, role, alarms, version or readiness of the member changed; reads again then.
class MemberListener {
 public:
  virtual ~MemberListener() = default;
  virtual void on_member_change() = 0;  // [a loop of the kernel's; must not block]
};

// What the member says of itself.
class MemberInfoSource {
 public:
  virtual ~MemberInfoSource() = default;
  // All fields; struct_size is ignored. Any thread.
  virtual quorate_member_info read() = 0;
  // listener: not subscribed; lives until unsubscribe() has returned. Any thread.
  virtual void subscribe(MemberListener* listener) = 0;
  // After it returned no on_member_change() of this listener runs or comes. Not from inside one.
  virtual void unsubscribe(MemberListener* listener) = 0;
};

// Server settings by the names of their flags.
class ConfigSource {
 public:
  virtual ~ConfigSource() = default;
  // nullptr for an unknown name; valid as long as the source. Any thread.
  virtual const char* get(std::string_view name) = 0;
};

// What a host offers. All outlive it; a null pointer is a service that is absent.
struct HostServices {
  Logger logger;
  MemberInfoSource* member = nullptr;
  MetricRegistry* metrics = nullptr;
  ConfigSource* config = nullptr;
};

// One quorate_host. Stays where it was made: the plugin holds its address. Owned by the face of the
// object it was made for, and outlives that object.
class Host : private MemberListener {
 public:
  explicit Host(HostServices services);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() override;  // close() first

  const quorate_host* table() const { return &host_; }

  // Ends the plugin's subscription to the member: after it returned none of its callbacks runs or
  // comes. Idempotent; one call at a time.
  void close();

 private:
  void on_member_change() override;
  void log(int32_t level, const char* component, Slice text) const;
  const void* extension(std::string_view id) const;
  void read_member(quorate_member_info* out) const;
  void subscribe(void (*on_change)(void*), void* user);

  const HostServices services_;
  quorate_host host_;
  quorate_host_member member_;
  quorate_host_metrics metrics_;
  quorate_host_config config_;

  enum class Subscription { kNone, kBegun, kActive, kClosed };
  std::atomic<Subscription> subscription_{Subscription::kNone};
  // Written once, by whoever moved kNone to kBegun, before the source knows this listener.
  void (*on_change_)(void*) = nullptr;
  void* user_ = nullptr;
};

}  // namespace quorate::plugin
