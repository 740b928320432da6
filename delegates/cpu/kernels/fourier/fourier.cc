#include "delegates/cpu/kernels/fourier/fourier.h"

#include <math.h>
#include <string.h>

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/fourier/fourier.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));
constexpr int64_t kElement = 2 * kLanes;  // floats: real parts of all lines, then imaginary ones

struct Pair {
  VF re, im;
};
HWY_INLINE Pair load_pair(const float* p) { return {hn::Load(DF(), p), hn::Load(DF(), p + kLanes)}; }
HWY_INLINE void store_pair(const Pair& v, float* p) {
  hn::Store(v.re, DF(), p);
  hn::Store(v.im, DF(), p + kLanes);
}
HWY_INLINE Pair add(const Pair& a, const Pair& b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Pair subtract(const Pair& a, const Pair& b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
// `w`: real and imaginary part.
HWY_INLINE Pair turned(const Pair& v, const float* w) {
  const VF re = hn::Set(DF(), w[0]), im = hn::Set(DF(), w[1]);
  return {hn::NegMulAdd(v.im, im, hn::Mul(v.re, re)), hn::MulAdd(v.re, im, hn::Mul(v.im, re))};
}

int64_t factor_of(int64_t n) {
  if (n % 4 == 0) return 4;
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

struct Line {
  const float* factors;  // [n]: e^(-2 pi i k / n)
  float* part;           // room of p elements
  int64_t n;
};

// out[k] = sum of in[j stride] w^(jk), k < n, w = e^(-2 pi i / n). With n = p m, p transforms of length m over every
// p-th sample are joined by p-point sums.
void transform(const Line& line, const float* in, int64_t stride, int64_t n, float* out) {
  const int64_t p = factor_of(n), m = n / p, turn = line.n / n;
  for (int64_t r = 0; r < p && m > 1; ++r)
    transform(line, in + r * stride * kElement, stride * p, m, out + r * m * kElement);
  const float* const from = m > 1 ? out : in;
  const int64_t apart = (m > 1 ? m : stride) * kElement, next = m * kElement;
  for (int64_t k = 0; k < m; ++k) {
    const float* const a = from + k * kElement;
    float* const to = out + k * kElement;
    const auto w = [&](int64_t i) { return line.factors + 2 * i * turn; };
    if (p == 1) {
      store_pair(load_pair(a), to);
    } else if (p == 2) {
      const Pair x = load_pair(a), y = turned(load_pair(a + apart), w(k));
      store_pair(add(x, y), to);
      store_pair(subtract(x, y), to + next);
    } else if (p == 4) {
      const Pair x0 = load_pair(a), x1 = turned(load_pair(a + apart), w(k));
      const Pair x2 = turned(load_pair(a + 2 * apart), w(2 * k)), x3 = turned(load_pair(a + 3 * apart), w(3 * k));
      const Pair even = add(x0, x2), odd = add(x1, x3), left = subtract(x0, x2), right = subtract(x1, x3);
      store_pair(add(even, odd), to);
      store_pair({hn::Add(left.re, right.im), hn::Sub(left.im, right.re)}, to + next);  // less i times right
      store_pair(subtract(even, odd), to + 2 * next);
      store_pair({hn::Sub(left.re, right.im), hn::Add(left.im, right.re)}, to + 3 * next);
    } else {
      for (int64_t r = 0; r < p; ++r) store_pair(load_pair(a + r * apart), line.part + r * kElement);
      for (int64_t q = 0; q < p; ++q) {
        const int64_t bin = k + q * m;
        Pair sum = load_pair(line.part);
        for (int64_t r = 1, i = bin; r < p; ++r, i = i + bin < n ? i + bin : i + bin - n)
          sum = add(sum, turned(load_pair(line.part + r * kElement), w(i)));
        store_pair(sum, to + q * next);
      }
    }
  }
}

HWY_INLINE Pair product(const Pair& a, const Pair& b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}
// Every `step`-th float from p on.
HWY_INLINE VF spread(const float* p, int64_t step) {
  const hn::RebindToSigned<DF> di;
  return hn::GatherIndex(DF(), p, hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(step))));
}
// What the results are multiplied by: the inverse is conjugated again, and over n.
struct Scale {
  VF re, im;
  explicit Scale(const FourierF32& s) {
    const float over = s.inverse ? 1.0f / static_cast<float>(s.n) : 1;
    re = hn::Set(DF(), over);
    im = hn::Set(DF(), s.inverse ? -over : over);
  }
  void store(const Pair& v, float* both) const {
    hn::StoreInterleaved2(hn::Mul(v.re, re), hn::Mul(v.im, im), DF(), both);
  }
};

// A line by itself whose points are kLanes^2 or a multiple: lane r takes every kLanes-th sample from r on. Transforms
// of kLanes points join all lanes, for as many bins at a time.
HWY_INLINE bool is_split(const FourierF32& s) { return s.n % (kLanes * kLanes) == 0 && !s.mirrored; }
void transform_split(const FourierF32& s, const float* x, float* y, const float* factors, float* memory) {
  const DF d;
  const int64_t m = s.n / kLanes, block = kLanes * kElement;
  float *const in = memory, *const out = in + m * kElement, *const rows = out + m * kElement;
  float *const columns = rows + block, *const bins = columns + block;
  const Line line{factors, bins + block, s.n};
  for (int64_t j = 0; j < m; ++j) {
    const int64_t first = j * kLanes, have = s.given - first;
    const float* const from = x + first * s.x_step;
    Pair v{hn::Zero(d), hn::Zero(d)};
    if (have >= kLanes) {
      v.re = spread(from, s.x_step);
      if (s.x_parts == 2) v.im = spread(from + 1, s.x_step);
    } else {
      HWY_ALIGN float last[kElement] = {};
      for (int64_t l = 0; l < have; ++l) {
        last[l] = from[l * s.x_step];
        last[kLanes + l] = s.x_parts == 2 ? from[l * s.x_step + 1] : 0;
      }
      v = load_pair(last);
    }
    if (s.window != nullptr) {
      const VF w = hn::LoadU(d, s.window + first);
      v = {hn::Mul(v.re, w), hn::Mul(v.im, w)};
    }
    if (s.inverse) v.im = hn::Neg(v.im);
    store_pair(v, in + j * kElement);
  }
  transform(line, in, 1, m, out);
  const Scale scale(s);
  HWY_ALIGN float both[kElement];
  for (int64_t k0 = 0; k0 < m; k0 += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const int64_t turn = 2 * (k0 + k);
      const Pair w{spread(factors, turn), spread(factors + 1, turn)};
      store_pair(product(load_pair(out + (k0 + k) * kElement), w), rows + k * kElement);
    }
    for (int64_t r = 0; r < kLanes; ++r)
      store_pair({spread(rows + r, kElement), spread(rows + kLanes + r, kElement)}, columns + r * kElement);
    transform(line, columns, 1, kLanes, bins);
    for (int64_t q = 0; q < kLanes; ++q) {
      scale.store(load_pair(bins + q * kElement), both);
      const int64_t bin = k0 + q * m;
      for (int64_t l = 0; l < kLanes && bin + l < s.made; ++l)
        memcpy(y + (bin + l) * s.y_step, both + 2 * l, static_cast<size_t>(s.y_parts) * sizeof(float));
    }
  }
}

