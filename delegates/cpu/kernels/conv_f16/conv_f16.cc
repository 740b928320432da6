#include "delegates/cpu/kernels/conv_f16/conv_f16.h"

#include "delegates/cpu/kernels/conv_image/conv_image.h"
#include "delegates/cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "delegates/cpu/kernels/gemm/engine.h"
#include "delegates/cpu/kernels/half/half.h"

namespace vireo::cpu {
namespace {

constexpr int64_t kBandFloats = 160 * 1024;  // of x, y and the residual: 640 KiB, about a core's own cache

int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }
int64_t area(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }
size_t whole_lines(int64_t count, size_t each) { return (static_cast<size_t>(count) * each + 63) / 64 * 64; }
size_t floats(int64_t count) { return whole_lines(count, sizeof(float)); }

bool empty(const ConvF32& s) { return s.n <= 0 || s.out_channels <= 0 || area(s.out) <= 0; }

// How filters are read.
struct Filters {
  bool panels;      // layout 8
  bool image;       // panels, widened first: a few thousand numbers
  int64_t count;    // as they lie
  int64_t in_room;  // float16 elements of panels that the model's host does not keep

  Filters(const ConvF16& c, bool packed)
      : panels(packed || conv_f16_packed_elements(c) > 0),
        image(panels && conv_image_f32_serves(c.shape)),
        count(c.shape.out_channels * (c.shape.in_channels / c.shape.groups) * area(c.shape.kernel)),
        in_room(panels && !packed ? conv_f16_packed_elements(c) : 0) {}
  // An upper bound for any smaller image: whether conv_image serves follows from sizes that may shrink.
  size_t bytes(const ConvF16& c) const {
    const bool few = c.shape.in_channels <= 3 && c.shape.groups == 1;
    return whole_lines(in_room, sizeof(uint16_t)) + (!panels ? floats(count)
                                                     : few   ? floats(conv_f16_packed_elements(c))
                                                             : 0);
  }
};

// The lines of the result that go together.
struct Bands {
  bool whole;     // an image at a time
  int64_t lines;  // of y
  int64_t line_x, line_y, reach;

