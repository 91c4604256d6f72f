// SPDX-License-Identifier: Apache-2.0
// From the request language's answers to etcd's response messages. Records are never decoded: the
// runs that an answer carries are etcd's own bytes.
#pragma once

#include <string>
#include <string_view>

#include "frontend_etcd/methods.h"
#include "frontend_etcd/request_codec.h"
#include "schemas/api.capnp.h"

namespace quorate::frontend_etcd {

// The header of every answer.
struct Header {
  uint64_t cluster_id = 0;
  uint64_t member_id = 0;
  int64_t revision = 0;
  uint64_t raft_term = 0;
};
Header header_of(schema::Header::Reader header);

// As field 1 of a message, as all of etcd's responses have it.
void write_header(std::string& out, const Header& header);

// Appends the response message of `method`. `request` is the Request's bytes when the facts say
// that they are needed, else empty. False when the answer is not one of that method, or damaged:
// our own fault, and `out` holds a part of it. Throws kj::Exception on bytes that are no message.
bool encode_response(Method method, const RequestFacts& facts, std::string_view request,
                     schema::Response::Reader response, std::string& out);

// A range's answer in three parts: what goes before the run of records, the run, and what follows.
void write_range_tail(std::string& out, schema::RangeResult::Reader range);

std::string_view view(capnp::Data::Reader data);

}  // namespace quorate::frontend_etcd
