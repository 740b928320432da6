// BMP: headers of 12 bytes (OS/2) and of 40 and more, 1, 4 and 8 bits with a palette, 16, 24 and 32 bits, fields by
// mask, rows from below or from above. Without run lengths. Source: Microsoft, "Bitmap Storage".
#include "sdk/media/image_codec.h"

namespace vireo {
namespace {

constexpr const char* kCut = "the BMP stream is cut off";

uint32_t little(Span<const uint8_t> s, size_t at, int bytes) {
  uint32_t v = 0;
  for (int i = 0; i < bytes; ++i) v |= uint32_t{s[at + static_cast<size_t>(i)]} << (8 * i);
  return v;
}

struct Header {
  int64_t width = 0, height = 0;
  bool from_above = false;
  uint32_t bits = 0;
  uint32_t pixels = 0;                // where they begin
  uint32_t palette = 0, colours = 0;  // where it begins, how many
  uint32_t entry = 4;                 // bytes of a colour in the palette
  uint32_t mask[3] = {0, 0, 0};       // red, green, blue
};

const char* read_header(Span<const uint8_t> s, Header* h) {
  if (s.size() < 26) return kCut;
  h->pixels = little(s, 10, 4);
  const uint32_t bytes = little(s, 14, 4);
  uint32_t compression = 0;
  if (bytes == 12) {
    h->width = little(s, 18, 2);
    h->height = little(s, 20, 2);
    h->bits = little(s, 24, 2);
    h->entry = 3;
  } else {
    if (bytes < 40 || bytes > 124) return "a header that BMP does not have";
    if (s.size() < 14 + size_t{bytes}) return kCut;
    h->width = static_cast<int32_t>(little(s, 18, 4));
    h->height = static_cast<int32_t>(little(s, 22, 4));
    h->bits = little(s, 28, 2);
    compression = little(s, 30, 4);
    h->colours = little(s, 46, 4);
    h->from_above = h->height < 0;
    if (h->from_above) h->height = -h->height;
  }
  h->palette = 14 + bytes;
  if (h->width <= 0 || h->height <= 0) return "a BMP without pixels";
  if (h->bits <= 8) {
    if (h->bits != 1 && h->bits != 4 && h->bits != 8) return "bits that BMP does not have";
    if (compression != 0) return "a BMP of run lengths";
    if (h->colours == 0 || h->colours > (1u << h->bits)) h->colours = 1u << h->bits;
    if (s.size() < size_t{h->palette} + size_t{h->colours} * h->entry) return kCut;
    return nullptr;
  }
  if (h->bits != 16 && h->bits != 24 && h->bits != 32) return "bits that BMP does not have";
  if (compression == 3 && h->bits != 24) {  // behind a header of 40 bytes, or in a longer one: at the same place
    if (s.size() < 66) return kCut;
    for (int i = 0; i < 3; ++i) h->mask[i] = little(s, 54 + 4 * static_cast<size_t>(i), 4);
    return nullptr;
  }
  if (compression != 0) return "a BMP that holds another format";
  const bool five = h->bits == 16;
  h->mask[0] = five ? 0x7C00 : 0xFF0000;
  h->mask[1] = five ? 0x03E0 : 0x00FF00;
  h->mask[2] = five ? 0x001F : 0x0000FF;
  return nullptr;
}

// The field under `mask`, stretched to 0..255.
uint8_t field(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  while ((mask & 1) == 0) {
    mask >>= 1;
    pixel >>= 1;
  }
  return static_cast<uint8_t>((uint64_t{pixel & mask} * 255 + mask / 2) / mask);
}

bool matches(Span<const uint8_t> stream) { return begins_with(stream, "BM", 2); }

const char* size(Span<const uint8_t> stream, ImageSize* size) {
  Header h;
  const char* const why = read_header(stream, &h);
  if (why == nullptr) *size = {h.width, h.height};
  return why;
}

const char* decode(Span<const uint8_t> s, const ImageSize& size, uint8_t* rgb) {
  Header h;
  const char* const why = read_header(s, &h);
  if (why != nullptr) return why;
  const auto row_bytes = (static_cast<uint64_t>(size.width) * h.bits + 31) / 32 * 4;
  if (s.size() < h.pixels || (s.size() - h.pixels) / row_bytes < static_cast<uint64_t>(size.height)) return kCut;
  for (int64_t y = 0; y < size.height; ++y) {
    const auto stored = static_cast<uint64_t>(h.from_above ? y : size.height - 1 - y);
    const auto row = static_cast<size_t>(h.pixels + stored * row_bytes);
    for (size_t x = 0; x < static_cast<size_t>(size.width); ++x, rgb += 3) {
      if (h.bits > 8) {
        const uint32_t pixel = little(s, row + x * (h.bits / 8), static_cast<int>(h.bits / 8));
        for (int i = 0; i < 3; ++i) rgb[i] = field(pixel, h.mask[i]);
        continue;
      }
      const size_t bit = x * h.bits;
      const uint32_t index = (s[row + bit / 8] >> (8 - h.bits - bit % 8)) & ((1u << h.bits) - 1);
      if (index >= h.colours) return "a pixel outside the BMP's palette";
      for (size_t i = 0; i < 3; ++i) rgb[i] = s[h.palette + index * h.entry + 2 - i];
    }
  }
  return nullptr;
}

}  // namespace

const ImageCodec kBmpCodec = {"BMP", "", matches, size, decode};

}  // namespace vireo
