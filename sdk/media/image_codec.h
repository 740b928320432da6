// One image format each: bytes of a file to rows of 8-bit RGB. What reads a format is a library that this machine may
// lack (CMakeLists.txt); the row stands anyway, so that a stream is refused by the name of its format.
#ifndef VIREO_SDK_MEDIA_IMAGE_CODEC_H_
#define VIREO_SDK_MEDIA_IMAGE_CODEC_H_

#include <stdint.h>

#include "sdk/base/span.h"

namespace vireo {

struct ImageSize {
  int64_t width = 0, height = 0;
};

struct ImageCodec {
  const char* name;
  const char* library;
  bool (*matches)(Span<const uint8_t> stream);  // by its first bytes
  // Both return null, or why not. `size` allocates nothing that grows with the stream's numbers: callers compare the
  // size with what they have room for before they call `decode`, which fills `rgb` with height rows of 3 width bytes.
  // Transparency is dropped. Null where this build lacks the library.
  const char* (*size)(Span<const uint8_t> stream, ImageSize* size);
  const char* (*decode)(Span<const uint8_t> stream, const ImageSize& size, uint8_t* rgb);
};

extern const ImageCodec kBmpCodec, kJpegCodec, kJpeg2000Codec, kPngCodec, kPnmCodec, kTiffCodec, kWebpCodec;

// Null: of none of the seven formats.
const ImageCodec* find_codec(Span<const uint8_t> stream);

inline bool begins_with(Span<const uint8_t> stream, const char* bytes, size_t n) {
  if (stream.size() < n) return false;
  for (size_t i = 0; i < n; ++i) {
    if (stream[i] != static_cast<uint8_t>(bytes[i])) return false;
  }
  return true;
}

}  // namespace vireo

#endif  // VIREO_SDK_MEDIA_IMAGE_CODEC_H_
