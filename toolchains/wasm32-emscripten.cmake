# WebAssembly with SIMD128 through Debian's emscripten, run by node.
find_file(VIREO_EMSCRIPTEN_TOOLCHAIN Emscripten.cmake
  PATHS /usr/share/emscripten/cmake/Modules/Platform $ENV{EMSDK}/upstream/emscripten/cmake/Modules/Platform NO_CMAKE_FIND_ROOT_PATH)
if(NOT VIREO_EMSCRIPTEN_TOOLCHAIN)
  message(FATAL_ERROR "emscripten is not installed: toolchains/bootstrap --for cross installs it")
endif()
include("${VIREO_EMSCRIPTEN_TOOLCHAIN}")
list(APPEND CMAKE_FIND_ROOT_PATH ${CMAKE_PREFIX_PATH})  # what the caller names is for the target: an installed Vireo
string(APPEND CMAKE_C_FLAGS_INIT " -msimd128")
string(APPEND CMAKE_CXX_FLAGS_INIT " -msimd128")
# emcc's own JavaScript tools look for node modules where Debian does not put them, and its loader takes node 18's
# fetch() for a browser's: one file without a fetch avoids that.
set(CMAKE_C_LINKER_LAUNCHER "${CMAKE_COMMAND};-E;env;NODE_PATH=/usr/share/nodejs")
set(CMAKE_CXX_LINKER_LAUNCHER "${CMAKE_COMMAND};-E;env;NODE_PATH=/usr/share/nodejs")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -sSINGLE_FILE=1 -sALLOW_MEMORY_GROWTH=1 -sEXIT_RUNTIME=1")
find_program(VIREO_NODE NAMES node nodejs NO_CMAKE_FIND_ROOT_PATH)
set(CMAKE_CROSSCOMPILING_EMULATOR "${VIREO_NODE}")
