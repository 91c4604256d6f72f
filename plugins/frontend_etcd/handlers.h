// SPDX-License-Identifier: Apache-2.0
// The kinds of calls. Each function makes the handler that does the work of a stream that has just
// begun; the handler frees itself (see Handler).
#pragma once

#include "frontend_etcd/http2.h"

namespace quorate::frontend_etcd {

// One request, one answer: everything that goes through submit_batch.
Handler* make_unary(Stream& stream);
// The lease keep-alive stream: a request for each message, answered in the order asked.
Handler* make_keep_alive(Stream& stream);
// A stream of watchers. Null when it could not be opened; the stream is finished then.
Handler* make_watch(Stream& stream);
// Check and Watch of gRPC's health service.
Handler* make_health(Stream& stream);

// Goes on with a range whose answer is too large for one piece. Takes over from the handler that
// asked, which forgets the stream. request: the range's Request, borrowed.
Handler* make_range_pull(Stream& stream, std::string_view request, bool keys_only);

}  // namespace quorate::frontend_etcd
