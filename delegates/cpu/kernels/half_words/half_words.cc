#include "delegates/cpu/kernels/half_words/half_words.h"

#include <string.h>

#define VIREO_KERNEL_USES_VNNI
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/half_words/half_words.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/half_words/codes-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_SHARED_
#define VIREO_DELEGATES_CPU_KERNELS_HALF_WORDS_SHARED_
namespace vireo::cpu {

constexpr int64_t kHalfWordPanel = 16;   // columns
constexpr int64_t kHalfWordRows = 24;    // pixels that one turn gathers
constexpr int64_t kHalfWordBlock = 510;  // products whose sum stays in int32: 510 * 2^22 < 2^31

// Where things are in the packed weights, and how long sums are.
struct HalfWordPlan {
  int64_t channels, columns, taps, k, pairs, panels;  // of a group
  explicit HalfWordPlan(const ConvF32& s)
      : channels(s.in_channels / s.groups),
        columns(s.out_channels / s.groups),
        taps(s.kernel[0] * s.kernel[1] * s.kernel[2]),
        k(channels * taps),
        pairs((k + 1) / 2),
        panels((columns + kHalfWordPanel - 1) / kHalfWordPanel) {}
  int64_t panel_bytes() const { return pairs * 2 * kHalfWordPanel; }
  int64_t group_bytes() const { return panels * panel_bytes(); }
  int64_t padded() const { return panels * kHalfWordPanel; }  // columns of a group
  // Aligned for a vector of them.
  int64_t weights_bytes(int64_t groups) const { return (groups * group_bytes() + 63) / 64 * 64; }
};

// Columns of a run, in the order of the packed ones: the bias that holds x_zero's part of the sum, and the multiplier.
struct HalfWordColumns {
  int64_t* bias;    // exact
  int32_t* bias32;  // where `narrow`
  float* multiplier;
  bool narrow;  // no sum leaves int32
};

struct HalfWordRun {
  const ProductI16* p;
  HalfWordPlan plan;
  HalfWordColumns columns;
  const void* x;
  const int8_t* weights;
  void* y;
  int64_t pixels;   // of all images
  int32_t padding;  // x_zero as gathered rows have it
};

}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace half_words {

// ---- Products

// Sums of kRows rows times 16 columns over `pairs` pairs of k, exact in int32, [kRows, 16] to `sums`.
template <int kRows>
HWY_NOINLINE void tile(const int16_t* a, int64_t a_row, const int8_t* w, int64_t pairs, int32_t* sums) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < kRows * kHalfWordPanel; ++i) sums[i] = 0;
  for (int64_t q = 0; q < pairs; ++q, w += 2 * kHalfWordPanel) {
    for (int r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kHalfWordPanel; ++c) {
        sums[r * kHalfWordPanel + c] += a[r * a_row + 2 * q] * w[2 * c] + a[r * a_row + 2 * q + 1] * w[2 * c + 1];
      }
    }
  }
#else
  constexpr int kVectors = kLanes >= kHalfWordPanel ? 1 : static_cast<int>(kHalfWordPanel / kLanes);
  const hn::CappedTag<int32_t, kHalfWordPanel> d;
  const hn::Repartition<int16_t, decltype(d)> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  using V = hn::Vec<decltype(d)>;
  V low[kRows][kVectors], high[kRows][kVectors];
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) low[r][v] = high[r][v] = hn::Zero(d);
  }
  for (int64_t q = 0; q < pairs; ++q, w += 2 * kHalfWordPanel) {
    hn::Vec<decltype(d16)> columns[kVectors];
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v)
      columns[v] = hn::PromoteTo(d16, hn::LoadU(d8, w + v * 2 * static_cast<int64_t>(hn::MaxLanes(d))));
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      int32_t pair;
      memcpy(&pair, a + r * a_row + 2 * q, sizeof(pair));
      const auto x = hn::BitCast(d16, hn::Set(d, pair));
      VIREO_UNROLL
      for (int v = 0; v < kVectors; ++v)
        low[r][v] = hn::ReorderWidenMulAccumulate(d, x, columns[v], low[r][v], high[r][v]);
    }
  }
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(hn::RearrangeToOddPlusEven(low[r][v], high[r][v]), d,
                sums + r * kHalfWordPanel + v * static_cast<int64_t>(hn::MaxLanes(d)));
    }
  }
#endif
}

// Rows of a tile: their sums, a vector of weights for each of 16 columns and one of x stay in registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kTileRows = 12;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 2;
#endif
static_assert(kHalfWordRows % kTileRows == 0, "a turn is whole tiles");

