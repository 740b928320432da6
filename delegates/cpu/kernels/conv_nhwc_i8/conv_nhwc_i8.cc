#include "delegates/cpu/kernels/conv_nhwc_i8/conv_nhwc_i8.h"

#include <string.h>

#include "delegates/cpu/kernels/depthwise_nhwc_i8/depthwise_nhwc_i8.h"
#include "delegates/cpu/kernels/intgemm/packed.h"
#include "delegates/cpu/kernels/intgemm/product.h"
#include "delegates/cpu/kernels/intgemm/tiles.h"

namespace vireo::cpu {
namespace {

constexpr int64_t kPatchBytes = 128 * 1024;  // of some pixels, within a core's own cache
constexpr int64_t kBlock = 2 * kTileRows;    // pixels: a block of matrix tiles
constexpr int64_t kShortRun = 256;           // bytes that are not worth a call
constexpr int64_t kPatchSlack = 16;          // bytes behind the patches that copies of whole vectors touch

int64_t area(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }
int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

bool empty(const ConvF32& s) { return s.n <= 0 || s.out_channels <= 0 || area(s.out) <= 0; }

bool is_depthwise(const ConvF32& s) {
  return s.groups == s.in_channels && s.groups == s.out_channels && s.groups > 1 && s.kernel[0] == 1 &&
         s.stride[0] == 1 && s.pad[0] == 0 && s.in[0] == 1 && s.out[0] == 1;
}

// Rows of A are the pixels of x.
bool in_place(const ConvF32& s) {
  for (int i = 0; i < 3; ++i) {
    if (s.kernel[i] != 1 || s.stride[i] != 1 || s.pad[i] != 0 || s.in[i] != s.out[i]) return false;
  }
  return true;
}

DepthwiseI8 depthwise_of(const ConvI8& conv) {
  const ConvF32& s = conv.shape;
  DepthwiseI8 d;
  d.n = s.n;
  d.channels = s.groups;
  d.window = {s.in[1],     s.in[2],     s.out[1],      s.out[2],      s.kernel[1], s.kernel[2],
              s.stride[1], s.stride[2], s.dilation[1], s.dilation[2], s.pad[1],    s.pad[2]};
  d.x_signed = conv.x_signed;
  d.w_signed = conv.w_signed;
  d.x_zero = zero_at(conv.x_zero, conv.x_signed, 0);
  d.w_zero = conv.w_zero;
  d.w_zero_per_channel = conv.w_zero_per_channel;
  d.finish = conv.finish;
  return d;
}

// Bytes [to, to + count): short runs without a call.
void copy_run(const uint8_t* from, int64_t count, uint8_t* to) {
  if (count > 32) {
    memcpy(to, from, static_cast<size_t>(count));
  } else if (count >= 8) {  // the last 8 overlap those before
    for (int64_t i = 0; i + 8 < count; i += 8) memcpy(to + i, from + i, 8);
    memcpy(to + count - 8, from + count - 8, 8);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

// `rows` runs of `bytes` in steps of 16: up to 15 bytes behind each run are read and written as well.
void copy_short_runs(const uint8_t* from, int64_t from_row, int64_t rows, int64_t bytes, uint8_t* to) {
  for (int64_t i = 0; i < rows; ++i, from += from_row, to += bytes) {
    int64_t at = 0;
    for (; at + 64 <= bytes; at += 64) memcpy(to + at, from + at, 64);
    for (; at < bytes; at += 16) memcpy(to + at, from + at, 16);
  }
}

// The patches of pixels [p0, p0 + count) of all images, [count, kernel..., C]; rows `row` apart, kPatchSlack bytes
// behind them may be written.
void copy_patches(const ConvF32& s, const uint8_t* x, uint8_t zero, int64_t p0, int64_t count, int64_t row,
                  uint8_t* patches) {
  const int64_t channels = s.in_channels, out_area = area(s.out), image_bytes = area(s.in) * channels;
  const int64_t line = s.in[2] * channels, run = s.kernel[2] * channels;
  const int64_t lines_deep = (s.kernel[1] - 1) * s.dilation[1] + 1;
  const bool short_runs = s.dilation[2] == 1 && s.kernel[0] == 1 && run <= kShortRun;
  const uint8_t* image = x + p0 / out_area * image_bytes;
  const uint8_t* const end = x + s.n * image_bytes;
  int64_t oz = p0 % out_area / (s.out[1] * s.out[2]), oy = p0 % out_area / s.out[2] % s.out[1], ox = p0 % s.out[2];
  const auto next = [&] {
    if (++ox < s.out[2]) return;
    ox = 0;
    if (++oy < s.out[1]) return;
    oy = 0;
    if (++oz < s.out[0]) return;
    oz = 0;
    image += image_bytes;
  };
  for (int64_t p = p0; p < p0 + count; ++p, patches += row, next()) {
    const int64_t z0 = oz * s.stride[0] - s.pad[0], y0 = oy * s.stride[1] - s.pad[1], x0 = ox * s.stride[2] - s.pad[2];
    if (short_runs && z0 >= 0 && z0 < s.in[0] && y0 >= 0 && y0 + lines_deep <= s.in[1] && x0 >= 0 &&
        x0 + s.kernel[2] <= s.in[2]) {
      const uint8_t* const from = image + ((z0 * s.in[1] + y0) * s.in[2] + x0) * channels;
      if (end - from >= (lines_deep - 1) * line + kShortRun) {
        copy_short_runs(from, s.dilation[1] * line, s.kernel[1], run, patches);
        continue;
      }
    }
    // Taps inside of a line.
    const int64_t step = s.dilation[2];
    const int64_t first = at_most(x0 < 0 ? (-x0 + step - 1) / step : 0, s.kernel[2]);
    const int64_t beyond = s.in[2] > x0 ? (s.in[2] - x0 + step - 1) / step : 0;
    const int64_t last = at_least(at_most(beyond, s.kernel[2]), first);
    uint8_t* to = patches;
    for (int64_t kz = 0; kz < s.kernel[0]; ++kz) {
      for (int64_t ky = 0; ky < s.kernel[1]; ++ky, to += run) {
        const int64_t z = z0 + kz * s.dilation[0], y = y0 + ky * s.dilation[1];
        if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1] || last == first) {
          memset(to, zero, static_cast<size_t>(run));
          continue;
        }
        if (first > 0) memset(to, zero, static_cast<size_t>(first * channels));
        if (last < s.kernel[2])
          memset(to + last * channels, zero, static_cast<size_t>((s.kernel[2] - last) * channels));
        const uint8_t* const from = image + ((z * s.in[1] + y) * s.in[2] + x0 + first * step) * channels;
        if (step == 1) {
          copy_run(from, (last - first) * channels, to + first * channels);
        } else {
          for (int64_t k = first; k < last; ++k)
            copy_run(from + (k - first) * step * channels, channels, to + k * channels);
        }
      }
    }
  }
}

int64_t depth_of(const ConvF32& s) { return s.in_channels / s.groups * area(s.kernel); }

// Bytes from one patch to the next: a tile's rows are whole lines of the cache.
int64_t patch_row(const ConvF32& s) { return (at_least(depth_of(s), 1) + 63) / 64 * 64; }

// Of k of a product over patches: whole fours, because what is left of one takes as long as ten of them. What stands
// behind a patch's end meets zeros of the packed filters.
int64_t patch_depth(const ConvF32& s) { return (depth_of(s) + 3) / 4 * 4; }

// Pixels at a time, whole blocks of tiles but at the end. Never more than for a larger shape.
int64_t block_pixels(const ConvF32& s) {
  const int64_t all = (s.n * area(s.out) + kBlock - 1) / kBlock * kBlock;
  return at_most(at_least(kPatchBytes / patch_row(s) / kBlock, 1) * kBlock, all);
}

size_t rounded(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) & ~size_t{63}; }

// Whether there is no third axis; of upper bounds, whether there may be none.
bool is_flat(const ConvF32& s, Sizes sizes) {
  return s.kernel[0] == 1 && (sizes == Sizes::kUpperBounds || (s.in[0] == 1 && s.out[0] == 1));
}

// Windows that tiles can read from lines: runs of whole 64s of k.
bool has_lines(const ConvF32& s, Sizes sizes) {
  return s.in_channels > 0 && s.in_channels % kTileDepth == 0 && !in_place(s) && is_flat(s, sizes) &&
         s.stride[1] == 1 && s.stride[2] == 1 && s.dilation[2] == 1 && s.pad[2] >= 0;
}

// Windows that vectors can read from lines of x: runs of whole fours of k, worth the loop around them.
bool has_windows(const ConvF32& s, Sizes sizes) {
  const int64_t run = s.kernel[2] * s.in_channels;
  return run >= kTileDepth && run % 4 == 0 && !in_place(s) && is_flat(s, sizes) && s.dilation[2] == 1 &&
         s.pad[1] >= 0 && s.pad[2] >= 0;
}
// No window leaves x.
bool inside(const ConvF32& s) {
  for (int i = 1; i < 3; ++i) {
    if (s.pad[i] != 0 || (s.out[i] - 1) * s.stride[i] + (s.kernel[i] - 1) * s.dilation[i] >= s.in[i]) return false;
  }
  return true;
}

struct Rooms {
  size_t filters, patches, product;  // the first one once, the others a slot
};
Rooms rooms_of(const ConvF32& s, bool packed, Sizes sizes) {
  const int64_t k = in_place(s) ? depth_of(s) : patch_depth(s), pixels = s.n * area(s.out);
  Rooms r;
  r.filters = packed ? 0 : rounded(static_cast<int64_t>(conv_nhwc_i8_packed_bytes(s)));
  // A bound of block_pixels(s) patch_row(s) over all smaller shapes too.
  const int64_t row = patch_row(s), most = at_least(kPatchBytes, kBlock * row), whole = (pixels + kBlock) * row;
  r.patches = in_place(s) ? 0 : rounded(at_most(most, whole) + kPatchSlack);
  r.product = int_slot_bytes(pixels, k, true);
  if (has_lines(s, sizes) || has_windows(s, sizes)) {
    const size_t places = int_slot_bytes(static_cast<int64_t>(r.patches) / s.in_channels, k, true);
    r.product = places > r.product ? places : r.product;
  }
  return r;
}

bool no_zero_points(const ConvI8& conv) {
  const int64_t count = conv.w_zero == nullptr ? 0 : conv.w_zero_per_channel ? conv.shape.out_channels : 1;
  for (int64_t i = 0; i < count; ++i) {
    if (zero_at(conv.w_zero, conv.w_signed, i) != 0) return false;
  }
  return true;
}

// Lines of y, of all images, whose windows are read from lines of x that stand in scratch with their border.
struct Lines {
  const ConvF32& s;
  int64_t places;  // of a line: pixels that windows read
  int64_t deep;    // lines of x that one line of y reads
  int64_t most;    // lines of y that fit in the room

