// SPDX-License-Identifier: Apache-2.0
/* quorate/transport.h — moves opaque messages, calls and snapshots between members. */
#ifndef QUORATE_TRANSPORT_H_
#define QUORATE_TRANSPORT_H_

#include "quorate/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUORATE_TRANSPORT_FACTORY "quorate.transport/1"
typedef struct quorate_transport quorate_transport;
typedef struct quorate_stream quorate_stream; /* an outgoing snapshot */

/* Who is at the other end. member_id is a claim until authorize() accepts it; 0 is a process that
 * has no id yet and may only make calls. */
typedef struct quorate_peer_identity {
  uint32_t struct_size, protocol_version;
  uint64_t cluster_id, member_id;
  const char* address;
  const char* tls_common_name; /* NULL without a verified certificate */
  const char* const* tls_names;
  uint32_t tls_name_count;
} quorate_peer_identity;

/* One raft message: a header the kernel wrote and the entry payloads, as parts to be sent back to
 * back. The transport never looks inside. The channels may use connections of their own; other
 * numbers are reserved. */
enum { QUORATE_CHANNEL_CONTROL = 0, QUORATE_CHANNEL_APPEND = 1 };
typedef struct quorate_message {
  uint64_t to;
  uint32_t channel;
  uint32_t part_count;
  const quorate_buf* parts;
} quorate_message;

/* RESET: the other process closed or lost its end, which is how a death looks. SILENT: nothing came
 * for the transport's own limit. REFUSED: authorize() or the other side said no. */
enum {
  QUORATE_PEER_CONNECTED = 1,
  QUORATE_PEER_RESET = 2,
  QUORATE_PEER_SILENT = 3,
  QUORATE_PEER_REFUSED = 4
};
enum { QUORATE_STREAM_READY = 1, QUORATE_STREAM_DONE = 2 };

/* Answers one call(), exactly once. [plugin-thread] */
typedef void (*quorate_on_reply)(void* user, quorate_status code, quorate_slice reply);

/* What the kernel offers a transport. All [plugin-thread]; none blocks, all copy. */
typedef struct quorate_receiver {
  uint32_t struct_size;
  void* ctx;
  /* During the handshake, before anything else of that peer. */
  quorate_status (*authorize)(void* ctx, const quorate_peer_identity*);
  /* Each slice is one whole message. What exceeds the kernel's mailbox is dropped and counted: raft
   * resends, and its in-flight limits keep this rare. */
  void (*on_messages)(void* ctx, uint64_t from, const quorate_slice*, size_t count);
  /* After each change, and to each peer that set_peer() named. */
  void (*on_peer)(void* ctx, uint64_t member_id, uint32_t state, const char* reason);
  /* A peer's call(); the kernel answers with reply(token), once. */
  void (*on_call)(void* ctx, const quorate_peer_identity*, uint64_t token, quorate_slice request);
  /* READY after a BUSY of stream_write(); DONE after stream_finish(), with the receiver's verdict:
   * the last call that names this user. */
  void (*on_stream)(void* ctx, void* user, uint32_t event, quorate_status code);
  /* An incoming snapshot; `stream` is the transport's name for it. begin and block: BUSY, and
   * nothing was taken until on_snapshot(READY); another error: send no more and call end. end: the
   * sender's code; on_snapshot(DONE) follows. */
  quorate_status (*snapshot_begin)(void* ctx, uint64_t stream, uint64_t from, quorate_slice meta);
  quorate_status (*snapshot_block)(void* ctx, uint64_t stream, quorate_slice block);
  void (*snapshot_end)(void* ctx, uint64_t stream, quorate_status sender);
} quorate_receiver;

typedef struct quorate_transport_options {
  uint32_t struct_size, option_count;
  const quorate_option* options;
  const quorate_host* host;
} quorate_transport_options;

typedef struct quorate_transport_factory {
  uint32_t struct_size, capabilities; /* no capability yet: 0 */
  quorate_status (*create)(const quorate_transport_options*, const quorate_receiver*,
                           quorate_transport** out, quorate_error*);             /* [host-thread] */
  void (*stop)(quorate_transport*, uint64_t drain_ms);                           /* [host-thread] */
  void (*destroy)(quorate_transport*);                                           /* [host-thread] */
  quorate_status (*listen)(quorate_transport*, const char* url, quorate_error*); /* [host-thread] */
  /* Before the first send(); a joiner learns its id by call() first. [host-thread] */
  void (*set_self)(quorate_transport*, uint64_t cluster_id, uint64_t member_id);
  /* Dials and redials by itself; a second call replaces the addresses. [kernel-thread] */
  quorate_status (*set_peer)(quorate_transport*, uint64_t member_id, const char* const* urls,
                             uint32_t count, quorate_error*);
  void (*remove_peer)(quorate_transport*, uint64_t member_id); /* [kernel-thread] */
  /* Never blocks and may drop: raft resends. Order per (peer, channel) is kept. [any-thread] */
  void (*send)(quorate_transport*, const quorate_message*, size_t count);
  /* A question to a member, or to an address whose member is not known yet (member_id 0).
   * UNAVAILABLE or TIMEOUT when it cannot be had; when the other side's authorize() refuses this
   * member, its code. [any-thread] */
  void (*call)(quorate_transport*, uint64_t member_id, const char* url, const quorate_buf* request,
               uint64_t timeout_ms, quorate_on_reply, void* user);
  void (*reply)(quorate_transport*, uint64_t token, quorate_status code,
                const quorate_buf* reply); /* [any-thread] */
  /* An outgoing snapshot, a block a turn. write: BUSY, and on_stream(READY) follows; another error:
   * the stream is broken, finish it. finish: no more blocks, or, with a code, given up;
   * on_stream(DONE) follows and frees the stream. [worker-thread] */
  quorate_status (*stream_open)(quorate_transport*, uint64_t to, const quorate_buf* meta,
                                void* user, quorate_stream** out, quorate_error*);
  quorate_status (*stream_write)(quorate_stream*, const quorate_buf* block);
  void (*stream_finish)(quorate_stream*, quorate_status code);
  /* For an incoming one: READY after a BUSY; DONE with the verdict, exactly once, after which its
   * name is free. [any-thread] */
  void (*on_snapshot)(quorate_transport*, uint64_t stream, uint32_t event, quorate_status code);
  const void* (*get_extension)(quorate_transport*, const char* id); /* [any-thread] */
} quorate_transport_factory;

/* Extension: figures for metrics and for people. */
#define QUORATE_TRANSPORT_STATS "quorate.transport.stats/1"
typedef struct quorate_peer_stats {
  uint64_t member_id, sent_bytes, received_bytes, sent_failures, rtt_us;
  uint64_t state_ms; /* in its present state for so long */
} quorate_peer_stats;
typedef struct quorate_transport_stats {
  uint32_t struct_size;
  /* The number of peers, of which the first `capacity` are written. [any-thread] */
  size_t (*read)(quorate_transport*, quorate_peer_stats* out, size_t capacity);
} quorate_transport_stats;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* QUORATE_TRANSPORT_H_ */
