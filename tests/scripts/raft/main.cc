// SPDX-License-Identifier: Apache-2.0
#include "scripts/raft/commands.h"

int main(int argc, char** argv) {
  return quorate::script::run_scripts({argv + 1, argv + argc}, quorate::raft::make_raft_handler);
}