  Lines(const ConvF32& shape, int64_t room)
      : s(shape),
        places((s.out[2] - 1) * s.stride[2] + s.kernel[2]),
        deep((s.kernel[1] - 1) * s.dilation[1] + 1),
        most((room / at_least(places * s.in_channels, 1) - deep + s.stride[1]) / s.stride[1]) {}

  // Of A in tiles, for so many lines of y.
  int64_t rows(int64_t lines) const { return (lines - 1) * places + s.out[2]; }
  int64_t bytes(int64_t lines) const { return ((lines - 1) * s.stride[1] + deep) * places * s.in_channels; }

  // Lines of x for lines [y0, y0 + lines) of one image.
  void copy(const uint8_t* image, uint8_t zero, int64_t y0, int64_t lines, uint8_t* to) const {
    const int64_t c = s.in_channels, left = s.pad[2], inside = at_most(s.in[2], places - left);
    for (int64_t i = 0; i < (lines - 1) * s.stride[1] + deep; ++i, to += places * c) {
      const int64_t at = y0 * s.stride[1] - s.pad[1] + i;
      if (at < 0 || at >= s.in[1] || inside <= 0) {
        memset(to, zero, static_cast<size_t>(places * c));
        continue;
      }
      memset(to, zero, static_cast<size_t>(left * c));
      memcpy(to + left * c, image + at * s.in[2] * c, static_cast<size_t>(inside * c));
      memset(to + (left + inside) * c, zero, static_cast<size_t>((places - left - inside) * c));
    }
  }
  void set(int64_t lines, const uint8_t* from, IntProduct* p) const {
    p->m = rows(lines);
    p->a = from;
    p->a_row = s.in_channels;
    p->runs = s.kernel[1];
    p->a_run = s.dilation[1] * places * s.in_channels;
    p->line_places = places;
    p->line_pixels = s.out[2];
  }
  // For vectors, which take rows from anywhere; lines stand `line` bytes apart.
  void set_windows(int64_t lines, const uint8_t* from, int64_t line, IntProduct* p) const {
    set(lines, from, p);
    p->m = lines * s.out[2];
    p->a_row = s.stride[2] * s.in_channels;
    p->a_run = s.dilation[1] * line;
    p->line_step = s.stride[1] * line;
  }
};

}  // namespace

