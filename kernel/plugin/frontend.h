// SPDX-License-Identifier: Apache-2.0
// The front-end table in C++: one API server in front of one member.
//
// Its end has three steps: stop(); then the server completes every outstanding call and closes
// every stream; then the destructor, after which the front-end calls nothing any more.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "plugin/factory.h"
#include "quorate/frontend.h"

namespace quorate::plugin {

using FrontendFactory = Factory<quorate_frontend_factory>;

struct FrontendOptions {
  std::vector<std::string> listen_urls;
  Options options;
  HostServices host;
};

// Owned by the server; one call at a time. Errors carry the front-end's name, the call and its own
// text.
class Frontend {
 public:
  // services: outlives the front-end.
  static Result<std::unique_ptr<Frontend>> create(const FrontendFactory& factory,
                                                  FrontendOptions options,
                                                  const quorate_services* services);
  ~Frontend();
  Frontend(const Frontend&) = delete;
  Frontend& operator=(const Frontend&) = delete;

  const std::string& name() const { return factory_.name(); }

  // It serves when this returns OK.
  Status start();
  // It takes no new work; returns within drain_ms. Its subscription to the member ends.
  void stop(uint64_t drain_ms);

  // nullptr when it has none; valid as long as the front-end. Any thread.
  const void* extension(const char* id) const;
  // For calls of an extension.
  quorate_frontend* handle() const { return handle_; }

 private:
  Frontend(const FrontendFactory& factory, HostServices host, Options options);

  const FrontendFactory factory_;
  ObjectContext context_;
  std::vector<std::string> listen_urls_;
  std::vector<const char*> c_listen_urls_;
  quorate_frontend* handle_ = nullptr;
};

}  // namespace quorate::plugin
