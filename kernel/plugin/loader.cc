// SPDX-License-Identifier: Apache-2.0
#include "plugin/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cstddef>
#include <span>
#include <utility>

#include "plugin/call.h"

namespace quorate::plugin {
namespace {

// A function that a table must have, and where.
struct Required {
  const char* name;
  size_t offset;
};
#define QUORATE_FIELD(table, field) Required({#field, offsetof(table, field)})

constexpr Required kEntry[] = {
    QUORATE_FIELD(quorate_plugin, id),          QUORATE_FIELD(quorate_plugin, version),
    QUORATE_FIELD(quorate_plugin, init),        QUORATE_FIELD(quorate_plugin, deinit),
    QUORATE_FIELD(quorate_plugin, get_factory), QUORATE_FIELD(quorate_plugin, options)};

using B = quorate_backend_factory;
constexpr Required kBackend[] = {
    QUORATE_FIELD(B, open),        QUORATE_FIELD(B, close),        QUORATE_FIELD(B, write),
    QUORATE_FIELD(B, read_open),   QUORATE_FIELD(B, read_close),   QUORATE_FIELD(B, get),
    QUORATE_FIELD(B, cursor_open), QUORATE_FIELD(B, cursor_close), QUORATE_FIELD(B, seek),
    QUORATE_FIELD(B, next),        QUORATE_FIELD(B, stats),        QUORATE_FIELD(B, get_extension)};

using T = quorate_transport_factory;
constexpr Required kTransport[] = {QUORATE_FIELD(T, create),        QUORATE_FIELD(T, stop),
                                   QUORATE_FIELD(T, destroy),       QUORATE_FIELD(T, listen),
                                   QUORATE_FIELD(T, set_self),      QUORATE_FIELD(T, set_peer),
                                   QUORATE_FIELD(T, remove_peer),   QUORATE_FIELD(T, send),
                                   QUORATE_FIELD(T, call),          QUORATE_FIELD(T, reply),
                                   QUORATE_FIELD(T, stream_open),   QUORATE_FIELD(T, stream_write),
                                   QUORATE_FIELD(T, stream_finish), QUORATE_FIELD(T, on_snapshot),
                                   QUORATE_FIELD(T, get_extension)};

using F = quorate_frontend_factory;
constexpr Required kFrontend[] = {QUORATE_FIELD(F, create), QUORATE_FIELD(F, start),
                                  QUORATE_FIELD(F, stop), QUORATE_FIELD(F, destroy),
                                  QUORATE_FIELD(F, get_extension)};
#undef QUORATE_FIELD

// Every table of 1.0 ends with a pointer, and so with its last required one.
size_t size_of_1_0(std::span<const Required> table) {
  return table.back().offset + sizeof(void*);
}

// Empty when the table is whole. Its first field is struct_size.
std::string defect(std::string_view what, const void* table, std::span<const Required> required) {
  const uint32_t size = *static_cast<const uint32_t*>(table);
  if (size < size_of_1_0(required))
    return fmt::format("its {} has struct_size {}, ABI 1.0 needs {}", what, size,
                       size_of_1_0(required));
  for (const Required& field : required)
    if (!*reinterpret_cast<void* const*>(static_cast<const char*>(table) + field.offset))
      return fmt::format("its {} has no {}", what, field.name);
  return {};
}

std::string_view without_prefix(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}
std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

}  // namespace

struct PluginKind {
  std::string_view word;
  std::string_view prefix;
  const char* factory_id;
  std::span<const Required> table;
};

struct PluginOrigin {
  std::string short_name;
  std::string place;  // the path, or words for what is linked in
  bool looked_up;     // the path was made from a name
  const quorate_plugin* linked;
};

namespace {

constexpr PluginKind kKinds[] = {
    {"backend", "backend_", QUORATE_BACKEND_FACTORY, kBackend},
    {"transport", "transport_", QUORATE_TRANSPORT_FACTORY, kTransport},
    {"frontend", "frontend_", QUORATE_FRONTEND_FACTORY, kFrontend},
};

bool has_kind_prefix(std::string_view name) {
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](const PluginKind& kind) { return name.starts_with(kind.prefix); });
}

