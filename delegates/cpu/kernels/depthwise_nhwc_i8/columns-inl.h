// Depthwise sums in fours of bytes (AVX-512 with VNNI): 64 channels at a time, weights that fit in a byte.
//
// Bytes of four taps are interleaved as packing to bytes undoes (see intgemm/packed.h for the order). Windows that step
// by 1 along both axes take the rows of one column as a four, of at most three rows for two lines of the output at
// once: a column serves both lines and, shifted, all the window's columns, so that interleaving, which costs as many
// instructions as it feeds, is paid once a column. Other windows take their taps as they come. Where there are 32
// channels or fewer, a vector holds those of two or four pixels, from as many parts of the line.
#if defined(VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_COLUMNS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_COLUMNS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/depthwise_i8/strip.h"
#include "delegates/cpu/kernels/depthwise_nhwc_i8/range.h"
#include "delegates/cpu/kernels/intgemm/packed.h"
#include "delegates/cpu/kernels/requantize/finish-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

class QuadGroup {
 public:
  static constexpr int64_t kChannels = 64;

  QuadGroup(const LastRange& r, int64_t c, int64_t count)
      : r_(r),
        c_(c),
        count_(static_cast<size_t>(count)),
        parts_(count > 32   ? 1
               : count > 16 ? 2
                            : 4),
        by_columns_(columns_of(r.shape->window)),
        weights_(static_cast<int8_t*>(r.scratch)),
        taps_(reinterpret_cast<const uint8_t**>(static_cast<char*>(r.scratch) + last_weight_bytes(r.shape->window))),
        finder_(r, c, reinterpret_cast<int64_t*>(taps_ + kMostParts * tap_fours(r.shape->window) * 4)),
        flip_(r.shape->x_signed ? 0x80 : 0) {
    const DepthwiseI8& s = *r.shape;
    const Window& w = s.window;
    const int64_t taps = w.kernel_h * w.kernel_w;
    bool as_they_are = s.w_signed;
    for (int64_t i = 0; i < count; ++i) as_they_are = as_they_are && weight_zero(s, c + i) == 0;
    as_they_are ? turn_codes(taps) : turn_values(taps);
    for (int64_t p = 0; p < parts_; ++p) {
      for (int64_t t = taps; t < tap_fours(w) * 4; ++t) taps_[p * tap_fours(w) * 4 + t] = r.padding;
      // As long parts as there are, the last ones overlapping where the line does not divide.
      const int64_t span = (w.out_w + parts_ - 1) / parts_;
      part_at_[p] = p * span < w.out_w - span ? p * span : w.out_w - span;
    }
  }

  bool fits() const { return fits_; }

  void run(const Finish& finish) const {
    parts_ == 1 ? lines<1>(finish) : parts_ == 2 ? lines<2>(finish) : lines<4>(finish);
  }

 private:
  using D8 = hn::Repartition<uint8_t, DI>;
  using Bytes = hn::Vec<D8>;

  static bool columns_of(const Window& w) {
    return w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h == 1 && w.stride_w == 1 && w.dilation_h == 1 &&
           w.dilation_w == 1;
  }

