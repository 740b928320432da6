# Files as constant C arrays, for programs whose model is linked in.
include_guard(GLOBAL)

# vireo_embed_file(<target> <file> <symbol> [ALIGN 64])
#   Gives <target> the bytes of <file> (which the build may make) as `const unsigned char <symbol>[]` and
#   `const size_t <symbol>_size`, declared in "<symbol>.h". 64 is the alignment of segments inside a .vireo file, so
#   that a runtime reads them in place.
function(vireo_embed_file target file symbol)
  cmake_parse_arguments(ARG "" "ALIGN" "" ${ARGN})
  if(NOT ARG_ALIGN)
    set(ARG_ALIGN 64)
  endif()
  get_filename_component(source "${file}" ABSOLUTE)
  set(folder "${PROJECT_BINARY_DIR}/generated/embed/${target}")
  file(MAKE_DIRECTORY "${folder}")
  set(script "${PROJECT_SOURCE_DIR}/toolchains/cmake/embed_file.cmake")
  add_custom_command(OUTPUT "${folder}/${symbol}.c" "${folder}/${symbol}.h"
    COMMAND ${CMAKE_COMMAND} -DFILE=${source} -DSYMBOL=${symbol} -DALIGN=${ARG_ALIGN} -DFOLDER=${folder} -P "${script}"
    DEPENDS "${source}" "${script}" VERBATIM COMMENT "embed ${symbol}")
  target_sources(${target} PRIVATE "${folder}/${symbol}.c" "${folder}/${symbol}.h")
  # A file of two targets waits for what both wait for. Alone, <target> would wait for all that it links, and the linter,
  # which wants only the headers, would build those libraries.
  add_custom_target(${target}_${symbol} DEPENDS "${folder}/${symbol}.c" "${folder}/${symbol}.h")
  add_dependencies(${target} ${target}_${symbol})
  set_source_files_properties("${folder}/${symbol}.c" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()

# vireo_convert_model(<variable> <model.onnx> [NAME name] [ARGS further flags of vireo convert])
#   Converts at build time into <build>/models/<name>.vireo and sets <variable> to that path. A cross build uses the
#   program given as VIREO_HOST_VIREO; without one <variable> is empty.
function(vireo_convert_model variable model)
  cmake_parse_arguments(ARG "" "NAME" "ARGS" ${ARGN})
  get_filename_component(source "${model}" ABSOLUTE)
  if(NOT ARG_NAME)
    get_filename_component(ARG_NAME "${model}" NAME_WE)
  endif()
  if(VIREO_HOST_VIREO)
    set(program "${VIREO_HOST_VIREO}")
  elseif(VIREO_BUILD_CONVERTER AND TARGET vireo_tool)
    set(program vireo_tool)
  else()
    set(${variable} "" PARENT_SCOPE)
    return()
  endif()
  set(out "${PROJECT_BINARY_DIR}/models/${ARG_NAME}.vireo")
  get_filename_component(folder "${out}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${out}" COMMAND ${program} convert "${source}" -o "${out}" ${ARG_ARGS}
    DEPENDS "${source}" ${program} VERBATIM COMMENT "vireo convert ${ARG_NAME}")
  set(${variable} "${out}" PARENT_SCOPE)
endfunction()
