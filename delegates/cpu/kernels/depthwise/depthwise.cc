#include "delegates/cpu/kernels/depthwise/depthwise.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/depthwise/depthwise.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/math-inl.h"
#include "delegates/cpu/kernels/window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

struct Rows {
  const float* from;  // the band
  int64_t pitch;      // floats between input rows one output row apart
  int64_t width;      // outputs per row
  const float* weights;
  float bias;
  bool clip;
  float lo, hi;
  float* to;
};

template <class D>
HWY_INLINE void store_row(D d, hn::Vec<D> v, const Rows& r, int64_t row, int64_t x) {
  if (r.clip) v = clip(d, v, hn::Set(d, r.lo), hn::Set(d, r.hi));
  float* const to = r.to + row * r.width + x;
  const int64_t rest = r.width - x;
  if (rest >= static_cast<int64_t>(hn::MaxLanes(d))) {
    hn::StoreU(v, d, to);
  } else {
    hn::StoreN(v, d, to, static_cast<size_t>(rest));
  }
}

// kCount rows of a 3 x 3 window with neighbouring input rows: each input vector is loaded once for the (up to) three
// rows that see it, 3 (kCount + 2) loads for 9 kCount multiplications. At stride 1 most loads straddle cache lines, so
// loads are what limits this kernel.
template <int kCount, class D>
HWY_INLINE void rows_3x3_dense(D d, const Rows& r, int64_t row, const int64_t* taps) {
  using V = hn::Vec<D>;
  V w[9];
  VIREO_UNROLL
  for (int i = 0; i < 9; ++i) w[i] = hn::Set(d, r.weights[i]);
  const V bias = hn::Set(d, r.bias);
  const float* from = r.from + row * r.pitch;
  for (int64_t x = 0; x < r.width; x += static_cast<int64_t>(hn::MaxLanes(d))) {
    V acc[kCount];
    VIREO_UNROLL
    for (int i = 0; i < kCount; ++i) acc[i] = bias;
    VIREO_UNROLL
    for (int in = 0; in < kCount + 2; ++in) {
      const float* line = from + in * r.pitch + x;
      VIREO_UNROLL
      for (int j = 0; j < 3; ++j) {
        const V v = hn::LoadU(d, line + taps[j]);
        VIREO_UNROLL
        for (int i = 0; i < kCount; ++i) {
          if (in - i >= 0 && in - i < 3) acc[i] = hn::MulAdd(v, w[(in - i) * 3 + j], acc[i]);
        }
      }
    }
    VIREO_UNROLL
    for (int i = 0; i < kCount; ++i) store_row(d, acc[i], r, row + i, x);
  }
}

// One row of a 3 x 3 window at any stride and dilation: 9 broadcast weights stay in registers.
template <class D>
HWY_INLINE void row_3x3(D d, const Rows& r, int64_t row, const int64_t* taps) {
  using V = hn::Vec<D>;
  V w[9];
  VIREO_UNROLL
  for (int i = 0; i < 9; ++i) w[i] = hn::Set(d, r.weights[i]);
  const float* from = r.from + row * r.pitch;
  for (int64_t x = 0; x < r.width; x += static_cast<int64_t>(hn::MaxLanes(d))) {
    V a = hn::Set(d, r.bias), b = hn::Zero(d), c = hn::Zero(d);  // three chains of three
    VIREO_UNROLL
    for (int i = 0; i < 9; i += 3) {
      a = hn::MulAdd(hn::LoadU(d, from + taps[i] + x), w[i], a);
      b = hn::MulAdd(hn::LoadU(d, from + taps[i + 1] + x), w[i + 1], b);
      c = hn::MulAdd(hn::LoadU(d, from + taps[i + 2] + x), w[i + 2], c);
    }
    store_row(d, hn::Add(hn::Add(a, b), c), r, row, x);
  }
}