  // Four channels at a time, whose weights stand in four lanes one after the other.
  HWY_NOINLINE void turn_codes(int64_t taps) {
    const hn::FixedTag<int8_t, 16> d8;
    const hn::FixedTag<uint8_t, 16> du8;
    const hn::FixedTag<int32_t, 4> d;
    const hn::FixedTag<int64_t, 2> d64;
    const hn::FixedTag<float, 4> df;
    const DepthwiseI8& s = *r_.shape;
    const Requantize& q = *s.finish;
    const auto* const codes = static_cast<const int8_t*>(r_.weights);
    HWY_ALIGN static constexpr int8_t kColumns[16] = {0, 3, 6, -1, 1, 4, 7, -1, 2, 5, 8, -1, -1, -1, -1, -1};
    const auto columns = hn::Load(d8, kColumns);
    const auto ones = hn::Set(du8, uint8_t{1});
    const auto x_zero = hn::Set(d, s.x_zero + (s.x_signed ? 128 : 0));
    const int64_t fours = by_columns_ ? 3 : tap_fours(s.window), part = kChannels / parts_;
    for (int64_t i = 0; i < part; i += 4) {
      const auto here = static_cast<size_t>(static_cast<int64_t>(count_) <= i      ? 0
                                            : static_cast<int64_t>(count_) < i + 4 ? static_cast<int64_t>(count_) - i
                                                                                   : 4);
      const auto each = [&](auto&& to) HWY_ATTR {  // the lanes of these channels, for each of the pixels in a vector
        for (int64_t p = i; p < kChannels; p += part) to(packed_lane(kChannels, p));
      };
      auto sum = hn::Zero(d);
      for (int64_t f = 0; f < fours; f += 4) {
        const auto left = static_cast<size_t>(taps - f * 4 < 16 ? taps - f * 4 : 16);
        hn::Vec<decltype(d)> row[4];
        VIREO_UNROLL
        for (size_t k = 0; k < 4; ++k) {
          auto v =
              k < here ? hn::LoadN(d8, codes + (c_ + i + static_cast<int64_t>(k)) * taps + f * 4, left) : hn::Zero(d8);
          if (by_columns_) v = hn::TableLookupBytesOr0(v, columns);
          row[k] = hn::BitCast(d, v);
        }
        const auto a = hn::BitCast(d64, hn::InterleaveLower(d, row[0], row[1]));
        const auto b = hn::BitCast(d64, hn::InterleaveLower(d, row[2], row[3]));
        const auto g = hn::BitCast(d64, hn::InterleaveUpper(d, row[0], row[1]));
        const auto h = hn::BitCast(d64, hn::InterleaveUpper(d, row[2], row[3]));
        const hn::Vec<decltype(d)> four[4] = {
            hn::BitCast(d, hn::InterleaveLower(d64, a, b)), hn::BitCast(d, hn::InterleaveUpper(d64, a, b)),
            hn::BitCast(d, hn::InterleaveLower(d64, g, h)), hn::BitCast(d, hn::InterleaveUpper(d64, g, h))};
        VIREO_UNROLL
        for (int64_t k = 0; k < 4; ++k) {
          if (f + k >= fours) continue;
          sum = hn::SumOfMulQuadAccumulate(d, ones, hn::BitCast(d8, four[k]), sum);
          each([&](int64_t lane) HWY_ATTR {
            hn::Store(hn::BitCast(d8, four[k]), d8, weights_ + (f + k) * 256 + lane * 4);
            // The lower line sees rows from the second on.
            if (by_columns_)
              hn::Store(hn::BitCast(d8, hn::ShiftLeft<8>(four[k])), d8, weights_ + (3 + k) * 256 + lane * 4);
          });
        }
      }
      const int64_t o = c_ + i;
      const auto bias = q.bias != nullptr ? hn::LoadN(d, q.bias + o, here) : hn::Zero(d);
      const auto start = hn::Sub(bias, hn::Mul(x_zero, sum));
      const auto multiplier =
          q.multiplier_per_row ? hn::LoadN(df, q.multiplier + o, here) : hn::Set(df, q.multiplier[0]);
      each([&](int64_t lane) HWY_ATTR {
        hn::Store(start, d, start_ + lane);
        hn::Store(multiplier, df, multiplier_ + lane);
      });
    }
  }

