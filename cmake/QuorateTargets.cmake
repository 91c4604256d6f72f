# SPDX-License-Identifier: Apache-2.0
# One function for each kind of target, so that a folder's own CMakeLists.txt says only what is
# particular to it.

# A target's files may be compiled several at a time, which halves what a build from scratch takes.
# CI does so; a build by hand compiles each file alone, so that none leans on what another includes.
option(QUORATE_UNITY "compile the files of a target several at a time" OFF)
function(quorate_join_sources)
  set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ${QUORATE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Adds the folders that hold a CMakeLists.txt.
function(quorate_add_folders)
  foreach(folder IN LISTS ARGN)
    if(EXISTS ${CMAKE_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${CMAKE_SOURCE_DIR}/${folder} ${CMAKE_BINARY_DIR}/${folder})
    endif()
  endforeach()
endfunction()

# quorate_kernel_library(NAME [PUBLIC deps...] [PRIVATE deps...]): all *.cc of the folder as the
# static library quorate_NAME, with kernel/ as include root.
function(quorate_kernel_library name)
  cmake_parse_arguments(arg "" "" "PUBLIC;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(quorate_${name} STATIC ${sources})
  target_include_directories(quorate_${name} PUBLIC ${CMAKE_SOURCE_DIR}/kernel)
  target_link_libraries(quorate_${name} PUBLIC quorate_interfaces ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  quorate_join_sources(quorate_${name})
endfunction()

# quorate_plugin(NAME LIBS...): all *.cc of the folder, each compiled once, as the static library
# NAME_static, which offers quorate_static_NAME() (sdk/entry.h), and from the same objects as
# lib/quorate/plugins/NAME.so, whose linker gives its table the name that a host looks for.
function(quorate_plugin name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(${name}_static STATIC ${sources})
  target_compile_definitions(${name}_static PRIVATE QUORATE_STATIC_PLUGIN)
  target_link_libraries(${name}_static PUBLIC quorate_sdk ${ARGN})
  quorate_join_sources(${name}_static)
  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_static>)
  set_target_properties(${name} PROPERTIES PREFIX "" LINKER_LANGUAGE CXX
                                           LIBRARY_OUTPUT_DIRECTORY ${QUORATE_PLUGIN_DIR})
  target_link_libraries(${name} PRIVATE quorate_sdk ${ARGN})
  target_link_options(${name} PRIVATE -Wl,--no-undefined -Wl,-z,nodelete
                                      -Wl,--defsym=quorate_entry=quorate_table_${name})
  if(QUORATE_SANITIZER)
    target_link_options(${name} PRIVATE -Wl,--unresolved-symbols=ignore-all)
  endif()
endfunction()

# What a test is labelled with; the target tests_<label> builds all of one label. "threads" marks the
# parts that run several threads, for ThreadSanitizer.
set(QUORATE_LABELS unit conformance fuzz layout abi interleave integration sim threads)
foreach(label IN LISTS QUORATE_LABELS)
  add_custom_target(tests_${label})
endforeach()

# quorate_test_code(TARGETS...): how the code of tests is compiled: without optimisation, which is
# most of a compiler's time and none of what they test, and with Catch2 and the usual standard
# headers read once for all of them (quorate_test_headers).
function(quorate_test_code)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE)
    target_compile_definitions(${target} PRIVATE CATCH_CONFIG_FAST_COMPILE)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      target_precompile_headers(${target} REUSE_FROM quorate_test_headers)
    endif()
  endforeach()
endfunction()

# quorate_test(NAME LIBS...): all *_test.cc of the folder as the Catch2 program NAME and the CTest
# test NAME. LABELS come from the variable QUORATE_TEST_LABELS, or else from the folder below tests/.
function(quorate_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARGN} Catch2::Catch2WithMain)
  quorate_test_code(${name})
  quorate_join_sources(${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(labels ${QUORATE_TEST_LABELS})
  if(NOT labels)
    file(RELATIVE_PATH labels ${CMAKE_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
    string(REGEX REPLACE "/.*" "" labels ${labels})
  endif()
  if(name MATCHES "_(env|storage|mvcc|frontend|transport|threads)")
    list(APPEND labels threads)
  endif()
  quorate_label_test(${name} ${name} ${labels})
endfunction()

# quorate_label_test(TEST PROGRAM LABELS...): labels a CTest test, bounds its time, and lets the
# targets tests_<label> build the program that it runs.
function(quorate_label_test test program)
  set(labels ${ARGN})
  list(REMOVE_DUPLICATES labels)
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" TIMEOUT 600)
  foreach(label IN LISTS labels)
    if(TARGET tests_${label})
      add_dependencies(tests_${label} ${program})
    endif()
  endforeach()
endfunction()
