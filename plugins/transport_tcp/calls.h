// SPDX-License-Identifier: Apache-2.0
// Questions between members, ours and theirs. Each target has one connection, dialled at the first
// question and closed when it rests. I/O thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "transport_tcp/link.h"
#include "transport_tcp/parts.h"

namespace quorate::transport_tcp {

struct Question {
  uint64_t member_id = 0;
  Parts request;  // one
  milliseconds timeout{};
  quorate_on_reply done = nullptr;
  void* user = nullptr;

  void answer(quorate_status code, std::string_view reply = {}) const {
    done(user, code, sdk::slice(reply));
  }
};

// Ours. Each question is answered once: by the reply, the deadline, or the loss of the connection.
class Calls {
 public:
  explicit Calls(Core& core);
  ~Calls();

  // addresses: of the member or of the URL; none: nobody knows where that is.
  void ask(Question question, Addresses addresses);
  // The member is gone, or the transport stops.
  void give_up(uint64_t member_id);
  void give_up_all();
  // The next question is asked under the name we have by then.
  void renew();
  bool idle() const;
  void tick(Time now);

 private:
  class Target;
  using Key = std::pair<uint64_t, std::string>;

  Core& core_;
  std::map<Key, std::unique_ptr<Target>> targets_;
  uint64_t next_id_ = 1;
};

// Theirs. A token names one question until the kernel answers it.
class Answers {
 public:
  explicit Answers(Core& core) : core_(core) {}

  // open_count: one more until the answer.
  uint64_t token_for(std::weak_ptr<Connection> connection, uint64_t id,
                     std::shared_ptr<size_t> open_count);
  // An unknown token is an answer to somebody who left.
  void reply(uint64_t token, quorate_status code, Parts reply);
  bool idle() const { return open_.empty(); }

 private:
  struct Open {
    std::weak_ptr<Connection> connection;
    uint64_t id;
    std::shared_ptr<size_t> open_count;
  };

  Core& core_;
  std::map<uint64_t, Open> open_;
  uint64_t next_token_ = 1;
};

}  // namespace quorate::transport_tcp
