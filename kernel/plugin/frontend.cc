// SPDX-License-Identifier: Apache-2.0
#include "plugin/frontend.h"

#include <utility>

#include "plugin/call.h"

namespace quorate::plugin {

Frontend::Frontend(const FrontendFactory& factory, HostServices host, Options options)
    : factory_(factory), context_(std::move(host), std::move(options)) {}

Result<std::unique_ptr<Frontend>> Frontend::create(const FrontendFactory& factory,
                                                   FrontendOptions options,
                                                   const quorate_services* services) {
  Result<Options> checked = factory.check_options(options.options);
  if (!checked) return checked.error();
  std::unique_ptr<Frontend> frontend(
      new Frontend(factory, std::move(options.host), std::move(*checked)));
  frontend->listen_urls_ = std::move(options.listen_urls);
  for (const std::string& url : frontend->listen_urls_)
    frontend->c_listen_urls_.push_back(url.c_str());

  quorate_frontend_options c{};
  c.struct_size = sizeof(c);
  c.listen_url_count = static_cast<uint32_t>(frontend->c_listen_urls_.size());
  c.listen_urls = frontend->c_listen_urls_.data();
  c.host = frontend->context_.host().table();
  c.options = frontend->context_.options();
  c.option_count = frontend->context_.option_count();

  CallError error;
  quorate_frontend* handle = nullptr;
  const quorate_status status = factory.table()->create(&c, services, &handle, error.out());
  if (status != QUORATE_OK) return error.status(status, factory.name(), "create");
  if (!handle) return missing_handle(factory.name(), "create");
  frontend->handle_ = handle;
  return frontend;
}

Frontend::~Frontend() {
  if (!handle_) return;
  context_.host().close();
  factory_.table()->destroy(handle_);
}

Status Frontend::start() {
  CallError error;
  const quorate_status status = factory_.table()->start(handle_, error.out());
  return error.status(status, name(), "start");
}

void Frontend::stop(uint64_t drain_ms) {
  factory_.table()->stop(handle_, drain_ms);
  context_.host().close();
}

const void* Frontend::extension(const char* id) const {
  return factory_.table()->get_extension(handle_, id);
}

}  // namespace quorate::plugin