HWY_INLINE void sums_of(const int16_t* a, int64_t a_row, const int8_t* w, int64_t pairs, int64_t rows, int32_t* sums) {
  int64_t r = 0;
  for (; r + kTileRows <= rows; r += kTileRows)
    tile<kTileRows>(a + r * a_row, a_row, w, pairs, sums + r * kHalfWordPanel);
  for (; r < rows; ++r) tile<1>(a + r * a_row, a_row, w, pairs, sums + r * kHalfWordPanel);
}

// One turn: `rows` gathered rows times the columns of one panel.
class Panel {
 public:
  Panel(const HalfWordRun& run, int64_t group, int64_t panel)
      : run_(run),
        out_(run.p->out),
        first_(group * run.plan.padded() + panel * kHalfWordPanel),
        weights_(run.weights + group * run.plan.group_bytes() + panel * run.plan.panel_bytes()),
        count_(run.plan.columns - panel * kHalfWordPanel),
        channel_(group * run.plan.columns + panel * kHalfWordPanel) {
    if (count_ > kHalfWordPanel) count_ = kHalfWordPanel;
  }

  void rows(const int16_t* a, int64_t a_row, int64_t pixel, int64_t rows) const {
    if (rows < 1) return;
    HWY_ALIGN int32_t sums[kHalfWordRows * kHalfWordPanel];
    if (run_.columns.narrow) {
      sums_of(a, a_row, weights_, run_.plan.pairs, rows, sums);
      finish(sums, pixel, rows);
      return;
    }
    int64_t totals[kHalfWordRows * kHalfWordPanel] = {};
    constexpr int64_t kPairs = kHalfWordBlock / 2;
    for (int64_t q = 0; q < run_.plan.pairs; q += kPairs) {
      const int64_t pairs = run_.plan.pairs - q < kPairs ? run_.plan.pairs - q : kPairs;
      sums_of(a + 2 * q, a_row, weights_ + q * 2 * kHalfWordPanel, pairs, rows, sums);
      for (int64_t i = 0; i < rows * kHalfWordPanel; ++i) totals[i] += sums[i];
    }
    finish(totals, pixel, rows);
  }

 private:
  // Where channel_ of `pixel` is in y.
  int64_t place(int64_t pixel) const {
    const ConvF32& s = run_.p->shape;
    if (run_.p->last) return pixel * s.out_channels + channel_;
    const int64_t plane = s.out[0] * s.out[1] * s.out[2];
    return pixel / plane * plane * s.out_channels + channel_ * plane + pixel % plane;
  }
  int64_t channel_step() const {
    const ConvF32& s = run_.p->shape;
    return run_.p->last ? 1 : s.out[0] * s.out[1] * s.out[2];
  }

  // `real(r, c)`: numbers of row r, column c and what follows. Codes go through a line where channels are apart.
  template <class Real>
  HWY_INLINE void put(int64_t pixel, int64_t rows, const Real& real) const {
    const int64_t step = channel_step();
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = place(pixel + r);
      HWY_ALIGN int16_t line[kHalfWordPanel + kLanes];
      for (int64_t c = 0; c < count_; c += kLanes) {
        const auto lanes = static_cast<size_t>(count_ - c < kLanes ? count_ - c : kLanes);
        if (step == 1) {
          out_.store(real(r, c), lanes, run_.y, at + c);
        } else {
          out_.store(real(r, c), static_cast<size_t>(kLanes), line, c);
        }
      }
      if (step == 1) continue;
      for (int64_t c = 0; c < count_; ++c) {
        if (run_.p->out.type.wide) {
          static_cast<int16_t*>(run_.y)[at + c * step] = line[c];
        } else {
          static_cast<int8_t*>(run_.y)[at + c * step] = reinterpret_cast<const int8_t*>(line)[c];
        }
      }
    }
  }

  void finish(const int32_t* sums, int64_t pixel, int64_t rows) const {
    const int32_t* const bias = run_.columns.bias32 + first_;
    const float* const m = run_.columns.multiplier + first_;
    put(pixel, rows, [&](int64_t r, int64_t c) HWY_ATTR {
      const VI sum = hn::Add(hn::LoadU(DI(), sums + r * kHalfWordPanel + c), hn::LoadU(DI(), bias + c));
      return hn::Mul(hn::ConvertTo(DF(), sum), hn::LoadU(DF(), m + c));
    });
  }
  void finish(const int64_t* sums, int64_t pixel, int64_t rows) const {
    const int64_t* const bias = run_.columns.bias + first_;
    const float* const m = run_.columns.multiplier + first_;
    put(pixel, rows, [&](int64_t r, int64_t c) HWY_ATTR {
      HWY_ALIGN float v[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        int64_t sum = sums[r * kHalfWordPanel + c + i] + bias[c + i];
        if (!run_.p->x_type.wide) sum = static_cast<int32_t>(static_cast<uint64_t>(sum));  // wraps around
        v[i] = static_cast<float>(sum) * m[c + i];
      }
      return hn::Load(DF(), v);
    });
  }

  const HalfWordRun& run_;
  const Out out_;
  const int64_t first_;
  const int8_t* const weights_;
  int64_t count_;
  const int64_t channel_;
};

