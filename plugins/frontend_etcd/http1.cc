// SPDX-License-Identifier: Apache-2.0
#include "frontend_etcd/http1.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "frontend_etcd/health_probe.h"

namespace quorate::frontend_etcd {
namespace {

constexpr std::string_view kPlain = "text/plain; charset=utf-8";
constexpr size_t kBodyMax = 4 << 20;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Cuts a line, without its end, off the front.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 2, text.size()));
  return line;
}

}  // namespace

Http1Session::Http1Session(Core& core, Flushable* connection)
    : core_(core), connection_(connection) {}

Http1Session::~Http1Session() {
  if (probe_ != nullptr) probe_->leave();
}

void Http1Session::receive(std::string_view bytes) {
  const size_t skipped = std::min(body_left_, bytes.size());
  body_left_ -= skipped;
  in_.append(bytes.substr(skipped));
  serve();
}

void Http1Session::produce(std::string& out) {
  out.append(out_);
  out_.clear();
}

void Http1Session::serve() {
  serving_ = true;
  Request request;
  while (probe_ == nullptr && !closing_ && take_request(request)) route(request);
  if (in_.size() > kHeaderListMax && probe_ == nullptr && !closing_)
    refuse("431 Request Header Fields Too Large");
  serving_ = false;
  // While a probe runs, what else the client sends waits, but not without bound.
  if (in_.size() > 4 * kHeaderListMax) closing_ = true;
  core_.mark_dirty(connection_);
}

bool Http1Session::take_request(Request& request) {
  const size_t end = in_.find("\r\n\r\n");
  if (end == std::string::npos || end > kHeaderListMax) return false;
  std::string_view head = std::string_view(in_).substr(0, end + 2);
  const std::string_view line = take_line(head);
  const size_t first = line.find(' ');
  const size_t second = line.rfind(' ');
  const std::string_view version = second == first ? "" : line.substr(second + 1);
  if (first == std::string_view::npos || !version.starts_with("HTTP/1.")) {
    refuse("400 Bad Request");
    return false;
  }
  request.method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const size_t question = std::min(target.find('?'), target.size());
  request.path = target.substr(0, question);
  request.query = question < target.size() ? target.substr(question + 1) : "";
  close_after_ = version == "HTTP/1.0";
  head_only_ = request.method == "HEAD";
  size_t body = 0;
  while (!head.empty()) {
    const std::string_view header = take_line(head);
    const size_t colon = std::min(header.find(':'), header.size());
    const std::string name = lower(header.substr(0, colon));
    const std::string value =
        lower(trimmed(colon < header.size() ? header.substr(colon + 1) : std::string_view()));
    if (name == "connection" && value == "close") close_after_ = true;
    if (name == "connection" && value == "keep-alive") close_after_ = false;
    // A body nobody reads: it is read over when its end is told, else the connection ends.
    if (name == "transfer-encoding") close_after_ = true;
    if (name == "content-length") {
      const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), body);
      if (error != std::errc() || stop != value.data() + value.size() || body > kBodyMax)
        close_after_ = true;
    }
  }
  in_.erase(0, end + 4);
  const size_t here = std::min(body, in_.size());
  in_.erase(0, here);
  body_left_ = body - here;
  return true;
}

void Http1Session::route(const Request& request) {
  if (request.method == "OPTIONS") return answer("200 OK", kPlain, "");
  const bool is_get = request.method == "GET";
  const std::string& path = request.path;
  if (path == "/health" || path == "/version") {
    if (!is_get)
      return answer("405 Method Not Allowed", kPlain, "Method Not Allowed\n", "Allow: GET\r\n");
    if (path == "/version") return version();
    probe_ = HealthProbe::health(*this, request.query);
    return probe_->run();
  }
  if (path == "/metrics" && core_.metrics() != nullptr) return metrics();
  if (path.starts_with("/livez") || path.starts_with("/readyz"))
    probe_ = HealthProbe::checks(*this, path, request.query);
  if (probe_ != nullptr) return probe_->run();
  answer("404 Not Found", kPlain, "404 page not found\n");
}

void Http1Session::answer(std::string_view status, std::string_view type, std::string_view body,
                          std::string_view more_headers) {
  out_.append("HTTP/1.1 ").append(status).append("\r\n");
  out_.append("Access-Control-Allow-Headers: accept, content-type, authorization\r\n");
  out_.append("Access-Control-Allow-Methods: POST, GET, OPTIONS, PUT, DELETE\r\n");
  out_.append("Access-Control-Allow-Origin: ").append(core_.settings().cors).append("\r\n");
  out_.append("Content-Type: ").append(type).append("\r\n");
  out_.append("X-Content-Type-Options: nosniff\r\n").append(more_headers);
  out_.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  if (close_after_) out_.append("Connection: close\r\n");
  out_.append("\r\n");
  if (!head_only_) out_.append(body);
  if (close_after_) closing_ = true;
}

void Http1Session::refuse(std::string_view status) {
  close_after_ = true;
  answer(status, kPlain, std::string(status) + "\n");
}

void Http1Session::probe_done(const std::string& status, const std::string& body) {
  probe_ = nullptr;
  answer(status, kPlain, body);
  if (!serving_) serve();
}

void Http1Session::version() {
  const quorate_member_info& member = core_.member();
  const std::string server(member.server_version);
  const std::string cluster(member.cluster_version);
  answer("200 OK", "application/json",
         "{\"etcdserver\":\"" + server + "\",\"etcdcluster\":\"" +
             (cluster.empty() ? "not_decided" : cluster) + "\",\"storage\":\"" +
             (cluster.empty() ? "unknown" : cluster) + "\"}");
}

void Http1Session::metrics() {
  std::string body;
  const quorate_host_metrics& metrics = *core_.metrics();
  const auto sink = [](void* user, quorate_slice text) {
    static_cast<std::string*>(user)->append(sdk::view(text));
  };
  const quorate_status status =
      metrics.render(metrics.ctx, QUORATE_METRICS_PROMETHEUS_TEXT, sink, &body);
  if (status != QUORATE_OK)
    return answer("500 Internal Server Error", kPlain, rpc_error(status).text + "\n");
  answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", body);
}

}  // namespace quorate::frontend_etcd
