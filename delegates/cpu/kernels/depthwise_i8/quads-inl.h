// Bytes, four taps of a row at a time: AVX-512 with VNNI and VBMI; compiled once per instruction set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_QUADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_QUADS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_QUADS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_QUADS_INL_H_
#endif

#include <hwy/highway.h>
#include <string.h>

#include "delegates/cpu/kernels/depthwise_i8/pairs-inl.h"
#include "delegates/cpu/kernels/requantize/finish-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kUnits = 4;  // vectors of 16 sums that are worked on together

// Sixteen outputs are a unit: of one row, or of as many rows as fit where rows are short. Their taps of one kernel row
// lie within 64 bytes, out of which one permutation makes 16 quads. Four units that stand below one another are worked
// on together.
class QuadRows {
 public:
  QuadRows(const Window& w, const Strip& strip) : w_(w), pitch_(strip.pitch), groups_((w.kernel_w + 3) / 4) {
    const int64_t next = pitch_ * w.stride_h, last = (w.out_w - 1) * w.stride_w + 3 * w.dilation_w;
    while ((unit_rows_ + 1) * w.out_w <= 16 && unit_rows_ * next + last < 64) ++unit_rows_;
    HWY_ALIGN uint8_t order[64] = {};
    near_ = true;
    for (int64_t i = 0; i < 64; ++i) {
      const int64_t lane = i / 4, row = unit_rows_ == 1 ? 0 : lane / w.out_w, column = lane - row * w.out_w;
      if (row >= unit_rows_) continue;
      order[i] = static_cast<uint8_t>(row * next + column * w.stride_w + i % 4 * w.dilation_w);
      near_ = near_ && order[i] < 32;
    }
    order_ = hn::IndicesFromVec(D(), hn::Load(D(), order));
    if (w.kernel_h == 3 && groups_ == 1 && w.dilation_h == 1) three_step_ = w.stride_h * unit_rows_;
  }
  // Whether a unit's taps lie that close.
  static bool reach(const Window& w) { return 15 * w.stride_w + 3 * w.dilation_w < 64; }

  void run(const PlaneOut& out, const uint8_t* strip, int64_t rows) const {
    const int64_t lines = (rows + unit_rows_ - 1) / unit_rows_;
    for (int64_t column = 0; column < w_.out_w; column += 16) {
      const uint8_t* const from = strip + column * w_.stride_w;
      for (int64_t line = 0; line < lines; line += kUnits) {
        // The last four begin earlier rather than end later; what comes out twice is the same.
        const int64_t first = line + kUnits <= lines ? line : lines > kUnits ? lines - kUnits : 0;
        const int64_t row = first * unit_rows_;
        const int64_t units = lines < kUnits ? lines : kUnits;
        VI acc[kUnits];
        const uint8_t* const at = from + row * w_.stride_h * pitch_;
        const int64_t step = units == kUnits ? three_step_ : 0;
        if (step == 1 && near_) {
          three_rows<1, true>(out, at, acc);
        } else if (step == 1) {
          three_rows<1, false>(out, at, acc);
        } else if (step == 2 && near_) {
          three_rows<2, true>(out, at, acc);
        } else if (step == 2) {
          three_rows<2, false>(out, at, acc);
        } else if (step == 3 && near_) {
          three_rows<3, true>(out, at, acc);
        } else {
          any_rows(out, at, units, acc);
        }
        if (out.finish == nullptr) {
          for (int64_t i = 0; i < units; ++i) {
            HWY_ALIGN int32_t values[16];
            hn::Store(acc[i], DI(), values);
            const int64_t unit = row + i * unit_rows_;
            memcpy(out.sums + unit * w_.out_w + column, values, outputs(unit, column, rows) * sizeof(int32_t));
          }
        } else {
          put_codes(out, acc, units, row, column, rows);
        }
      }
    }
  }

 private:
  using D = hn::Repartition<uint8_t, DI>;
  using Quads = hn::Repartition<int8_t, DI>;