// Any window: four vectors of a row share each broadcast weight.
template <class D>
HWY_INLINE void row_any(D d, const Rows& r, int64_t row, int64_t count, const int64_t* taps) {
  using V = hn::Vec<D>;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const float* from = r.from + row * r.pitch;
  int64_t x = 0;
  for (; x + 3 * kLanes < r.width; x += 4 * kLanes) {
    V acc[4];
    VIREO_UNROLL
    for (int i = 0; i < 4; ++i) acc[i] = hn::Set(d, r.bias);
    for (int64_t t = 0; t < count; ++t) {
      const V w = hn::Set(d, r.weights[t]);
      const float* line = from + taps[t] + x;
      VIREO_UNROLL
      for (int i = 0; i < 4; ++i) acc[i] = hn::MulAdd(hn::LoadU(d, line + i * kLanes), w, acc[i]);
    }
    VIREO_UNROLL
    for (int i = 0; i < 4; ++i) store_row(d, acc[i], r, row, x + i * kLanes);
  }
  for (; x < r.width; x += kLanes) {
    V even = hn::Set(d, r.bias), odd = hn::Zero(d);
    int64_t t = 0;
    for (; t + 2 <= count; t += 2) {
      even = hn::MulAdd(hn::LoadU(d, from + taps[t] + x), hn::Set(d, r.weights[t]), even);
      odd = hn::MulAdd(hn::LoadU(d, from + taps[t + 1] + x), hn::Set(d, r.weights[t + 1]), odd);
    }
    if (t < count) even = hn::MulAdd(hn::LoadU(d, from + taps[t] + x), hn::Set(d, r.weights[t]), even);
    store_row(d, hn::Add(even, odd), r, row, x);
  }
}

// A function of its own: what the widths of vectors share where a core has no other is there once.
template <class D>
HWY_NOINLINE void band_rows(D d, const Rows& shared, int64_t rows, const Window& w, const int64_t* taps) {
  const Rows r = shared;  // what is stored cannot change it
  int64_t row = 0;
  if (w.kernel_h == 3 && w.kernel_w == 3) {
    if (w.stride_h == 1 && w.dilation_h == 1) {
      for (; row + 4 <= rows; row += 4) rows_3x3_dense<4>(d, r, row, taps);
      for (; row < rows; ++row) rows_3x3_dense<1>(d, r, row, taps);
    }
    for (; row < rows; ++row) row_3x3(d, r, row, taps);
  }
  for (; row < rows; ++row) row_any(d, r, row, w.kernel_h * w.kernel_w, taps);
}

// Planes whose rows are shorter than a vector, at stride 1: the padded plane, rows end to end, is one long row. Columns
// that straddle two rows are computed and dropped, and vectors stay full: 25 x 5 outputs take 11 of 16 lanes, not 25
// of 5.
struct Narrow {
  bool fits;
  int64_t pitch, width, floats_in, outputs;

  Narrow(const Window& w, const Band& band) {
    pitch = w.out_w + (w.kernel_w - 1) * w.dilation_w;
    width = pitch - w.pad_left < w.in_w ? pitch - w.pad_left : w.in_w;
    outputs = (w.out_h - 1) * pitch + w.out_w;
    // 16: the last vector of a load or store may lie beyond the end.
    floats_in = (w.out_h + (w.kernel_h - 1) * w.dilation_h) * pitch + 32;
    fits = w.stride_h == 1 && w.stride_w == 1 && w.out_w <= 8 && w.in_w <= 8 && width > 0 && band.rows == w.out_h &&
           floats_in + outputs + 32 <= band.floats;
  }
};

