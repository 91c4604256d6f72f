// SPDX-License-Identifier: Apache-2.0
#include "storage/generations.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "base/coding.h"
#include "base/crc32c.h"
#include "storage/checkpoint.h"

namespace quorate::storage {
namespace {

constexpr char kFirstLine[] = "quorate store 1\n";

std::string current_path(const std::string& data_dir) {
  return backend_dir(data_dir) + "/CURRENT";
}

// Cuts "name value\n" off the front.
bool take_line(Slice& text, Slice name, Slice& value) {
  const size_t end = text.find('\n');
  if (end == Slice::npos || text.substr(0, name.size()) != name || end < name.size() + 1) {
    return false;
  }
  value = text.substr(name.size() + 1, end - name.size() - 1);
  text.remove_prefix(end + 1);
  return true;
}

bool parse_number(Slice text, uint64_t& number) {
  if (text.empty() || text.size() > 19) return false;
  number = 0;
  for (char digit : text) {
    if (digit < '0' || digit > '9') return false;
    number = number * 10 + static_cast<uint64_t>(digit - '0');
  }
  return true;
}

bool parse_current(Slice text, Current& current) {
  if (text.substr(0, sizeof kFirstLine - 1) != kFirstLine) return false;
  text.remove_prefix(sizeof kFirstLine - 1);
  Slice generation, engine, index, term;
  if (!take_line(text, "generation", generation) || !take_line(text, "engine", engine) ||
      !take_line(text, "snapshot-index", index) || !take_line(text, "snapshot-term", term)) {
    return false;
  }
  current.engine = engine;
  return text.empty() && !engine.empty() && parse_number(generation, current.generation) &&
         current.generation > 0 && parse_number(index, current.snapshot.index) &&
         parse_number(term, current.snapshot.term);
}

// Every generation but `keep` (0: none is kept), and whatever else lies there.
Status remove_others(FileSystem& files, const OpenOptions& options, uint64_t keep) {
  const std::string dir = backend_dir(options.data_dir);
  Result<std::vector<std::string>> names = files.list(dir);
  if (!names) return std::move(names).error();
  for (const std::string& name : *names) {
    const std::string path = dir + "/" + name;
    if (path == current_path(options.data_dir) || path == checkpoint_path(options.data_dir, keep) ||
        path == generation_dir(options.data_dir, keep)) {
      continue;
    }
    options.logger.info("deleting {}, which no start needs any more", path);
    QUORATE_TRY(files.remove_all(path));
  }
  return Status();
}

Result<std::unique_ptr<plugin::Backend>> create(FileSystem& files, const OpenOptions& options,
                                                Current& current) {
  if (!options.may_create) {
    return Status(Code::kCorrupt,
                  fmt::format("{} is missing, though this member has a log; put it back, or remove "
                              "the member and add it anew with an empty data directory",
                              current_path(options.data_dir)));
  }
  // A start that did not get as far as CURRENT left nothing that counts.
  QUORATE_TRY(remove_others(files, options, 0));
  current = {1, options.engine, {}};
  // The generation must not be younger than the CURRENT that names it.
  const std::string dir = generation_dir(options.data_dir, 1);
  QUORATE_TRY(create_dir_durably(files, dir));
  Result<std::unique_ptr<plugin::Backend>> backend = options.open(dir);
  if (!backend) return backend;
  QUORATE_TRY(
      write_file_atomically(files, current_path(options.data_dir), encode_current(current)));
  return backend;
}

Result<std::unique_ptr<plugin::Backend>> reopen(FileSystem& files, const OpenOptions& options,
                                                const Current& current) {
  if (current.engine != options.engine) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("{} holds a store of the engine '{}', not '{}'; start with --backend "
                    "{}, or give an empty data directory",
                    backend_dir(options.data_dir), current.engine, options.engine, current.engine));
  }
  const std::string dir = generation_dir(options.data_dir, current.generation);
  if (!files.exists(dir)) {
    return Status(
        Code::kCorrupt,
        fmt::format("{} names {}, which is missing; put it back, or remove the member and "
                    "add it anew with an empty data directory",
                    current_path(options.data_dir), dir));
  }
  QUORATE_TRY(remove_others(files, options, current.generation));
  return options.open(dir);
}

Result<std::optional<Current>> read_named(FileSystem& files, const std::string& path) {
  Result<std::string> text = read_file(files, path);
  if (!text && text.error().code() == Code::kNotFound) return std::optional<Current>();
  if (!text) return std::move(text).error();
  Result<Current> named = decode_current(*text, path);
  if (!named) return std::move(named).error();
  return std::optional<Current>(*std::move(named));
}

// A snapshot that was received whole, and recorded in the log, is installed by the start if a crash
// came in between. One that the log does not name counts for nothing: raft may have refused it.
Status settle_complete(FileSystem& files, const OpenOptions& options) {
  const std::string path = complete_path(options.data_dir);
  if (!files.exists(path)) return Status();
  const Result<std::optional<Current>> complete = read_named(files, path);
  if (complete && *complete && (*complete)->snapshot.index > 0 &&
      (*complete)->snapshot == options.log_snapshot) {
    options.logger.info(
        "generation {} holds the snapshot at index {} that the log names: it is "
        "the live one from now on",
        (*complete)->generation, (*complete)->snapshot.index);
    return make_complete_current(files, options.data_dir);
  }
  options.logger.info("{} is of no snapshot that the log names; deleting it", path);
  QUORATE_TRY(files.remove(path));
  return files.sync_dir(backend_dir(options.data_dir));
}