// plugin: nullptr when nothing can be said of its version.
std::string versions(const quorate_plugin* plugin) {
  const std::string theirs =
      plugin ? fmt::format("{}.{}", plugin->abi_major, plugin->abi_minor) : "unknown";
  return fmt::format("plugin ABI {}, host ABI {}.{}", theirs, QUORATE_ABI_MAJOR, QUORATE_ABI_MINOR);
}

Status refusal(Code code, const PluginKind& kind, const PluginOrigin& origin,
               std::string_view reason, const quorate_plugin* plugin) {
  return Status(code, fmt::format("cannot use {} as a {}: {} ({})", origin.place, kind.word, reason,
                                  versions(plugin)));
}

// Loaded for good: RTLD_NODELETE outlives the handle.
Result<const quorate_plugin*> load(const PluginKind& kind, const PluginOrigin& origin) {
  namespace dll = boost::dll;
  constexpr auto kMode = static_cast<dll::load_mode::type>(
      dll::load_mode::rtld_now | dll::load_mode::rtld_local | RTLD_NODELETE);
  dlerror();
  dll::fs::error_code failed;
  dll::shared_library library(origin.place, failed, kMode);
  if (failed) {
    // Boost's own error says only that it failed; the linker's text names symbol and library.
    const char* const text = dlerror();
    const std::string_view said = text ? std::string_view(text) : "the linker does not say why";
    const std::string_view reason = without_prefix(said, origin.place + ": ");
    const bool absent = reason != said && reason.find("No such file") != reason.npos;
    if (!absent) return refusal(Code::kInvalidArgument, kind, origin, reason, nullptr);
    return refusal(Code::kNotFound, kind, origin,
                   origin.looked_up ? "there is no such file; --plugin-dir says where plugins are"
                                    : "there is no such file",
                   nullptr);
  }
  if (!library.has("quorate_entry"))
    return refusal(Code::kInvalidArgument, kind, origin,
                   "it has no symbol quorate_entry, so it is not a plugin", nullptr);
  return &library.get<const quorate_plugin>("quorate_entry");
}

std::string offered_kinds(const quorate_plugin& plugin) {
  std::string offered;
  for (const PluginKind& kind : kKinds) {
    if (!plugin.get_factory(kind.factory_id)) continue;
    if (!offered.empty()) offered += " and ";
    offered += kind.word;
  }
  return offered.empty() ? "nothing this host knows" : offered;
}

// Reads of the entry only what its size and version say is there.
Status check_entry(const PluginKind& kind, const PluginOrigin& origin,
                   const quorate_plugin& plugin) {
  if (plugin.struct_size < offsetof(quorate_plugin, abi_minor) + sizeof(plugin.abi_minor))
    return refusal(Code::kInvalidArgument, kind, origin,
                   fmt::format("its quorate_entry has struct_size {}, too small to hold a version",
                               plugin.struct_size),
                   nullptr);
  if (plugin.abi_major != QUORATE_ABI_MAJOR)
    return refusal(Code::kUnsupported, kind, origin,
                   "it was built for another major version of the plugin ABI; build it anew",
                   &plugin);
  const std::string wrong = defect("quorate_entry", &plugin, kEntry);
  if (!wrong.empty()) return refusal(Code::kInvalidArgument, kind, origin, wrong, &plugin);
  return Status();
}

}  // namespace

// One init() and its deinit().
class PluginLoader::Hold {
 public:
  Hold(const quorate_plugin& plugin, const Logger& logger)
      : plugin_(plugin), host_(HostServices{logger}) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    if (initialised_) plugin_.deinit();
  }

  Status init() {
    CallError error;
    const quorate_status status = plugin_.init(host_.table(), error.out());
    initialised_ = status == QUORATE_OK;
    return error.status(status, plugin_.id, "init");
  }

 private:
  const quorate_plugin& plugin_;
  Host host_;
  bool initialised_ = false;
};

