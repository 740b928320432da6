# FILE as `static const unsigned char SYMBOL[]` in the header OUT, aligned to 64 so that the runtime reads it in place.
file(READ "${FILE}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUT}" "#include <stddef.h>\n__attribute__((aligned(64))) static const unsigned char ${SYMBOL}[] = {${bytes}};\n"
  "static const size_t ${SYMBOL}_size = sizeof(${SYMBOL});\n")
