// SPDX-License-Identifier: Apache-2.0
// The server's side of one HTTP/1.1 connection: health, version and metrics, a request at a time.
//
// Lives on the I/O thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend_etcd/core.h"

namespace quorate::frontend_etcd {

class HealthProbe;

class Http1Session {
 public:
  Http1Session(Core& core, Flushable* connection);
  ~Http1Session();
  Http1Session(const Http1Session&) = delete;
  Http1Session& operator=(const Http1Session&) = delete;

  void receive(std::string_view bytes);
  // Appends what is to be written.
  void produce(std::string& out);
  // No answer is owed; when closing() too, the connection can go.
  bool idle() const { return probe_ == nullptr && out_.empty(); }
  bool closing() const { return closing_; }
  // Ends the connection after the answer that is owed.
  void drain() { closing_ = true; }

  Core& core() { return core_; }

 private:
  friend class HealthProbe;

  struct Request {
    std::string method, path, query;
  };

  void serve();
  bool take_request(Request& request);
  void route(const Request& request);
  void answer(std::string_view status, std::string_view type, std::string_view body,
              std::string_view more_headers = {});
  void refuse(std::string_view status);
  void probe_done(const std::string& status, const std::string& body);
  void version();
  void metrics();

  Core& core_;
  Flushable* const connection_;
  std::string in_;
  std::string out_;
  size_t body_left_ = 0;  // of a request that was answered, still to be read over
  HealthProbe* probe_ = nullptr;
  bool closing_ = false;
  bool close_after_ = false;  // the request asked for it
  bool head_only_ = false;
  bool serving_ = false;
};

}  // namespace quorate::frontend_etcd