// `count` codes of x, `step` apart, as int16.
template <class T>
HWY_INLINE void copy_codes(const T* from, int64_t step, int64_t count, int16_t flip, int16_t* to) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(static_cast<int16_t>(from[i]) ^ flip);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(static_cast<int16_t>(from[i * step]) ^ flip);
  }
}

// What one output reads, tap by tap, with the channels of `group`; behind an odd k stands a 0.
void gather(const HalfWordRun& run, int64_t group, int64_t pixel, int16_t* to) {
  const ProductI16& p = *run.p;
  const ConvF32& s = p.shape;
  const int64_t out_plane = s.out[0] * s.out[1] * s.out[2], in_plane = s.in[0] * s.in[1] * s.in[2];
  const int64_t image = pixel / out_plane, at = pixel % out_plane;
  const int64_t o[3] = {at / (s.out[1] * s.out[2]), at / s.out[2] % s.out[1], at % s.out[2]};
  const int64_t pixel_step = p.last ? s.in_channels : 1, channel_step = p.last ? 1 : in_plane;
  const int64_t base = image * in_plane * s.in_channels + group * run.plan.channels * channel_step;
  int64_t i[3];
  for (int64_t d = 0; d < s.kernel[0]; ++d) {
    i[0] = o[0] * s.stride[0] + d * s.dilation[0] - s.pad[0];
    for (int64_t h = 0; h < s.kernel[1]; ++h) {
      i[1] = o[1] * s.stride[1] + h * s.dilation[1] - s.pad[1];
      for (int64_t w = 0; w < s.kernel[2]; ++w, to += run.plan.channels) {
        i[2] = o[2] * s.stride[2] + w * s.dilation[2] - s.pad[2];
        if (i[0] < 0 || i[0] >= s.in[0] || i[1] < 0 || i[1] >= s.in[1] || i[2] < 0 || i[2] >= s.in[2]) {
          for (int64_t c = 0; c < run.plan.channels; ++c) to[c] = static_cast<int16_t>(run.padding);
          continue;
        }
        const int64_t from = base + ((i[0] * s.in[1] + i[1]) * s.in[2] + i[2]) * pixel_step;
        const int64_t count = run.plan.channels;
        if (p.x_type.wide) {
          const auto flip = static_cast<int16_t>(p.x_type.is_signed ? 0 : -32768);
          copy_codes(static_cast<const int16_t*>(run.x) + from, channel_step, count, flip, to);
        } else if (p.x_type.is_signed) {
          copy_codes(static_cast<const int8_t*>(run.x) + from, channel_step, count, 0, to);
        } else {
          copy_codes(static_cast<const uint8_t*>(run.x) + from, channel_step, count, 0, to);
        }
      }
    }
  }
  if (run.plan.k % 2 != 0) *to = 0;
}

// Whether rows of x are what would be gathered of it.
bool lies_as_gathered(const HalfWordRun& run) {
  const ProductI16& p = *run.p;
  const ConvF32& s = p.shape;
  bool matrix = p.last && p.x_type.wide && p.x_type.is_signed && run.plan.k % 2 == 0;
  for (int d = 0; d < 3; ++d)
    matrix = matrix && s.kernel[d] == 1 && s.stride[d] == 1 && s.pad[d] == 0 && s.in[d] == s.out[d];
  return matrix;
}

// Panels [p0, p1) of `group` for pixels [m0, m1).
void product_part(const HalfWordRun& run, int64_t group, int64_t m0, int64_t m1, int64_t p0, int64_t p1,
                  int16_t* room) {
  const bool lies = lies_as_gathered(run);
  const int64_t row = lies ? run.p->shape.in_channels : 2 * run.plan.pairs;
  for (int64_t m = m0; m < m1; m += kHalfWordRows) {
    const int64_t rows = m1 - m < kHalfWordRows ? m1 - m : kHalfWordRows;
    const int16_t* a = room;
    if (lies) {
      a = static_cast<const int16_t*>(run.x) + m * row + group * run.plan.channels;
    } else {
      for (int64_t r = 0; r < rows; ++r) gather(run, group, m + r, room + r * row);
    }
    for (int64_t panel = p0; panel < p1; ++panel) Panel(run, group, panel).rows(a, row, m, rows);
  }
}

// ---- Depthwise: one filter a channel

// Channels first: sums of one line of a plane, at most kColumns of them at a time.
class Planes {
 public:
  explicit Planes(const HalfWordRun& run) : run_(run), out_(run.p->out) {}