PluginLoader::PluginLoader(std::string plugin_dir, std::vector<StaticPlugin> statics, Logger logger)
    : plugin_dir_(std::move(plugin_dir)), statics_(std::move(statics)), logger_(logger) {}

PluginLoader::~PluginLoader() = default;

PluginOrigin PluginLoader::origin_of(const PluginKind& kind, std::string_view name) const {
  const bool is_path = name.find('/') != name.npos;
  const std::string_view file = without_suffix(name.substr(name.rfind('/') + 1), ".so");
  const std::string short_name(without_prefix(file, kind.prefix));
  if (is_path) return {short_name, std::string(name), false, nullptr};
  // The name of another kind stays, so that the refusal can say which kind it is.
  const std::string full =
      has_kind_prefix(file) ? std::string(file) : std::string(kind.prefix) + short_name;
  for (const StaticPlugin& candidate : statics_)
    if (candidate.name == full) return {short_name, full + " (linked in)", true, candidate.plugin};
  return {short_name, plugin_dir_ + "/" + full + ".so", true, nullptr};
}

Result<std::shared_ptr<const PluginLoader::Hold>> PluginLoader::hold(const quorate_plugin& plugin) {
  std::weak_ptr<const Hold>& slot = holds_[&plugin];
  if (std::shared_ptr<const Hold> held = slot.lock()) return held;
  auto made = std::make_shared<Hold>(plugin, logger_);
  QUORATE_TRY(made->init());
  slot = made;
  return std::shared_ptr<const Hold>(std::move(made));
}

template <typename Face, typename Table>
Result<Face> PluginLoader::find(const PluginKind& kind, std::string_view name) {
  const PluginOrigin origin = origin_of(kind, name);
  const quorate_plugin* plugin = origin.linked;
  if (!plugin) {
    const Result<const quorate_plugin*> loaded = load(kind, origin);
    if (!loaded) return loaded.error();
    plugin = *loaded;
  }
  QUORATE_TRY(check_entry(kind, origin, *plugin));

  const void* const table = plugin->get_factory(kind.factory_id);
  if (!table)
    return refusal(Code::kUnsupported, kind, origin,
                   fmt::format("it is none, it offers {}", offered_kinds(*plugin)), plugin);
  const std::string wrong = defect(fmt::format("{} table", kind.word), table, kind.table);
  if (!wrong.empty()) return refusal(Code::kInvalidArgument, kind, origin, wrong, plugin);

  Result<std::shared_ptr<const Hold>> held = hold(*plugin);
  if (!held) return refusal(held.error().code(), kind, origin, held.error().message(), plugin);

  FactoryOrigin made;
  uint32_t spec_count = 0;
  const quorate_option_spec* const specs = plugin->options(kind.factory_id, &spec_count);
  if (specs) made.specs = OptionSpecs(specs, spec_count);
  made.title = fmt::format("{} {} ({})", kind.word, origin.place, versions(plugin));
  made.hold = std::move(*held);
  logger_.info("{} {} is {} {} from {}", kind.word, origin.short_name, plugin->id, plugin->version,
               origin.place);
  return Face(origin.short_name, static_cast<const Table*>(table), std::move(made));
}

Result<BackendFactory> PluginLoader::backend(std::string_view name) {
  return find<BackendFactory, quorate_backend_factory>(kKinds[0], name);
}

Result<TransportFactory> PluginLoader::transport(std::string_view name) {
  return find<TransportFactory, quorate_transport_factory>(kKinds[1], name);
}

Result<FrontendFactory> PluginLoader::frontend(std::string_view name) {
  return find<FrontendFactory, quorate_frontend_factory>(kKinds[2], name);
}

}  // namespace quorate::plugin
