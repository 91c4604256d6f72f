// SPDX-License-Identifier: Apache-2.0
// A connection dialled for one purpose, with each address tried in turn, once. I/O thread only.
#pragma once

#include <memory>
#include <utility>

#include "transport_tcp/address.h"
#include "transport_tcp/connection.h"

namespace quorate::transport_tcp {

class Link : public ConnectionUser {
 public:
  ~Link() override { close_link(); }

 protected:
  explicit Link(Core& core) : core_(core) {}

  // addresses: at least one.
  void dial(Addresses addresses, uint64_t to, Purpose purpose) {
    addresses_ = std::move(addresses);
    next_ = 0;
    to_ = to;
    purpose_ = purpose;
    dial_next();
  }
  void close_link() {
    if (connection_) connection_->close();
    connection_.reset();
  }
  // Lost when open, or no address answered; the link may be destroyed inside.
  virtual void lost(const Closure& closure) = 0;

  Core& core_;
  std::shared_ptr<Connection> connection_;

 private:
  void closed(const Closure& closure) final {
    const bool was_open = connection_->is_open();
    connection_.reset();
    if (was_open || next_ == addresses_.size() || core_.stopping) return lost(closure);
    dial_next();
  }
  void dial_next() {
    connection_ = Connection::dial(core_, *this, addresses_[next_++], to_, purpose_);
  }

  Addresses addresses_;
  size_t next_ = 0;
  uint64_t to_ = 0;
  Purpose purpose_{};
};

}  // namespace quorate::transport_tcp