  // `plane`: of all images.
  void plane(int64_t plane) const {
    const ConvF32& s = run_.p->shape;
    const int64_t c = plane % s.groups, at = plane * s.out[0] * s.out[1] * s.out[2];
    const VI bias = hn::Set(DI(), run_.columns.bias32[c * kHalfWordPanel]);
    const VF m = hn::Set(DF(), run_.columns.multiplier[c * kHalfWordPanel]);
    for (int64_t line = 0; line < s.out[0] * s.out[1]; ++line) {
      for (int64_t ow = 0; ow < s.out[2]; ow += kColumns) {
        const int64_t count = s.out[2] - ow < kColumns ? s.out[2] - ow : kColumns;
        HWY_ALIGN int32_t sums[kColumns + kLanes] = {};
        add_taps(plane, line, ow, count, sums);
        for (int64_t i = 0; i < count; i += kLanes) {
          const auto lanes = static_cast<size_t>(count - i < kLanes ? count - i : kLanes);
          const VI sum = hn::Add(hn::LoadU(DI(), sums + i), bias);
          out_.store(hn::Mul(hn::ConvertTo(DF(), sum), m), lanes, run_.y, at + line * s.out[2] + ow + i);
        }
      }
    }
  }

 private:
  static constexpr int64_t kColumns = 64;

  void add_taps(int64_t plane, int64_t line, int64_t ow, int64_t count, int32_t* sums) const {
    const ConvF32& s = run_.p->shape;
    const int8_t* const filter = run_.weights + plane % s.groups * run_.plan.group_bytes();
    int64_t t = 0;
    for (int64_t kd = 0; kd < s.kernel[0]; ++kd) {
      const int64_t id = line / s.out[1] * s.stride[0] + kd * s.dilation[0] - s.pad[0];
      for (int64_t kh = 0; kh < s.kernel[1]; ++kh) {
        const int64_t ih = line % s.out[1] * s.stride[1] + kh * s.dilation[1] - s.pad[1];
        const bool row = id >= 0 && id < s.in[0] && ih >= 0 && ih < s.in[1];
        const int64_t from = ((plane * s.in[0] + id) * s.in[1] + ih) * s.in[2];
        for (int64_t kw = 0; kw < s.kernel[2]; ++kw, ++t) {
          const int32_t w = filter[t / 2 * 2 * kHalfWordPanel + t % 2];
          const int64_t first = ow * s.stride[2] + kw * s.dilation[2] - s.pad[2];
          // Outputs [begin, end) read inside the line.
          int64_t begin = first < 0 ? (-first + s.stride[2] - 1) / s.stride[2] : 0;
          int64_t end = first >= s.in[2] ? 0 : (s.in[2] - 1 - first) / s.stride[2] + 1;
          end = !row ? 0 : end < count ? end : count;
          begin = begin < end ? begin : end;
          for (int64_t i = 0; run_.padding != 0 && i < begin; ++i) sums[i] += run_.padding * w;
          for (int64_t i = end; run_.padding != 0 && i < count; ++i) sums[i] += run_.padding * w;
          if (begin < end) add_tap(from + first, begin, end, w, sums);
        }
      }
    }
  }

  // sums[i] += x[at + i stride] * w
  void add_tap(int64_t at, int64_t begin, int64_t end, int32_t w, int32_t* sums) const {
    const CodeType t = run_.p->x_type;
    if (t.wide) {
      add_codes(static_cast<const int16_t*>(run_.x) + at, begin, end, t.is_signed ? 0 : -32768, w, sums);
    } else if (t.is_signed) {
      add_codes(static_cast<const int8_t*>(run_.x) + at, begin, end, 0, w, sums);
    } else {
      add_codes(static_cast<const uint8_t*>(run_.x) + at, begin, end, 0, w, sums);
    }
  }
  template <class T>
  HWY_INLINE void add_codes(const T* x, int64_t begin, int64_t end, int32_t flip, int32_t w, int32_t* sums) const {
    const int64_t step = run_.p->shape.stride[2];
    int64_t i = begin;
#if HWY_TARGET != HWY_SCALAR
    const hn::Rebind<T, DI> narrow;
    for (; step == 1 && i + kLanes <= end; i += kLanes) {
      const VI code = hn::Xor(hn::PromoteTo(DI(), hn::LoadU(narrow, x + i)), hn::Set(DI(), flip));
      hn::StoreU(hn::Add(hn::LoadU(DI(), sums + i), hn::Mul(code, hn::Set(DI(), w))), DI(), sums + i);
    }
#endif
    for (; i < end; ++i) sums[i] += (x[i * step] ^ flip) * w;
  }

  const HalfWordRun& run_;
  const Out out_;
};

#if HWY_TARGET != HWY_SCALAR
// Channels last.
constexpr int64_t kChannels = 2 * kLanes;
constexpr int64_t kMostTaps = 25;