// Samples of up to kLanes lines, `at` floats behind x.
void load_lines(const FourierF32& s, const float* x, const int32_t* at, float* in) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const auto places = hn::Load(di, at);
  const VF zero = hn::Zero(d);
  for (int64_t j = 0; j < s.n; ++j) {
    Pair v{zero, zero};
    if (j < s.given) {
      const float* const from = x + j * s.x_step;
      v.re = hn::GatherIndex(d, from, places);
      if (s.x_parts == 2) v.im = hn::GatherIndex(d, from + 1, places);
      if (s.window != nullptr) {
        const VF w = hn::Set(d, s.window[j]);
        v = {hn::Mul(v.re, w), hn::Mul(v.im, w)};
      }
    }
    if (s.mirrored) {
      if (j > s.n / 2) {
        v = load_pair(in + (s.n - j) * kElement);
        v.im = hn::Neg(v.im);
        store_pair(v, in + j * kElement);
        continue;
      }
      if (j == 0 || 2 * j == s.n) v.im = zero;
    }
    // The inverse is the forward transform between two conjugations.
    if (s.inverse) v.im = hn::Neg(v.im);
    store_pair(v, in + j * kElement);
  }
}

void store_lines(const FourierF32& s, const float* out, float* y, const int64_t* at, int64_t count) {
  const Scale scale(s);
  HWY_ALIGN float both[2 * kLanes];
  for (int64_t j = 0; j < s.made; ++j, y += s.y_step) {
    scale.store(load_pair(out + j * kElement), both);
    for (int64_t l = 0; l < count; ++l) {
      y[at[l]] = both[2 * l];
      if (s.y_parts == 2) y[at[l] + 1] = both[2 * l + 1];
    }
  }
}

