// SPDX-License-Identifier: Apache-2.0
// Finds plugins, checks them before any of their code decides something, and keeps them
// initialised while they are used. A shared library that was loaded stays loaded: engines and RPC
// libraries keep threads and statics that do not survive their code.
//
// A refusal is one sentence that names the file, the reason, and the ABI versions of both sides.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "plugin/backend.h"
#include "plugin/frontend.h"
#include "plugin/transport.h"
#include "quorate/plugin.h"

namespace quorate::plugin {

// A plugin linked into this program.
struct StaticPlugin {
  std::string name;  // that of its folder: "backend_memory"
  const quorate_plugin* plugin;
};

struct PluginKind;
struct PluginOrigin;

// One for a process or one for each server; one thread at a time, and not while another thread ends
// the last object of a plugin that is asked for. Factories outlive it.
class PluginLoader {
 public:
  // plugin_dir: where short names are looked for. logger: for what plugins say of themselves
  // outside any object, and for what was loaded; its sink outlives factories and objects.
  PluginLoader(std::string plugin_dir, std::vector<StaticPlugin> statics, Logger logger);
  ~PluginLoader();

  // name: a path when it holds a '/', else the name of a plugin with or without its kind ("lmdb",
  // "backend_lmdb"): the one linked in, or else <plugin_dir>/backend_lmdb.so. kNotFound: there is
  // no such file; kUnsupported: another ABI, kind or form; kInvalidArgument: what is there is not
  // a plugin; or init()'s own code.
  Result<BackendFactory> backend(std::string_view name);
  Result<TransportFactory> transport(std::string_view name);
  Result<FrontendFactory> frontend(std::string_view name);

 private:
  class Hold;
  template <typename Face, typename Table>
  Result<Face> find(const PluginKind& kind, std::string_view name);
  PluginOrigin origin_of(const PluginKind& kind, std::string_view name) const;
  Result<std::shared_ptr<const Hold>> hold(const quorate_plugin& plugin);

  const std::string plugin_dir_;
  const std::vector<StaticPlugin> statics_;
  const Logger logger_;
  std::map<const quorate_plugin*, std::weak_ptr<const Hold>> holds_;
};

}  // namespace quorate::plugin
