// SPDX-License-Identifier: Apache-2.0
// The engines of one simulated machine: a backend table around a real engine (the memory engine, or
// a plugin from its .so), which fails, or loses the power, between whole batches.
//
// Which directory holds which content is said by a marker file on the simulated disk, so a
// directory that the disk forgets, or that the kernel deletes, is empty when it is opened next. A
// durable engine's content outlives the process; the memory engine's may too, so that most of a
// run's machines have a durable engine at no cost.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "plugin/backend.h"
#include "quorate/plugin.h"
#include "support/sim_disk.h"
#include "support/test_plugin.h"

namespace quorate::sim {

class SimEngines {
 public:
  // inner: outlives this. durable: content outlives the process. in_memory: handles stay open over
  // the process's ends, for they hold the content. real_dir: where real engines keep their files.
  SimEngines(test::SimDisk& disk, const quorate_backend_factory* inner, bool durable,
             bool in_memory, std::string real_dir);
  ~SimEngines();

  // "backend_sim": its option "engines" is the address().
  static const quorate_plugin& plugin(bool durable);
  std::string address() const { return test::address_of(this); }

  // The next write fails with this and changes nothing.
  void fail_next_write(quorate_status code) { fail_write_ = code; }
  // The process is gone; what an engine that is not durable held goes with it. REQUIRES: no handle
  // is open.
  void process_ended();

 private:
  friend struct EngineTable;
  struct Instance {
    uint64_t id = 0;
    std::string dir;
    quorate_backend* handle = nullptr;
    uint64_t bytes = 0;  // ever put
  };
  struct Open {
    SimEngines* engines;
    Instance* instance;
    std::string name;  // of the directory, as the kernel calls it
  };
  Result<Instance*> find(const std::string& dir);

  test::SimDisk& disk_;
  const quorate_backend_factory* const inner_;
  const bool durable_, in_memory_;
  const std::string real_dir_;
  std::map<uint64_t, std::unique_ptr<Instance>> instances_;
  uint64_t next_id_ = 1;
  quorate_status fail_write_ = QUORATE_OK;
};

}  // namespace quorate::sim
