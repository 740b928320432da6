// JPEG by libjpeg-turbo's own interface, which reports errors without setjmp. Its defaults are what the standard asks
// for: the exact inverse DCT and "fancy" upsampling of chroma.
#include "sdk/media/image_codec.h"

#if VIREO_CODEC_JPEG
#include <turbojpeg.h>
#endif

namespace vireo {
namespace {

bool matches(Span<const uint8_t> stream) { return begins_with(stream, "\xFF\xD8\xFF", 3); }

#if VIREO_CODEC_JPEG
struct Decoder {
  tjhandle handle = tjInitDecompress();
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    if (handle != nullptr) tjDestroy(handle);
  }
};

const char* size(Span<const uint8_t> stream, ImageSize* size) {
  const Decoder d;
  if (d.handle == nullptr) return "out of memory";
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (tjDecompressHeader3(d.handle, stream.data(), static_cast<unsigned long>(stream.size()), &width, &height,
                          &sampling, &colours) != 0)
    return "the header of the JPEG stream is damaged";
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) return "JPEG of four inks (CMYK)";
  *size = {width, height};
  return nullptr;
}

// A warning is a damaged stream of which grey was made. LIMITSCANS: small streams can ask for hours of empty scans.
const char* decode(Span<const uint8_t> stream, const ImageSize& size, uint8_t* rgb) {
  const Decoder d;
  if (d.handle == nullptr) return "out of memory";
  return tjDecompress2(d.handle, stream.data(), static_cast<unsigned long>(stream.size()), rgb,
                       static_cast<int>(size.width), static_cast<int>(size.width * 3), static_cast<int>(size.height),
                       TJPF_RGB, TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) == 0
             ? nullptr
             : "the JPEG stream is damaged or cut off";
}
#else
constexpr decltype(ImageCodec::size) size = nullptr;
constexpr decltype(ImageCodec::decode) decode = nullptr;
#endif

}  // namespace

const ImageCodec kJpegCodec = {"JPEG", "libjpeg-turbo", matches, size, decode};

}  // namespace vireo
