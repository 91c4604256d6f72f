// SPDX-License-Identifier: Apache-2.0
// What the faces of the three kinds of plugin share: a factory's table with its name, and what an
// object of a plugin borrows for as long as it lives.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/host.h"
#include "plugin/options.h"
#include "quorate/plugin.h"

namespace quorate::plugin {

// What a factory has besides its table. Whoever makes one from a table of its own (a test, the
// simulator) leaves it empty.
struct FactoryOrigin {
  OptionSpecs specs = {};
  std::string title = {};                      // for sentences: name, file and versions
  std::shared_ptr<const void> hold = nullptr;  // keeps the plugin initialised
};

// A C table under a name. A value: copies share the hold on the plugin, which lasts as long as a
// factory or an object of it lives.
template <typename Table>
class Factory {
 public:
  // table: complete, and never freed (a plugin is never unloaded).
  Factory(std::string name, const Table* table, FactoryOrigin origin = {})
      : name_(std::move(name)), table_(table), origin_(std::move(origin)) {}

  const std::string& name() const { return name_; }  // the short name: "lmdb"
  const Table* table() const { return table_; }
  uint32_t capabilities() const { return table_->capabilities; }
  OptionSpecs option_specs() const { return origin_.specs; }
  Result<Options> check_options(const Options& given) const {
    return plugin::check_options(origin_.title.empty() ? name_ : origin_.title, origin_.specs,
                                 given);
  }

 private:
  std::string name_;
  const Table* table_;
  FactoryOrigin origin_;
};

// A quorate_host and the C form of checked options, at addresses that do not change.
class ObjectContext {
 public:
  ObjectContext(HostServices services, Options options)
      : host_(std::move(services)), options_(std::move(options)) {
    for (const Option& option : options_)
      c_options_.push_back({option.key.c_str(), option.value.c_str()});
  }
  ObjectContext(const ObjectContext&) = delete;
  ObjectContext& operator=(const ObjectContext&) = delete;

  Host& host() { return host_; }
  const quorate_option* options() const { return c_options_.data(); }
  uint32_t option_count() const { return static_cast<uint32_t>(c_options_.size()); }

 private:
  Host host_;
  const Options options_;
  std::vector<quorate_option> c_options_;
};

}  // namespace quorate::plugin