Result<Applied> read_applied(Engine& engine, bool& is_new) {
  Result<EngineView> view = engine.view(0);
  if (!view) return std::move(view).error();
  Result<std::optional<Slice>> bytes = view->read().get(number(Bucket::kMeta), kAppliedKey);
  if (!bytes) return std::move(bytes).error();
  is_new = !bytes->has_value();
  return is_new ? Applied() : decode_applied(**bytes);
}

Result<OpenedEngine> fill(FileSystem& files, const OpenOptions& options, const Current& current,
                          std::unique_ptr<plugin::Backend> backend, uint64_t epoch) {
  OpenedEngine opened;
  opened.current = current;
  opened.engine = std::make_shared<Engine>(std::move(backend), current.generation, epoch);
  if (!opened.engine->durable()) {
    Result<Applied> loaded = load_checkpoint(
        files, checkpoint_path(options.data_dir, current.generation), opened.engine.get());
    if (!loaded && loaded.error().code() != Code::kNotFound) return std::move(loaded).error();
  }
  Result<Applied> applied = read_applied(*opened.engine, opened.is_new);
  if (!applied) return std::move(applied).error();
  opened.applied = *std::move(applied);
  opened.durable = opened.applied.entry.index;
  return opened;
}

}  // namespace

std::string backend_dir(const std::string& data_dir) {
  return data_dir + "/backend";
}
std::string generation_dir(const std::string& data_dir, uint64_t generation) {
  return fmt::format("{}/{:08}", backend_dir(data_dir), generation);
}
std::string checkpoint_path(const std::string& data_dir, uint64_t generation) {
  return fmt::format("{}/CHECKPOINT-{:08}", backend_dir(data_dir), generation);
}
std::string complete_path(const std::string& data_dir) {
  return backend_dir(data_dir) + "/COMPLETE";
}

std::string encode_current(const Current& current) {
  const std::string text = fmt::format(
      "{}generation {}\nengine {}\nsnapshot-index {}\nsnapshot-term {}\n", kFirstLine,
      current.generation, current.engine, current.snapshot.index, current.snapshot.term);
  return fmt::format("{}checksum {:08x}\n", text, crc32c(text));
}

Result<Current> decode_current(Slice text, const std::string& path) {
  Current current;
  const size_t last = text.rfind("checksum ");
  if (last == Slice::npos || !parse_current(text.substr(0, last), current) ||
      encode_current(current) != text) {
    return Status(Code::kCorrupt, path +
                                      " is damaged; restore it, or remove the member and add it "
                                      "anew with an empty data directory");
  }
  return current;
}

Result<OpenedEngine> open_engine(FileSystem& files, const OpenOptions& options) {
  QUORATE_TRY(create_dir_durably(files, backend_dir(options.data_dir)));
  const std::string path = current_path(options.data_dir);
  if (files.exists(path)) QUORATE_TRY(settle_complete(files, options));
  Result<std::optional<Current>> named = read_named(files, path);
  if (!named) return std::move(named).error();
  Current current = named->value_or(Current{});
  Result<std::unique_ptr<plugin::Backend>> backend =
      named->has_value() ? reopen(files, options, current) : create(files, options, current);
  if (!backend) return std::move(backend).error();
  return fill(files, options, current, *std::move(backend), 1);
}

Result<OpenedEngine> open_complete(FileSystem& files, const OpenOptions& options,
                                   raft::EntryId snapshot, uint64_t epoch) {
  const std::string path = complete_path(options.data_dir);
  Result<std::optional<Current>> complete = read_named(files, path);
  if (!complete) return std::move(complete).error();
  const auto other = [&](const char* what) {
    return Status(Code::kCorrupt, fmt::format("{} is not of the log's snapshot at index {}: {}; "
                                              "remove the member and add it anew with an empty "
                                              "data directory",
                                              path, snapshot.index, what));
  };
  if (!complete->has_value()) return other("it is missing");
  if ((*complete)->snapshot != snapshot) return other("it names another");
  Result<std::unique_ptr<plugin::Backend>> backend =
      options.open(generation_dir(options.data_dir, (*complete)->generation));
  if (!backend) return std::move(backend).error();
  Result<OpenedEngine> opened = fill(files, options, **complete, *std::move(backend), epoch);
  if (opened && opened->applied.entry != snapshot) return other("its store stands elsewhere");
  return opened;
}

Status make_complete_current(FileSystem& files, const std::string& data_dir) {
  QUORATE_TRY(files.rename(complete_path(data_dir), current_path(data_dir)));
  return files.sync_dir(backend_dir(data_dir));
}

Status discard_complete(FileSystem& files, const std::string& data_dir) {
  Result<std::optional<Current>> complete = read_named(files, complete_path(data_dir));
  if (complete && !complete->has_value()) return Status();
  QUORATE_TRY(files.remove(complete_path(data_dir)));
  QUORATE_TRY(files.sync_dir(backend_dir(data_dir)));
  return complete ? remove_generation(files, data_dir, (*complete)->generation) : Status();
}

Status remove_generation(FileSystem& files, const std::string& data_dir, uint64_t generation) {
  QUORATE_TRY(files.remove_all(checkpoint_path(data_dir, generation)));
  return files.remove_all(generation_dir(data_dir, generation));
}

}  // namespace quorate::storage
