#include "sdk/media/image_codec.h"

#if VIREO_CODEC_WEBP
#include <webp/decode.h>
#endif

namespace vireo {
namespace {

bool matches(Span<const uint8_t> stream) {
  return stream.size() >= 12 && begins_with(stream, "RIFF", 4) &&
         begins_with({stream.data() + 8, stream.size() - 8}, "WEBP", 4);
}

#if VIREO_CODEC_WEBP
const char* size(Span<const uint8_t> stream, ImageSize* size) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(stream.data(), stream.size(), &features) != VP8_STATUS_OK)
    return "the header of the WebP stream is damaged";
  if (features.has_animation != 0) return "an animated WebP";
  *size = {features.width, features.height};
  return nullptr;
}

const char* decode(Span<const uint8_t> stream, const ImageSize& size, uint8_t* rgb) {
  const auto row = static_cast<size_t>(size.width) * 3;
  return WebPDecodeRGBInto(stream.data(), stream.size(), rgb, row * static_cast<size_t>(size.height),
                           static_cast<int>(row)) != nullptr
             ? nullptr
             : "the WebP stream is damaged or cut off";
}
#else
constexpr decltype(ImageCodec::size) size = nullptr;
constexpr decltype(ImageCodec::decode) decode = nullptr;
#endif

}  // namespace

const ImageCodec kWebpCodec = {"WebP", "libwebp", matches, size, decode};

}  // namespace vireo
