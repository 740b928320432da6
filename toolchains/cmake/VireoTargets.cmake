# How every target of Vireo is made. Flags ride on interface targets; nothing is set globally except where the
# build puts its files.
include_guard(GLOBAL)
include(GNUInstallDirs)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(VIREO_CCACHE ccache NO_CMAKE_FIND_ROOT_PATH)
  if(VIREO_CCACHE AND CMAKE_HOST_UNIX)
    set(CMAKE_C_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/toolchains/compile_cached" "${PROJECT_SOURCE_DIR}" "${VIREO_CCACHE}")
    if(EMSCRIPTEN)  # a script around clang: ccache tells neither from its file
      list(PREPEND CMAKE_C_COMPILER_LAUNCHER env CCACHE_COMPILERTYPE=clang
        "CCACHE_COMPILERCHECK=string:emscripten-${EMSCRIPTEN_VERSION}-clang-${CMAKE_CXX_COMPILER_VERSION}")
    endif()
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_C_COMPILER_LAUNCHER}")
  endif()
endif()

# What every translation unit gets: language level, warnings, include roots, sanitizers.
add_library(vireo_flags INTERFACE)
target_compile_features(vireo_flags INTERFACE cxx_std_17 c_std_99)
target_include_directories(vireo_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/c_api/include>)
target_include_directories(vireo_flags SYSTEM INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
target_compile_definitions(vireo_flags INTERFACE VIREO_DETAIL=$<BOOL:${VIREO_DETAIL}>)
# Contraction would make a fused multiply-add of a * b + c where the core has one: other bits on other cores.
target_compile_options(vireo_flags INTERFACE
  -ffp-contract=off -ffunction-sections -fdata-sections -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
# What is shipped names no folder of the machine that built it. Without debugging information nothing does (no file of the
# product uses __FILE__; package_debian looks), and a folder in the compile line would keep a compiler cache from other clones.
target_compile_options(vireo_flags INTERFACE
  "$<$<CONFIG:RelWithDebInfo>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=;-ffile-prefix-map=${PROJECT_BINARY_DIR}/=build/>")
add_library(vireo_warnings INTERFACE)
target_compile_options(vireo_warnings INTERFACE -Wall -Wextra -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Helpers of what `if constexpr` leaves out of a build are meant to go.
  target_compile_options(vireo_warnings INTERFACE -Wno-unneeded-internal-declaration)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 follows impossible paths after inlining at -O2 and above (index -1 of an array that was just checked); the
  # debug presets keep these warnings.
  target_compile_options(vireo_warnings INTERFACE
    $<$<NOT:$<CONFIG:Debug>>:-Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overflow>)
endif()

# The device half: no exceptions, no RTTI, no lock around function-local statics (there is no run time to take it).
add_library(vireo_device_flags INTERFACE)
target_compile_options(vireo_device_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>
  # Nothing unwinds through code without exceptions; the tables would be a fifth of the smallest image.
  $<$<CONFIG:MinSizeRel>:-fno-unwind-tables -fno-asynchronous-unwind-tables>)
target_include_directories(vireo_device_flags SYSTEM INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated/tables>)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Calls of the C library by its table of addresses: the detours through the linkage table would be 300 bytes.
  target_compile_options(vireo_device_flags INTERFACE $<$<CONFIG:MinSizeRel>:-fno-plt>)
endif()

# The host's half runs once for a conversion, and optimising it at -O3 took most of a build. At -O1 conversions take as long
# as before, at -Og a sixth more: that is for importers, the command line and tests.
add_library(vireo_host_flags INTERFACE)
target_compile_options(vireo_host_flags INTERFACE $<$<CONFIG:Release>:-O1>)
add_library(vireo_cold_flags INTERFACE)
target_compile_options(vireo_cold_flags INTERFACE $<$<CONFIG:Release>:-Og>)
foreach(flags vireo_host_flags vireo_cold_flags)
  if(VIREO_SANITIZE AND NOT VIREO_FUZZ)
    target_compile_options(${flags} INTERFACE -O0)  # what sanitizers add takes gcc twice as long to optimise as to write
  endif()
  target_include_directories(${flags} SYSTEM INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated/objects>)
endforeach()

add_library(vireo_link_flags INTERFACE)
if(APPLE)
  target_link_options(vireo_link_flags INTERFACE -Wl,-dead_strip)
elseif(NOT EMSCRIPTEN)
  target_link_options(vireo_link_flags INTERFACE -Wl,--gc-sections)
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_BUILD_TYPE STREQUAL "MinSizeRel" AND NOT CMAKE_CROSSCOMPILING)
  # No page of padding between code and constants, and relative relocations as a bitmap: a tenth of the smallest program.
  # The second needs glibc 2.36 where it runs, so cross builds, whose device may have an older one, go without.
  include(CheckLinkerFlag)
  foreach(flag noseparate-code pack-relative-relocs)
    string(MAKE_C_IDENTIFIER "VIREO_LINKER_${flag}" known)
    check_linker_flag(CXX "LINKER:-z,${flag}" ${known})
    if(${known})
      target_link_options(vireo_link_flags INTERFACE "LINKER:-z,${flag}")
    endif()
  endforeach()
endif()
find_program(VIREO_MOLD mold)
if(VIREO_MOLD AND VIREO_DEVELOPER AND NOT CMAKE_CROSSCOMPILING)
  target_link_options(vireo_link_flags INTERFACE -fuse-ld=mold)  # links the tests 5 to 10 times faster than GNU ld
endif()
foreach(sanitizer IN LISTS VIREO_SANITIZE)
  target_compile_options(vireo_flags INTERFACE -fsanitize=${sanitizer} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(vireo_link_flags INTERFACE -fsanitize=${sanitizer})
endforeach()
if(VIREO_SANITIZE)
  # vptr looks for type information, which the device's half is built without; the linker mixes inline members of both.
  target_compile_options(vireo_flags INTERFACE -fno-sanitize=vptr)
endif()

# vireo_precompile_(<target> device|host|cold|onnx|program|test)
#   Reading the standard library and FlatBuffers takes 1 to 1.5 s of processor time in every file, so it is done once for
#   each set of flags: device and host libraries are position independent, programs are not. `cold` is `host` for
#   what is not optimised, `onnx` is `host` with the messages of ONNX; `test` is `program` with GoogleTest. Only headers
#   from outside are in them: a change to one of ours then recompiles no more than before.
#   CMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which shows a file that forgets an include; minsize and the
#   linter do so.
function(vireo_precompile_ name kind)
  if(VIREO_BARE_METAL OR EMSCRIPTEN OR CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  set(owner vireo_precompiled_${kind})
  if(NOT TARGET ${owner})
    set(headers toolchains/cmake/no_special_functions.h algorithm cmath cstdint cstring initializer_list limits string utility vector math.h string.h flatbuffers/flatbuffers.h)
    if(NOT kind STREQUAL "device")
      list(APPEND headers cstdio fstream functional iostream map memory optional set sstream string_view unordered_map)
    endif()
    if(kind STREQUAL "test")
      list(APPEND headers gtest/gtest.h)
    elseif(kind STREQUAL "onnx")
      list(APPEND headers onnx/onnx-ml.pb.h)
    endif()
    list(TRANSFORM headers REPLACE "(.+)" "<\\1>")
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/${owner}.cc" CONTENT "")
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/generated/${owner}.cc")
    if(kind MATCHES "^(device|cold)$")
      vireo_use_flags_(${owner} ${kind})
    elseif(kind STREQUAL "test")
      vireo_use_flags_(${owner} cold)
      target_link_libraries(${owner} PRIVATE Vireo::dep_gtest)
    else()
      vireo_use_flags_(${owner} host)
    endif()
    target_link_libraries(${owner} PRIVATE Vireo::dep_flatbuffers)
    if(kind STREQUAL "onnx")
      target_link_libraries(${owner} PRIVATE Vireo::dep_onnx_proto)
    endif()
    if(NOT kind MATCHES "^(program|test)$")
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${name} REUSE_FROM ${owner})
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.(c|S)$")
  if(sources)
    set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()


# vireo_join_(<variable> <name> <files>...)
#   Sets the variable to sources that include the C++ files in batches of about eight. A file of the converter takes 0.5 to 3 s
#   to compile, most of it for headers and templates that its neighbours instantiate as well; eight together take 40 % of
#   what they take one by one. Only libraries whose loops are not tuned are joined (HOST, JOINED).
#   The hash of its name decides a file's batch, and the number of batches is a power of two: a new file, or one that
#   moves to another folder, seldom changes another file's neighbours. In a list that is dealt out in turn it would
#   change all of them, so names would meet in files that nobody touched, and a compiler cache would have nothing.
#   Where two files of a batch do meet in a name, the compiler says so: give one of them the better name. Tests do not meet,
#   because each has a namespace of its own, vireo::<file>.
#   Files with options of their own and generated ones stay alone. CMake's UNITY_BUILD is not used: its files name the
#   clone, so that a compiler cache would not serve another one.
option(VIREO_JOIN_FILES "Compile files of host libraries in batches; OFF compiles each by itself" ON)
function(vireo_join_ variable name)
  set(joined "")
  set(alone "")
  foreach(file IN LISTS ARGN)
    get_filename_component(path "${file}" ABSOLUTE)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${path}")
    get_source_file_property(options "${file}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${file}" COMPILE_DEFINITIONS)
    string(FIND "${file}" "${PROJECT_BINARY_DIR}/" generated)
    if(NOT file MATCHES "\\.cc$" OR path MATCHES "^\\.\\." OR generated EQUAL 0 OR options OR definitions)
      list(APPEND alone "${file}")
    else()
      list(APPEND joined "${path}")
    endif()
  endforeach()
  list(LENGTH joined count)
  if(NOT VIREO_JOIN_FILES OR VIREO_BARE_METAL OR CMAKE_DISABLE_PRECOMPILE_HEADERS OR count LESS 4)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(batches 1)
  math(EXPR most "11 * ${batches}")
  while(count GREATER most)
    math(EXPR batches "2 * ${batches}")
    math(EXPR most "11 * ${batches}")
  endwhile()
  foreach(path IN LISTS joined)
    get_filename_component(stem "${path}" NAME_WE)
    string(MD5 hash "${stem}")
    string(SUBSTRING "${hash}" 0 6 hash)
    math(EXPR at "0x${hash} % ${batches}")
    string(APPEND batch_${at} "#include \"${path}\"\n")
  endforeach()
  math(EXPR last "${batches} - 1")
  foreach(i RANGE ${last})
    if(NOT DEFINED batch_${i})
      continue()
    endif()
    set(file "${PROJECT_BINARY_DIR}/generated/joined/${name}_${i}.cc")
    file(CONFIGURE OUTPUT "${file}" CONTENT "// Written by vireo_join_ of VireoTargets.cmake.\n${batch_${i}}" @ONLY)
    list(APPEND alone "${file}")
  endforeach()
  set(${variable} ${alone} PARENT_SCOPE)
endfunction()

function(vireo_alias_ name)
  string(REGEX REPLACE "^vireo_" "" short "${name}")
  set(vireo_short "${short}" PARENT_SCOPE)
endfunction()

# tests/support/roots.h for this checkout and build: the only compile line of a test that depends on where they are.
if(VIREO_DEVELOPER AND NOT VIREO_BARE_METAL)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/test_roots.cc" CONTENT
"#include \"tests/support/roots.h\"
namespace vireo::tests {
std::string source_path(const std::string& path) { return R\"(@PROJECT_SOURCE_DIR@/)\" + path; }
std::string build_path(const std::string& path) { return R\"(@PROJECT_BINARY_DIR@/)\" + path; }
}  // namespace vireo::tests
" @ONLY)
  add_library(vireo_test_roots STATIC "${PROJECT_BINARY_DIR}/generated/test_roots.cc")
  target_link_libraries(vireo_test_roots PUBLIC vireo_flags)
  add_library(Vireo::test_roots ALIAS vireo_test_roots)
endif()

# The tests that run more than one thread: what `tests/run --full tsan` builds and runs.
add_custom_target(vireo_thread_tests)

# vireo_add_library(<name> [HOST] [THREADS] SOURCES .. [TESTS ..] [TEST_LIBS ..] [BENCHES ..] [PUBLIC ..] [PRIVATE ..] [HEADERS ..]
#                   [PRECOMPILED onnx|<header>] [COLD] [JOINED])
#   A static library with the alias Vireo::<name without vireo_>. Device flags unless HOST is said. Without SOURCES
#   it is an interface library. TESTS become one executable <name>_test (GoogleTest) and one ctest entry with the
#   label `unit`, with THREADS also `threads`; each of BENCHES becomes an executable of its own name (Google Benchmark).
#   PRECOMPILED: another set of vireo_precompile_ than its flags suggest, or a header of its own.
#   JOINED: a device library whose files are compiled in batches, as those of host libraries are (vireo_join_).
#   COLD: a host library in which no loop is worth optimising: it takes half the time to compile. Its precompiled headers are
#   another set, because those of `host` are for another level of optimisation, at which gcc 12 can crash.
function(vireo_add_library name)
  cmake_parse_arguments(ARG "HOST;THREADS;COLD;JOINED" "PRECOMPILED" "SOURCES;HEADERS;TESTS;TEST_LIBS;BENCHES;PUBLIC;PRIVATE" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vireo_add_library(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(ARG_HOST AND VIREO_BARE_METAL)
    message(FATAL_ERROR "vireo_add_library(${name} HOST): a host library in a firmware build; guard its folder")
  endif()
  vireo_alias_(${name})
  if(ARG_SOURCES)
    if(ARG_HOST OR ARG_JOINED)
      vireo_join_(ARG_SOURCES ${name} ${ARG_SOURCES})
    endif()
    add_library(${name} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
    target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
    set(kind device)
    if(ARG_COLD)
      set(kind cold)
    elseif(ARG_HOST)
      set(kind host)
    endif()
    vireo_use_flags_(${name} ${kind})
    set(pic ON)  # the shared library is made of these
    if(VIREO_BARE_METAL)
      set(pic OFF)
    endif()
    set_target_properties(${name} PROPERTIES EXPORT_NAME ${vireo_short}
      POSITION_INDEPENDENT_CODE ${pic})
    if(ARG_PRECOMPILED STREQUAL "onnx")
      vireo_precompile_(${name} onnx)
    elseif(ARG_PRECOMPILED AND NOT EMSCRIPTEN)  # whose files the cache keeps: clang looks at the times of headers
      target_precompile_headers(${name} PRIVATE <toolchains/cmake/no_special_functions.h> ${ARG_PRECOMPILED})
    else()
      vireo_precompile_(${name} ${kind})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE vireo_flags ${ARG_PUBLIC})
    set_target_properties(${name} PROPERTIES EXPORT_NAME ${vireo_short})
  endif()
  add_library(Vireo::${vireo_short} ALIAS ${name})
  if(ARG_TESTS)
    set(threads "")
    if(ARG_THREADS)
      set(threads THREADS)
    endif()
    if(ARG_HOST OR ARG_JOINED)
      vireo_join_(ARG_TESTS ${name}_test ${ARG_TESTS})
    endif()
    vireo_add_test(${name}_test ${threads} SOURCES ${ARG_TESTS} LIBS ${name} ${ARG_TEST_LIBS})
  endif()
  if(VIREO_DEVELOPER AND NOT VIREO_BARE_METAL AND TARGET Vireo::dep_benchmark)
    foreach(bench IN LISTS ARG_BENCHES)
      get_filename_component(stem ${bench} NAME_WE)
      vireo_add_executable(${stem} SOURCES ${bench} LIBS ${name} ${ARG_TEST_LIBS} Vireo::dep_benchmark)
      set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
    endforeach()
  endif()
endfunction()

function(vireo_use_flags_ name kind)  # device|host|cold
  target_link_libraries(${name} PUBLIC vireo_flags PRIVATE vireo_warnings vireo_link_flags vireo_${kind}_flags)
endfunction()

# vireo_add_executable(<name> SOURCES .. [LIBS ..] [DEVICE|TEST])
#   A program in <build>/bin. Exceptions are on unless DEVICE is said. TEST: with the flags of vireo_add_test.
function(vireo_add_executable name)
  cmake_parse_arguments(ARG "DEVICE;TEST" "" "SOURCES;LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vireo_add_executable(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  if(ARG_DEVICE)
    vireo_use_flags_(${name} device)
  elseif(ARG_TEST)
    vireo_use_flags_(${name} cold)
    target_link_libraries(${name} PRIVATE Vireo::dep_gtest)
    vireo_precompile_(${name} test)
  else()
    vireo_use_flags_(${name} host)
    vireo_precompile_(${name} program)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
endfunction()

# vireo_add_test(<name> SOURCES .. [LIBS ..] [LABEL unit] [THREADS] [TIMEOUT 900])
#   One GoogleTest executable in <build>/test and one ctest entry: no discovery step, so ctest starts at once.
#   THREADS: it runs more than one thread, so it has the label `threads` too.
#   Tests find the checkout and the build with tests/support/roots.h.
function(vireo_add_test name)
  cmake_parse_arguments(ARG "THREADS" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT VIREO_DEVELOPER OR VIREO_BARE_METAL)
    return()
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vireo_add_test(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  vireo_add_executable(${name} TEST SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS} Vireo::test_roots)
  if(VIREO_SANITIZE OR CMAKE_CROSSCOMPILING)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")  # they run ten times as long, next to other builds as well
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
  if(ARG_THREADS)
    list(APPEND ARG_LABEL threads)
    add_dependencies(vireo_thread_tests ${name})
  endif()
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/test/work")
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/test/work")
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# vireo_shard_test(<name> <count>)
#   The test <name> in <count> parts that run side by side, where an emulator or a sanitizer makes it long.
function(vireo_shard_test name count)
  if(NOT TARGET ${name} OR NOT (VIREO_SANITIZE OR CMAKE_CROSSCOMPILING))
    return()
  endif()
  get_test_property(${name} LABELS labels)
  get_test_property(${name} TIMEOUT timeout)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=0")
  math(EXPR last "${count} - 1")
  foreach(part RANGE 1 ${last})
    add_test(NAME ${name}_${part} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/test/work")
    set_tests_properties(${name}_${part} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout}
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${part}")
  endforeach()
endfunction()

# vireo_repeat_test(<name> <suffix> <variable>=<value>)
#   The test <name> once more, with a variable of the environment.
function(vireo_repeat_test name suffix environment)
  if(NOT TARGET ${name})
    return()
  endif()
  get_test_property(${name} LABELS labels)
  get_test_property(${name} TIMEOUT timeout)
  add_test(NAME ${name}_${suffix} COMMAND ${name} --gtest_brief=1 WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/test/work")
  set_tests_properties(${name}_${suffix} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT "${environment}")
endfunction()

# vireo_sample_test(<name> <step> <slow>)
#   The test <name> and its shards take every <step>-th of their cases (tests/support/sample.h), all of them with
#   VIREO_FULL=1; where an emulator or a sanitizer makes them long, every <slow>-th.
function(vireo_sample_test name step slow)
  if(NOT TEST ${name})
    return()
  endif()
  if(VIREO_SANITIZE OR CMAKE_CROSSCOMPILING)
    set(step ${slow})
  elseif(step GREATER 1)
    set_property(TEST ${name} APPEND PROPERTY LABELS sampled)
  endif()
  set(part 0)
  set(test ${name})
  while(TEST ${test})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT VIREO_SAMPLE=${step})
    math(EXPR part "${part} + 1")
    set(test ${name}_${part})
  endwhile()
endfunction()

# vireo_add_emulated_cores(<name> [ARGS ..])
#   The test <name> again on lesser and greater cores than the emulator's default one, where there are such: on aarch64
#   one without SME, and vectors of SME from the shortest to the longest, none of which may run NEON in streaming mode.
#   They take every third of their cases, the longest vectors every ninth: qemu computes 4,096 products for each of
#   their instructions, however few are asked for.
function(vireo_add_emulated_cores name)
  cmake_parse_arguments(ARG "" "" "ARGS" ${ARGN})
  if(NOT CMAKE_CROSSCOMPILING_EMULATOR MATCHES "qemu-aarch64")
    return()
  endif()
  list(GET CMAKE_CROSSCOMPILING_EMULATOR 0 emulator)
  set(cores cortex-a72)
  execute_process(COMMAND ${emulator} --version OUTPUT_VARIABLE version)
  if(version MATCHES "version ([0-9]+\\.[0-9]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 7.1)
    list(APPEND cores sme128 sme512 sme2048)
  else()
    add_test(NAME ${name}_sme COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: this qemu-aarch64 has no SME: 7.1 is the first")
    set_tests_properties(${name}_sme PROPERTIES LABELS unit SKIP_REGULAR_EXPRESSION "SKIPPED")
  endif()
  foreach(core IN LISTS cores)
    set(cpu ${core})
    if(core MATCHES "^sme([0-9]+)$")
      math(EXPR bytes "${CMAKE_MATCH_1} / 8")
      set(cpu "max,sme_fa64=off,sme-default-vector-length=${bytes}")
    endif()
    add_test(NAME ${name}_${core} COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} -cpu ${cpu} $<TARGET_FILE:${name}> ${ARG_ARGS})
    set(step 3)
    if(core STREQUAL "sme2048")
      set(step 9)
    endif()
    set_tests_properties(${name}_${core} PROPERTIES LABELS unit TIMEOUT 1500 ENVIRONMENT VIREO_SAMPLE=${step})
  endforeach()
endfunction()

# vireo_add_smoke(<name> SOURCES .. [LIBS ..] [ARGS ..])
#   A small program without GoogleTest that must exit with 0 on every hosted target (cross builds run it through
#   CMAKE_CROSSCOMPILING_EMULATOR). ctest label `smoke`. Firmware images: see vireo_add_firmware.
function(vireo_add_smoke name)
  cmake_parse_arguments(ARG "DEVICE" "" "SOURCES;LIBS;ARGS" ${ARGN})
  if(NOT VIREO_SMOKE OR VIREO_BARE_METAL)
    return()
  endif()
  set(device)
  if(ARG_DEVICE)
    set(device DEVICE)
  endif()
  vireo_add_executable(${name} ${device} SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
  add_dependencies(vireo_smoke ${name})
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS smoke TIMEOUT 600)
endfunction()
