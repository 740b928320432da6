# Firmware images and the boards they run on.
include_guard(GLOBAL)

# vireo_add_firmware(<name> SOURCES .. [LIBS ..] [BOARD mps2-an386] [STACK_BYTES 16384])
#   Bare-metal builds only (elsewhere it does nothing): an image for the board, linked with our startup code, which the
#   test <name> runs under qemu-system-arm; main's result is the test's. The test <name>_no_heap reads the image's symbols
#   and fails when anything of the heap got linked; it prints the image's sizes. Both have the label `smoke`.
#   A program prints through "toolchains/cortex-m/board.h".
function(vireo_add_firmware name)
  cmake_parse_arguments(ARG "" "BOARD;STACK_BYTES" "SOURCES;LIBS" ${ARGN})
  if(NOT VIREO_BARE_METAL)
    return()
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vireo_add_firmware(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_BOARD)
    set(ARG_BOARD ${VIREO_BOARD})
  endif()
  if(NOT ARG_STACK_BYTES)
    set(ARG_STACK_BYTES 16384)
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/toolchains/cortex-m")
  vireo_add_executable(${name} DEVICE SOURCES ${ARG_SOURCES} "${folder}/startup.c" LIBS ${ARG_LIBS})
  # The compiler must not turn our copy loops into memcpy calls before there is a stack, or fold away the vectors.
  set_source_files_properties("${folder}/startup.c" PROPERTIES COMPILE_OPTIONS "-fno-tree-loop-distribute-patterns")
  set_target_properties(${name} PROPERTIES SUFFIX .elf LINK_DEPENDS "${folder}/${ARG_BOARD}.ld"
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
  target_link_options(${name} PRIVATE -nostartfiles "-T${folder}/${ARG_BOARD}.ld"
    "-Wl,--defsym=STACK_BYTES=${ARG_STACK_BYTES}" "-Wl,-Map=$<TARGET_FILE:${name}>.map")
  if(NOT VIREO_SMOKE)
    return()
  endif()
  add_dependencies(vireo_smoke ${name})
  find_program(VIREO_QEMU_ARM qemu-system-arm)
  if(NOT VIREO_QEMU_ARM)
    message(FATAL_ERROR "qemu-system-arm is not installed: toolchains/bootstrap --for cross installs it")
  endif()
  add_test(NAME ${name} COMMAND "${VIREO_QEMU_ARM}" -M ${ARG_BOARD} -nographic -monitor none -serial none
    -semihosting-config enable=on,target=native -kernel $<TARGET_FILE:${name}>)
  add_test(NAME ${name}_no_heap COMMAND ${CMAKE_COMMAND} -DELF=$<TARGET_FILE:${name}> -DNM=${CMAKE_NM}
    -P "${PROJECT_SOURCE_DIR}/toolchains/cmake/check_no_heap.cmake")
  set_tests_properties(${name} ${name}_no_heap PROPERTIES LABELS smoke TIMEOUT 300)
endfunction()