  // Codes less their zero, which may not fit.
  HWY_NOINLINE void turn_values(int64_t taps) {
    const DepthwiseI8& s = *r_.shape;
    const Window& w = s.window;
    const Requantize& q = *s.finish;
    const int64_t fours = by_columns_ ? 2 * w.kernel_w : tap_fours(w);
    memset(weights_, 0, static_cast<size_t>(fours * 256));
    const int32_t x_zero = s.x_zero + (s.x_signed ? 128 : 0);
    for (int64_t i = 0; i < kChannels; ++i) start_[i] = 0;
    for (int64_t i = 0; i < kChannels; ++i) multiplier_[i] = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(count_); ++i) {
      const int64_t o = c_ + i;
      const int32_t zero = weight_zero(s, o);
      int32_t sum = 0;
      int8_t* const to = weights_ + packed_lane(kChannels, i) * 4;
      for (int64_t t = 0, row = 0, column = 0; t < taps; ++t) {
        const int32_t v = code_at(r_.weights, s.w_signed, o * taps + t) - zero;
        fits_ = fits_ && v >= -128 && v <= 127;
        sum += v;
        if (by_columns_) {  // the lower line sees rows from the second on
          to[column * 256 + row] = to[(column + 3) * 256 + row + 1] = static_cast<int8_t>(v);
        } else {
          to[t / 4 * 256 + t % 4] = static_cast<int8_t>(v);
        }
        if (++column == w.kernel_w) {
          column = 0;
          ++row;
        }
      }
      const uint32_t bias = q.bias != nullptr ? static_cast<uint32_t>(q.bias[o]) : 0;
      for (int64_t p = i; p < kChannels; p += kChannels / parts_) {
        const int64_t lane = packed_lane(kChannels, p);
        start_[lane] = static_cast<int32_t>(bias - static_cast<uint32_t>(x_zero) * static_cast<uint32_t>(sum));
        multiplier_[lane] = q.multiplier[q.multiplier_per_row ? o : 0];
        for (int64_t f = 0; p != i && f < fours; ++f) memcpy(weights_ + f * 256 + lane * 4, to + f * 256, 4);
      }
    }
  }

  template <int kParts>
  void lines(const Finish& finish) const {
    const Window& w = r_.shape->window;
    const int64_t channels = r_.shape->channels, taps = tap_fours(w) * 4;
    for (int64_t line = r_.begin; line < r_.end;) {
      uint8_t* const to = r_.y + line * w.out_w * channels + c_;
      if (by_columns_) {
        const bool two = line + 1 < r_.end && line % w.out_h + 1 < w.out_h;
        two ? columns<2, kParts>(finish, line, to) : columns<1, kParts>(finish, line, to);
        line += two ? 2 : 1;
        continue;
      }
      for (int64_t ox = 0; ox < (w.out_w + kParts - 1) / kParts; ++ox) {
        for (int p = 0; p < kParts; ++p) finder_.find(line, part_at_[p] + ox, taps_ + p * taps);
        VI sums[4];
        begin(sums);
        for (int64_t t = 0; t < taps; t += 4) {
          Bytes fours[4];
          interleave([&](int i) HWY_ATTR { return load<kParts>([&](int p) { return taps_[p * taps + t + i]; }); },
                     fours);
          add(fours, weights_ + t * 64, sums);
        }
        put<kParts>(finish, sums, to + ox * channels);
      }
      ++line;
    }
  }

  // 64 bytes: the channels of the pixel at from(0), or of several.
  template <int kParts, class From>
  HWY_INLINE Bytes load(const From& from) const {
    const hn::CappedTag<uint8_t, 64 / kParts> d;
    const auto part = [&](int p) HWY_ATTR {
      return count_ == 64 / kParts ? hn::LoadU(d, from(p)) : hn::LoadN(d, from(p), count_);
    };
    const Bytes flip = hn::Set(D8(), flip_);
    if constexpr (kParts == 1) return hn::Xor(part(0), flip);
    if constexpr (kParts == 2) return hn::Xor(hn::Combine(D8(), part(1), part(0)), flip);
    if constexpr (kParts == 4) {
      const hn::CappedTag<uint8_t, 32> half;
      return hn::Xor(hn::Combine(D8(), hn::Combine(half, part(3), part(2)), hn::Combine(half, part(1), part(0))), flip);
    }
  }
  // `row`: four vectors of bytes, by number.
  template <class Row>
  static HWY_INLINE void interleave(const Row& row, Bytes (&out)[4]) {
    const hn::Repartition<uint16_t, DI> d16;
    const Bytes va = row(0), vb = row(1), vc = row(2), vd = row(3);
    const auto lo01 = hn::BitCast(d16, hn::InterleaveLower(D8(), va, vb));
    const auto hi01 = hn::BitCast(d16, hn::InterleaveUpper(D8(), va, vb));
    const auto lo23 = hn::BitCast(d16, hn::InterleaveLower(D8(), vc, vd));
    const auto hi23 = hn::BitCast(d16, hn::InterleaveUpper(D8(), vc, vd));
    out[0] = hn::BitCast(D8(), hn::InterleaveLower(d16, lo01, lo23));
    out[1] = hn::BitCast(D8(), hn::InterleaveUpper(d16, lo01, lo23));
    out[2] = hn::BitCast(D8(), hn::InterleaveLower(d16, hi01, hi23));
    out[3] = hn::BitCast(D8(), hn::InterleaveUpper(d16, hi01, hi23));
  }
  HWY_INLINE void begin(VI (&sums)[4]) const {
    VIREO_UNROLL
    for (int v = 0; v < 4; ++v) sums[v] = hn::Load(DI(), start_ + v * 16);
  }
  static HWY_INLINE void add(const Bytes (&fours)[4], const int8_t* weights, VI (&sums)[4]) {
    const hn::Repartition<int8_t, DI> ds;
    VIREO_UNROLL
    for (int v = 0; v < 4; ++v)
      sums[v] = hn::SumOfMulQuadAccumulate(DI(), fours[v], hn::Load(ds, weights + v * 64), sums[v]);
  }
  template <int kParts>
  HWY_INLINE void put(const Finish& finish, const VI (&sums)[4], uint8_t* to) const {
    VI r[4];
    VIREO_UNROLL
    for (int v = 0; v < 4; ++v) r[v] = finish.rounded(sums[v], hn::Load(DF(), multiplier_ + v * 16));
    const auto codes = finish.blocks(r[0], r[1], r[2], r[3]);
    if constexpr (kParts == 1) {
      finish.store(codes, count_, to);
    } else {
      HWY_ALIGN uint8_t all[64];
      finish.store(codes, 64, all);
      for (int p = 0; p < kParts; ++p) {
        const hn::CappedTag<uint8_t, 64 / kParts> d;
        const auto part = hn::Load(d, all + p * 64 / kParts);
        uint8_t* const at = to + part_at_[p] * r_.shape->channels;
        count_ == 64 / kParts ? hn::StoreU(part, d, at) : hn::StoreN(part, d, at, count_);
      }
    }
  }

  // kLines lines of the output from `line` on, 3 x 3 at stride 1.
  template <int kLines, int kParts>
  HWY_INLINE void columns(const Finish& finish, int64_t line, uint8_t* to) const {
    const Window& w = r_.shape->window;
    const int64_t channels = r_.shape->channels;
    const uint8_t* const image = r_.x + line / w.out_h * w.in_h * w.in_w * channels + c_;
    const uint8_t* rows[4];
    int64_t steps[4];
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t y = line % w.out_h - w.pad_top + i;
      const bool inside = i < kLines + 2 && y >= 0 && y < w.in_h;
      rows[i] = inside ? image + y * w.in_w * channels : r_.padding;
      steps[i] = inside ? channels : 0;
    }
    const auto column = [&](int64_t x, Bytes(&out)[4]) HWY_ATTR {
      bool inside = true;
      for (int p = 0; p < kParts; ++p) inside = inside && x + part_at_[p] >= 0 && x + part_at_[p] < w.in_w;
      if (inside) {
        interleave([&](int i)
                       HWY_ATTR { return load<kParts>([&](int p) { return rows[i] + (x + part_at_[p]) * steps[i]; }); },
                   out);
      } else {
        interleave(
            [&](int i) HWY_ATTR {
              return load<kParts>([&](int p) {
                const int64_t at = x + part_at_[p];
                return at >= 0 && at < w.in_w ? rows[i] + at * steps[i] : r_.padding;
              });
            },
            out);
      }
    };
    Bytes left[4], middle[4], right[4];
    column(-w.pad_left, left);
    column(1 - w.pad_left, middle);
    for (int64_t ox = 0; ox < (w.out_w + kParts - 1) / kParts; ++ox, to += channels) {
      column(ox + 2 - w.pad_left, right);
      VIREO_UNROLL
      for (int i = 0; i < kLines; ++i) {
        VI sums[4];
        begin(sums);
        add(left, weights_ + i * 768, sums);
        add(middle, weights_ + i * 768 + 256, sums);
        add(right, weights_ + i * 768 + 512, sums);
        put<kParts>(finish, sums, to + i * w.out_w * channels);
      }
      VIREO_UNROLL
      for (int v = 0; v < 4; ++v) {
        left[v] = middle[v];
        middle[v] = right[v];
      }
    }
  }

  const LastRange& r_;
  int64_t c_;
  size_t count_;
  int64_t parts_, part_at_[kMostParts] = {};
  bool by_columns_, fits_ = true;
  int8_t* weights_;
  const uint8_t** taps_;
  TapFinder finder_;
  uint8_t flip_;
  HWY_ALIGN int32_t start_[kChannels];
  HWY_ALIGN float multiplier_[kChannels];
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#endif  // include guard per target
