// SPDX-License-Identifier: Apache-2.0
/* quorate/host.h — optional services of a host, found through quorate_host. */
#ifndef QUORATE_HOST_H_
#define QUORATE_HOST_H_

#include "quorate/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUORATE_HOST_MEMBER "quorate.host.member/1"
enum { QUORATE_ROLE_FOLLOWER = 0, QUORATE_ROLE_CANDIDATE = 1, QUORATE_ROLE_LEADER = 2 };
enum { QUORATE_ALARM_NOSPACE = 1u << 0, QUORATE_ALARM_CORRUPT = 1u << 1 };
enum { QUORATE_MEMBER_LEARNER = 1u << 0, QUORATE_MEMBER_READY = 1u << 1 };
typedef struct quorate_member_info {
  uint32_t struct_size; /* set by the caller */
  uint32_t role, flags, alarms;
  uint64_t cluster_id, member_id, leader_id, term; /* leader_id 0: none known */
  uint64_t commit_index, applied_index;
  int64_t revision;
  char server_version[16], cluster_version[16];
} quorate_member_info;
typedef struct quorate_host_member {
  uint32_t struct_size;
  void* ctx;
  void (*read)(void* ctx, quorate_member_info* out); /* [any-thread] */
  /* on_change: leader, role, alarm, version or readiness changed; read again. At most one for each
   * object; it lasts until the object is stopped. subscribe [host-thread, plugin-thread], on_change
   * [kernel-thread] */
  void (*subscribe)(void* ctx, void (*on_change)(void* user), void* user);
} quorate_host_member;

#define QUORATE_HOST_METRICS "quorate.host.metrics/1"
enum { QUORATE_METRIC_COUNTER = 0, QUORATE_METRIC_GAUGE = 1, QUORATE_METRIC_HISTOGRAM = 2 };
enum { QUORATE_METRICS_PROMETHEUS_TEXT = 0 };
typedef struct quorate_metric quorate_metric;
typedef struct quorate_host_metrics {
  uint32_t struct_size;
  void* ctx;
  /* Same name and labels: the same metric. labels: "" or "k=\"v\",...". It lives as long as the
   * host. [any-thread] */
  quorate_metric* (*define)(void* ctx, uint32_t kind, const char* name, const char* labels,
                            const char* help, const double* bounds, uint32_t bound_count);
  /* Adds to a counter, sets a gauge, observes in a histogram. [any-thread] */
  void (*record)(quorate_metric*, double value);
  /* Everything the server knows, in pieces; sink runs inside the call. [plugin-thread] */
  quorate_status (*render)(void* ctx, uint32_t format, void (*sink)(void* user, quorate_slice text),
                           void* user);
} quorate_host_metrics;

#define QUORATE_HOST_CONFIG "quorate.host.config/1"
typedef struct quorate_host_config {
  uint32_t struct_size;
  void* ctx;
  /* A server setting by its flag's name ("max-request-bytes"), as text; NULL for an unknown name.
   * Valid as long as the host. [any-thread] */
  const char* (*get)(void* ctx, const char* name);
} quorate_host_config;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* QUORATE_HOST_H_ */
