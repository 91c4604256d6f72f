# SPDX-License-Identifier: Apache-2.0
# Language, warnings and sanitizers, the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(QUORATE_SANITIZER "" CACHE STRING "empty, address (with undefined), or thread")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wimplicit-fallthrough -Werror
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -fstack-protector-strong)
if(NOT QUORATE_SANITIZER AND CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(QUORATE_SANITIZER STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(QUORATE_SANITIZER STREQUAL "thread")
  # GCC's TSan does not model fences; nothing of ours uses one.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
  add_link_options(-fsanitize=thread)
elseif(QUORATE_SANITIZER)
  message(FATAL_ERROR "QUORATE_SANITIZER is '${QUORATE_SANITIZER}': write address or thread")
endif()

# The two liberties let ccache serve what includes a precompiled header; it learns what a file
# includes from the compiler, not from a preprocessor run of its own.
find_program(QUORATE_CCACHE ccache)
if(QUORATE_CCACHE)
  set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${QUORATE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
