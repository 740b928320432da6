#include "delegates/cpu/kernels/depthwise_i8/depthwise_i8.h"

#include <string.h>

#define VIREO_KERNEL_USES_VNNI
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/depthwise_i8/depthwise_i8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "delegates/cpu/kernels/requantize/finish-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_STRIP_
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_STRIP_
namespace vireo::cpu {
constexpr int64_t kSlack = 64;  // elements that the last vector of a row may reach beyond it

// Input rows copied with their padding, so that the arithmetic needs no bounds. With `phases` > 1 the columns of a row
// are sorted by their remainder modulo the stride, and neighbouring outputs read neighbouring elements.
struct Strip {
  int64_t phases, phase;  // phase: elements from one remainder to the next
  int64_t pitch;          // elements from one row to the next
  int64_t rows;           // output rows of a full strip
  int64_t in_rows;        // input rows that they see
  int64_t elements;
  int64_t most;  // an upper bound of it for all images up to this one's size

  static constexpr int64_t kElements = 16 * 1024;  // 16 or 32 KiB: within a first-level cache

  Strip(const Window& w, bool sorted) {
    const int64_t width = (w.out_w - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1;
    phases = sorted ? w.stride_w : 1;
    phase = phases == 1 ? width : (width + phases - 1) / phases;
    pitch = phase * phases;
    const int64_t reach = (w.kernel_h - 1) * w.dilation_h + 1;
    rows = kElements / pitch < reach ? 1 : (kElements / pitch - reach) / w.stride_h + 1;
    if (rows > w.out_h) rows = w.out_h;
    in_rows = (rows - 1) * w.stride_h + reach;
    elements = in_rows * pitch + kSlack;
    most = (kElements > reach * pitch ? kElements : reach * pitch) + kSlack;
  }
  // Where tap (i, j) of output (0, 0) lies.
  int64_t tap(const Window& w, int64_t i, int64_t j) const {
    const int64_t column = j * w.dilation_w;
    return i * w.dilation_h * pitch + column % phases * phase + column / phases;
  }
};

struct DepthwiseRange {
  const DepthwiseI8* shape;
  const void *x, *weights;
  void* y;
  int64_t begin, end;  // input planes
};
inline int32_t code_at(const void* data, bool is_signed, int64_t i) {
  return is_signed ? static_cast<const int8_t*>(data)[i] : static_cast<const uint8_t*>(data)[i];
}
inline int32_t weight_zero(const DepthwiseI8& s, int64_t o) {
  return s.w_zero == nullptr ? 0 : code_at(s.w_zero, s.w_signed, s.w_zero_per_channel ? o : 0);
}
}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// What one output plane is made with.
struct PlaneOut {
  const int32_t* weights;  // pairs or quads along the taps
  int32_t start;           // of every sum: the bias, and what zero points bring
  const Finish* finish;    // null: int32
  float multiplier;
  uint8_t* bytes;  // the strip's first row, or
  int32_t* sums;
};

// ---- 16-bit differences, two taps at a time: every instruction set, every weight

template <class T>
HWY_INLINE void copy_differences(const T* from, int64_t step, int64_t count, int32_t zero, int16_t* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (step == 1) {
    const hn::ScalableTag<int16_t> d;
    const hn::Rebind<T, decltype(d)> narrow;
    const auto z = hn::Set(d, static_cast<int16_t>(zero));
    for (; i + 2 * kLanes <= count; i += 2 * kLanes)
      hn::StoreU(hn::Sub(hn::PromoteTo(d, hn::LoadU(narrow, from + i)), z), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<int16_t>(from[i * step] - zero);
}

// Rows of padding and the columns beside the image hold 0 from the beginning; rows that another strip wrote are
// cleared.
HWY_INLINE void copy_strip(const DepthwiseI8& s, const Strip& strip, const void* plane, int64_t y0, int64_t rows,
                           bool fresh, int16_t* to) {
  const Window& w = s.window;
  const int64_t in_rows = (rows - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1;
  const int64_t reach = (w.out_w - 1) * w.stride_w + (w.kernel_w - 1) * w.dilation_w + 1 - w.pad_left;
  const int64_t width = reach < w.in_w ? reach : w.in_w;
  for (int64_t r = 0; r < in_rows; ++r, to += strip.pitch) {
    const int64_t y = y0 * w.stride_h - w.pad_top + r;
    if (y < 0 || y >= w.in_h) {
      if (!fresh) memset(to, 0, static_cast<size_t>(strip.pitch) * sizeof(int16_t));
      continue;
    }
    for (int64_t f = 0; f < strip.phases; ++f) {
      // The first column of the image whose place in the strip has this remainder.
      const int64_t first = ((f - w.pad_left) % strip.phases + strip.phases) % strip.phases;
      if (first >= width) continue;
      const int64_t count = (width - first + strip.phases - 1) / strip.phases;
      int16_t* const out = to + f * strip.phase + (first + w.pad_left) / strip.phases;
      if (s.x_signed) {
        copy_differences(static_cast<const int8_t*>(plane) + y * w.in_w + first, strip.phases, count, s.x_zero, out);
      } else {
        copy_differences(static_cast<const uint8_t*>(plane) + y * w.in_w + first, strip.phases, count, s.x_zero, out);
      }
    }
  }
}

// Pairs of 16-bit differences; an odd end is paired with 0.
HWY_INLINE void pair_weights(const DepthwiseI8& s, const void* weights, int64_t o, int64_t taps, int32_t* pairs) {
  const int32_t zero = weight_zero(s, o);
  for (int64_t t = 0; t < taps; t += 2) {
    const uint32_t even = static_cast<uint32_t>(code_at(weights, s.w_signed, o * taps + t) - zero) & 0xFFFF;
    const uint32_t odd =
        t + 1 < taps ? static_cast<uint32_t>(code_at(weights, s.w_signed, o * taps + t + 1) - zero) : 0;
    pairs[t / 2] = static_cast<int32_t>(even | odd << 16);
  }
}

// `offsets`: of the taps, of an even number.
HWY_INLINE void row_of_pairs(const PlaneOut& out, const int16_t* line, const int64_t* offsets, int64_t pairs,
                             int64_t row, int64_t width) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t x = 0; x < width; ++x) {
    uint32_t sum = static_cast<uint32_t>(out.start);
    for (int64_t t = 0; t < pairs; ++t) {
      const int32_t even = static_cast<int16_t>(out.weights[t] & 0xFFFF), odd = out.weights[t] >> 16;
      sum += static_cast<uint32_t>(line[offsets[2 * t] + x] * even) +
             static_cast<uint32_t>(line[offsets[2 * t + 1] + x] * odd);
    }
    if (out.finish == nullptr) {
      out.sums[row * width + x] = static_cast<int32_t>(sum);
    } else {
      const VI v = hn::Set(DI(), static_cast<int32_t>(sum));
      out.finish->store(out.finish->rounded(v, hn::Set(DF(), out.multiplier)), 1, out.bytes + row * width + x);
    }
  }
#else
  const DI d;
  const hn::Repartition<int16_t, DI> d16;
  const VI start = hn::Set(d, out.start);
  const VF m = hn::Set(DF(), out.multiplier);
  for (int64_t x = 0; x < width; x += 2 * kLanes) {
    VI lo = start, hi = start, none = hn::Zero(d);
    for (int64_t t = 0; t < pairs; ++t) {
      const auto even = hn::LoadU(d16, line + offsets[2 * t] + x), odd = hn::LoadU(d16, line + offsets[2 * t + 1] + x);
      const auto weight = hn::BitCast(d16, hn::Set(d, out.weights[t]));
      const auto first = hn::InterleaveLower(d16, even, odd), second = hn::InterleaveUpper(d16, even, odd);
#if HWY_ARCH_X86
      lo = hn::ReorderWidenMulAccumulate(d, first, weight, lo, none);
      hi = hn::ReorderWidenMulAccumulate(d, second, weight, hi, none);
#else
      lo = hn::Add(lo, hn::WidenMulPairwiseAdd(d, first, weight));
      hi = hn::Add(hi, hn::WidenMulPairwiseAdd(d, second, weight));
#endif
    }
    (void)none;
    const size_t count = static_cast<size_t>(width - x < 2 * kLanes ? width - x : 2 * kLanes);
    if (out.finish != nullptr) {
      const Finish& finish = *out.finish;
      finish.store_halves(finish.rounded(lo, m), finish.rounded(hi, m), count, out.bytes + row * width + x);
      continue;
    }
    HWY_ALIGN int32_t halves[2][kLanes];  // block by block: 4 columns in lo, the next 4 in hi
    hn::Store(lo, d, halves[0]);
    hn::Store(hi, d, halves[1]);
    for (size_t i = 0; i < count; ++i)
      out.sums[row * width + x + static_cast<int64_t>(i)] = halves[i / 4 % 2][i / 8 * 4 + i % 4];
  }
#endif
}

// ---- Bytes, four taps of a row at a time

#if HWY_TARGET == HWY_AVX3_DL
constexpr int64_t kUnits = 4;  // vectors of 16 sums that are worked on together

// Sixteen outputs are a unit: of one row, or of two where a row has 8 at most. Their taps of one kernel row lie within
// 64 bytes, out of which one permutation makes 16 quads.
class QuadRows {
 public:
  QuadRows(const Window& w, const Strip& strip)
      : w_(w), strip_(strip), groups_((w.kernel_w + 3) / 4), blocks_((w.out_w + 15) / 16) {
    const int64_t next = strip.pitch * w.stride_h;
    two_ = w.out_w <= 8 && next + 7 * w.stride_w + 3 * w.dilation_w < 64;
    HWY_ALIGN uint8_t order[64];
    for (int64_t i = 0; i < 64; ++i) {
      const int64_t lane = i / 4, column = two_ ? lane % 8 : lane;
      order[i] = static_cast<uint8_t>((two_ ? lane / 8 * next : 0) + column * w.stride_w + i % 4 * w.dilation_w);
    }
    order_ = hn::Load(hn::Repartition<uint8_t, DI>(), order);
  }
  // Whether a unit's taps lie that close.
  static bool reach(const Window& w) { return 15 * w.stride_w + 3 * w.dilation_w < 64; }
  int64_t quads() const { return w_.kernel_h * groups_; }

  void run(const PlaneOut& out, const uint8_t* strip, int64_t rows) const {
    const int64_t lines = two_ ? (rows + 1) / 2 : rows, units = lines * blocks_;
    const uint8_t* from[kUnits];
    int64_t row[kUnits], column[kUnits];
    for (int64_t u = 0; u < units; u += kUnits) {
      const int64_t count = units - u < kUnits ? units - u : kUnits;
      for (int64_t i = 0; i < kUnits; ++i) {
        const int64_t unit = i < count ? u + i : u;
        row[i] = unit / blocks_ * (two_ ? 2 : 1);
        column[i] = unit % blocks_ * 16;
        from[i] = strip + row[i] * w_.stride_h * strip_.pitch + column[i] * w_.stride_w;
      }
      VI acc[kUnits];
      sums(out, from, acc);
      if (out.finish == nullptr) {
        for (int64_t i = 0; i < count; ++i) {
          HWY_ALIGN int32_t values[16];
          hn::Store(acc[i], DI(), values);
          put(values, row[i], column[i], rows, out.sums);
        }
        continue;
      }
      const Finish& finish = *out.finish;
      const VF m = hn::Set(DF(), out.multiplier);
      const auto codes = finish.in_order(finish.rounded(acc[0], m), finish.rounded(acc[1], m),
                                         finish.rounded(acc[2], m), finish.rounded(acc[3], m));
      if (count == kUnits && row[0] == row[3] && column[0] + 64 <= w_.out_w) {
        finish.store(codes, 64, out.bytes + row[0] * w_.out_w + column[0]);
        continue;
      }
      put(hn::ExtractBlock<0>(codes), row[0], column[0], rows, out.bytes);
      if (count > 1) put(hn::ExtractBlock<1>(codes), row[1], column[1], rows, out.bytes);
      if (count > 2) put(hn::ExtractBlock<2>(codes), row[2], column[2], rows, out.bytes);
      if (count > 3) put(hn::ExtractBlock<3>(codes), row[3], column[3], rows, out.bytes);
    }
  }

 private:
  HWY_INLINE void sums(const PlaneOut& out, const uint8_t* const (&from)[kUnits], VI (&acc)[kUnits]) const {
    const hn::Repartition<uint8_t, DI> d8;
    const auto order = hn::IndicesFromVec(d8, order_);
    VIREO_UNROLL
    for (int i = 0; i < kUnits; ++i) acc[i] = hn::Set(DI(), out.start);
    const int32_t* weight = out.weights;
    for (int64_t ky = 0; ky < w_.kernel_h; ++ky) {
      for (int64_t g = 0; g < groups_; ++g, ++weight) {
        const int64_t at = ky * w_.dilation_h * strip_.pitch + g * 4 * w_.dilation_w;
        const auto wv = hn::BitCast(hn::Repartition<int8_t, DI>(), hn::Set(DI(), *weight));
        VIREO_UNROLL
        for (int i = 0; i < kUnits; ++i) {
          acc[i] =
              hn::SumOfMulQuadAccumulate(DI(), hn::TableLookupLanes(hn::LoadU(d8, from[i] + at), order), wv, acc[i]);
        }
      }
    }
  }
  // 16 outputs of one row, or 8 of each of two.
  HWY_INLINE void put(hn::Vec128<int8_t> codes, int64_t row, int64_t column, int64_t rows, uint8_t* to) const {
    const hn::CappedTag<int8_t, 16> d;
    auto* const y = reinterpret_cast<int8_t*>(to) + row * w_.out_w + column;
    const int64_t left = w_.out_w - column;
    if (left >= 16) return hn::StoreU(codes, d, y);
    hn::StoreN(codes, d, y, static_cast<size_t>(left));
    if (two_ && row + 1 < rows) {
      const hn::Half<decltype(d)> half;
      hn::StoreN(hn::UpperHalf(half, codes), half, y + w_.out_w, static_cast<size_t>(left));
    }
  }
  void put(const int32_t* sums, int64_t row, int64_t column, int64_t rows, int32_t* to) const {
    const int64_t left = w_.out_w - column < 16 ? w_.out_w - column : 16;
    memcpy(to + row * w_.out_w + column, sums, static_cast<size_t>(left) * sizeof(int32_t));
    if (two_ && row + 1 < rows)
      memcpy(to + (row + 1) * w_.out_w, sums + 8, static_cast<size_t>(left) * sizeof(int32_t));
  }

  const Window& w_;
  const Strip& strip_;
  int64_t groups_, blocks_;  // quads of a kernel row; units of an output row
  bool two_;
  hn::Vec<hn::Repartition<uint8_t, DI>> order_;
};

// The same as the one above, of bytes made unsigned; padding holds the zero point.
HWY_INLINE void copy_strip(const DepthwiseI8& s, const Strip& strip, const void* plane, int64_t y0, int64_t rows,
                           bool fresh, uint8_t flip, uint8_t padding, uint8_t* to) {
  const Window& w = s.window;
  const hn::Repartition<uint8_t, DI> d;
  const int64_t in_rows = (rows - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1;
  const int64_t width = strip.pitch - w.pad_left < w.in_w ? strip.pitch - w.pad_left : w.in_w;
  const auto f = hn::Set(d, flip);
  for (int64_t r = 0; r < in_rows; ++r, to += strip.pitch) {
    const int64_t y = y0 * w.stride_h - w.pad_top + r;
    if (y < 0 || y >= w.in_h) {
      if (!fresh) memset(to, padding, static_cast<size_t>(strip.pitch));
      continue;
    }
    const uint8_t* from = static_cast<const uint8_t*>(plane) + y * w.in_w;
    int64_t x = 0;
    for (; x + 64 <= width; x += 64) hn::StoreU(hn::Xor(hn::LoadU(d, from + x), f), d, to + w.pad_left + x);
    const size_t left = static_cast<size_t>(width > x ? width - x : 0);
    if (left != 0) hn::StoreN(hn::Xor(hn::LoadN(d, from + x, left), f), d, to + w.pad_left + x, left);
  }
}

// Quads of int8 differences and their sum; false where one does not fit.
HWY_INLINE bool quad_weights(const DepthwiseI8& s, const void* weights, int64_t o, int32_t* quads, uint32_t* sum) {
  const Window& w = s.window;
  const int32_t zero = weight_zero(s, o);
  int64_t at = o * w.kernel_h * w.kernel_w;
  *sum = 0;
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < w.kernel_w; kx += 4) {
      uint32_t quad = 0;
      for (int64_t i = 0; i < 4 && kx + i < w.kernel_w; ++i) {
        const int32_t v = code_at(weights, s.w_signed, at++) - zero;
        if (v < -128 || v > 127) return false;
        quad |= (static_cast<uint32_t>(v) & 0xFF) << (8 * i);
        *sum += static_cast<uint32_t>(v);
      }
      *quads++ = static_cast<int32_t>(quad);
    }
  }
  return true;
}
#endif

// Input planes [begin, end) of N * C * depth. `scratch`: offsets of taps, weights, a strip.
void depthwise_planes(const DepthwiseRange& range, void* scratch) {
  const DepthwiseI8& s = *range.shape;
  const Window& w = s.window;
  const int64_t taps = w.kernel_h * w.kernel_w, pairs = (taps + 1) / 2, area = w.out_h * w.out_w;
  const int64_t outputs = s.channels * s.multiplier;
  int64_t* const offsets = static_cast<int64_t*>(scratch);
  int32_t* const weights = reinterpret_cast<int32_t*>(offsets + (taps + 8) / 8 * 8);
  int16_t* const copy = reinterpret_cast<int16_t*>(weights + (taps + 16) / 16 * 16);
  const Strip sorted(w, true);
  for (int64_t t = 0; t < taps; ++t) offsets[t] = sorted.tap(w, t / w.kernel_w, t % w.kernel_w);
  offsets[taps] = 0;
  bool holds_pairs = false;
#if HWY_TARGET == HWY_AVX3_DL
  const Strip plain(w, false);
  const QuadRows quad_rows(w, plain);
  const uint8_t flip = s.x_signed ? 0x80 : 0;
  const uint8_t padding = static_cast<uint8_t>(s.x_zero) ^ flip;
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(copy);
  bool holds_bytes = false;
#endif
  for (int64_t i = range.begin; i < range.end; ++i) {
    const int64_t z = i % s.depth, c = i / s.depth % s.channels, n = i / s.depth / s.channels;
    const uint8_t* const plane = static_cast<const uint8_t*>(range.x) + i * w.in_h * w.in_w;
    for (int64_t j = 0; j < s.multiplier; ++j) {
      const int64_t o = c * s.multiplier + j, at = ((n * outputs + o) * s.depth + z) * area;
      uint32_t start = 0;
      PlaneOut out{weights, 0, nullptr, 0, nullptr, nullptr};
      Requantize q;
      if (s.finish != nullptr) {
        q = *s.finish;
        if (q.bias != nullptr) start = static_cast<uint32_t>(q.bias[o]);
        if (q.multiplier_per_row) q.multiplier += o;
        out.multiplier = *q.multiplier;
      }
      const Finish finish(q, s.finish != nullptr && products_in_range(q.multiplier, 1));
      if (s.finish != nullptr) out.finish = &finish;
      const auto strips = [&](const Strip& strip, const auto& work) {
        for (int64_t y0 = 0; y0 < w.out_h; y0 += strip.rows) {
          out.bytes = static_cast<uint8_t*>(range.y) + at + y0 * w.out_w;
          out.sums = static_cast<int32_t*>(range.y) + (s.finish != nullptr ? 0 : at + y0 * w.out_w);
          work(y0, w.out_h - y0 < strip.rows ? w.out_h - y0 : strip.rows);
        }
      };
#if HWY_TARGET == HWY_AVX3_DL
      uint32_t sum = 0;
      if (QuadRows::reach(w) && quad_weights(s, range.weights, o, weights, &sum)) {
        out.start = static_cast<int32_t>(start - static_cast<uint32_t>(padding) * sum);
        if (!holds_bytes) memset(bytes, padding, static_cast<size_t>(plain.elements));
        strips(plain, [&](int64_t y0, int64_t rows) {
          if (j == 0 || plain.rows != w.out_h || !holds_bytes)
            copy_strip(s, plain, plane, y0, rows, plain.rows == w.out_h, flip, padding, bytes);
          quad_rows.run(out, bytes, rows);
        });
        holds_bytes = true;
        holds_pairs = false;
        continue;
      }
      holds_bytes = false;
#endif
      out.start = static_cast<int32_t>(start);
      pair_weights(s, range.weights, o, taps, weights);
      if (!holds_pairs) memset(copy, 0, static_cast<size_t>(sorted.elements) * sizeof(int16_t));
      strips(sorted, [&](int64_t y0, int64_t rows) {
        if (j == 0 || sorted.rows != w.out_h || !holds_pairs)
          copy_strip(s, sorted, plane, y0, rows, sorted.rows == w.out_h, copy);
        for (int64_t row = 0; row < rows; ++row)
          row_of_pairs(out, copy + row * w.stride_h * sorted.pitch, offsets, pairs, row, w.out_w);
      });
      holds_pairs = true;
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(depthwise_planes);

namespace {
size_t slot_bytes(const DepthwiseI8& s) {
  const int64_t taps = s.window.kernel_h * s.window.kernel_w;
  // In units of 64 bytes each; 4 spare for the vector that follows the last pair of a row.
  const int64_t bytes = (taps + 8) / 8 * 64 + (taps + 16) / 16 * 64 + Strip(s.window, true).most * 2 + 256;
  return (static_cast<size_t>(bytes) + 63) & ~size_t{63};
}
bool empty(const DepthwiseI8& s) {
  return s.n <= 0 || s.channels <= 0 || s.multiplier <= 0 || s.depth <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0;
}
}  // namespace

size_t depthwise_i8_scratch_bytes(const DepthwiseI8& s, int32_t slots) {
  return empty(s) ? 0 : slot_bytes(s) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void depthwise_i8(const DepthwiseI8& s, const void* x, const void* weights, void* y, const Parallel& parallel,
                  void* scratch) {
  if (empty(s)) return;
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_planes);
  const size_t room = slot_bytes(s);
  const int64_t planes = s.n * s.channels * s.depth;
  const int64_t work =
      s.window.out_h * s.window.out_w * (s.window.kernel_h * s.window.kernel_w + 4) * s.multiplier + 500;
  // 2^20 multiplications take about 10 us. Four ranges a thread: one that is late keeps the others waiting for little.
  int64_t grain = (int64_t{1} << 20) / work + 1;
  const int64_t even = (planes + 4 * parallel.slots - 1) / (4 * int64_t{parallel.slots});
  if (grain < even) grain = even;
  parallel.for_range(planes, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    const DepthwiseRange range = {&s, x, weights, y, begin, end};
    kernel(range, static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  });
}
}  // namespace vireo::cpu
#endif
