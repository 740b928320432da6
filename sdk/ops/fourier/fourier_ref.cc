#include "sdk/ops/fourier/fourier.h"

#include <math.h>

#include "sdk/base/checked.h"
#include "sdk/base/sizes.h"
#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// Memory of one transform of length n. `factor`: e^(-2 pi i k / n).
template <class C>
struct Line {
  Complex<C>*in, *out, *part, *factor;
  int64_t n;
  static constexpr int kArrays = 4;
};

int64_t smallest_prime_factor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// out[k] = sum_j in[j stride] w^(jk), k < n, w = e^(-2 pi i / n) = factor[line.n / n]. With n = p m, the sum splits
// into p transforms of length m over every p-th sample, joined by p-point sums.
template <class C>
void transform(const Line<C>& line, const Complex<C>* in, int64_t stride, int64_t n, Complex<C>* out) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const int64_t p = smallest_prime_factor(n), m = n / p, turn = line.n / n;
  for (int64_t r = 0; r < p; ++r) transform(line, in + r * stride, stride * p, m, out + r * m);
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t r = 0; r < p; ++r) line.part[r] = out[r * m + k];
    for (int64_t q = 0; q < p; ++q) {
      const int64_t bin = k + q * m;
      Complex<C> sum = line.part[0];
      for (int64_t r = 1; r < p; ++r) {
        const Complex<C> w = line.factor[r * bin % n * turn], v = line.part[r];
        sum.re += v.re * w.re - v.im * w.im;
        sum.im += v.re * w.im + v.im * w.re;
      }
      out[bin] = sum;
    }
  }
}

// Quarter turns exactly, so that a real sum has no imaginary part of pi's rounding.
template <class C>
void fill_factors(int64_t n, Complex<C>* factor) {
  constexpr Complex<C> kQuarters[] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
  for (int64_t k = 0; k < n; ++k) {
    const double angle = 6.283185307179586477 * static_cast<double>(k) / static_cast<double>(n);
    factor[k] =
        4 * k % n == 0 ? kQuarters[4 * k / n] : Complex<C>{static_cast<C>(cos(angle)), static_cast<C>(-sin(angle))};
  }
}

template <class C>
Line<C> make_line(const KernelContext& ctx, int64_t n, int32_t slot, Complex<C>* factor, int64_t slot_bytes) {
  auto* base = reinterpret_cast<Complex<C>*>(ctx.scratch.data() + slot_bytes * slot);
  return {base, base + n, base + 2 * n, factor, n};
}

// One sample of a signal, real or complex.
template <class T>
Complex<compute_t<T>> sample(const T* x, int64_t parts) {
  using C = compute_t<T>;
  return {static_cast<C>(x[0]), parts == 2 ? static_cast<C>(x[1]) : C(0)};
}

// Shared factors come first, then each thread's line.
template <class C>
constexpr int64_t line_bytes(int64_t n) {
  return static_cast<int64_t>(align_up(static_cast<uint64_t>(3 * n) * sizeof(Complex<C>), 64));
}
template <class C>
constexpr int64_t factor_bytes(int64_t n) {
  return static_cast<int64_t>(align_up(static_cast<uint64_t>(n) * sizeof(Complex<C>), 64));
}

template <class T>
Status dft(const KernelContext& ctx) {
  using C = compute_t<T>;
  const auto& a = ctx.attrs<attrs::Fourier>();
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const int last = x.shape.rank - 1;
  const int axis = ctx.in(2) == nullptr
                       ? last - 1
                       : normalize_axis(read_integer(ctx.in(2)->dtype, ctx.in(2)->data, 0), x.shape.rank);
  const int64_t have = x.shape[axis], made = y.shape[axis], parts = x.shape[last], out_parts = y.shape[last];
  const bool real_output = a.inverse() && a.onesided();
  int64_t n = real_output ? 2 * (have - 1) : have;
  if (ctx.in(1) != nullptr) n = read_integer(ctx.in(1)->dtype, ctx.in(1)->data, 0);
  if (n <= 0) {  // sums of no samples: onesided there is one
    for (int64_t i = 0, count = y.count(); i < count; ++i) y.as<T>()[i] = T(C(0));
    return Status::kOk;
  }
  const int64_t outer = product(x.shape, 0, axis), inner = product(x.shape, axis + 1, last);
  auto* factor = reinterpret_cast<Complex<C>*>(ctx.scratch.data());
  fill_factors(n, factor);
  KernelContext lines = ctx;
  lines.scratch = Span<uint8_t>(ctx.scratch.data() + factor_bytes<C>(n),
                                ctx.scratch.size() - static_cast<size_t>(factor_bytes<C>(n)));
  ctx.parallel.for_range(outer * inner, 1, [&](int64_t begin, int64_t end, int32_t slot) {
    const Line<C> line = make_line(lines, n, slot, factor, line_bytes<C>(n));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / inner, k = i % inner;
      const auto at = [&](int64_t j) { return x.as<const T>() + ((o * have + j) * inner + k) * parts; };
      const int64_t bins = real_output ? n / 2 + 1 : n, given = have < bins ? have : bins;
      for (int64_t j = 0; j < n; ++j) line.in[j] = {0, 0};
      for (int64_t j = 0; j < given; ++j) line.in[j] = sample(at(j), parts);
      if (real_output) {
        // A real signal's spectrum: real at 0 and n/2, mirrored and conjugate behind.
        line.in[0].im = 0;
        if (n % 2 == 0) line.in[n / 2].im = 0;
        for (int64_t j = n / 2 + 1; j < n; ++j) line.in[j] = {line.in[n - j].re, -line.in[n - j].im};
      }
      // The inverse is the forward transform between two conjugations, over n.
      if (a.inverse()) {
        for (int64_t j = 0; j < n; ++j) line.in[j].im = -line.in[j].im;
      }
      transform(line, line.in, 1, n, line.out);
      for (int64_t j = 0; j < made; ++j) {
        Complex<C> v = line.out[j];
        if (a.inverse()) v = {v.re / static_cast<C>(n), -v.im / static_cast<C>(n)};
        T* to = y.as<T>() + ((o * made + j) * inner + k) * out_parts;
        to[0] = T(v.re);
        if (out_parts == 2) to[1] = T(v.im);
      }
    }
  });
  return Status::kOk;
}