  explicit Bands(const ConvF32& s)
      : line_x(s.in[2] * s.in_channels),
        line_y(s.out[2] * s.out_channels),
        reach((s.kernel[1] - 1) * s.dilation[1] + 1) {
    // Each line's window meets the image.
    const bool meets = s.pad[1] >= 0 && s.pad[1] < reach && (s.out[1] - 1) * s.stride[1] - s.pad[1] < s.in[1];
    whole = s.in[0] != 1 || s.out[0] != 1 || s.kernel[0] != 1 || !meets;
    lines = s.out[1];
    if (whole) return;
    const int64_t each = s.stride[1] * line_x + 2 * line_y;
    const int64_t most = at_least((kBandFloats - (reach - s.stride[1]) * line_x) / at_least(each, 1), 1);
    const int64_t count = (lines + most - 1) / most;
    lines = (lines + count - 1) / at_least(count, 1);
  }
  int64_t count(const ConvF32& s) const { return whole ? 1 : (s.out[1] + lines - 1) / lines; }
  // Floats of x, and of y, as of the residual.
  int64_t x_floats(const ConvF32& s) const {
    return whole ? area(s.in) * s.in_channels : at_most((lines - 1) * s.stride[1] + reach, s.in[1]) * line_x;
  }
  int64_t y_floats(const ConvF32& s) const { return whole ? area(s.out) * s.out_channels : lines * line_y; }
};

// Whether all images up to this one go in bands: for less than a stride more of padding below, each line's window meets
// the image.
bool always_in_bands(const ConvF32& s, int64_t reach) {
  return s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.pad[1] >= 0 && s.pad[1] < reach &&
         s.out[1] * s.stride[1] - 1 - s.pad[1] < s.in[1];
}

size_t band_bytes(const ConvF32& s, Sizes sizes) {
  const Bands bands(s);
  const int64_t x = area(s.in) * s.in_channels, y = area(s.out) * s.out_channels;
  const int64_t line = bands.reach * bands.line_x + 2 * bands.line_y;
  const bool flat = sizes == Sizes::kFixed ? !bands.whole : always_in_bands(s, bands.reach);
  const int64_t all = x + 2 * y;
  return floats(flat ? at_most(all, at_least(kBandFloats, line)) : all) + 3 * 64;
}

size_t inner_bytes(const ConvF16& c, bool packed, int32_t slots) {
  const bool panels = Filters(c, packed).panels;
  const size_t bytes = c.last ? conv_nhwc_f32_scratch_bytes(c.shape, slots, Sizes::kUpperBounds, panels)
                              : conv_f32_scratch_bytes(c.shape, slots, Sizes::kUpperBounds);
  return (bytes + 63) / 64 * 64;
}

// Filters as the float32 kernels take them: `shape` is told, or they lie at *weights.
char* prepare_filters(const ConvF16& c, const uint16_t* from, const Parallel& parallel, char* room, ConvF32* shape,
                      const float** weights) {
  const Filters f(c, c.packed != nullptr);
  char* at = room;
  const uint16_t* packed = c.packed;
  if (f.in_room > 0) {
    auto* const to = reinterpret_cast<uint16_t*>(at);
    at += whole_lines(f.in_room, sizeof(uint16_t));
    pack_conv_f16(c, from, parallel, to);
    packed = to;
  }
  auto* const wide = reinterpret_cast<float*>(at);
  shape->packed = nullptr;
  shape->packed_f16 = nullptr;
  *weights = nullptr;
  if (!f.panels) {
    f32_from_f16(from, wide, f.count, parallel);
    *weights = wide;
  } else if (f.image) {
    f32_from_f16(packed, wide, conv_f16_packed_elements(c), parallel);
    shape->packed = wide;
  } else {
    shape->packed_f16 = packed;
  }
  return room + f.bytes(c);
}

// Lines [begin, end) of all channels of one image, where channels first lines of one channel stay together: calls
// move(where they begin in the image, where in the band, how many elements).
template <class Move>
void move_lines(bool last, const int64_t (&size)[3], int64_t channels, int64_t begin, int64_t end, const Move& move) {
  if (last) return move(begin * size[2] * channels, 0, (end - begin) * size[2] * channels);
  for (int64_t c = 0; c < channels; ++c)
    move((c * size[1] + begin) * size[2], c * (end - begin) * size[2], (end - begin) * size[2]);
}

}  // namespace

int64_t conv_f16_packed_elements(const ConvF16& c) { return c.last ? conv_nhwc_f32_packed_floats(c.shape) : 0; }

void pack_conv_f16(const ConvF16& c, const uint16_t* weights, const Parallel& parallel, uint16_t* packed) {
  const ConvF32& s = c.shape;
  const int64_t n = s.out_channels / s.groups, channels = s.in_channels / s.groups, taps = area(s.kernel);
  for (int64_t g = 0; g < s.groups; ++g) {
    pack_f16(Columns16::filters(weights + g * n * channels * taps, channels, taps), n, channels * taps, parallel,
             packed + g * f16_packed_elements(n, channels * taps));
  }
}

size_t conv_f16_scratch_bytes(const ConvF16& c, int32_t slots, bool packed, bool halves, Sizes sizes) {
  const ConvF32& s = c.shape;
  if (empty(s)) return 0;
  const size_t threads = static_cast<size_t>(slots < 1 ? 1 : slots);
  const size_t filters = Filters(c, packed).bytes(c), all = inner_bytes(c, packed, slots);
  if (!halves) return filters + all;
  const size_t band = band_bytes(s, sizes), apart = threads * (band + inner_bytes(c, packed, 1)), together = band + all;
  return filters + 2 * floats(s.out_channels) + (apart > together ? apart : together);
}

