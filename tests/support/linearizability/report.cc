// SPDX-License-Identifier: Apache-2.0
#include "support/linearizability/report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "support/linearizability/history_json.h"

namespace quorate::linearizability {
namespace {

constexpr size_t kWindowMax = 20;
constexpr size_t kTextMax = 40;

std::string quoted(const History& history, Name name) {
  if (name == kAbsent) return "nothing";
  const std::string_view text = history.text(name);
  if (text.size() <= kTextMax) return "\"" + std::string(text) + "\"";
  return "\"" + std::string(text.substr(0, kTextMax)) + "...\"";
}

std::string action(const History& history, const Operation& operation) {
  const std::string key = quoted(history, operation.key);
  const std::string value = quoted(history, operation.value);
  switch (operation.kind) {
    case Kind::kPut: return "put " + key + " = " + value;
    case Kind::kDelete: return "delete " + key;
    case Kind::kGet:
      return (operation.serializable ? "serializable get " : "get ") + key +
             (operation.done() ? " -> " + value : "");
    case Kind::kCas: break;
  }
  const std::string condition = operation.compare_mod != kNoRevision
                                    ? "modified at " + std::to_string(operation.compare_mod)
                                    : quoted(history, operation.compare_value);
  return "cas " + key + " from " + condition + " to " + value;
}

std::string answer(const Operation& operation) {
  if (operation.outcome == Outcome::kUnknown) return ", unknown outcome";
  if (operation.outcome == Outcome::kNotDone) return ", not done";
  std::string text;
  if (operation.kind == Kind::kDelete && !operation.effective) text += ", found nothing";
  if (operation.kind == Kind::kCas) text += operation.effective ? ", succeeded" : ", refused";
  if (operation.mod_revision != kNoRevision)
    text += ", modified at " + std::to_string(operation.mod_revision);
  if (operation.revision != kNoRevision) text += ", revision " + std::to_string(operation.revision);
  return text;
}

}  // namespace

std::string_view rule_name(Rule rule) {
  constexpr std::array<std::string_view, 14> kNames = {"duplicate_revision",
                                                       "swapped_order",
                                                       "revision_went_back",
                                                       "stale_read",
                                                       "future_read",
                                                       "lost_write",
                                                       "vanished_write",
                                                       "resurrected",
                                                       "never_written",
                                                       "phantom_write",
                                                       "broken_condition",
                                                       "false_refusal",
                                                       "gap",
                                                       "not_linearizable"};
  return kNames[static_cast<size_t>(rule)];
}

std::string_view verdict_name(Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"ok", "violation", "unknown"};
  return kNames[static_cast<size_t>(verdict)];
}

std::string_view level_name(Level level) {
  return level == Level::kRevisions ? "revisions" : "search";
}

void Report::add(Violation violation) {
  verdict = Verdict::kViolation;
  if (violations.size() < kViolationsMax) violations.push_back(std::move(violation));
}

void Report::add_unknown(std::string because) {
  if (verdict == Verdict::kOk) verdict = Verdict::kUnknown;
  if (unknown_because.empty()) unknown_because = std::move(because);
}

std::string describe(const History& history, const Operation& operation) {
  const std::string end = operation.returned == kNever ? "" : std::to_string(operation.returned);
  return "#" + std::to_string(operation.id) + " (client " +
         std::string(history.text(operation.client)) + ", " + action(history, operation) + ", " +
         std::to_string(operation.invoked) + ".." + end + answer(operation) + ")";
}

std::vector<uint32_t> window(const History& history, const Violation& violation,
                             size_t operations_max) {
  const auto& operations = history.operations;
  std::vector<uint32_t> named = violation.operations;
  int64_t from = kNever, to = std::numeric_limits<int64_t>::min();
  for (const uint32_t index : named) {
    const Operation& operation = operations[index];
    from = std::min(from, operation.invoked);
    to = std::max(to, operation.returned == kNever ? operation.invoked : operation.returned);
  }
  const auto is_named = [&](uint32_t index) {
    return std::find(named.begin(), named.end(), index) != named.end();
  };
  std::vector<uint32_t> found = named;
  for (uint32_t index = 0; index < operations.size() && found.size() < operations_max; ++index) {
    const Operation& operation = operations[index];
    const bool on_key = std::any_of(named.begin(), named.end(), [&](uint32_t other) {
      return operations[other].key == operation.key;
    });
    if (on_key && operation.invoked <= to && operation.returned >= from && !is_named(index))
      found.push_back(index);
  }
  std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(operations[a].invoked, a) < std::pair(operations[b].invoked, b);
  });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string to_text(const History& history, const Report& report) {
  std::string text = std::string(verdict_name(report.verdict)) + ": " +
                     std::to_string(history.operations.size()) + " operations, checked by " +
                     std::string(level_name(report.level)) + "\n";
  for (const Violation& violation : report.violations) {
    text += std::string(rule_name(violation.rule)) + ": " + violation.sentence + "\n";
    for (const uint32_t index : window(history, violation, kWindowMax)) {
      const bool named = std::find(violation.operations.begin(), violation.operations.end(),
                                   index) != violation.operations.end();
      text += named ? "  > " : "    ";
      text += describe(history, history.operations[index]) + "\n";
    }
  }
  if (!report.unknown_because.empty()) text += "unknown: " + report.unknown_because + "\n";
  return text;
}

std::string to_json(const History& history, const Report& report) {
  using Json = nlohmann::ordered_json;
  Json all;
  all["verdict"] = verdict_name(report.verdict);
  all["level"] = level_name(report.level);
  all["operations"] = history.operations.size();
  if (!report.unknown_because.empty()) all["unknown_because"] = report.unknown_because;
  all["violations"] = Json::array();
  for (const Violation& violation : report.violations) {
    Json one;
    one["rule"] = rule_name(violation.rule);
    one["sentence"] = violation.sentence;
    one["operations"] = Json::array();
    for (const uint32_t index : violation.operations)
      one["operations"].push_back(history.operations[index].id);
    one["window"] = Json::array();
    for (const uint32_t index : window(history, violation, kWindowMax))
      one["window"].push_back(Json::parse(to_line(history, history.operations[index])));
    all["violations"].push_back(std::move(one));
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace quorate::linearizability