HWY_INLINE void narrow_plane(const Window& w, const Narrow& n, const float* plane, const float* plane_end,
                             const Rows& r, const int64_t* taps, float* copy) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 8> d8;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
  constexpr int64_t kShort = static_cast<int64_t>(hn::MaxLanes(hn::CappedTag<float, 8>()));
  // Sizes in locals: vector stores may alias anything, and the compiler would read the structs again after each.
  const int64_t in_w = w.in_w, out_w = w.out_w, out_h = w.out_h, pitch = n.pitch, width = n.width;
  const int64_t rows_seen = out_h + (w.kernel_h - 1) * w.dilation_h - w.pad_top;
  const int64_t rows = rows_seen < w.in_h ? rows_seen : w.in_h;
  const float* const safe = plane_end - kShort;
  // A row that fits a vector is written with the zeros that follow it; the next row overwrites what is its own.
  for (int64_t x = 0; x < width; x += kShort) {
    const size_t lanes = static_cast<size_t>(width - x < kShort ? width - x : kShort);
    const auto valid = hn::FirstN(d8, lanes);
    const float* from = plane + x;
    float* to = copy + w.pad_top * pitch + w.pad_left + x;
    int64_t y = 0;
    for (; y < rows && from <= safe && width <= kShort; ++y, from += in_w, to += pitch) {
      hn::StoreU(hn::IfThenElseZero(valid, hn::LoadU(d8, from)), d8, to);
    }
    for (; y < rows; ++y, from += in_w, to += pitch) hn::StoreN(hn::LoadN(d8, from, lanes), d8, to, lanes);
  }
  float* const flat = copy + n.floats_in;
  const int64_t count = w.kernel_h * w.kernel_w;
  const V bias = hn::Set(d, r.bias), lo = hn::Set(d, r.lo), hi = hn::Set(d, r.hi);
  const float* const weights = r.weights;
  const int64_t outputs = n.outputs;
  const bool bounded = r.clip;
  if (count == 9) {  // 3 x 3: weights and offsets in registers
    V k[9];
    const float* p[9];
    VIREO_UNROLL
    for (int t = 0; t < 9; ++t) {
      k[t] = hn::Set(d, weights[t]);
      p[t] = copy + taps[t];
    }
    for (int64_t f = 0; f < outputs; f += kLanes) {
      V a = bias, b = hn::Zero(d), c = hn::Zero(d);
      VIREO_UNROLL
      for (int t = 0; t < 9; t += 3) {
        a = hn::MulAdd(hn::LoadU(d, p[t] + f), k[t], a);
        b = hn::MulAdd(hn::LoadU(d, p[t + 1] + f), k[t + 1], b);
        c = hn::MulAdd(hn::LoadU(d, p[t + 2] + f), k[t + 2], c);
      }
      a = hn::Add(hn::Add(a, b), c);
      if (bounded) a = clip(d, a, lo, hi);
      hn::StoreU(a, d, flat + f);
    }
  }
  for (int64_t f = count == 9 ? outputs : 0; f < outputs; f += 2 * kLanes) {
    V a = bias, b = bias, c = hn::Zero(d), e = hn::Zero(d);
    int64_t t = 0;
    for (; t + 2 <= count; t += 2) {
      const V w0 = hn::Set(d, weights[t]), w1 = hn::Set(d, weights[t + 1]);
      const float* p0 = copy + taps[t] + f;
      const float* p1 = copy + taps[t + 1] + f;
      a = hn::MulAdd(hn::LoadU(d, p0), w0, a);
      b = hn::MulAdd(hn::LoadU(d, p0 + kLanes), w0, b);
      c = hn::MulAdd(hn::LoadU(d, p1), w1, c);
      e = hn::MulAdd(hn::LoadU(d, p1 + kLanes), w1, e);
    }
    if (t < count) {
      const V w0 = hn::Set(d, weights[t]);
      a = hn::MulAdd(hn::LoadU(d, copy + taps[t] + f), w0, a);
      b = hn::MulAdd(hn::LoadU(d, copy + taps[t] + f + kLanes), w0, b);
    }
    a = hn::Add(a, c);
    b = hn::Add(b, e);
    if (bounded) {
      a = clip(d, a, lo, hi);
      b = clip(d, b, lo, hi);
    }
    hn::StoreU(a, d, flat + f);
    hn::StoreU(b, d, flat + f + kLanes);
  }
  float* to = r.to;
  if (out_w <= kShort) {
    float* const last = to + out_h * out_w - kShort;
    const float* from = flat;
    int64_t y = 0;
    for (; y < out_h && to <= last; ++y, from += pitch, to += out_w) hn::StoreU(hn::LoadU(d8, from), d8, to);
    for (; y < out_h; ++y, from += pitch, to += out_w)
      hn::StoreN(hn::LoadU(d8, from), d8, to, static_cast<size_t>(out_w));
    return;
  }
  for (int64_t y = 0; y < out_h; ++y, to += out_w) {
    for (int64_t x = 0; x < out_w; x += kShort) {
      const size_t lanes = static_cast<size_t>(out_w - x < kShort ? out_w - x : kShort);
      hn::StoreN(hn::LoadU(d8, flat + y * pitch + x), d8, to + x, lanes);
    }
  }
}