void conv_f16(const ConvF16& c, const float* x, const uint16_t* weights, float* y, const Parallel& parallel,
              void* scratch) {
  if (empty(c.shape)) return;
  ConvF32 s = c.shape;
  const float* wide = nullptr;
  char* const room = prepare_filters(c, weights, parallel, static_cast<char*>(scratch), &s, &wide);
  (c.last ? conv_nhwc_f32 : conv_f32)(s, x, wide, y, parallel, room);
}

void conv_f16(const ConvF16& c, const uint16_t* x, const uint16_t* weights, uint16_t* y, const Parallel& parallel,
              void* scratch) {
  if (empty(c.shape)) return;
  ConvF32 s = c.shape;
  const float* wide = nullptr;
  char* room = prepare_filters(c, weights, parallel, static_cast<char*>(scratch), &s, &wide);
  const auto channels_of = [&](const uint16_t* from) -> const float* {
    float* const to = reinterpret_cast<float*>(room);
    room += floats(s.out_channels);
    if (from == nullptr) return nullptr;
    f32_from_f16(from, to, s.out_channels, Parallel{});
    return to;
  };
  s.bias = channels_of(c.tail.col_bias);
  s.slope = channels_of(c.tail.col_slope);
  s.residual = nullptr;
  const Bands bands(s);
  const int64_t count = bands.count(s), units = s.n * count;
  const size_t band = band_bytes(s, Sizes::kFixed);
  const auto run = [&](int64_t unit, const Parallel& spread, char* mine) {
    const int64_t image = unit / count, y0 = bands.whole ? 0 : unit % count * bands.lines;
    const int64_t y1 = bands.whole ? s.out[1] : at_most(y0 + bands.lines, s.out[1]);
    ConvF32 part = s;
    part.n = 1;
    const uint16_t* const from = x + image * area(s.in) * s.in_channels;
    uint16_t* const to = y + image * area(s.out) * s.out_channels;
    auto* const xf = reinterpret_cast<float*>(mine);
    float* const yf = xf + floats(bands.x_floats(s)) / sizeof(float);
    float* const residual = yf + floats(bands.y_floats(s)) / sizeof(float);
    if (bands.whole) {
      f32_from_f16(from, xf, bands.x_floats(s), spread);
    } else {
      const int64_t start = y0 * s.stride[1] - s.pad[1];
      const int64_t first = at_least(start, 0),
                    end = at_most(start + (y1 - y0 - 1) * s.stride[1] + bands.reach, s.in[1]);
      part.pad[1] = first - start;
      part.in[1] = end - first;
      part.out[1] = y1 - y0;
      move_lines(c.last, s.in, s.in_channels, first, end, [&](int64_t at, int64_t wide_at, int64_t floats_of) {
        f32_from_f16(from + at, xf + wide_at, floats_of, spread);
      });
    }
    const auto lines_of_y = [&](const auto& move) {
      if (bands.whole) return move(0, 0, bands.y_floats(s));
      move_lines(c.last, s.out, s.out_channels, y0, y1, move);
    };
    if (c.tail.residual != nullptr) {
      const uint16_t* const added = c.tail.residual + image * area(s.out) * s.out_channels;
      lines_of_y([&](int64_t at, int64_t wide_at, int64_t floats_of) {
        f32_from_f16(added + at, residual + wide_at, floats_of, spread);
      });
      part.residual = residual;
    }
    (c.last ? conv_nhwc_f32 : conv_f32)(part, xf, wide, yf, spread, mine + band);
    lines_of_y([&](int64_t at, int64_t wide_at, int64_t floats_of) {
      f16_from_f32(yf + wide_at, to + at, floats_of, spread);
    });
  };
  if (units >= 2 * int64_t{parallel.slots} && parallel.slots > 1) {
    const size_t each = band + inner_bytes(c, c.packed != nullptr, 1);
    parallel.for_range(units, 1, [&](int64_t begin, int64_t end, int32_t slot) {
      for (int64_t unit = begin; unit < end; ++unit) run(unit, Parallel{}, room + static_cast<size_t>(slot) * each);
    });
    return;
  }
  for (int64_t unit = 0; unit < units; ++unit) run(unit, parallel, room);
}

}  // namespace vireo::cpu
