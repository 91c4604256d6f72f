// SPDX-License-Identifier: Apache-2.0
#include "watch/watcher.h"

#include "schemas/api.capnp.h"
#include "schemas/segment.h"

namespace quorate::watch {
namespace {

std::string text(capnp::Data::Reader data) {
  return std::string(reinterpret_cast<const char*>(data.begin()), data.size());
}

WatchSpec read_spec(schema::WatchCreate::Reader from) {
  WatchSpec spec;
  spec.key = text(from.getKey());
  if (spec.key.empty()) spec.key.assign(1, '\0');
  spec.range_end = text(from.getRangeEnd());
  spec.start_revision = from.getStartRevision();
  spec.progress_notify = from.getProgressNotify();
  spec.no_put = from.getNoPut();
  spec.no_delete = from.getNoDelete();
  spec.prev_kv = from.getPrevKv();
  return spec;
}

}  // namespace

Result<WatchSpec> decode_watch(Slice request) {
  const Bytes aligned = reinterpret_cast<uintptr_t>(request.data()) % 8 == 0
                            ? Bytes(request, nullptr)
                            : Bytes::copy(request);
  if (schema::SegmentReader::well_formed(aligned.slice())) {
    try {
      schema::SegmentReader reader(aligned.slice());
      return read_spec(reader.root<schema::WatchCreate>());
    } catch (const kj::Exception&) {
    }
  }
  return Status(Code::kDamagedRequest, "the watch request is not a message of the schema");
}

}  // namespace quorate::watch