// Planes [begin, end) of N * O. `scratch`: taps, then the band.
void depthwise_planes(const DepthwiseF32& s, const float* x, const float* weights, float* y, int64_t begin, int64_t end,
                      void* scratch) {
  const Window& w = s.window;
  const Band band(w);
  const int64_t count = w.kernel_h * w.kernel_w;
  int64_t* const taps = static_cast<int64_t*>(scratch);
  float* const copy = reinterpret_cast<float*>(taps + (count + 7) / 8 * 8);
  for (int64_t i = 0; i < w.kernel_h; ++i) {
    for (int64_t j = 0; j < w.kernel_w; ++j) taps[i * w.kernel_w + j] = band.tap(w, i, j);
  }
  fill_floats(copy, band.floats, 0);
  const Narrow narrow(w, band);
  if (narrow.fits) {
    for (int64_t i = 0; i < w.kernel_h; ++i) {
      for (int64_t j = 0; j < w.kernel_w; ++j) {
        taps[i * w.kernel_w + j] = i * w.dilation_h * narrow.pitch + j * w.dilation_w;
      }
    }
  }
  const int64_t outputs = s.channels * s.multiplier, area = w.out_h * w.out_w;
  const bool one_band = band.rows == w.out_h;
  const bool bounds = s.residual == nullptr && s.slope == nullptr &&
                      (s.act.kind == Activation::kRelu || s.act.kind == Activation::kClip);
  Rows r;
  r.pitch = band.pitch * w.stride_h;
  r.width = w.out_w;
  r.from = copy;
  r.clip = bounds;
  r.lo = s.act.kind == Activation::kRelu ? 0 : s.act.a;
  r.hi = s.act.kind == Activation::kRelu ? HUGE_VALF : s.act.b;
  for (int64_t plane = begin; plane < end; ++plane) {
    const int64_t o = plane % outputs;
    const float* in = x + (plane / outputs * s.channels + o / s.multiplier) * w.in_h * w.in_w;
    r.weights = weights + o * count;
    r.bias = s.bias != nullptr ? s.bias[o] : 0;
    for (int64_t y0 = 0; y0 < w.out_h; y0 += band.rows) {
      const int64_t rows = w.out_h - y0 < band.rows ? w.out_h - y0 : band.rows;
      r.to = y + plane * area + y0 * w.out_w;
      if (!narrow.fits) copy_band(w, band, in, y0, rows, 0, one_band, copy);
      // Planes narrower than a vector: shorter vectors straddle fewer lines and store fewer masked lanes.
      if (narrow.fits) {
        narrow_plane(w, narrow, in, in + w.in_h * w.in_w, r, taps, copy);
      } else if (w.out_w <= 4) {  // NOLINT(bugprone-branch-clone): all one where a vector has 4 lanes
        band_rows(hn::CappedTag<float, 4>(), r, rows, w, taps);
      } else if (w.out_w <= 8) {
        band_rows(hn::CappedTag<float, 8>(), r, rows, w, taps);
      } else {
        band_rows(hn::ScalableTag<float>(), r, rows, w, taps);
      }
      if (!bounds && (s.residual != nullptr || s.slope != nullptr || s.act.kind != Activation::kNone)) {
        RowFinish finish;
        finish.f = activation_of_row(s.act, s.slope != nullptr ? s.slope + o : nullptr);
        if (s.residual != nullptr) {
          const float* const row = s.residual + plane * area + y0 * w.out_w;
          (s.residual_times ? finish.late_factor : s.residual_last ? finish.late_residual : finish.residual) = row;
        }
        finish_row_f32(r.to, rows * w.out_w, finish);
      }
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
size_t slot_bytes(const DepthwiseF32& s, Sizes sizes) {
  const Band band(s.window);
  const size_t taps = static_cast<size_t>((s.window.kernel_h * s.window.kernel_w + 7) / 8 * 8) * sizeof(int64_t);
  return (taps + static_cast<size_t>(sizes == Sizes::kFixed ? band.floats : band.most) * sizeof(float) + 63) &
         ~size_t{63};
}
bool empty(const DepthwiseF32& s) {
  return s.n <= 0 || s.channels <= 0 || s.multiplier <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0;
}
}  // namespace

size_t depthwise_f32_scratch_bytes(const DepthwiseF32& s, int32_t slots, Sizes sizes) {
  return empty(s) ? 0 : slot_bytes(s, sizes) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void depthwise_f32(const DepthwiseF32& s, const float* x, const float* weights, float* y, const Parallel& parallel,
                   void* scratch) {
  if (empty(s)) return;
  const auto kernel = HWY_DYNAMIC_POINTER(depthwise_planes);
  const size_t room = slot_bytes(s, Sizes::kFixed);
  const int64_t planes = s.n * s.channels * s.multiplier;
  const int64_t work = s.window.out_h * s.window.out_w * s.window.kernel_h * s.window.kernel_w + 500;
  // 2^19 multiplications take about 10 us. Four ranges a thread: one that is late keeps the others waiting for little.
  int64_t grain = (int64_t{1} << 19) / work + 1;
  const int64_t even = (planes + 4 * parallel.slots - 1) / (4 * int64_t{parallel.slots});
  if (grain < even) grain = even;
  parallel.for_range(planes, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    kernel(s, x, weights, y, begin, end, static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  });
}
}  // namespace vireo::cpu
#endif