// Two sums of every 2 kLanes channels: in each 128 bits of one the channels 0 to 3 of 8, of the other 4 to 7.
struct Split {
  VI low, high;
};

class Depthwise {
 public:
  explicit Depthwise(const HalfWordRun& run) : run_(run), out_(run.p->out) {}

  void lines(int64_t begin, int64_t end) {
    const ConvF32& s = run_.p->shape;
    for (int64_t c = 0; c < s.groups; c += kChannels) {
      count_ = s.groups - c < kChannels ? s.groups - c : kChannels;
      prepare(c);
      for (int64_t line = begin; line < end; ++line) {
        for (int64_t ow = 0; ow < s.out[2]; ++ow) pixel(c, line, ow);
      }
    }
  }

 private:
  using D16 = hn::ScalableTag<int16_t>;
  using V16 = hn::Vec<D16>;

  int64_t taps() const { return run_.plan.taps; }

  // Filters of channels [c, c + count_) as pairs of taps, and what ends their sums, all in the order of sums.
  void prepare(int64_t c) {
    HWY_ALIGN int16_t rows[kMostTaps + 1][kChannels] = {};
    HWY_ALIGN int32_t bias[kChannels] = {};
    HWY_ALIGN float m[kChannels] = {};
    for (int64_t i = 0; i < count_; ++i) {
      // A group's panel is [pairs, 16, 2], of which the first column is the filter.
      const int8_t* const filter = run_.weights + (c + i) * run_.plan.group_bytes();
      for (int64_t t = 0; t < taps(); ++t) rows[t][i] = filter[t / 2 * 2 * kHalfWordPanel + t % 2];
      bias[i] = run_.columns.bias32[(c + i) * kHalfWordPanel];
      m[i] = run_.columns.multiplier[(c + i) * kHalfWordPanel];
    }
    const D16 d;
    for (int64_t t = 0; t < taps(); t += 2) {
      const V16 a = hn::Load(d, rows[t]), b = hn::Load(d, rows[t + 1]);
      hn::Store(hn::InterleaveLower(d, a, b), d, filters_[t]);
      hn::Store(hn::InterleaveUpper(d, a, b), d, filters_[t + 1]);
    }
    for (int64_t i = 0; i < kChannels; ++i) {  // 8 channels: 4 of the first, 4 of the second
      const int64_t to = i / 8 * 4 + i % 4;
      (i % 8 < 4 ? bias_low_ : bias_high_)[to] = bias[i];
      (i % 8 < 4 ? m_low_ : m_high_)[to] = m[i];
    }
  }

  HWY_INLINE V16 codes(int64_t at) const {
    const D16 d;
    const CodeType t = run_.p->x_type;
    const auto count = static_cast<size_t>(count_);
    if (t.wide) {
      const auto x = hn::LoadN(d, static_cast<const int16_t*>(run_.x) + at, count);
      return t.is_signed ? x : hn::Xor(x, hn::Set(d, -32768));
    }
    if (t.is_signed) {
      const hn::Rebind<int8_t, D16> d8;
      return hn::PromoteTo(d, hn::LoadN(d8, static_cast<const int8_t*>(run_.x) + at, count));
    }
    const hn::Rebind<uint8_t, D16> d8;
    return hn::PromoteTo(d, hn::LoadN(d8, static_cast<const uint8_t*>(run_.x) + at, count));
  }

  // `line`: of all images' rows.
  HWY_INLINE void pixel(int64_t c, int64_t line, int64_t ow) const {
    const ConvF32& s = run_.p->shape;
    const D16 d;
    const int64_t oh = line % s.out[1], od = line / s.out[1] % s.out[0], n = line / (s.out[1] * s.out[0]);
    const V16 padding = hn::Set(d, static_cast<int16_t>(run_.padding));
    // On NEON a sum is the sum of two neighbours until it is rearranged: the bias comes behind that.
    VI low = hn::Zero(DI()), high = hn::Zero(DI()), rest_low = hn::Zero(DI()), rest_high = hn::Zero(DI());
    V16 before = hn::Zero(d);
    int64_t t = 0;
    for (int64_t kd = 0; kd < s.kernel[0]; ++kd) {
      const int64_t id = od * s.stride[0] + kd * s.dilation[0] - s.pad[0];
      for (int64_t kh = 0; kh < s.kernel[1]; ++kh) {
        const int64_t ih = oh * s.stride[1] + kh * s.dilation[1] - s.pad[1];
        const bool row = id >= 0 && id < s.in[0] && ih >= 0 && ih < s.in[1];
        const int64_t from = ((n * s.in[0] + id) * s.in[1] + ih) * s.in[2];
        for (int64_t kw = 0; kw < s.kernel[2]; ++kw, ++t) {
          const int64_t iw = ow * s.stride[2] + kw * s.dilation[2] - s.pad[2];
          const V16 x = row && iw >= 0 && iw < s.in[2] ? codes((from + iw) * s.groups + c) : padding;
          if (t % 2 != 0) {
            add(before, x, t - 1, &low, &rest_low, &high, &rest_high);
          } else {
            before = x;
          }
        }
      }
    }
    if (t % 2 != 0) add(before, hn::Zero(d), t - 1, &low, &rest_low, &high, &rest_high);
    const VI a = out_.code(real(hn::RearrangeToOddPlusEven(low, rest_low), bias_low_, m_low_));
    const VI b = out_.code(real(hn::RearrangeToOddPlusEven(high, rest_high), bias_high_, m_high_));
    store(a, b, (line * s.out[2] + ow) * s.groups + c);
  }

