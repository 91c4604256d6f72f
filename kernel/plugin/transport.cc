// SPDX-License-Identifier: Apache-2.0
#include "plugin/transport.h"

#include <utility>

#include "plugin/call.h"

namespace quorate::plugin {

Transport::Transport(const TransportFactory& factory, HostServices host, Options options)
    : factory_(factory), table_(factory.table()), context_(std::move(host), std::move(options)) {}

Result<std::unique_ptr<Transport>> Transport::create(const TransportFactory& factory,
                                                     TransportOptions options,
                                                     const quorate_receiver* receiver) {
  Result<Options> checked = factory.check_options(options.options);
  if (!checked) return checked.error();
  std::unique_ptr<Transport> transport(
      new Transport(factory, std::move(options.host), std::move(*checked)));

  quorate_transport_options c{};
  c.struct_size = sizeof(c);
  c.option_count = transport->context_.option_count();
  c.options = transport->context_.options();
  c.host = transport->context_.host().table();

  CallError error;
  quorate_transport* handle = nullptr;
  const quorate_status status = factory.table()->create(&c, receiver, &handle, error.out());
  if (status != QUORATE_OK) return error.status(status, factory.name(), "create");
  if (!handle) return missing_handle(factory.name(), "create");
  transport->handle_ = handle;
  return transport;
}

Transport::~Transport() {
  if (!handle_) return;
  context_.host().close();
  table_->destroy(handle_);
}

Status Transport::listen(const std::string& url) {
  CallError error;
  const quorate_status status = table_->listen(handle_, url.c_str(), error.out());
  return error.status(status, name(), "listen on " + url);
}

void Transport::set_self(uint64_t cluster_id, uint64_t member_id) {
  table_->set_self(handle_, cluster_id, member_id);
}

void Transport::stop(uint64_t drain_ms) {
  table_->stop(handle_, drain_ms);
  context_.host().close();
}

Status Transport::set_peer(uint64_t member_id, const std::vector<std::string>& urls) {
  std::vector<const char*> c_urls;
  for (const std::string& url : urls) c_urls.push_back(url.c_str());
  CallError error;
  const quorate_status status = table_->set_peer(handle_, member_id, c_urls.data(),
                                                 static_cast<uint32_t>(c_urls.size()), error.out());
  return error.status(status, name(), "set a peer");
}

void Transport::remove_peer(uint64_t member_id) {
  table_->remove_peer(handle_, member_id);
}

void Transport::send(std::span<const quorate_message> messages) {
  table_->send(handle_, messages.data(), messages.size());
}

void Transport::call(uint64_t member_id, const std::string& url, const quorate_buf& request,
                     uint64_t timeout_ms, quorate_on_reply done, void* user) {
  table_->call(handle_, member_id, url.c_str(), &request, timeout_ms, done, user);
}

void Transport::reply(uint64_t token, Code code, const quorate_buf& reply) {
  table_->reply(handle_, token, static_cast<quorate_status>(code), &reply);
}

void Transport::on_snapshot(uint64_t stream, uint32_t event, Code code) {
  table_->on_snapshot(handle_, stream, event, static_cast<quorate_status>(code));
}

Result<quorate_stream*> Transport::stream_open(uint64_t to, const quorate_buf& meta, void* user) {
  CallError error;
  quorate_stream* stream = nullptr;
  const quorate_status status = table_->stream_open(handle_, to, &meta, user, &stream, error.out());
  if (status != QUORATE_OK) return error.status(status, name(), "open a stream");
  if (!stream) return missing_handle(name(), "open a stream");
  return stream;
}

Code Transport::stream_write(quorate_stream* stream, const quorate_buf& block) {
  return to_code(table_->stream_write(stream, &block));
}

void Transport::stream_finish(quorate_stream* stream, Code code) {
  table_->stream_finish(stream, static_cast<quorate_status>(code));
}

const void* Transport::extension(const char* id) const {
  return table_->get_extension(handle_, id);
}

}  // namespace quorate::plugin
