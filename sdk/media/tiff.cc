// TIFF by libtiff's reader of whole images, which knows every photometric interpretation; the first page. It multiplies
// colours by a separate alpha.
#include "sdk/media/image_codec.h"

#if VIREO_CODEC_TIFF
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include <memory>
#endif

namespace vireo {
namespace {

bool matches(Span<const uint8_t> stream) {
  return begins_with(stream, "II*\0", 4) || begins_with(stream, "MM\0*", 4) || begins_with(stream, "II+\0", 4) ||
         begins_with(stream, "MM\0+", 4);
}

#if VIREO_CODEC_TIFF
struct Source {
  Span<const uint8_t> bytes;
  uint64_t at = 0;
};

tmsize_t read(thandle_t handle, void* to, tmsize_t n) {
  auto* s = static_cast<Source*>(handle);
  if (n <= 0 || s->at >= s->bytes.size()) return 0;
  const uint64_t left = s->bytes.size() - s->at;
  const uint64_t take = static_cast<uint64_t>(n) < left ? static_cast<uint64_t>(n) : left;
  memcpy(to, s->bytes.data() + s->at, take);
  s->at += take;
  return static_cast<tmsize_t>(take);
}
tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
toff_t seek(thandle_t handle, toff_t offset, int whence) {
  auto* s = static_cast<Source*>(handle);
  const uint64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? s->at : s->bytes.size();
  s->at = from + offset;
  return s->at;
}
int close(thandle_t) { return 0; }
toff_t length(thandle_t handle) { return static_cast<Source*>(handle)->bytes.size(); }
int quiet(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct Close {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
struct Free {
  void operator()(void* p) const { free(p); }
};

// `most`: bytes of the largest block that libtiff may ask for.
std::unique_ptr<TIFF, Close> open(Source* source, int64_t most) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, static_cast<tmsize_t>(most));
  TIFFOpenOptionsSetErrorHandlerExtR(options, quiet, nullptr);
  TIFFOpenOptionsSetWarningHandlerExtR(options, quiet, nullptr);
  // 'm': without a map of the file.
  TIFF* tiff = TIFFClientOpenExt("stream", "rm", source, read, write, seek, close, length, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  return std::unique_ptr<TIFF, Close>(tiff);
}

const char* size(Span<const uint8_t> stream, ImageSize* size) {
  Source source{stream};
  const auto tiff = open(&source, 1 << 20);
  uint32_t width = 0, height = 0;
  if (tiff == nullptr || TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
      TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0)
    return "the header of the TIFF stream is damaged";
  *size = {width, height};
  return nullptr;
}

const char* decode(Span<const uint8_t> stream, const ImageSize& size, uint8_t* rgb) {
  const int64_t pixels = size.width * size.height;
  Source source{stream};
  // A strip or tile may be as large as the image in its widest samples, and tiles stand over its edges.
  const auto tiff = open(&source, pixels * 32 + (1 << 20));
  char why[1024];
  if (tiff == nullptr || TIFFRGBAImageOK(tiff.get(), why) == 0) return "a kind of TIFF that libtiff does not show";
  const std::unique_ptr<uint32_t, Free> raster(static_cast<uint32_t*>(malloc(static_cast<size_t>(pixels) * 4)));
  if (raster == nullptr) return "out of memory";
  if (TIFFReadRGBAImageOriented(tiff.get(), static_cast<uint32_t>(size.width), static_cast<uint32_t>(size.height),
                                raster.get(), ORIENTATION_TOPLEFT, 1) == 0)
    return "the TIFF stream is damaged or cut off";
  for (int64_t i = 0; i < pixels; ++i) {
    const uint32_t p = raster.get()[i];
    rgb[3 * i] = static_cast<uint8_t>(TIFFGetR(p));
    rgb[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(p));
    rgb[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(p));
  }
  return nullptr;
}
#else
constexpr decltype(ImageCodec::size) size = nullptr;
constexpr decltype(ImageCodec::decode) decode = nullptr;
#endif

}  // namespace

const ImageCodec kTiffCodec = {"TIFF", "libtiff", matches, size, decode};

}  // namespace vireo