  // 3 x 3 (or narrower) windows without dilation: units kStep input rows apart share what rows they both see.
  // kNear: 32 bytes hold all taps, and half as many loads straddle two lines of the cache.
  template <int kStep, bool kNear>
  HWY_INLINE void three_rows(const PlaneOut& out, const uint8_t* at, VI (&acc)[kUnits]) const {
    hn::Vec<Quads> weights[3];
    VIREO_UNROLL
    for (int k = 0; k < 3; ++k) weights[k] = hn::BitCast(Quads(), hn::Set(DI(), out.weights[k]));
    VIREO_UNROLL
    for (int i = 0; i < kUnits; ++i) acc[i] = hn::Set(DI(), out.start);
    VIREO_UNROLL
    for (int r = 0; r < (kUnits - 1) * kStep + 3; ++r) {
      const auto v = hn::TableLookupLanes(line<kNear>(at + r * pitch_), order_);
      VIREO_UNROLL
      for (int i = 0; i < kUnits; ++i) {
        if (r - i * kStep >= 0 && r - i * kStep < 3)
          acc[i] = hn::SumOfMulQuadAccumulate(DI(), v, weights[r - i * kStep], acc[i]);
      }
    }
  }

  template <bool kNear>
  static HWY_INLINE hn::Vec<D> line(const uint8_t* at) {
    if constexpr (kNear) return hn::ZeroExtendVector(D(), hn::LoadU(hn::Half<D>(), at));
    return hn::LoadU(D(), at);
  }

  HWY_INLINE void any_rows(const PlaneOut& out, const uint8_t* at, int64_t units, VI (&acc)[kUnits]) const {
    const int64_t step = unit_rows_ * w_.stride_h * pitch_;
    VIREO_UNROLL
    for (int i = 0; i < kUnits; ++i) acc[i] = hn::Set(DI(), out.start);
    const int32_t* weight = out.weights;
    // Units that are not there repeat the first: nothing outside of the strip is read.
    const int64_t step1 = units > 1 ? step : 0, step2 = units > 2 ? 2 * step : 0, step3 = units > 3 ? 3 * step : 0;
    for (int64_t ky = 0; ky < w_.kernel_h; ++ky) {
      for (int64_t g = 0; g < groups_; ++g, ++weight) {
        const uint8_t* const tap = at + ky * w_.dilation_h * pitch_ + g * 4 * w_.dilation_w;
        const auto wv = hn::BitCast(Quads(), hn::Set(DI(), *weight));
        acc[0] = quads(tap, wv, acc[0]);
        acc[1] = quads(tap + step1, wv, acc[1]);
        acc[2] = quads(tap + step2, wv, acc[2]);
        acc[3] = quads(tap + step3, wv, acc[3]);
      }
    }
  }
  HWY_INLINE VI quads(const uint8_t* tap, hn::Vec<Quads> weights, VI sum) const {
    return hn::SumOfMulQuadAccumulate(DI(), hn::TableLookupLanes(hn::LoadU(D(), tap), order_), weights, sum);
  }

  HWY_INLINE void put_codes(const PlaneOut& out, const VI (&acc)[kUnits], int64_t units, int64_t row, int64_t column,
                            int64_t rows) const {
    const Finish& finish = *out.finish;
    const VF m = hn::Set(DF(), out.multiplier);
    const auto codes = finish.in_order(finish.rounded(acc[0], m), finish.rounded(acc[1], m), finish.rounded(acc[2], m),
                                       finish.rounded(acc[3], m));
    const int64_t step = unit_rows_ * w_.out_w;
    auto* const y = reinterpret_cast<int8_t*>(out.bytes) + row * w_.out_w + column;
    const hn::CappedTag<int8_t, 16> d;
    const auto b0 = hn::ExtractBlock<0>(codes), b1 = hn::ExtractBlock<1>(codes), b2 = hn::ExtractBlock<2>(codes),
               b3 = hn::ExtractBlock<3>(codes);
    if (w_.out_w - column >= 16 && units == kUnits) {
      hn::StoreU(b0, d, y);
      hn::StoreU(b1, d, y + step);
      hn::StoreU(b2, d, y + 2 * step);
      hn::StoreU(b3, d, y + 3 * step);
      return;
    }
    hn::StoreN(b0, d, y, outputs(row, column, rows));
    if (units > 1) hn::StoreN(b1, d, y + step, outputs(row + unit_rows_, column, rows));
    if (units > 2) hn::StoreN(b2, d, y + 2 * step, outputs(row + 2 * unit_rows_, column, rows));
    if (units > 3) hn::StoreN(b3, d, y + 3 * step, outputs(row + 3 * unit_rows_, column, rows));
  }
  // How many outputs a unit has; they are neighbours in memory.
  HWY_INLINE size_t outputs(int64_t row, int64_t column, int64_t rows) const {
    const int64_t left = w_.out_w - column;
    if (unit_rows_ > 1) return static_cast<size_t>((rows - row < unit_rows_ ? rows - row : unit_rows_) * w_.out_w);
    return static_cast<size_t>(left < 16 ? left : 16);
  }

