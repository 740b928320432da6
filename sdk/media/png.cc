// PNG by libpng. Samples of 16 bits give their upper 8, gamma is left as stored: what pillow and OpenCV do.
#include "sdk/media/image_codec.h"

#if VIREO_CODEC_PNG
#include <png.h>
#include <string.h>
#endif

namespace vireo {
namespace {

bool matches(Span<const uint8_t> stream) { return begins_with(stream, "\x89PNG\r\n\x1A\n", 8); }

#if VIREO_CODEC_PNG
// libpng leaves by longjmp: what has a destructor stands outside the functions that it leaves.
struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  Span<const uint8_t> left;
  explicit Reader(Span<const uint8_t> stream);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (png != nullptr) png_destroy_read_struct(&png, &info, nullptr);
  }
};

void take(png_structp png, png_bytep to, size_t n) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (n > reader->left.size()) png_error(png, "cut off");
  memcpy(to, reader->left.data(), n);
  reader->left = {reader->left.data() + n, reader->left.size() - n};
}
void quiet_error(png_structp png, png_const_charp) { png_longjmp(png, 1); }
void quiet_warning(png_structp, png_const_charp) {}

Reader::Reader(Span<const uint8_t> stream) : left(stream) {
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, quiet_error, quiet_warning);
  if (png != nullptr) info = png_create_info_struct(png);
  if (info != nullptr) png_set_read_fn(png, this, take);
}

bool read_header(Reader* r) {
  if (setjmp(png_jmpbuf(r->png)) != 0) return false;
  png_read_info(r->png, r->info);
  return true;
}

bool read_pixels(Reader* r, int64_t row_bytes, int64_t height, uint8_t* rgb) {
  if (setjmp(png_jmpbuf(r->png)) != 0) return false;
  png_read_info(r->png, r->info);
  png_set_expand(r->png);  // palettes, fewer than 8 bits
  png_set_strip_16(r->png);
  png_set_gray_to_rgb(r->png);
  png_set_strip_alpha(r->png);
  const int passes = png_set_interlace_handling(r->png);
  png_read_update_info(r->png, r->info);
  if (png_get_rowbytes(r->png, r->info) != static_cast<size_t>(row_bytes)) return false;
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < height; ++y) png_read_row(r->png, rgb + y * row_bytes, nullptr);
  }
  png_read_end(r->png, nullptr);
  return true;
}

const char* size(Span<const uint8_t> stream, ImageSize* size) {
  Reader r(stream);
  if (r.info == nullptr) return "out of memory";
  if (!read_header(&r)) return "the header of the PNG stream is damaged";
  *size = {png_get_image_width(r.png, r.info), png_get_image_height(r.png, r.info)};
  return nullptr;
}

const char* decode(Span<const uint8_t> stream, const ImageSize& size, uint8_t* rgb) {
  Reader r(stream);
  if (r.info == nullptr) return "out of memory";
  return read_pixels(&r, size.width * 3, size.height, rgb) ? nullptr : "the PNG stream is damaged or cut off";
}
#else
constexpr decltype(ImageCodec::size) size = nullptr;
constexpr decltype(ImageCodec::decode) decode = nullptr;
#endif

}  // namespace

const ImageCodec kPngCodec = {"PNG", "libpng", matches, size, decode};

}  // namespace vireo