  HWY_INLINE void add(V16 x0, V16 x1, int64_t t, VI* low, VI* rest_low, VI* high, VI* rest_high) const {
    const D16 d;
    *low =
        hn::ReorderWidenMulAccumulate(DI(), hn::InterleaveLower(d, x0, x1), hn::Load(d, filters_[t]), *low, *rest_low);
    *high = hn::ReorderWidenMulAccumulate(DI(), hn::InterleaveUpper(d, x0, x1), hn::Load(d, filters_[t + 1]), *high,
                                          *rest_high);
  }
  static HWY_INLINE VF real(VI sum, const int32_t* bias, const float* m) {
    return hn::Mul(hn::ConvertTo(DF(), hn::Add(sum, hn::Load(DI(), bias))), hn::Load(DF(), m));
  }

  // Packing two vectors puts the channels back in order.
  HWY_INLINE void store(VI low, VI high, int64_t at) const {
    const D16 d;
    const CodeType t = run_.p->out.type;
    const V16 half = hn::ReorderDemote2To(d, low, high);
    const auto count = static_cast<size_t>(count_);
    if (t.wide) {
      hn::StoreN(hn::Xor(half, hn::Set(d, static_cast<int16_t>(t.is_signed ? 0 : -32768))), d,
                 static_cast<int16_t*>(run_.y) + at, count);
    } else {
      const hn::Rebind<int8_t, D16> d8;
      hn::StoreN(hn::Xor(hn::DemoteTo(d8, half), hn::Set(d8, static_cast<int8_t>(t.is_signed ? 0 : -128))), d8,
                 static_cast<int8_t*>(run_.y) + at, count);
    }
  }

  const HalfWordRun& run_;
  const Out out_;
  int64_t count_ = 0;
  HWY_ALIGN int16_t filters_[kMostTaps + 1][kChannels];
  HWY_ALIGN int32_t bias_low_[kLanes], bias_high_[kLanes];
  HWY_ALIGN float m_low_[kLanes], m_high_[kLanes];
};

#endif

// Units [begin, end): channels last lines of all images, else planes. False where there is another way: filters are too
// large, or sums.
bool depthwise_part(const HalfWordRun& run, int64_t begin, int64_t end) {
  const ConvF32& s = run.p->shape;
  if (s.groups != s.in_channels || s.out_channels != s.groups || s.groups == 1 || !run.columns.narrow) return false;
  if (!run.p->last) {
    for (int64_t plane = begin; plane < end; ++plane) Planes(run).plane(plane);
    return true;
  }
#if HWY_TARGET != HWY_SCALAR
  if (run.plan.taps > kMostTaps) return false;
  if (begin < end) Depthwise(run).lines(begin, end);
  return true;
#else
  return false;
#endif
}

// ---- Element by element

void binary_part(const BinaryI16& f, const BinaryRows& rows, const void* a, const void* b, void* y, int64_t begin,
                 int64_t end) {
  const Out out(f.out);
  const VF ma = hn::Set(DF(), f.a_multiplier), mb = hn::Set(DF(), f.b_multiplier);
  const In x(a, rows.a_step, f.a_type, f.a_zero), z(b, rows.b_step, f.b_type, f.b_zero);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t a_at = rows.offset(rows.context, 0, r), b_at = rows.offset(rows.context, 1, r);
    for (int64_t i = 0; i < rows.row; i += kLanes) {
      const auto lanes = static_cast<size_t>(rows.row - i < kLanes ? rows.row - i : kLanes);
      const VF u = x.part(a_at + i * rows.a_step, lanes), v = z.part(b_at + i * rows.b_step, lanes);
      // A product of two exact differences rounds once, as its int64 would.
      const VF sum = f.is_product ? hn::Mul(hn::Mul(u, v), ma) : hn::Add(hn::Mul(u, ma), hn::Mul(v, mb));
      out.store(sum, lanes, y, r * rows.row + i);
    }
  }
}

