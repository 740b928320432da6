// What the tests of float products share: numbers of 16 bits, tails, and what plain loops expect of a product.
#ifndef VIREO_DELEGATES_CPU_KERNELS_PRODUCT_TESTING_H_
#define VIREO_DELEGATES_CPU_KERNELS_PRODUCT_TESTING_H_

#include "delegates/cpu/kernels/gemm/gemm.h"
#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu::testing {

using Halves = Guarded<uint16_t>;

// Float16 numbers between -1 and 1.
inline void fill_half(Halves& out, uint32_t seed) {
  Floats wide(out.size());
  fill_uniform(wide, seed);
  for (size_t i = 0; i < out.size(); ++i) out[i] = f32_to_f16(wide[i]);
}
inline std::unique_ptr<Floats> widen_half(const Halves& from) {
  auto to = std::make_unique<Floats>(from.size());
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] = f16_to_f32(from[i]);
  return to;
}

// What follows a product.
struct Tail {
  Activate act = {};
  bool bias = false;
  int residual = 0;  // 1 added, 2 added last, 3 multiplied last
  float alpha = 1;
  bool slope = false;
};
// A key of expected_once, for sizes with a tail.
inline std::vector<double> with_tail(std::vector<double> key, const Tail& t) {
  for (const double part : key_of(t.act.kind, t.act.a, t.act.b, t.bias, t.residual, t.alpha, t.slope))
    key.push_back(part);
  return key;
}

// The tail's operands in float32: bias [n], slope [n], residual [m, ldc].
struct TailOperands {
  const float* bias;
  const float* slope;
  const float* residual;
};
inline Epilogue epilogue_of(const Tail& t, const TailOperands& with, int64_t ldc) {
  Epilogue e;
  e.alpha = t.alpha;
  e.act = t.act;
  e.col_bias = t.bias ? with.bias : nullptr;
  e.col_slope = t.slope ? with.slope : nullptr;
  e.residual = t.residual != 0 ? with.residual : nullptr;
  e.residual_stride = ldc;
  e.residual_last = t.residual == 2;
  e.residual_times = t.residual == 3;
  return e;
}

inline double curve(const Activate& act, double x) {
  switch (act.kind) {
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kClip:
      return std::min(std::max(x, double{act.a}), double{act.b});
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kSilu:
      return x / (1 + std::exp(-x * act.a));
    case Activation::kHardSwish:
      return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    default:
      return x;
  }
}

// Y = tail(A B) by plain loops in double: a(row, k) and b(k, column) give numbers, bound(magnitude) how far off a
// result may be, where `magnitude` is the sum of all terms without their signs. Between rows the bound is -1.
struct ProductSizes {
  int64_t m, n, k, ldc;
};
template <class A, class B, class Bound>
void expect_product(const ProductSizes& s, const A& a, const B& b, const Tail& tail, const TailOperands& with,
                    const Bound& bound, Expected* e) {
  e->want.resize(static_cast<size_t>(s.m * s.ldc));
  e->bound.resize(e->want.size(), -1);
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = 0, magnitude = 2;
      for (int64_t p = 0; p < s.k; ++p) {
        const double product = static_cast<double>(a(i, p)) * b(p, j);
        sum += product;
        magnitude += std::abs(product);
      }
      const int64_t at = i * s.ldc + j;
      const double residual = with.residual[at];
      double y = tail.alpha * sum + (tail.bias ? with.bias[j] : 0) + (tail.residual == 1 ? residual : 0);
      y = curve(tail.act, y);
      if (tail.slope && y < 0) y *= with.slope[j];
      if (tail.residual == 2) y += residual;
      if (tail.residual == 3) y *= residual;
      e->want[static_cast<size_t>(at)] = y;
      e->bound[static_cast<size_t>(at)] = bound(std::max(1.0f, tail.alpha) * magnitude);
    }
  }
}

}  // namespace vireo::cpu::testing

#endif  // VIREO_DELEGATES_CPU_KERNELS_PRODUCT_TESTING_H_
