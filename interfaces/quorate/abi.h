// SPDX-License-Identifier: Apache-2.0
/* quorate/abi.h — the words every plugin interface shares. C11, also C++20. */
#ifndef QUORATE_ABI_H_
#define QUORATE_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Rules of the border
 *
 * 1. One exported data symbol, quorate_entry; the host reads struct_size and abi_major before it
 * calls anything. Major differs: refused with a sentence that names both numbers. Minor: either
 * side may be newer.
 * 2. A *table* or *options struct* begins with struct_size, is only ever appended to, and its
 * reader asks QUORATE_HAS before touching a field younger than 1.0. Small *value* structs that
 * stand in arrays (quorate_slice, quorate_buf, quorate_op, quorate_message, quorate_completion,
 * quorate_watch_item, …) are frozen: another shape is another type. An array that must be able to
 * grow is passed with a stride.
 * 3. Something optional or new in kind is an *extension*:
 * get_extension("quorate.backend.reclaim/1"), NULL when absent, id never changes, a new revision is
 * a new id beside the old.
 * 4. C only: fixed-width integers, pointer and length, opaque handles. No exception, longjmp,
 * errno, FILE*, bool, bit-field, C++ type. Layout does not depend on build flags; a golden file of
 * sizes and offsets is a test, and until 1.0 a change of it needs a line in the CHANGELOG.
 * 5. Whoever allocates frees, through the same table. Borrowed data is valid until the call
 * returns, unless the comment says otherwise. Nothing a plugin allocated is kept after its call
 * returns: the kernel copies. quorate_buf, the one shared thing, goes from kernel to plugin only.
 * 6. A completion comes exactly once, also on cancel and on stop, and never from inside the call
 * that asked for it; it may come, on another thread, before that call has returned. So a callback
 * finds its object by user, never by an id that the call has yet to store.
 * 7. No function waits for another party: not for a peer, a client, a loop or a callback; at most
 * for its own disk. What cannot be taken now is answered QUORATE_BUSY, nothing of it was taken, and
 * a ready call follows. (BUSY for a submitted request is the client's answer: overload, not flow
 * control.)
 * 8. Stop has three steps. stop(drain_ms): the plugin takes no new work and returns within that
 * time. Then the host completes every outstanding call (with its answer or CANCELLED) and closes
 * every stream. Then destroy(): the plugin has released every quorate_buf before it returns, and no
 * callback comes after it. Until then a plugin frees nothing that a callback may name.
 * 9. Each function has a thread tag. The tags are concurrency guards, not operating-system threads;
 * two tags on one function mean both may call at once. [host-thread] some thread of the host, one
 * call at a time for one object (for one directory, where a directory is named); [commit-thread]
 * one at a time for one object, may block on disk; [reader] a pool thread or a loop, may block on
 * disk; [worker-thread] a pool thread, may block on disk; [kernel-thread] some loop, must not
 * block; [plugin-thread] a thread of the plugin's; [any-thread] concurrent, must not block.
 */

#define QUORATE_ABI_MAJOR 1 /* differs: the host refuses the plugin */
#define QUORATE_ABI_MINOR 0 /* grows: fields appended to tables, new extension ids */
/* Every table starts with struct_size, set by the side that fills it in. */
#define QUORATE_HAS(table, field) \
  ((size_t)((const char*)(&(table)->field + 1) - (const char*)(table)) <= (table)->struct_size)

/* 0 is success. The numbers are those of ErrorCode in schemas/api.capnp; a code the receiver does
 * not know counts as QUORATE_INTERNAL. */
