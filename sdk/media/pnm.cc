// Portable anymap: P1 to P3 as text, P4 to P6 as bytes; bits, grey, colours. Source: Netpbm, pbm(5), pgm(5), ppm(5).
#include "sdk/media/image_codec.h"

namespace vireo {
namespace {

constexpr const char* kCut = "the PNM stream is damaged or cut off";

struct Header {
  int kind = 0;  // the digit behind the P
  int64_t width = 0, height = 0, most = 1;
  size_t at = 0;  // where the pixels begin
  bool text() const { return kind <= 3; }
  int channels() const { return kind % 3 == 0 ? 3 : 1; }
};

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The next number, behind spaces and comments; -1: none, or larger than a file holds. `digits`: at most so many.
int64_t number(Span<const uint8_t> s, size_t* at, int digits) {
  while (*at < s.size() && (is_space(s[*at]) || s[*at] == '#')) {
    if (s[*at] == '#') {
      while (*at < s.size() && s[*at] != '\n' && s[*at] != '\r') ++*at;
    } else {
      ++*at;
    }
  }
  int64_t v = -1;
  for (int i = 0; i < digits && *at < s.size() && s[*at] >= '0' && s[*at] <= '9'; ++i, ++*at) {
    v = (v < 0 ? 0 : v * 10) + (s[*at] - '0');
    if (v > INT32_MAX) return -1;
  }
  return v;
}

bool read_header(Span<const uint8_t> s, Header* h) {
  h->kind = s[1] - '0';
  h->at = 2;
  h->width = number(s, &h->at, 10);
  h->height = number(s, &h->at, 10);
  if (h->kind % 3 != 1) h->most = number(s, &h->at, 10);
  ++h->at;  // one space, whatever follows
  return h->width > 0 && h->height > 0 && h->most > 0 && h->most < 65536 && h->at <= s.size();
}

bool matches(Span<const uint8_t> s) {
  return s.size() > 2 && s[0] == 'P' && s[1] >= '1' && s[1] <= '6' && (is_space(s[2]) || s[2] == '#');
}

const char* size(Span<const uint8_t> stream, ImageSize* size) {
  Header h;
  if (!read_header(stream, &h)) return "the header of the PNM stream is damaged";
  *size = {h.width, h.height};
  return nullptr;
}

const char* decode(Span<const uint8_t> s, const ImageSize& size, uint8_t* rgb) {
  Header h;
  if (!read_header(s, &h)) return kCut;
  const int channels = h.channels();
  const bool bits = h.kind % 3 == 1;  // 1 is black
  const size_t wide = h.most > 255 ? 2 : 1;
  const uint64_t row_bytes =
      h.kind == 4 ? (static_cast<uint64_t>(size.width) + 7) / 8 : static_cast<uint64_t>(size.width * channels) * wide;
  if (!h.text() && (s.size() - h.at) / row_bytes < static_cast<uint64_t>(size.height)) return kCut;
  size_t at = h.at;
  for (int64_t y = 0; y < size.height; ++y) {
    const size_t row = h.at + static_cast<size_t>(static_cast<uint64_t>(y) * row_bytes);
    for (size_t x = 0; x < static_cast<size_t>(size.width); ++x, rgb += 3) {
      for (int c = 0; c < channels; ++c) {
        const size_t sample = x * static_cast<size_t>(channels) + static_cast<size_t>(c);
        int64_t v = 0;
        if (h.text()) {
          v = number(s, &at, bits ? 1 : 10);
        } else if (bits) {
          v = (s[row + x / 8] >> (7 - x % 8)) & 1;
        } else {
          v = wide == 1 ? s[row + sample] : s[row + 2 * sample] * 256 + s[row + 2 * sample + 1];
        }
        if (v < 0 || v > h.most) return kCut;
        if (bits) v = 1 - v;
        rgb[c] = static_cast<uint8_t>((v * 255 + h.most / 2) / h.most);
      }
      if (channels == 1) rgb[1] = rgb[2] = rgb[0];
    }
  }
  return nullptr;
}

}  // namespace

const ImageCodec kPnmCodec = {"PNM", "", matches, size, decode};

}  // namespace vireo
