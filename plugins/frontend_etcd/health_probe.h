// SPDX-License-Identifier: Apache-2.0
// One /health, /livez or /readyz: a list of checks, some of which ask the kernel.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend_etcd/core.h"

namespace quorate::frontend_etcd {

class Http1Session;

// Frees itself after it has told the session, or, when the session left first, after the
// completion that is owed.
class HealthProbe final : public Completer {
 public:
  // /health: stops at the first failure, answers JSON. query: ?exclude=ALARM, ?serializable=true.
  static HealthProbe* health(Http1Session& session, std::string_view query);
  // /livez and /readyz, or one check of them; null when there is no such path.
  static HealthProbe* checks(Http1Session& session, std::string_view path, std::string_view query);

  void run();
  // The session goes away.
  void leave();

  void submitted(uint64_t call_id) override;
  void complete(quorate_status code, const SharedBuf& response) override;

 private:
  enum class Check {
    kNospace,
    kCorrupt,
    kLeader,
    kSerializableRead,
    kLinearizableRead,
    kNonLearner
  };
  struct Step {
    Check check;
    std::string_view name;
  };

  HealthProbe(Http1Session& session, bool json);
  void next();
  // Empty: it passed.
  std::string check_now(Check check);
  void ask(bool serializable);
  void passed(const Step& step);
  void failed(const Step& step, const std::string& reason);
  void finish();

  Http1Session* session_;
  Core& core_;
  std::vector<Step> steps_;
  size_t at_ = 0;
  const bool json_;
  bool verbose_ = false;
  bool healthy_ = true;
  std::string reason_;  // of the first failure
  std::string lines_;
  schema::SegmentBuilder request_;
  uint64_t call_id_ = 0;
  bool outstanding_ = false;
  bool in_kernel_ = false;
};

// The values of `key` in a query string, percent-decoded.
std::vector<std::string> query_values(std::string_view query, std::string_view key);

}  // namespace quorate::frontend_etcd
