// SPDX-License-Identifier: Apache-2.0
#include "sim/engines.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "support/test_plugin.h"

namespace quorate::sim {
namespace {

struct Read {
  const quorate_backend_factory* table;
  quorate_read* inner;
};
struct Cursor {
  const quorate_backend_factory* table;
  quorate_cursor* inner;
};

}  // namespace

SimEngines::SimEngines(test::SimDisk& disk, const quorate_backend_factory* inner, bool durable,
                       bool in_memory, std::string real_dir)
    : disk_(disk),
      inner_(inner),
      durable_(durable),
      in_memory_(in_memory),
      real_dir_(std::move(real_dir)) {}

SimEngines::~SimEngines() {
  for (const auto& [id, instance] : instances_)
    if (instance->handle != nullptr) inner_->close(instance->handle);
  std::error_code ignored;
  std::filesystem::remove_all(real_dir_, ignored);
}

void SimEngines::process_ended() {
  fail_write_ = QUORATE_OK;
  if (durable_) return;
  for (const auto& [id, instance] : instances_)
    if (instance->handle != nullptr) inner_->close(instance->handle);
  instances_.clear();
}

Result<SimEngines::Instance*> SimEngines::find(const std::string& dir) {
  const std::string marker = dir + "/ENGINE";
  if (disk_.exists(marker)) {
    const Result<std::string> text = read_file(disk_, marker);
    if (!text) return text.error();
    const auto found = instances_.find(std::strtoull(text->c_str(), nullptr, 10));
    if (found != instances_.end()) return found->second.get();
    // Of an engine that was not durable, or a marker that was not synced: empty.
  }
  auto instance = std::make_unique<Instance>();
  instance->id = next_id_++;
  instance->dir = real_dir_ + "/" + std::to_string(instance->id);
  std::filesystem::create_directories(instance->dir);
  QUORATE_TRY(write_file_atomically(disk_, marker, std::to_string(instance->id)));
  Instance* const made = instance.get();
  instances_.emplace(made->id, std::move(instance));
  return made;
}

struct EngineTable {
  using Open = SimEngines::Open;
  static Open* of(quorate_backend* handle) { return reinterpret_cast<Open*>(handle); }
  static Read* of(quorate_read* handle) { return reinterpret_cast<Read*>(handle); }
  static Cursor* of(quorate_cursor* handle) { return reinterpret_cast<Cursor*>(handle); }

  static quorate_status say(const Status& status, quorate_error* error) {
    if (error != nullptr) {
      error->code = static_cast<quorate_status>(status.code());
      const std::string text = status.to_string().substr(0, sizeof error->message - 1);
      std::memcpy(error->message, text.c_str(), text.size() + 1);
    }
    return static_cast<quorate_status>(status.code());
  }

  static quorate_status open(const quorate_backend_options* options, quorate_backend** out,
                             quorate_error* error) {
    auto* engines = test::object_at<SimEngines>(options->options);
    const Result<SimEngines::Instance*> found = engines->find(options->dir);
    if (!found) return say(found.error(), error);
    SimEngines::Instance* const instance = *found;
    if (instance->handle == nullptr) {
      quorate_backend_options inner = *options;
      inner.dir = instance->dir.c_str();
      inner.options = nullptr;
      inner.option_count = 0;
      const quorate_status code = engines->inner_->open(&inner, &instance->handle, error);
      if (code != QUORATE_OK) return code;
    }
    *out = reinterpret_cast<quorate_backend*>(new Open{engines, instance, options->dir});
    return QUORATE_OK;
  }
  static void close(quorate_backend* handle) {
    const std::unique_ptr<Open> open(of(handle));
    if (open->engines->in_memory_) return;
    open->engines->inner_->close(std::exchange(open->instance->handle, nullptr));
  }
  static quorate_status write(quorate_backend* handle, const quorate_op* ops, size_t count,
                              quorate_error* error) {
    SimEngines& engines = *of(handle)->engines;
    if (const Status status = engines.disk_.other_write(of(handle)->name); !status.ok())
      return say(status, error);
    if (const quorate_status code = std::exchange(engines.fail_write_, QUORATE_OK);
        code != QUORATE_OK)
      return say(Status(static_cast<Code>(code), "injected fault of the engine"), error);
    SimEngines::Instance& instance = *of(handle)->instance;
    for (size_t i = 0; i < count; ++i) instance.bytes += ops[i].key.size + ops[i].value.size;
    return engines.inner_->write(instance.handle, ops, count, error);
  }
  static quorate_status read_open(quorate_backend* handle, quorate_read** out,
                                  quorate_error* error) {
    const quorate_backend_factory* const table = of(handle)->engines->inner_;
    quorate_read* inner = nullptr;
    const quorate_status code = table->read_open(of(handle)->instance->handle, &inner, error);
    if (code == QUORATE_OK) *out = reinterpret_cast<quorate_read*>(new Read{table, inner});
    return code;
  }
  static void read_close(quorate_read* handle) {
    const std::unique_ptr<Read> read(of(handle));
    read->table->read_close(read->inner);
  }
  static quorate_status get(quorate_read* handle, uint32_t bucket, quorate_slice key,
                            quorate_slice* value, quorate_error* error) {
    return of(handle)->table->get(of(handle)->inner, bucket, key, value, error);
  }
  static quorate_status cursor_open(quorate_read* handle, uint32_t bucket, quorate_cursor** out,
                                    quorate_error* error) {
    const quorate_backend_factory* const table = of(handle)->table;
    quorate_cursor* inner = nullptr;
    const quorate_status code = table->cursor_open(of(handle)->inner, bucket, &inner, error);
    if (code == QUORATE_OK) *out = reinterpret_cast<quorate_cursor*>(new Cursor{table, inner});
    return code;
  }
  static void cursor_close(quorate_cursor* handle) {
    const std::unique_ptr<Cursor> cursor(of(handle));
    cursor->table->cursor_close(cursor->inner);
  }
  static quorate_status seek(quorate_cursor* handle, quorate_slice key, quorate_slice* out_key,
                             quorate_slice* out_value, quorate_error* error) {
    return of(handle)->table->seek(of(handle)->inner, key, out_key, out_value, error);
  }
  static quorate_status next(quorate_cursor* handle, quorate_slice* out_key,
                             quorate_slice* out_value, quorate_error* error) {
    return of(handle)->table->next(of(handle)->inner, out_key, out_value, error);
  }
  // Not the engine's own: sizes that hang on its background work must decide nothing.
  static quorate_status stats(quorate_backend* handle, quorate_backend_stats* out, quorate_error*) {
    out->size = out->size_in_use = of(handle)->instance->bytes;
    out->open_reads = 0;
    return QUORATE_OK;
  }
  static const void* get_extension(quorate_backend*, const char*) { return nullptr; }

  static constexpr quorate_backend_factory table(uint32_t capabilities) {
    return {sizeof(quorate_backend_factory),
            capabilities,
            open,
            close,
            write,
            read_open,
            read_close,
            get,
            cursor_open,
            cursor_close,
            seek,
            next,
            stats,
            get_extension};
  }
  static constexpr char kId[] = "org.quorate.backend.sim";
};

constexpr quorate_backend_factory kDurable = EngineTable::table(QUORATE_BACKEND_DURABLE);
constexpr quorate_backend_factory kVolatile = EngineTable::table(0);

const quorate_plugin& SimEngines::plugin(bool durable) {
  return durable ? test::test_plugin<kDurable>(EngineTable::kId, "engines")
                 : test::test_plugin<kVolatile>(EngineTable::kId, "engines");
}

}  // namespace quorate::sim