void affine_part(const AffineI16& f, const BinaryRows& rows, const void* x, void* y, int64_t begin, int64_t end) {
  const Out out(f.out);
  const In codes(x, 1, f.x_type, f.zero);
  for (int64_t r = begin; r < end; ++r) {
    const int64_t from = rows.offset(rows.context, 0, r), at = rows.offset(rows.context, 1, r);
    for (int64_t i = 0; i < rows.row; i += kLanes) {
      const auto lanes = static_cast<size_t>(rows.row - i < kLanes ? rows.row - i : kLanes);
      const auto some = [&](const float* p) HWY_ATTR {
        return rows.b_step == 0 ? hn::Set(DF(), p[at]) : hn::LoadN(DF(), p + at + i, lanes);
      };
      const VF d = codes.part(from + i, lanes), factor = some(f.factor);
      const VF below = f.below != nullptr ? some(f.below) : factor;
      VF v = hn::Mul(d, hn::IfThenElse(hn::Lt(d, hn::Zero(DF())), below, factor));
      if (f.offset != nullptr) v = hn::Add(v, some(f.offset));
      out.store(v, lanes, y, r * rows.row + i);
    }
  }
}

}  // namespace half_words

void half_word_product(const HalfWordRun& run, int64_t group, int64_t m0, int64_t m1, int64_t p0, int64_t p1,
                       int16_t* room) {
  half_words::product_part(run, group, m0, m1, p0, p1, room);
}
bool half_word_depthwise(const HalfWordRun& run, int64_t begin, int64_t end) {
  return half_words::depthwise_part(run, begin, end);
}
void half_word_binary(const BinaryI16& f, const BinaryRows& rows, const void* a, const void* b, void* y, int64_t begin,
                      int64_t end) {
  half_words::binary_part(f, rows, a, b, y, begin, end);
}
void half_word_affine(const AffineI16& f, const BinaryRows& rows, const void* x, void* y, int64_t begin, int64_t end) {
  half_words::affine_part(f, rows, x, y, begin, end);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(half_word_product);
HWY_EXPORT(half_word_depthwise);
HWY_EXPORT(half_word_binary);
HWY_EXPORT(half_word_affine);

namespace {

constexpr int64_t kGrainMacs = int64_t{1} << 19;
constexpr int64_t kGrainElements = int64_t{1} << 14;

size_t aligned(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) & ~size_t{63}; }

int64_t all_columns(const ConvF32& s) { return s.groups * HalfWordPlan(s).padded(); }

size_t columns_bytes(const ConvF32& s) {
  const int64_t n = all_columns(s);
  return aligned(n * 8) + 2 * aligned(n * 4);
}

size_t room_bytes(const ConvF32& s) { return aligned(kHalfWordRows * 2 * HalfWordPlan(s).pairs * 2); }

// The columns' biases and multipliers for this run, in scratch memory.
HalfWordColumns columns_of(const ProductI16& p, const HalfWordPlan& plan, const void* packed, int32_t padding,
                           void* scratch) {
  const ConvF32& s = p.shape;
  const int64_t n = all_columns(s);
  auto* const bytes = static_cast<char*>(scratch);
  HalfWordColumns out{};
  out.bias = reinterpret_cast<int64_t*>(bytes);
  out.bias32 = reinterpret_cast<int32_t*>(bytes + aligned(n * 8));
  out.multiplier = reinterpret_cast<float*>(bytes + aligned(n * 8) + aligned(n * 4));
  out.narrow = true;
  const auto* const sums =
      reinterpret_cast<const int32_t*>(static_cast<const char*>(packed) + plan.weights_bytes(s.groups));
  const int32_t* const magnitudes = sums + n;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t group = i / plan.padded(), column = i % plan.padded();
    const bool there = column < plan.columns;
    const int64_t channel = there ? group * plan.columns + column : 0;
    const int64_t given = there && p.bias != nullptr ? p.bias[channel] : 0;
    out.bias[i] = given - int64_t{padding} * sums[i];
    out.multiplier[i] = !there ? 0 : p.multiplier[p.multiplier_per_channel ? channel : 0];
    const int64_t most = int64_t{32768} * magnitudes[i] + (out.bias[i] < 0 ? -out.bias[i] : out.bias[i]);
    out.narrow = out.narrow && most <= INT32_MAX;
    out.bias32[i] = static_cast<int32_t>(static_cast<uint32_t>(out.bias[i]));
  }
  return out;
}

}  // namespace

size_t pack_product_i16_bytes(const ConvF32& shape) {
  const HalfWordPlan plan(shape);
  return static_cast<size_t>(plan.weights_bytes(shape.groups)) + 2 * aligned(all_columns(shape) * 4);
}

