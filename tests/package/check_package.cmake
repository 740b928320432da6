# cmake -DBUILD= -DSOURCE= -DWORK= -DCC= -DGENERATOR= -P: installs BUILD under WORK, moves the installation (it must not know
# where it was made), builds SOURCE with find_package and main.c with pkg-config, and runs the programs.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(failed)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\nfailed: ${failed}\n${out}")
  endif()
  string(STRIP "${out}" out)
  set(output "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/installed")
run(${CMAKE_COMMAND} -G "${GENERATOR}" -S "${SOURCE}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${WORK}/installed" "-DCMAKE_C_COMPILER=${CC}")
run(${CMAKE_COMMAND} --build "${WORK}/build")
foreach(kind vireo vireo_static)
  run("${WORK}/build/with_${kind}")
  message(STATUS "find_package, Vireo::${kind}: ${output}")
endforeach()

find_program(pkgconfig NAMES pkg-config pkgconf)
file(GLOB_RECURSE pc "${WORK}/installed/*/vireo.pc")
if(pkgconfig AND pc)
  get_filename_component(folder "${pc}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${folder}")
  run(${pkgconfig} --cflags --libs vireo)
  separate_arguments(arguments UNIX_COMMAND "${output}")
  get_filename_component(libraries "${folder}" DIRECTORY)
  run("${CC}" -std=c99 "${SOURCE}/main.c" -o "${WORK}/with_pkg_config" ${arguments} "-Wl,-rpath,${libraries}")
  run("${WORK}/with_pkg_config")
  message(STATUS "pkg-config: ${output}")
else()
  message(STATUS "pkg-config: not tried, it is not installed or vireo.pc is not")
endif()

# What people look for beside programs.
foreach(path share/man/man1/vireo.1 share/man/man1/vireo-convert.1 share/bash-completion/completions/vireo share/zsh/site-functions/_vireo
    share/fish/vendor_completions.d/vireo.fish share/vireo/samples/CMakeLists.txt share/doc/vireo/README.md share/doc/vireo/samples/tutorial/README.md)
  if(NOT EXISTS "${WORK}/installed/${path}")
    message(FATAL_ERROR "not installed: ${path}")
  endif()
endforeach()

# Found through CMAKE_PREFIX_PATH with each toolchain file, too. Nothing is compiled: compilers need not be here.
file(GLOB toolchains "${SOURCE}/../../../toolchains/*-*.cmake")
list(FILTER toolchains EXCLUDE REGEX "emscripten")  # it looks for its own first
if(NOT toolchains)
  message(FATAL_ERROR "there are no toolchain files")
endif()
foreach(toolchain IN LISTS toolchains)
  cmake_path(GET toolchain STEM name)
  run(${CMAKE_COMMAND} -G "${GENERATOR}" -S "${SOURCE}/../found" -B "${WORK}/found/${name}" "-DCMAKE_TOOLCHAIN_FILE=${toolchain}"
    "-DCMAKE_PREFIX_PATH=${WORK}/installed")
  message(STATUS "found with ${name}")
endforeach()

# Samples build where they were installed, of what was installed.
run(${CMAKE_COMMAND} -G "${GENERATOR}" -S "${WORK}/installed/share/vireo/samples" -B "${WORK}/samples" "-DCMAKE_PREFIX_PATH=${WORK}/installed"
  "-DCMAKE_C_COMPILER=${CC}")
run(${CMAKE_COMMAND} --build "${WORK}/samples" --target sample_minimal sample_models)
run("${WORK}/samples/minimal" "${WORK}/samples/digit_mobile.vireo" "${WORK}/installed/share/vireo/samples/media/digit_7.pgm")
if(NOT output STREQUAL "7")
  message(FATAL_ERROR "samples/minimal says ${output}")
endif()
run(${CMAKE_COMMAND} "-DFILE=${WORK}/samples/digit_mobile.vireo" -DSYMBOL=digit "-DOUT=${WORK}/digit.h" -P
  "${WORK}/installed/lib/cmake/Vireo/embed.cmake")
