// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/health_probe.h"

#include <algorithm>

#include "frontend_etcd/http1.h"

namespace quorate::frontend_etcd {
namespace {

std::string json_text(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result.append({'\\', c});
    } else if (static_cast<uint8_t>(c) < 0x20) {
      result.append("\\u00").append({kHex[(c >> 4) & 15], kHex[c & 15]});
    } else {
      result.push_back(c);
    }
  }
  return result + "\"";
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decode(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      result.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      result.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> query_values(std::string_view query, std::string_view key) {
  std::vector<std::string> values;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const size_t equal = std::min(pair.find('='), pair.size());
    if (percent_decode(pair.substr(0, equal)) == key)
      values.push_back(equal < pair.size() ? percent_decode(pair.substr(equal + 1)) : "");
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return values;
}

HealthProbe::HealthProbe(Http1Session& session, bool json)
    : session_(&session), core_(session.core()), json_(json) {}

HealthProbe* HealthProbe::health(Http1Session& session, std::string_view query) {
  auto* probe = new HealthProbe(session, true);
  const auto excluded = query_values(query, "exclude");
  const auto serializable = query_values(query, "serializable");
  const bool local = !serializable.empty() && serializable[0] == "true";
  const auto add = [&](Check check, std::string_view name) {
    if (std::find(excluded.begin(), excluded.end(), name) == excluded.end())
      probe->steps_.push_back({check, name});
  };
  add(Check::kNospace, "NOSPACE");
  add(Check::kCorrupt, "CORRUPT");
  if (!local) probe->steps_.push_back({Check::kLeader, ""});
  probe->steps_.push_back({local ? Check::kSerializableRead : Check::kLinearizableRead, ""});
  return probe;
}

HealthProbe* HealthProbe::checks(Http1Session& session, std::string_view path,
                                 std::string_view query) {
  const bool ready = path.starts_with("/readyz");
  std::vector<Step> all{{Check::kSerializableRead, "serializable_read"}};
  if (ready)
    all = {{Check::kCorrupt, "data_corruption"},
           {Check::kSerializableRead, "serializable_read"},
           {Check::kLinearizableRead, "linearizable_read"},
           {Check::kNonLearner, "non_learner"}};
  std::string_view rest = path.substr(ready ? 7 : 6);
  if (!rest.empty()) {
    std::erase_if(all, [rest](const Step& step) { return rest.substr(1) != step.name; });
    if (rest[0] != '/' || (all.empty() && rest != "/")) return nullptr;
  }
  const auto excluded = query_values(query, "exclude");
  std::erase_if(all, [&excluded](const Step& step) {
    return std::find(excluded.begin(), excluded.end(), step.name) != excluded.end();
  });
  auto* probe = new HealthProbe(session, false);
  probe->steps_ = std::move(all);
  probe->verbose_ = !query_values(query, "verbose").empty();
  return probe;
}

void HealthProbe::run() {
  next();
}

void HealthProbe::leave() {
  session_ = nullptr;
  if (outstanding_ && !in_kernel_) {
    core_.withdraw(this);
    outstanding_ = false;
  }
  if (outstanding_) return core_.cancel(call_id_);
  delete this;
}

void HealthProbe::next() {
  while (at_ < steps_.size()) {
    const Step& step = steps_[at_];
    if (step.check == Check::kSerializableRead) return ask(true);
    if (step.check == Check::kLinearizableRead) return ask(false);
    const std::string reason = check_now(step.check);
    ++at_;
    if (reason.empty()) passed(step);
    if (!reason.empty()) failed(step, reason);
    if (!reason.empty() && json_) break;
  }
  finish();
}

std::string HealthProbe::check_now(Check check) {
  const quorate_member_info& member = core_.member();
  switch (check) {
    case Check::kNospace:
      return (member.alarms & QUORATE_ALARM_NOSPACE) != 0 ? "ALARM NOSPACE" : "";
    case Check::kCorrupt:
      if ((member.alarms & QUORATE_ALARM_CORRUPT) == 0) return "";
      return json_ ? "ALARM CORRUPT" : "alarm activated: CORRUPT";
    case Check::kLeader: return member.leader_id == 0 ? "RAFT NO LEADER" : "";
    case Check::kNonLearner:
      return (member.flags & QUORATE_MEMBER_LEARNER) != 0 ? "not supported for learner" : "";
    default: return "";
  }
}

void HealthProbe::ask(bool serializable) {
  auto range = request_.start<schema::Request>().initRange();
  const kj::byte zero[] = {0};
  range.setKey(capnp::Data::Reader(zero, 1));
  range.setRangeEnd(capnp::Data::Reader(zero, 1));
  range.setLimit(1);
  range.setKeysOnly(true);
  range.setSerializable(serializable);
  quorate_call call{};
  call.struct_size = sizeof call;
  call.flags = QUORATE_CALL_AS_HEALTH;
  outstanding_ = true;
  in_kernel_ = false;
  core_.submit(this, call, request_.finish());
}

void HealthProbe::submitted(uint64_t call_id) {
  in_kernel_ = true;
  call_id_ = call_id;
}

void HealthProbe::complete(quorate_status code, const SharedBuf&) {
  outstanding_ = false;
  if (session_ == nullptr) {
    delete this;
    return;
  }
  const Step& step = steps_[at_++];
  // A first key whose value is large was found all the same.
  if (code == QUORATE_OK || code == QUORATE_USE_RANGE_OPEN) {
    passed(step);
  } else {
    failed(step, (json_ ? "RANGE ERROR:" : "range error: ") + rpc_error(code).text);
    if (json_) return finish();
  }
  next();
}

void HealthProbe::passed(const Step& step) {
  lines_.append("[+]").append(step.name).append(" ok\n");
}

void HealthProbe::failed(const Step& step, const std::string& reason) {
  if (healthy_) reason_ = reason;
  healthy_ = false;
  lines_.append("[-]").append(step.name).append(" failed: ").append(reason).append("\n");
}

void HealthProbe::finish() {
  std::string body;
  if (json_) {
    core_.count_health(healthy_);
    body = std::string("{\"health\":\"") + (healthy_ ? "true" : "false") +
           "\",\"reason\":" + json_text(reason_) + "}" + (healthy_ ? "" : "\n");
  } else {
    if (verbose_ || !healthy_) body = lines_;
    if (healthy_) body += "ok\n";
  }
  Http1Session& session = *session_;
  const bool healthy = healthy_;
  delete this;
  session.probe_done(healthy ? "200 OK" : "503 Service Unavailable", body);
}

}  // namespace quorate::frontend_etcd