  const Window& w_;
  int64_t pitch_, groups_;  // groups_: quads of a kernel row
  int64_t unit_rows_ = 1;
  bool near_;               // taps of a unit within 32 bytes
  int64_t three_step_ = 0;  // input rows from unit to unit where the window has 3 rows of one quad; 0: another window
  hn::Indices512<uint8_t> order_;
};

// Rows of bytes made unsigned. What a vector holds beyond the image's width is padding and lands where padding belongs
// or where the next row will be written: rows ascend.
template <class D>
HWY_INLINE void copy_rows(D d, const uint8_t* from, int64_t step, int64_t width, int64_t rows, int64_t pitch,
                          uint8_t flip, uint8_t padding, uint8_t* to) {
  constexpr int64_t kBytes = static_cast<int64_t>(hn::MaxLanes(D()));
  const auto f = hn::Set(d, flip), none = hn::Set(d, static_cast<uint8_t>(padding ^ flip));
  const int64_t full = (width - 1) / kBytes * kBytes;
  const auto last = hn::FirstN(d, static_cast<size_t>(width - full));
  for (int64_t r = 0; r < rows; ++r, from += step, to += pitch) {
    for (int64_t x = 0; x < full; x += kBytes) hn::StoreU(hn::Xor(hn::LoadU(d, from + x), f), d, to + x);
    hn::StoreU(hn::Xor(hn::MaskedLoadOr(none, last, d, from + full), f), d, to + full);
  }
}

// Padding holds the zero point. Rows of padding and the columns beside the image hold it from the beginning (`fresh`);
// rows that another strip wrote are filled again.
HWY_INLINE void copy_strip(const DepthwiseI8& s, const Strip& strip, const void* plane, int64_t y0, int64_t rows,
                           bool fresh, uint8_t flip, uint8_t padding, uint8_t* to) {
  const Window& w = s.window;
  const int64_t in_rows = (rows - 1) * w.stride_h + (w.kernel_h - 1) * w.dilation_h + 1;
  const int64_t width = strip.pitch - w.pad_left < w.in_w ? strip.pitch - w.pad_left : w.in_w;
  const int64_t top = y0 * w.stride_h - w.pad_top;  // input row of the strip's first
  int64_t first = top < 0 ? -top : 0, last = w.in_h - top < in_rows ? w.in_h - top : in_rows;
  if (last < 0 || width <= 0) last = 0;
  if (first > last) first = last;
  if (!fresh) memset(to, padding, static_cast<size_t>(first * strip.pitch));
  if (first < last) {
    const uint8_t* const from = static_cast<const uint8_t*>(plane) + (top + first) * w.in_w;
    uint8_t* const out = to + first * strip.pitch + w.pad_left;
    if (width <= 16) {
      copy_rows(hn::CappedTag<uint8_t, 16>(), from, w.in_w, width, last - first, strip.pitch, flip, padding, out);
    } else if (width <= 32) {
      copy_rows(hn::CappedTag<uint8_t, 32>(), from, w.in_w, width, last - first, strip.pitch, flip, padding, out);
    } else {
      copy_rows(hn::CappedTag<uint8_t, 64>(), from, w.in_w, width, last - first, strip.pitch, flip, padding, out);
    }
  }
  if (!fresh) memset(to + last * strip.pitch, padding, static_cast<size_t>((in_rows - last) * strip.pitch));
}

// Quads of int8 differences and their sum; false where one does not fit.
HWY_INLINE bool quad_weights(const DepthwiseI8& s, const void* weights, int64_t o, int32_t* quads, uint32_t* sum) {
  const Window& w = s.window;
  const int32_t zero = weight_zero(s, o);
  const bool bytes = zero == 0 && s.w_signed;
  int64_t at = o * w.kernel_h * w.kernel_w;
  int32_t total = 0;
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < w.kernel_w; kx += 4) {
      const int64_t count = w.kernel_w - kx < 4 ? w.kernel_w - kx : 4;
      uint32_t quad = 0;
      for (int64_t i = 0; i < count; ++i) {
        const int32_t v = code_at(weights, s.w_signed, at++) - zero;
        if (!bytes && (v < -128 || v > 127)) return false;
        quad |= (static_cast<uint32_t>(v) & 0xFF) << (8 * i);
        total += v;
      }
      *quads++ = static_cast<int32_t>(quad);
    }
  }
  *sum = static_cast<uint32_t>(total);
  return true;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#endif  // include guard per target
