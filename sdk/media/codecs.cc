#include "sdk/media/image_codec.h"

namespace vireo {

const ImageCodec* find_codec(Span<const uint8_t> stream) {
  static const ImageCodec* const kCodecs[] = {&kBmpCodec, &kJpegCodec, &kJpeg2000Codec, &kPngCodec,
                                              &kPnmCodec, &kTiffCodec, &kWebpCodec};
  for (const ImageCodec* codec : kCodecs) {
    if (codec->matches(stream)) return codec;
  }
  return nullptr;
}

}  // namespace vireo
