// SPDX-License-Identifier: Apache-2.0
/* quorate/frontend.h — an API server in front of one member. */
#ifndef QUORATE_FRONTEND_H_
#define QUORATE_FRONTEND_H_

#include "quorate/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUORATE_FRONTEND_FACTORY "quorate.frontend/1"
typedef struct quorate_frontend quorate_frontend;

/* Who calls and how; copied. One may serve many requests of a connection. */
enum {
  QUORATE_CALL_HAS_LEADER = 1u << 0,  /* refuse, and cut, without a leader */
  QUORATE_CALL_AS_HEALTH = 1u << 1,   /* a health probe: range of limit 1, as root */
  QUORATE_CALL_FROM_GATEWAY = 1u << 2 /* the certificate's name is not the user */
};
typedef struct quorate_call {
  uint32_t struct_size, flags;
  uint64_t timeout_ms;           /* 0: the server's default, which bounds waits for other members */
  quorate_slice token;           /* auth token, empty for none */
  quorate_slice tls_common_name; /* of a verified client certificate */
  quorate_slice remote_address, client_api_version, trace;
} quorate_call;

/* Messages of api.capnp cross as one bare segment: eight-byte aligned, no segment table in front
 * (schemas/segment.h). */

/* One request: an api.capnp Request. For a write these very bytes become the log entry. */
typedef struct quorate_submission {
  const quorate_call* call;
  quorate_slice request;
  void* user;            /* names it in its completion */
  uint64_t call_id;      /* out: for cancel() */
  quorate_status status; /* out: not 0, refused at once, no completion follows */
} quorate_submission;

/* response: an api.capnp Response, with ids and revision, also when code is not 0. */
typedef struct quorate_completion {
  void* user;
  quorate_status code;
  uint32_t reserved;
  quorate_buf response;
} quorate_completion;

/* All that one turn completed for one sink. Must not block. [kernel-thread] */
typedef void (*quorate_on_done)(void* sink, const quorate_completion*, size_t count);

/* What one watcher of a stream is told. */
enum {
  QUORATE_WATCH_CREATED = 1,
  QUORATE_WATCH_EVENTS = 2,
  QUORATE_WATCH_PROGRESS = 3,
  QUORATE_WATCH_CLOSED = 4
};
#define QUORATE_WATCH_ALL UINT64_MAX /* the stream: PROGRESS of all; its end, CLOSED */
typedef struct quorate_watch_item {
  uint64_t watch;           /* the front-end's own number */
  int64_t revision;         /* for the header */
  int64_t compact_revision; /* CLOSED because of it, else 0 */
  uint32_t kind;
  quorate_status code; /* CLOSED: why */
  const quorate_buf*
      events; /* each an mvccpb.Event in wire form, whole revisions; equal owners: the same bytes */
  uint32_t event_count, reserved;
} quorate_watch_item;

/* All that one turn has for one stream, in order. BUSY: none was taken; the kernel holds the stream
 * back until watch_resume(). The batch that ends the stream must be taken. May come before
 * watch_add() has returned. [kernel-thread] */
typedef quorate_status (*quorate_on_watch)(void* user, const quorate_watch_item*, size_t count);

/* A pull: a long answer in pieces, sent only against credit. HEAD: an api.capnp Response; for a
 * range with count, more, and the exact bytes of all pieces to come. DATA: at most the credit left,
 * or one record. END comes last. */
enum { QUORATE_PIECE_HEAD = 1, QUORATE_PIECE_DATA = 2, QUORATE_PIECE_END = 3 };
typedef struct quorate_piece {
  uint32_t kind;
  quorate_status code; /* END: 0, CANCELLED, COMPACTED, ... */
  quorate_buf bytes;
} quorate_piece;
typedef void (*quorate_on_piece)(void* user, const quorate_piece*); /* [kernel-thread] */

enum { QUORATE_SNAPSHOT_NATIVE = 0, QUORATE_SNAPSHOT_BBOLT = 1 };

/* What a front-end gets. All [any-thread]; all post, none blocks. Ids are never used twice; a stale
 * one is ignored. */
typedef struct quorate_services {
  uint32_t struct_size;
  void* ctx;
  /* Everything with one answer: put, range, delete, txn, compact; lease grant, revoke, keep-alive,
   * time-to-live; auth; cluster; alarms, status, hash, defragment, move-leader. The calls of one
   * poll turn are one batch: one wake. stride: sizeof the caller's submission. */
  void (*submit_batch)(void* ctx, quorate_on_done, void* sink, quorate_submission* items,
                       size_t stride, size_t count);
  /* The completion still comes: CANCELLED, the answer, or UNKNOWN_OUTCOME for a write that was
   * already proposed. */
  void (*cancel)(void* ctx, uint64_t call_id);
  /* A stream of watchers. watch_add: an api.capnp WatchCreate; CREATED or CLOSED follows, in the
   * order of the adds. watch_remove: CLOSED follows, once for each watcher. watch_progress:
   * PROGRESS for WATCH_ALL once every watcher is synced and has been told everything up to that
   * revision. watch_close: CLOSED for WATCH_ALL is the last call that names user. */
  quorate_status (*watch_open)(void* ctx, const quorate_call*, quorate_on_watch, void* user,
                               uint64_t* stream, quorate_error*);
  quorate_status (*watch_add)(void* ctx, uint64_t stream, uint64_t watch, quorate_slice request);
  void (*watch_remove)(void* ctx, uint64_t stream, uint64_t watch);
  void (*watch_progress)(void* ctx, uint64_t stream);
  void (*watch_resume)(void* ctx, uint64_t stream);
  void (*watch_close)(void* ctx, uint64_t stream);
  /* A range of any size at one pinned revision; request: a Request that holds a range. rewind: from
   * HEAD again, at the same revision. close: END follows. */
  quorate_status (*range_open)(void* ctx, const quorate_call*, quorate_slice request,
                               quorate_on_piece, void* user, uint64_t* pull, quorate_error*);
  void (*range_credit)(void* ctx, uint64_t pull, uint64_t bytes);
  void (*range_rewind)(void* ctx, uint64_t pull);
  void (*range_close)(void* ctx, uint64_t pull);
  /* The maintenance snapshot, a pull likewise: range_credit, range_close. HEAD says the exact size.
   */
  quorate_status (*snapshot_open)(void* ctx, const quorate_call*, uint32_t format, quorate_on_piece,
                                  void* user, uint64_t* pull, quorate_error*);
  const void* (*get_extension)(void* ctx, const char* id);
} quorate_services;

typedef struct quorate_frontend_options {
  uint32_t struct_size, listen_url_count;
  const char* const* listen_urls;
  const quorate_host* host;
  const quorate_option* options;
  uint32_t option_count;
} quorate_frontend_options;

typedef struct quorate_frontend_factory {
  uint32_t struct_size, capabilities; /* no capability yet: 0 */
  quorate_status (*create)(const quorate_frontend_options*, const quorate_services*,
                           quorate_frontend** out, quorate_error*); /* [host-thread] */
  /* Binds and serves on its own threads; returns once bound. [host-thread] */
  quorate_status (*start)(quorate_frontend*, quorate_error*);
  void (*stop)(quorate_frontend*, uint64_t drain_ms);              /* [host-thread] */
  void (*destroy)(quorate_frontend*);                              /* [host-thread] */
  const void* (*get_extension)(quorate_frontend*, const char* id); /* [any-thread] */
} quorate_frontend_factory;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* QUORATE_FRONTEND_H_ */
