// SPDX-License-Identifier: Apache-2.0
/* quorate/backend.h — an ordered, crash-atomic store of buckets of key-values. */
#ifndef QUORATE_BACKEND_H_
#define QUORATE_BACKEND_H_

#include "quorate/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUORATE_BACKEND_FACTORY "quorate.backend/1"
typedef struct quorate_backend quorate_backend;
typedef struct quorate_read quorate_read;     /* a consistent view */
typedef struct quorate_cursor quorate_cursor; /* a position in one bucket of it */

typedef struct quorate_backend_options {
  uint32_t struct_size;
  uint32_t bucket_count; /* fixed for the life of the directory */
  const char* const* buckets;
  const char* dir; /* exists; the backend owns what is inside */
  const quorate_host* host;
  uint64_t
      quota_bytes; /* must hold twice this before QUORATE_NO_SPACE; 0: what the file system holds */
  const quorate_option* options;
  uint32_t option_count;
} quorate_backend_options;

enum { QUORATE_OP_PUT = 1, QUORATE_OP_DELETE = 2 };
enum { QUORATE_OP_APPEND = 1 }; /* hint: key sorts after every key in the bucket */

typedef struct quorate_op {
  uint16_t kind, flags;
  uint32_t bucket;
  quorate_slice key,
      value; /* key: any length but 0, which is INVALID_ARGUMENT; value: may be empty */
} quorate_op;

enum { QUORATE_BACKEND_DURABLE = 1u << 0 }; /* what write() took survives the process */

typedef struct quorate_backend_stats {
  uint32_t struct_size, open_reads;
  uint64_t
      size; /* bytes it would keep if it did nothing more: without obsolete files and owed work */
  uint64_t size_in_use; /* of these, bytes holding live data; <= size */
} quorate_backend_stats;

typedef struct quorate_backend_factory {
  uint32_t struct_size, capabilities;
  /* Two objects may be open at once, on two directories. [host-thread] */
  quorate_status (*open)(const quorate_backend_options*, quorate_backend** out, quorate_error*);
  void (*close)(quorate_backend*); /* no reads open. [host-thread] */
  /* The whole write side. All ops or none survive a crash; on QUORATE_OK they are durable and every
   * read opened later sees them. [commit-thread] */
  quorate_status (*write)(quorate_backend*, const quorate_op* ops, size_t count, quorate_error*);
  /* Views. Any thread opens one; one thread at a time uses it. Its cursors are closed before it.
   * All [reader]. */
  quorate_status (*read_open)(quorate_backend*, quorate_read** out, quorate_error*);
  void (*read_close)(quorate_read*);
  /* value: valid until the next call on this read. */
  quorate_status (*get)(quorate_read*, uint32_t bucket, quorate_slice key, quorate_slice* value,
                        quorate_error*);
  quorate_status (*cursor_open)(quorate_read*, uint32_t bucket, quorate_cursor** out,
                                quorate_error*);
  void (*cursor_close)(quorate_cursor*);
  /* First pair with key >= `key`, then its successors in byte order; QUORATE_NOT_FOUND at the end,
   * and from next() until a seek() has found a pair. Pair: valid until the next call on this
   * cursor. */
  quorate_status (*seek)(quorate_cursor*, quorate_slice key, quorate_slice* out_key,
                         quorate_slice* out_value, quorate_error*);
  quorate_status (*next)(quorate_cursor*, quorate_slice* out_key, quorate_slice* out_value,
                         quorate_error*);

  quorate_status (*stats)(quorate_backend*, quorate_backend_stats* out,
                          quorate_error*);                        /* [reader] */
  const void* (*get_extension)(quorate_backend*, const char* id); /* [any-thread] */
} quorate_backend_factory;

/* Extension: an engine that gives space back in place, beside writes and reads. */
#define QUORATE_BACKEND_RECLAIM "quorate.backend.reclaim/1"
typedef struct quorate_backend_reclaim {
  uint32_t struct_size;
  /* Minutes, perhaps; concurrent with write() and reads. [worker-thread] */
  quorate_status (*reclaim)(quorate_backend*, quorate_error*);
  void (*cancel)(quorate_backend*); /* a running reclaim() returns soon. [any-thread] */
} quorate_backend_reclaim;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* QUORATE_BACKEND_H_ */
