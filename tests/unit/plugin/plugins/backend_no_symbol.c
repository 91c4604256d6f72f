// SPDX-License-Identifier: Apache-2.0
__attribute__((visibility("default"))) int entry_of_another_program(void);

int entry_of_another_program(void) {
  return 0;
}