typedef int32_t quorate_status;
enum {
  QUORATE_OK = 0,
  QUORATE_NOT_FOUND = 1,
  QUORATE_INVALID_ARGUMENT = 2,
  QUORATE_UNSUPPORTED = 3,
  QUORATE_BUSY = 4,     /* nothing was taken; a ready call follows, or, for a request, overload */
  QUORATE_NO_SPACE = 5, /* the disk or the map of an engine is full */
  QUORATE_CORRUPT = 6,
  QUORATE_IO_ERROR = 7,
  QUORATE_CANCELLED = 8,
  QUORATE_TIMEOUT = 9,
  QUORATE_UNAVAILABLE = 10,
  QUORATE_INTERNAL = 11,
  QUORATE_UNKNOWN_OUTCOME = 12, /* proposed; may or may not take effect */
  QUORATE_USE_RANGE_OPEN = 13,  /* the answer is too large for one piece */
  QUORATE_COMPACTED = 14,
  QUORATE_FUTURE_REVISION = 15,
  QUORATE_EMPTY_KEY = 16,
  QUORATE_KEY_NOT_FOUND = 17,
  QUORATE_VALUE_PROVIDED = 18,
  QUORATE_LEASE_PROVIDED = 19,
  QUORATE_TOO_MANY_OPS = 20,
  QUORATE_DUPLICATE_KEY = 21,
  QUORATE_INVALID_SORT_OPTION = 22,
  QUORATE_INVALID_CLIENT_API_VERSION = 23,
  QUORATE_REQUEST_TOO_LARGE = 24,
  QUORATE_BAD_MEMBER_URLS = 25,
  QUORATE_USER_EMPTY = 26,
  QUORATE_ROLE_EMPTY = 27,
  QUORATE_AUTH_FAILED = 28,
  QUORATE_PERMISSION_NOT_GIVEN = 29,
  QUORATE_INVALID_AUTH_MANAGEMENT = 30,
  QUORATE_AUTH_OLD_REVISION = 31,
  QUORATE_LEASE_TTL_TOO_LARGE = 32,
  QUORATE_LEASE_NOT_FOUND = 33,
  QUORATE_LEASE_EXISTS = 34,
  QUORATE_MEMBER_NOT_FOUND = 35,
  QUORATE_MEMBER_EXISTS = 36,
  QUORATE_PEER_URL_EXISTS = 37,
  QUORATE_MEMBER_NOT_LEARNER = 38,
  QUORATE_LEARNER_NOT_READY = 39,
  QUORATE_TOO_MANY_LEARNERS = 40,
  QUORATE_CLUSTER_ID_MISMATCH = 41,
  QUORATE_ROOT_USER_NOT_EXIST = 42,
  QUORATE_ROOT_ROLE_NOT_EXIST = 43,
  QUORATE_USER_EXISTS = 44,
  QUORATE_USER_NOT_FOUND = 45,
  QUORATE_ROLE_EXISTS = 46,
  QUORATE_ROLE_NOT_FOUND = 47,
  QUORATE_ROLE_NOT_GRANTED = 48,
  QUORATE_PERMISSION_NOT_GRANTED = 49,
  QUORATE_AUTH_NOT_ENABLED = 50,
  QUORATE_PERMISSION_DENIED = 51,
  QUORATE_INVALID_AUTH_TOKEN = 52,
  QUORATE_NO_PASSWORD_USER = 53,
  QUORATE_NOT_LEADER = 54,
  QUORATE_BAD_LEADER_TRANSFEREE = 55,
  QUORATE_TRANSFER_TIMEOUT = 56,
  QUORATE_NOT_CAPABLE = 57,
  QUORATE_NOT_SUPPORTED_FOR_LEARNER = 58,
  QUORATE_DOWNGRADE_VERSION_FORMAT = 59,
  QUORATE_DOWNGRADE_TARGET = 60,
  QUORATE_DOWNGRADE_IN_PROGRESS = 61,
  QUORATE_NO_DOWNGRADE = 62,
  QUORATE_NO_LEADER = 63,
  QUORATE_LEADER_CHANGED = 64,
  QUORATE_STOPPED = 65,
  QUORATE_TIMEOUT_LEADER_FAILURE = 66,
  QUORATE_TIMEOUT_CONNECTION_LOST = 67,
  QUORATE_TIMEOUT_WAIT_APPLY = 68,
  QUORATE_UNHEALTHY_CLUSTER = 69,
  QUORATE_NOT_ENOUGH_STARTED = 70,
  QUORATE_CORRUPT_CLUSTER = 71,
  QUORATE_TOO_MANY_REQUESTS = 72,
  QUORATE_QUOTA_EXCEEDED = 73, /* the NOSPACE alarm, or the quota itself */
  QUORATE_NOT_PRIMARY_LESSOR = 74,
  QUORATE_WATCH_EMPTY_RANGE = 75,
  QUORATE_WATCH_DUPLICATE_ID = 76,
  QUORATE_DAMAGED_REQUEST = 77,
  QUORATE_PROPOSAL_DROPPED = 78,
};

/* Allocated by the caller, filled by the callee; may be NULL. */
typedef struct quorate_error {
  uint32_t struct_size;
  quorate_status code;
  int32_t native_code; /* errno, MDB_*, OpenSSL: for the log, never for logic */
  char message[244];
} quorate_error;

/* Borrowed bytes: valid until the call returns unless its comment says more. */
typedef struct quorate_slice {
  const uint8_t* data;
  size_t size;
} quorate_slice;

/* Shared, immutable bytes of the kernel's. Any thread may retain or release. A plugin is lent one
 * for the call and retains what it wants to keep. */
typedef struct quorate_buf {
  quorate_slice bytes;
  void* owner; /* equal owners: the same bytes */
  void (*retain)(void* owner);
  void (*release)(void* owner);
} quorate_buf;

typedef struct quorate_option {
  const char* key;
  const char* value;
} quorate_option;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* QUORATE_ABI_H_ */
