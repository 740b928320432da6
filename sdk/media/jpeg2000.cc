// JPEG 2000, as a file (JP2) or a bare codestream, by OpenJPEG. Grey and sRGB with samples of up to 16 bits, and sYCC.
#include "sdk/media/image_codec.h"

#if VIREO_CODEC_JPEG2000
#include <openjpeg.h>
#include <string.h>
#endif

namespace vireo {
namespace {

bool is_codestream(Span<const uint8_t> stream) { return begins_with(stream, "\xFF\x4F\xFF\x51", 4); }
bool matches(Span<const uint8_t> stream) {
  return is_codestream(stream) || begins_with(stream, "\0\0\0\x0CjP  \r\n\x87\n", 12);
}

#if VIREO_CODEC_JPEG2000
constexpr const char* kDamaged = "the JPEG 2000 stream is damaged or cut off";

struct Source {
  Span<const uint8_t> bytes;
  size_t at = 0;
};

OPJ_SIZE_T read(void* to, OPJ_SIZE_T n, void* user) {
  auto* s = static_cast<Source*>(user);
  const size_t left = s->bytes.size() - s->at;
  const size_t take = n < left ? n : left;
  if (take == 0) return static_cast<OPJ_SIZE_T>(-1);
  memcpy(to, s->bytes.data() + s->at, take);
  s->at += take;
  return take;
}
OPJ_BOOL seek(OPJ_OFF_T at, void* user) {
  auto* s = static_cast<Source*>(user);
  if (at < 0 || static_cast<uint64_t>(at) > s->bytes.size()) return OPJ_FALSE;
  s->at = static_cast<size_t>(at);
  return OPJ_TRUE;
}
OPJ_OFF_T skip(OPJ_OFF_T n, void* user) {
  auto* s = static_cast<Source*>(user);
  const auto at = static_cast<OPJ_OFF_T>(s->at);
  return n <= static_cast<OPJ_OFF_T>(s->bytes.size()) - at && seek(at + n, user) == OPJ_TRUE ? n : -1;
}

struct Reader {
  Source source;
  opj_stream_t* stream = nullptr;
  opj_codec_t* codec = nullptr;
  opj_image_t* image = nullptr;

  explicit Reader(Span<const uint8_t> bytes) : source{bytes} {
    // The library's own block would be 1 MiB for each of the two readings.
    stream = opj_stream_create(1 << 14, OPJ_TRUE);
    codec = opj_create_decompress(is_codestream(bytes) ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    if (stream == nullptr) return;
    opj_stream_set_user_data(stream, &source, nullptr);
    opj_stream_set_user_data_length(stream, bytes.size());
    opj_stream_set_read_function(stream, read);
    opj_stream_set_seek_function(stream, seek);
    opj_stream_set_skip_function(stream, skip);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (image != nullptr) opj_image_destroy(image);
    if (codec != nullptr) opj_destroy_codec(codec);
    if (stream != nullptr) opj_stream_destroy(stream);
  }
  bool header() {
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    return stream != nullptr && codec != nullptr && opj_setup_decoder(codec, &parameters) == OPJ_TRUE &&
           opj_decoder_set_strict_mode(codec, OPJ_TRUE) == OPJ_TRUE &&
           opj_read_header(stream, codec, &image) == OPJ_TRUE && image != nullptr;
  }
};

const char* size(Span<const uint8_t> stream, ImageSize* size) {
  Reader r(stream);
  if (!r.header()) return "the header of the JPEG 2000 stream is damaged";
  if (r.image->numcomps == 0 || r.image->numcomps > 4) return "JPEG 2000 of more than four components";
  *size = {static_cast<int64_t>(r.image->x1) - r.image->x0, static_cast<int64_t>(r.image->y1) - r.image->y0};
  return nullptr;
}

// A component's sample under the pixel (x, y), as 0 to 255. Components may be smaller than the image.
int32_t sample(const opj_image_t& image, const opj_image_comp_t& c, int64_t x, int64_t y) {
  // Samples stand at the multiples of dx, dy of the reference grid (ISO 15444-1, annex B).
  const int64_t column = (image.x0 + x) / c.dx - (static_cast<int64_t>(image.x0) + c.dx - 1) / c.dx;
  const int64_t row = (image.y0 + y) / c.dy - (static_cast<int64_t>(image.y0) + c.dy - 1) / c.dy;
  const auto inside = [](int64_t v, OPJ_UINT32 n) { return v < 0 ? 0 : v >= n ? static_cast<int64_t>(n) - 1 : v; };
  int64_t v = c.data[inside(row, c.h) * c.w + inside(column, c.w)];
  if (c.sgnd != 0) v += int64_t{1} << (c.prec - 1);
  v = c.prec > 8 ? v >> (c.prec - 8) : c.prec < 8 ? v * 255 / ((1 << c.prec) - 1) : v;
  return static_cast<int32_t>(v < 0 ? 0 : v > 255 ? 255 : v);
}

uint8_t rounded(double v) { return static_cast<uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v + 0.5); }

const char* decode(Span<const uint8_t> stream, const ImageSize& size, uint8_t* rgb) {
  Reader r(stream);
  if (!r.header() || opj_decode(r.codec, r.stream, r.image) != OPJ_TRUE ||
      opj_end_decompress(r.codec, r.stream) != OPJ_TRUE)
    return kDamaged;
  const opj_image_t& image = *r.image;
  if (image.numcomps == 0 || image.numcomps > 4) return kDamaged;  // a palette may have changed their number
  const OPJ_UINT32 colours = image.numcomps < 3 ? 1 : 3;
  for (OPJ_UINT32 i = 0; i < colours; ++i) {
    const opj_image_comp_t& c = image.comps[i];
    if (c.data == nullptr || c.w == 0 || c.h == 0 || c.dx == 0 || c.dy == 0 || c.prec == 0 || c.prec > 16)
      return "a kind of JPEG 2000 that has no 8-bit pixels";
  }
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x, rgb += 3) {
      int32_t v[3];
      for (OPJ_UINT32 i = 0; i < 3; ++i) v[i] = sample(image, image.comps[i % colours], x, y);
      if (image.color_space == OPJ_CLRSPC_SYCC && colours == 3) {  // IEC 61966-2-1, amendment 1
        const double luma = v[0], cb = v[1] - 128, cr = v[2] - 128;
        rgb[0] = rounded(luma + 1.402 * cr);
        rgb[1] = rounded(luma - 0.344136 * cb - 0.714136 * cr);
        rgb[2] = rounded(luma + 1.772 * cb);
        continue;
      }
      for (int i = 0; i < 3; ++i) rgb[i] = static_cast<uint8_t>(v[i]);
    }
  }
  return nullptr;
}
#else
constexpr decltype(ImageCodec::size) size = nullptr;
constexpr decltype(ImageCodec::decode) decode = nullptr;
#endif

}  // namespace

const ImageCodec kJpeg2000Codec = {"JPEG 2000", "OpenJPEG", matches, size, decode};

}  // namespace vireo
