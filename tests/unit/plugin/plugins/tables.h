// SPDX-License-Identifier: Apache-2.0
/* A whole backend table and a whole plugin entry that do as good as nothing, for plugins that
 * differ from them in one thing. */
#ifndef QUORATE_TEST_TABLES_H_
#define QUORATE_TEST_TABLES_H_

#include <string.h>

#include "quorate/backend.h"
#include "quorate/frontend.h"
#include "quorate/transport.h"

/* What get_extension("test.counts/1") of the backend gives. */
typedef struct test_counts {
  int32_t inits, deinits;
} test_counts;

static test_counts counts;
static int backend_object, read_object, cursor_object;

static inline quorate_status test_open(const quorate_backend_options* options,
                                       quorate_backend** out, quorate_error* error) {
  (void)error;
  options->host->log(options->host->ctx, QUORATE_LOG_INFO, "test",
                     (quorate_slice){(const uint8_t*)"opened\nhere", 11});
  *out = (quorate_backend*)&backend_object;
  return QUORATE_OK;
}
static inline void test_close(quorate_backend* backend) {
  (void)backend;
}
static inline quorate_status test_write(quorate_backend* backend, const quorate_op* ops,
                                        size_t count, quorate_error* error) {
  (void)backend, (void)ops, (void)count, (void)error;
  return QUORATE_OK;
}
static inline quorate_status test_read_open(quorate_backend* backend, quorate_read** out,
                                            quorate_error* error) {
  (void)backend, (void)error;
  *out = (quorate_read*)&read_object;
  return QUORATE_OK;
}
static inline void test_read_close(quorate_read* read) {
  (void)read;
}
static inline quorate_status test_get(quorate_read* read, uint32_t bucket, quorate_slice key,
                                      quorate_slice* value, quorate_error* error) {
  (void)read, (void)bucket, (void)key, (void)value, (void)error;
  return QUORATE_NOT_FOUND;
}
static inline quorate_status test_cursor_open(quorate_read* read, uint32_t bucket,
                                              quorate_cursor** out, quorate_error* error) {
  (void)read, (void)bucket, (void)error;
  *out = (quorate_cursor*)&cursor_object;
  return QUORATE_OK;
}
static inline void test_cursor_close(quorate_cursor* cursor) {
  (void)cursor;
}
static inline quorate_status test_seek(quorate_cursor* cursor, quorate_slice key,
                                       quorate_slice* out_key, quorate_slice* out_value,
                                       quorate_error* error) {
  (void)cursor, (void)key, (void)out_key, (void)out_value, (void)error;
  return QUORATE_NOT_FOUND;
}
static inline quorate_status test_next(quorate_cursor* cursor, quorate_slice* out_key,
                                       quorate_slice* out_value, quorate_error* error) {
  (void)cursor, (void)out_key, (void)out_value, (void)error;
  return QUORATE_NOT_FOUND;
}
static inline quorate_status test_stats(quorate_backend* backend, quorate_backend_stats* out,
                                        quorate_error* error) {
  (void)backend, (void)error;
  out->open_reads = 0;
  out->size = out->size_in_use = 0;
  return QUORATE_OK;
}
static inline const void* test_extension(quorate_backend* backend, const char* id) {
  (void)backend;
  return strcmp(id, "test.counts/1") == 0 ? &counts : NULL;
}

#define TEST_BACKEND_FIELDS                                                               \
  .struct_size = sizeof(quorate_backend_factory), .open = test_open, .close = test_close, \
  .write = test_write, .read_open = test_read_open, .read_close = test_read_close,        \
  .get = test_get, .cursor_open = test_cursor_open, .cursor_close = test_cursor_close,    \
  .seek = test_seek, .next = test_next, .stats = test_stats, .get_extension = test_extension

static inline quorate_status test_init(const quorate_host* host, quorate_error* error) {
  (void)host, (void)error;
  ++counts.inits;
  return QUORATE_OK;
}
static inline void test_deinit(void) {
  ++counts.deinits;
}
static inline const void* test_backend_only(const char* factory_id) {
  static const quorate_backend_factory table = {TEST_BACKEND_FIELDS};
  return strcmp(factory_id, QUORATE_BACKEND_FACTORY) == 0 ? &table : NULL;
}
static inline const quorate_option_spec* test_options(const char* factory_id, uint32_t* count) {
  static const quorate_option_spec specs[] = {
      {"map-size", "1GiB", "how large the store may grow", QUORATE_OPTION_BYTES, 0}};
  (void)factory_id;
  *count = 1;
  return specs;
}

#define TEST_ENTRY_FIELDS                                                                        \
  .struct_size = sizeof(quorate_plugin), .abi_major = QUORATE_ABI_MAJOR,                         \
  .abi_minor = QUORATE_ABI_MINOR, .id = "org.quorate.test", .version = "0.1", .init = test_init, \
  .deinit = test_deinit, .get_factory = test_backend_only, .options = test_options

#endif