// Groups [begin, end) of kLanes lines. memory: in [n], out [n], part [n], of kElement floats each.
void transform_groups(const FourierF32& s, const float* x, float* y, const float* factors, float* memory, int64_t begin,
                      int64_t end) {
  const int64_t lines = s.outer * s.inner, room = s.n * kElement;
  float *const in = memory, *const out = in + room;
  const Line line{factors, out + room, s.n};
  for (int64_t g = begin; g < end; ++g) {
    HWY_ALIGN int32_t from[kLanes];
    int64_t to[kLanes];
    const int64_t first = g * kLanes, count = lines - first < kLanes ? lines - first : kLanes;
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t i = first + (l < count ? l : 0), o = i / s.inner, k = i % s.inner;
      from[l] = static_cast<int32_t>(o * s.x_outer + k * s.x_inner);
      to[l] = o * s.y_outer + k * s.y_inner;
    }
    if (2 * count <= kLanes && is_split(s)) {
      for (int64_t l = 0; l < count; ++l) transform_split(s, x + from[l], y + to[l], factors, memory);
      continue;
    }
    load_lines(s, x, from, in);
    transform(line, in, 1, s.n, out);
    store_lines(s, out, y, to, count);
  }
}

int64_t lines_of_group() { return kLanes; }

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(transform_groups);
HWY_EXPORT(lines_of_group);

namespace {
#if HWY_ARCH_X86
constexpr int64_t kMostLanes = 16;
#else
constexpr int64_t kMostLanes = 64;  // of 2,048 bits
#endif
size_t aligned(int64_t floats) { return (static_cast<size_t>(floats) * sizeof(float) + 63) & ~size_t{63}; }

// Quarter turns exactly, so that a real sum has no imaginary part of pi's rounding. The upper half mirrors the lower.
void fill_factors(int64_t n, float* factor) {
  constexpr float kQuarters[] = {1, 0, 0, -1, -1, 0};
  for (int64_t k = 0; 2 * k <= n; ++k) {
    const double angle = 6.283185307179586477 * static_cast<double>(k) / static_cast<double>(n);
    const bool quarter = 4 * k % n == 0;
    const float re = quarter ? kQuarters[8 * k / n] : static_cast<float>(cos(angle));
    const float im = quarter ? kQuarters[8 * k / n + 1] : static_cast<float>(-sin(angle));
    factor[2 * k] = re;
    factor[2 * k + 1] = im;
    if (k == 0 || 2 * k == n) continue;
    factor[2 * (n - k)] = re;
    factor[2 * (n - k) + 1] = -im;
  }
}
}  // namespace

size_t fourier_scratch_bytes(int64_t n, int32_t slots) {
  return aligned(2 * n) + aligned(3 * n * 2 * kMostLanes) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void fourier_f32(const FourierF32& s, const float* x, float* y, const Parallel& parallel, void* scratch) {
  const int64_t lines = s.outer * s.inner;
  if (lines <= 0) return;
  const int64_t width = HWY_DYNAMIC_DISPATCH(lines_of_group)();
  const auto kernel = HWY_DYNAMIC_POINTER(transform_groups);
  auto* const factors = static_cast<float*>(scratch);
  fill_factors(s.n, factors);
  char* const memory = static_cast<char*>(scratch) + aligned(2 * s.n);
  const size_t room = aligned(3 * s.n * 2 * width);
  parallel.for_range((lines + width - 1) / width, 1, [&](int64_t begin, int64_t end, int32_t slot) {
    kernel(s, x, y, factors, reinterpret_cast<float*>(memory + static_cast<size_t>(slot) * room), begin, end);
  });
}

}  // namespace vireo::cpu
#endif
