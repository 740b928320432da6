# cmake -DFILE= -DSYMBOL= -DALIGN= -DFOLDER= -P: writes FOLDER/SYMBOL.c and .h (see VireoEmbed.cmake).
file(READ "${FILE}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
if(size EQUAL 0)
  message(FATAL_ERROR "${FILE} is empty: nothing to embed as ${SYMBOL}")
endif()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(....................................................................................................)" "\\1\n" bytes "${bytes}")
get_filename_component(name "${FILE}" NAME)
file(WRITE "${FOLDER}/${SYMBOL}.h"
"/* Written by toolchains/cmake/embed_file.cmake from ${name}. */
#ifndef VIREO_EMBED_${SYMBOL}_H_
#define VIREO_EMBED_${SYMBOL}_H_
#include <stddef.h>
#ifdef __cplusplus
extern \"C\" {
#endif
extern const unsigned char ${SYMBOL}[${size}];
extern const size_t ${SYMBOL}_size;
#ifdef __cplusplus
}
#endif
#endif
")
file(WRITE "${FOLDER}/${SYMBOL}.c"
"/* Written by toolchains/cmake/embed_file.cmake from ${name}. */
#include \"${SYMBOL}.h\"
__attribute__((aligned(${ALIGN}))) const unsigned char ${SYMBOL}[${size}] = {
${bytes}};
const size_t ${SYMBOL}_size = ${size};
")