template <class T>
Status stft(const KernelContext& ctx) {
  using C = compute_t<T>;
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const int64_t step = read_integer(ctx.in(1)->dtype, ctx.in(1)->data, 0), samples = x.shape[1], parts = x.shape[2];
  const int64_t frames = y.shape[1], bins = y.shape[2];
  const T* window = ctx.in(2) == nullptr ? nullptr : ctx.in(2)->as<const T>();
  int64_t n = samples;
  if (ctx.in(2) != nullptr) {
    n = ctx.in(2)->shape[0];
  } else if (ctx.in(3) != nullptr) {
    n = read_integer(ctx.in(3)->dtype, ctx.in(3)->data, 0);
  }
  auto* factor = reinterpret_cast<Complex<C>*>(ctx.scratch.data());
  fill_factors(n, factor);
  KernelContext lines = ctx;
  lines.scratch = Span<uint8_t>(ctx.scratch.data() + factor_bytes<C>(n),
                                ctx.scratch.size() - static_cast<size_t>(factor_bytes<C>(n)));
  ctx.parallel.for_range(x.shape[0] * frames, 1, [&](int64_t begin, int64_t end, int32_t slot) {
    const Line<C> line = make_line(lines, n, slot, factor, line_bytes<C>(n));
    for (int64_t i = begin; i < end; ++i) {
      const T* from = x.as<const T>() + (i / frames * samples + i % frames * step) * parts;
      for (int64_t j = 0; j < n; ++j) {
        const C w = window == nullptr ? C(1) : static_cast<C>(window[j]);
        const Complex<C> v = sample(from + j * parts, parts);
        line.in[j] = {v.re * w, v.im * w};
      }
      transform(line, line.in, 1, n, line.out);
      T* to = y.as<T>() + i * bins * 2;
      for (int64_t j = 0; j < bins; ++j) {
        to[2 * j] = T(line.out[j].re);
        to[2 * j + 1] = T(line.out[j].im);
      }
    }
  });
  return Status::kOk;
}

Status run_dft(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) { return dft<decltype(tag)>(ctx); });
}
Status run_stft(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) { return stft<decltype(tag)>(ctx); });
}

// From the bins that are given out: N/2 + 1 of them come from at most 2 bins - 1 samples.
int64_t fourier_scratch(const KernelQuery& query, int64_t bins, bool onesided) {
  if (size_product(bins, int64_t{256} * (query.slots + 1)) < 0) return -1;
  const int64_t n = onesided ? 2 * bins - 1 : bins;
  const bool wide = query.inputs[0].dtype == DType::kF64;
  const int64_t shared = wide ? factor_bytes<double>(n) : factor_bytes<float>(n);
  return shared + query.slots * (wide ? line_bytes<double>(n) : line_bytes<float>(n));
}
int64_t scratch_dft(const KernelQuery& query) {
  const auto& a = query.attrs<attrs::Fourier>();
  const Shape& y = query.outputs[0].shape;
  int64_t longest = 1;  // the axis is known only when the kernel runs
  for (int i = 0; i < y.rank - 1; ++i) longest = y[i] > longest ? y[i] : longest;
  return fourier_scratch(query, longest, a.onesided() && !a.inverse());
}
int64_t scratch_stft(const KernelQuery& query) {
  return fourier_scratch(query, query.outputs[0].shape[2], query.attrs<attrs::Fourier>().onesided());
}

}  // namespace

extern const RefKernel kDFTRef;
const RefKernel kDFTRef = {run_dft, scratch_dft};
extern const RefKernel kSTFTRef;
const RefKernel kSTFTRef = {run_stft, scratch_stft};

}  // namespace vireo
