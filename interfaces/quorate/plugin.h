// SPDX-License-Identifier: Apache-2.0
/* quorate/plugin.h — the door: one exported symbol, readable before any code runs. */
#ifndef QUORATE_PLUGIN_H_
#define QUORATE_PLUGIN_H_

#include "quorate/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { QUORATE_LOG_DEBUG = 0, QUORATE_LOG_INFO = 1, QUORATE_LOG_WARN = 2, QUORATE_LOG_ERROR = 3 };

/* One for the process (init) and one for each object (its options): what the second logs and counts
 * carries the server's name. Valid until deinit() or until the object is destroyed. */
typedef struct quorate_host {
  uint32_t struct_size, abi_major, abi_minor;
  void* ctx;
  /* text: one line, UTF-8; copied. [any-thread] */
  void (*log)(void* ctx, int32_t level, const char* component, quorate_slice text);
  /* Services by id, see host.h; NULL when absent. [any-thread] */
  const void* (*get_extension)(void* ctx, const char* id);
} quorate_host;

/* What an option means, said by the plugin itself. The loader refuses unknown keys and bad values
 * and prints the list. Keys that begin with "tls." (cert-file, key-file, trusted-ca-file,
 * client-cert-auth, crl-file, allowed-cn, allowed-hostname, min-version, cipher-suites) mean the
 * same to all plugins. */
enum {
  QUORATE_OPTION_STRING = 0,
  QUORATE_OPTION_INT = 1,
  QUORATE_OPTION_BOOL = 2,
  QUORATE_OPTION_BYTES = 3,
  QUORATE_OPTION_DURATION_MS = 4,
  QUORATE_OPTION_PATH = 5
};
enum { QUORATE_OPTION_REQUIRED = 1u << 0, QUORATE_OPTION_SECRET = 1u << 1 };
typedef struct quorate_option_spec {
  const char* key;
  const char* default_value; /* NULL: none */
  const char* help;          /* one line */
  uint32_t type, flags;
} quorate_option_spec;

typedef struct quorate_plugin {
  uint32_t struct_size, abi_major, abi_minor; /* QUORATE_ABI_* at the plugin's build */
  const char* id;                             /* "org.quorate.backend.lmdb" */
  const char* version;                        /* the plugin's own version */
  /* Paired with deinit(); a process may pair them more than once, so a plugin with global state
   * counts. [host-thread] */
  quorate_status (*init)(const quorate_host* host, quorate_error* error);
  /* After every object the plugin made is destroyed. [host-thread] */
  void (*deinit)(void);
  /* "quorate.backend/1", "quorate.transport/1", "quorate.frontend/1"; NULL for a kind it does not
   * offer. Both may be called before init(). [any-thread] */
  const void* (*get_factory)(const char* factory_id);
  const quorate_option_spec* (*options)(const char* factory_id, uint32_t* count);
} quorate_plugin;

#define QUORATE_EXPORT __attribute__((visibility("default")))
QUORATE_EXPORT extern const quorate_plugin quorate_entry;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* QUORATE_PLUGIN_H_ */
