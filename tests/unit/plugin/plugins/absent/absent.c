// SPDX-License-Identifier: Apache-2.0
__attribute__((visibility("default"))) int test_absent(void);

int test_absent(void) {
  return 1;
}
