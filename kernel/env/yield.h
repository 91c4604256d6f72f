// SPDX-License-Identifier: Apache-2.0
// The policy under which the five shared classes are compiled. In a server a yield point is
// nothing. With QUORATE_INTERLEAVE they are compiled a second time, into a test that runs their
// operations on fibers: there yield_point() may switch to another one, so that every schedule can
// be tried.
#pragma once

namespace quorate {

#ifdef QUORATE_INTERLEAVE
// place: names the point in a printed schedule; a literal.
void yield_point(const char* place);
#else
inline void yield_point(const char*) {}
#endif

}  // namespace quorate
