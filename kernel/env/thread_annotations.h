// SPDX-License-Identifier: Apache-2.0
// What a lock guards, said so that clang can check it (-Wthread-safety); nothing to other
// compilers.
#pragma once

#ifdef __clang__
#define QUORATE_THREAD_ANNOTATION(text) __attribute__((text))
#else
#define QUORATE_THREAD_ANNOTATION(text)
#endif

#define QUORATE_CAPABILITY(name) QUORATE_THREAD_ANNOTATION(capability(name))
#define QUORATE_SCOPED_CAPABILITY QUORATE_THREAD_ANNOTATION(scoped_lockable)
#define QUORATE_GUARDED_BY(lock) QUORATE_THREAD_ANNOTATION(guarded_by(lock))
#define QUORATE_REQUIRES(...) QUORATE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define QUORATE_ACQUIRE(...) QUORATE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define QUORATE_ACQUIRE_SHARED(...) \
  QUORATE_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define QUORATE_RELEASE(...) QUORATE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define QUORATE_RELEASE_SHARED(...) \
  QUORATE_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define QUORATE_RELEASE_GENERIC(...) \
  QUORATE_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
#define QUORATE_ASSERT_CAPABILITY(lock) QUORATE_THREAD_ANNOTATION(assert_capability(lock))
// For what clang cannot follow; a comment says why it is right.
#define QUORATE_NO_THREAD_SAFETY_ANALYSIS QUORATE_THREAD_ANNOTATION(no_thread_safety_analysis)