void pack_product_i16(const ConvF32& shape, const WeightsI16& weights, const Parallel& parallel, void* to) {
  const HalfWordPlan plan(shape);
  auto* const bytes = static_cast<int8_t*>(to);
  memset(to, 0, pack_product_i16_bytes(shape));
  auto* const sums = reinterpret_cast<int32_t*>(bytes + plan.weights_bytes(shape.groups));
  int32_t* const magnitudes = sums + all_columns(shape);
  parallel.for_range(shape.groups, 1 + 65536 / (plan.k * plan.columns + 1), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t g = begin; g < end; ++g) {
      for (int64_t c = 0; c < plan.columns; ++c) {
        const int8_t* const from = weights.data + (g * plan.columns + c) * weights.o_step;
        int8_t* const panel =
            bytes + g * plan.group_bytes() + c / kHalfWordPanel * plan.panel_bytes() + c % kHalfWordPanel * 2;
        int32_t sum = 0, magnitude = 0;
        for (int64_t k = 0; k < plan.k; ++k) {
          const int8_t w = from[k % plan.channels * weights.i_step + k / plan.channels * weights.t_step];
          panel[k / 2 * 2 * kHalfWordPanel + k % 2] = w;
          sum += w;
          magnitude += w < 0 ? -w : w;
        }
        sums[g * plan.padded() + c] = sum;
        magnitudes[g * plan.padded() + c] = magnitude;
      }
    }
  });
}

size_t product_i16_scratch_bytes(const ConvF32& shape, int32_t slots) {
  return columns_bytes(shape) + room_bytes(shape) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void product_i16(const ProductI16& p, const void* x, const void* packed, void* y, const Parallel& parallel,
                 void* scratch) {
  const ConvF32& s = p.shape;
  const HalfWordPlan plan(s);
  const int32_t padding = p.x_zero - (p.x_type.wide && !p.x_type.is_signed ? 32768 : 0);
  const HalfWordRun run = {&p,
                           plan,
                           columns_of(p, plan, packed, padding, scratch),
                           x,
                           static_cast<const int8_t*>(packed),
                           y,
                           s.n * s.out[0] * s.out[1] * s.out[2],
                           padding};
  if (run.pixels <= 0 || s.out_channels <= 0) return;
  const auto depthwise = HWY_DYNAMIC_POINTER(half_word_depthwise);
  if (depthwise(run, 0, 0)) {
    const int64_t units = s.n * (p.last ? s.out[0] * s.out[1] : s.groups);
    const int64_t macs = run.pixels * s.groups * plan.taps / units + 1;
    parallel.for_range(units, 1 + kGrainMacs / 4 / macs,
                       [&](int64_t begin, int64_t end, int32_t) { depthwise(run, begin, end); });
    return;
  }
  const auto kernel = HWY_DYNAMIC_POINTER(half_word_product);
  const size_t room = room_bytes(s);
  char* const rooms = static_cast<char*>(scratch) + columns_bytes(s);
  // Threads share out the pixels; where these are few, the panels as well.
  const int64_t turns = (run.pixels + kHalfWordRows - 1) / kHalfWordRows, units = turns * s.groups;
  int64_t parts = units >= parallel.slots ? 1 : (parallel.slots + units - 1) / units;
  if (parts > plan.panels) parts = plan.panels;
  const int64_t each = (plan.panels + parts - 1) / parts;
  const int64_t macs = kHalfWordRows * plan.k * each * kHalfWordPanel + 1;
  parallel.for_range(units * parts, 1 + kGrainMacs / macs, [&](int64_t begin, int64_t end, int32_t slot) {
    auto* const mine = reinterpret_cast<int16_t*>(rooms + static_cast<size_t>(slot) * room);
    for (int64_t u = begin; u < end; ++u) {
      const int64_t part = u % parts, turn = u / parts % turns, group = u / parts / turns;
      const int64_t m0 = turn * kHalfWordRows, p0 = part * each;
      const int64_t m1 = m0 + kHalfWordRows < run.pixels ? m0 + kHalfWordRows : run.pixels;
      const int64_t p1 = p0 + each < plan.panels ? p0 + each : plan.panels;
      if (p0 < p1) kernel(run, group, m0, m1, p0, p1, mine);
    }
  });
}

void binary_i16(const BinaryI16& f, const BinaryRows& rows, const void* a, const void* b, void* y,
                const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(half_word_binary);
  parallel.for_range(rows.rows, 1 + kGrainElements / (rows.row + 1),
                     [&](int64_t begin, int64_t end, int32_t) { kernel(f, rows, a, b, y, begin, end); });
}

void affine_i16(const AffineI16& f, const BinaryRows& rows, const void* x, void* y, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(half_word_affine);
  parallel.for_range(rows.rows, 1 + kGrainElements / (rows.row + 1),
                     [&](int64_t begin, int64_t end, int32_t) { kernel(f, rows, x, y, begin, end); });
}

}  // namespace vireo::cpu
#endif