bool conv_nhwc_i8_serves(const ConvF32& s) { return s.groups == 1 || is_depthwise(s); }

size_t conv_nhwc_i8_packed_bytes(const ConvF32& s) {
  return s.groups != 1 || s.out_channels <= 0 ? 0 : packed_i8_bytes(s.out_channels, depth_of(s));
}

void pack_conv_nhwc_i8(const ConvI8& conv, const void* weights, const Parallel& parallel, void* to) {
  const ConvF32& s = conv.shape;
  ColumnsI8 columns;
  columns.data = weights;
  columns.n = s.out_channels;
  columns.k = columns.n_step = depth_of(s);
  columns.channels = at_least(s.in_channels, 1);
  columns.channel_step = area(s.kernel);
  columns.tap_step = 1;
  columns.a_signed = conv.x_signed;
  columns.b_signed = conv.w_signed;
  columns.nibbles = conv.w_nibbles;
  pack_i8(columns, parallel, to);
}

size_t conv_nhwc_i8_scratch_bytes(const ConvI8& conv, int32_t slots, bool packed, Sizes sizes) {
  const ConvF32& s = conv.shape;
  if (empty(s)) return 0;
  if (is_depthwise(s)) return depthwise_nhwc_i8_scratch_bytes(depthwise_of(conv), slots);
  const Rooms r = rooms_of(s, packed, sizes);
  return r.filters + (r.patches + r.product) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void conv_nhwc_i8(const ConvI8& conv, const void* x, const void* weights, const void* packed, void* y,
                  const Parallel& parallel, void* scratch) {
  conv_nhwc_i8_on(int_tiles(), conv, x, weights, packed, y, parallel, scratch);
}

void conv_nhwc_i8_on(const TileEngine* tiles, const ConvI8& conv, const void* x, const void* weights,
                     const void* packed, void* y, const Parallel& parallel, void* scratch) {
  const ConvF32& s = conv.shape;
  if (empty(s)) return;
  if (is_depthwise(s)) {
    depthwise_nhwc_i8(depthwise_of(conv), static_cast<const uint8_t*>(x), weights, static_cast<uint8_t*>(y), parallel,
                      scratch);
    return;
  }
  const Rooms rooms = rooms_of(s, packed != nullptr, Sizes::kFixed);
  if (packed == nullptr) {
    pack_conv_nhwc_i8(conv, weights, parallel, scratch);
    packed = scratch;
  }
  char* const room = static_cast<char*>(scratch) + rooms.filters;
  Requantize finish = *conv.finish;
  finish.bias_per_column = finish.bias != nullptr;
  finish.multiplier_per_column = finish.multiplier_per_row;
  finish.multiplier_per_row = false;
  GemmI8 g;
  g.m = s.n * area(s.out);
  g.n = g.ldc = s.out_channels;
  g.k = g.lda = depth_of(s);
  g.a_signed = conv.x_signed;
  g.b_signed = conv.w_signed;
  g.a_zero = conv.x_zero;
  g.b_zero = conv.w_zero;
  g.b_zero_per_column = conv.w_zero_per_channel;
  g.finish = &finish;
  g.packed = packed;
  const auto* const from = static_cast<const uint8_t*>(x);
  auto* const to = static_cast<uint8_t*>(y);
  const auto product_of = [&](int64_t pixel) {
    IntProduct p = int_product_of(g, from, nullptr, to + pixel * s.out_channels);
    p.tiles = tiles;
    if (conv.added != nullptr) p.added = static_cast<const uint8_t*>(conv.added) + pixel * s.out_channels;
    return p;
  };
  if (in_place(s)) return run_int_product(product_of(0), parallel, room);
  const auto zero = static_cast<uint8_t>(zero_at(conv.x_zero, conv.x_signed, 0));
  const auto own = [&](int32_t slot) { return room + static_cast<size_t>(slot) * (rooms.patches + rooms.product); };

  // Bytes of filters are packed unmoved and stand for themselves: a 0 behind them adds nothing.
  const bool as_they_are = conv.x_signed != conv.w_signed && no_zero_points(conv);
  const auto by_patches = [&](int64_t begin, int64_t end, int32_t slot) {
    auto* const patches = reinterpret_cast<uint8_t*>(own(slot));
    // Blocks of nearly one size.
    const int64_t most = block_pixels(s), blocks = (end - begin + most - 1) / most;
    const int64_t step = at_most(((end - begin + blocks - 1) / blocks + kBlock - 1) / kBlock * kBlock, most);
    for (int64_t at = begin; at < end; at += step) {
      IntProduct part = product_of(at);
      part.m = at_most(end - at, step);
      part.a = patches;
      part.a_row = patch_row(s);
      if (as_they_are) part.k = patch_depth(s);
      copy_patches(s, from, zero, at, part.m, part.a_row, patches);
      run_int_product(part, Parallel{}, own(slot) + rooms.patches);
    }
  };

  const Lines lines(s, static_cast<int64_t>(rooms.patches));
  const bool by_windows = has_windows(s, Sizes::kFixed) && !conv.x_signed && as_they_are &&
                          int_engine_takes_windows() && (tiles == nullptr || g.k < kTileDepth) &&
                          (inside(s) || lines.most > 0);
  if (by_windows) {
    const int64_t image_bytes = area(s.in) * s.in_channels, out_lines = s.out[1], x_line = s.in[2] * s.in_channels;
    const bool whole = inside(s);  // read where it lies
    // Lines [y0, y0 + count) of image i, columns [n0, n1).
    const auto windows = [&](int64_t i, int64_t y0, int64_t count, int64_t n0, int64_t n1, int32_t slot) {
      IntProduct p = product_of((i * out_lines + y0) * s.out[2]);
      const uint8_t* const image = from + i * image_bytes;
      if (whole) {
        lines.set_windows(count, image + y0 * s.stride[1] * x_line, x_line, &p);
      } else {
        auto* const to_read = reinterpret_cast<uint8_t*>(own(slot));
        lines.copy(image, zero, y0, count, to_read);
        lines.set_windows(count, to_read, lines.places * s.in_channels, &p);
      }
      run_int_columns(p, n0, n1, own(slot) + rooms.patches);
    };
    const int64_t panels = (g.n + kIntPanel - 1) / kIntPanel, most = whole ? out_lines : lines.most;
    if (out_lines <= most && panels >= 2 * parallel.slots && g.n * g.k > lines.bytes(out_lines)) {
      // Filters outweigh the image: threads take columns, and each reads its part of them once.
      const int64_t even = (panels + 2 * parallel.slots - 1) / (2 * int64_t{parallel.slots});
      for (int64_t i = 0; i < s.n; ++i) {
        parallel.for_range(panels, parallel.slots == 1 ? panels : even, [&](int64_t begin, int64_t end, int32_t slot) {
          windows(i, 0, out_lines, begin * kIntPanel, at_most(end * kIntPanel, g.n), slot);
        });
      }
      return;
    }
    const int64_t least = (int64_t{1} << 20) / (g.n * g.k * s.out[2] + 1) + kBlock / s.out[2] + 1;
    parallel.for_range(s.n * out_lines, least, [&](int64_t begin, int64_t end, int32_t slot) {
      for (int64_t at = begin; at < end;) {
        // Bands of nearly one size.
        const int64_t y0 = at % out_lines, left = at_most(end - at, out_lines - y0), bands = (left + most - 1) / most;
        const int64_t count = (left + bands - 1) / bands;
        windows(at / out_lines, y0, count, 0, g.n, slot);
        at += count;
      }
    });
    return;
  }
  const bool by_lines = tiles != nullptr && has_lines(s, Sizes::kFixed) && int_engine_takes_tiles() && as_they_are &&
                        lines.most > 0 && lines.rows(lines.most) >= kTileRows;
  const int64_t image_bytes = area(s.in) * s.in_channels, out_lines = s.out[1];
  const int64_t panels = (g.n + kIntPanel - 1) / kIntPanel;
  if (by_lines && out_lines <= lines.most && lines.rows(out_lines) >= kTileRows && panels >= parallel.slots &&
      g.n * g.k > 4 * lines.bytes(out_lines)) {
    // Filters outweigh the image: threads take columns, and each reads its part of them once.
    for (int64_t i = 0; i < s.n; ++i) {
      parallel.for_range(panels, (panels + parallel.slots - 1) / int64_t{parallel.slots},
                         [&](int64_t begin, int64_t end, int32_t slot) {
                           auto* const image = reinterpret_cast<uint8_t*>(own(slot));
                           lines.copy(from + i * image_bytes, zero, 0, out_lines, image);
                           IntProduct p = product_of(i * area(s.out));
                           lines.set(out_lines, image, &p);
                           run_int_columns(p, begin * kIntPanel, at_most(end * kIntPanel, g.n),
                                           own(slot) + rooms.patches);
                         });
    }
    return;
  }
  if (by_lines) {
    const int64_t least = (int64_t{1} << 20) / (g.n * g.k * s.out[2] + 1) + kTileRows / s.out[2] + 1;
    parallel.for_range(s.n * out_lines, least, [&](int64_t begin, int64_t end, int32_t slot) {
      auto* const image = reinterpret_cast<uint8_t*>(own(slot));
      for (int64_t at = begin; at < end;) {
        const int64_t y0 = at % out_lines, i = at / out_lines;
        const int64_t count = at_most(at_most(end - at, lines.most), out_lines - y0);
        if (lines.rows(count) < kTileRows) {
          by_patches(at * s.out[2], (at + count) * s.out[2], slot);
        } else {
          lines.copy(from + i * image_bytes, zero, y0, count, image);
          IntProduct p = product_of(at * s.out[2]);
          lines.set(count, image, &p);
          run_int_columns(p, 0, g.n, own(slot) + rooms.patches);
        }
        at += count;
      }
    });
    return;
  }
  const int64_t grain = (at_least((int64_t{1} << 20) / (g.n * g.k + 1), 1) + kBlock - 1) / kBlock * kBlock;
  parallel.for_range(g.m, grain, by_patches);
}

}  // namespace vireo::cpu
