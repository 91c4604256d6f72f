// SPDX-License-Identifier: Apache-2.0
#include "apply/applier.h"

#include <string>

namespace quorate::apply {

schema::Response::Builder ResponseBuilder::start(const ReplyHeader& header, int64_t revision,
                                                 size_t bytes_expected) {
  auto response = segment_.start<schema::Response>(bytes_expected);
  auto to = response.initHeader();
  to.setClusterId(header.cluster_id);
  to.setMemberId(header.member_id);
  to.setRaftTerm(header.raft_term);
  to.setRevision(revision);
  return response;
}

Bytes ResponseBuilder::finish() {
  return Bytes::copy(segment_.finish());
}

Bytes encode_error(const ReplyHeader& header, int64_t revision, std::string_view message) {
  ResponseBuilder builder;
  const std::string text(message);  // ends with a zero, as the builder wants it
  builder.start(header, revision, message.size()).setMessage(text.c_str());
  return builder.finish();
}

}  // namespace quorate::apply
