// SPDX-License-Identifier: Apache-2.0
#include "plugin/backend.h"

#include "base/check.h"
#include "plugin/call.h"

namespace quorate::plugin {
Cursor::Cursor(Cursor&& other) noexcept
    : backend_(other.backend_),
      cursor_(std::exchange(other.cursor_, nullptr)),
      key_(other.key_),
      value_(other.value_) {}

Cursor& Cursor::operator=(Cursor&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(cursor_, other.cursor_);
  std::swap(key_, other.key_);
  std::swap(value_, other.value_);
  return *this;
}

Cursor::~Cursor() {
  if (cursor_) backend_->table_->cursor_close(cursor_);
}

Result<bool> Cursor::moved(quorate_status status, const quorate_slice& key,
                           const quorate_slice& value, const CallError& error, const char* what) {
  if (status == QUORATE_OK) {
    key_ = from_c(key);
    value_ = from_c(value);
    return true;
  }
  key_ = value_ = {};
  if (status == QUORATE_NOT_FOUND) return false;
  return error.status(status, backend_->name(), what);
}

Result<bool> Cursor::seek(Slice key) {
  CallError error;
  quorate_slice found_key{nullptr, 0}, found_value{nullptr, 0};
  const quorate_status status =
      backend_->table_->seek(cursor_, to_c(key), &found_key, &found_value, error.out());
  return moved(status, found_key, found_value, error, "seek");
}

Result<bool> Cursor::next() {
  CallError error;
  quorate_slice found_key{nullptr, 0}, found_value{nullptr, 0};
  const quorate_status status =
      backend_->table_->next(cursor_, &found_key, &found_value, error.out());
  return moved(status, found_key, found_value, error, "next");
}

EngineRead::EngineRead(EngineRead&& other) noexcept
    : backend_(other.backend_), read_(std::exchange(other.read_, nullptr)) {}

EngineRead& EngineRead::operator=(EngineRead&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(read_, other.read_);
  return *this;
}

EngineRead::~EngineRead() {
  if (!read_) return;
  backend_->table_->read_close(read_);
  backend_->open_reads_.fetch_sub(1, std::memory_order_release);
}

Result<std::optional<Slice>> EngineRead::get(uint32_t bucket, Slice key) {
  CallError error;
  quorate_slice value{nullptr, 0};
  const quorate_status status =
      backend_->table_->get(read_, bucket, to_c(key), &value, error.out());
  if (status == QUORATE_OK) return std::optional<Slice>(from_c(value));
  if (status == QUORATE_NOT_FOUND) return std::optional<Slice>();
  return error.status(status, backend_->name(), "get");
}

Result<Cursor> EngineRead::cursor(uint32_t bucket) {
  CallError error;
  quorate_cursor* cursor = nullptr;
  const quorate_status status = backend_->table_->cursor_open(read_, bucket, &cursor, error.out());
  if (status != QUORATE_OK) return error.status(status, backend_->name(), "open a cursor");
  if (!cursor) return missing_handle(backend_->name(), "open a cursor");
  return Cursor(backend_, cursor);
}

Result<std::unique_ptr<Backend>> Backend::open(const BackendFactory& factory,
                                               BackendOptions options) {
  Result<Options> checked = factory.check_options(options.options);
  if (!checked) return checked.error();
  std::unique_ptr<Backend> backend(
      new Backend(factory, std::move(options.host), std::move(*checked)));
  backend->dir_ = std::move(options.dir);
  backend->buckets_.assign(options.buckets.begin(), options.buckets.end());

  quorate_backend_options c{};
  c.struct_size = sizeof(c);
  c.bucket_count = static_cast<uint32_t>(backend->buckets_.size());
  c.buckets = backend->buckets_.data();
  c.dir = backend->dir_.c_str();
  c.host = backend->context_.host().table();
  c.quota_bytes = options.quota_bytes;
  c.options = backend->context_.options();
  c.option_count = backend->context_.option_count();

  CallError error;
  const quorate_status status = factory.table()->open(&c, &backend->handle_, error.out());
  const std::string what = "open " + backend->dir_;
  if (status != QUORATE_OK) {
    backend->handle_ = nullptr;
    return error.status(status, factory.name(), what);
  }
  if (!backend->handle_) return missing_handle(factory.name(), what);
  return backend;
}

Backend::~Backend() {
  if (!handle_) return;
  QUORATE_CHECK(open_reads_.load(std::memory_order_acquire) == 0,
                "a backend was closed under an open view");
  context_.host().close();
  table_->close(handle_);
}

Status Backend::write(std::span<const Op> ops) {
  CallError error;
  const quorate_status status = table_->write(handle_, ops.data(), ops.size(), error.out());
  return error.status(status, name(), "write");
}

Result<EngineRead> Backend::read_open() const {
  CallError error;
  quorate_read* read = nullptr;
  const quorate_status status = table_->read_open(handle_, &read, error.out());
  if (status != QUORATE_OK) return error.status(status, name(), "open a view");
  if (!read) return missing_handle(name(), "open a view");
  open_reads_.fetch_add(1, std::memory_order_relaxed);
  return EngineRead(this, read);
}

Result<quorate_backend_stats> Backend::stats() const {
  CallError error;
  quorate_backend_stats stats{};
  stats.struct_size = sizeof(stats);
  const quorate_status status = table_->stats(handle_, &stats, error.out());
  if (status != QUORATE_OK) return error.status(status, name(), "read its statistics");
  return stats;
}

}  // namespace quorate::plugin
