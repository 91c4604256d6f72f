// SPDX-License-Identifier: Apache-2.0
/* frontend_etcd/address.h — where a front-end listens, when port 0 let the system choose. */
#pragma once

#include "quorate/frontend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUORATE_FRONTEND_ADDRESS "quorate.frontend.address/1"
typedef struct quorate_frontend_address {
  uint32_t struct_size;
  /* The URL that listen_urls[index] became, for instance "http://127.0.0.1:41233"; NULL before
   * start() and for an index out of range. Valid until the front-end is destroyed. [any-thread] */
  const char* (*bound)(quorate_frontend* frontend, uint32_t index);
} quorate_frontend_address;

#ifdef __cplusplus
} /* extern "C" */
#endif
