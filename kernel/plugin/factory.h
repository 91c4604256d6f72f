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

// A C table under a name. A value: copies share the hold on the plugin.
template <typename Table>
class Factory {
 public:
  // table: complete, and never freed (a plugin is never unloaded). hold: keeps the plugin
  // initialised while a factory or an object of it lives; may be null.
  Factory(std::string name, const Table* table, OptionSpecs specs = {},
          std::shared_ptr<const void> hold = nullptr)
      : name_(std::move(name)), table_(table), specs_(specs), hold_(std::move(hold)) {}

  const std::string& name() const { return name_; }  // the short name: "lmdb"
  const Table* table() const { return table_; }
  uint32_t capabilities() const { return table_->capabilities; }
  OptionSpecs option_specs() const { return specs_; }
  Result<Options> check_options(const Options& given) const {
    return plugin::check_options(name_, specs_, given);
  }

 private:
  std::string name_;
  const Table* table_;
  OptionSpecs specs_;
  std::shared_ptr<const void> hold_;
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
