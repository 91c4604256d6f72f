// SPDX-License-Identifier: Apache-2.0
// The commands of the dialogues in tests/scripts/raft and tests/scripts/quorum.
#pragma once

#include <memory>

#include "raft/conf_change.h"
#include "support/script/script.h"

namespace quorate::raft {

// add-nodes COUNT [learners=(4)] [index=N] [more=COUNT] [limits]   members with one configuration;
//                     `more`: nodes beyond it, which may be added later
// log-is N terms=(1 1 2) [term=N] [commit=N]   what its disk holds when it starts
// elect N             campaigns and stabilizes, without a word
// settle [N...]       stabilizes without a word
// run TICKS           time passes for all, and everything else happens between two ticks
// campaign N | tick N [TIMES] [passed=TICKS] | tick-election N | propose N TEXT | read-index N ID
// propose-conf-change N [v4 l5 r1 u2...] [transition=implicit|explicit]
// transfer-leader N TO | report-unreachable N PEER | report-reset N PEER
// process-ready N | process-append N | process-apply N | process-load N
// process-snapshot N [lost=on | keep=on] [report=off] | report-snapshot N PEER [arrived=off]
// deliver-msgs TO [from=N] [type=MsgApp] [skip=N] [count=N] [drop=on | keep=on]
//                     `keep` leaves a copy on the way, to arrive again
// stabilize [N...] | isolate N | rejoin N | cut FROM TO | mend FROM TO
// crash N [kept=APPENDS] | restart N | persist N | release-wal N INDEX
// raft-state | status N | raft-log N | sizes N
std::unique_ptr<script::Handler> make_raft_handler();

// committed voters=(1 2 3) [outgoing=(..)] acks=(1:12 2:5)
// vote voters=(1 2 3) [outgoing=(..)] yes=(1) no=(2 3)
// conf-change voters=(1 2 3) [outgoing=..] [learners=..] [learners-next=..] [v4 l5 r1 u2...]
//             [transition=..]
// Empty when the command is none of these.
bool is_quorum_command(const script::Command& command);
std::string run_quorum_command(const script::Command& command);

// "v4 l5 r1 u2" from the words from `first` on, and transition=.
ConfChange to_conf_change(const script::Command& command, size_t first);

}  // namespace quorate::raft
