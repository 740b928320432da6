#include "delegates/gpu/templates/usual_testing.h"

#include "delegates/gpu/templates/attention.h"
#include "delegates/gpu/templates/product.h"
#include "delegates/gpu/templates/recurrent.h"

namespace vireo::gpu {
namespace {

Expression sum_to(const std::vector<int64_t>& strides) {
  Expression e;
  Input sum;
  sum.given = true;
  View y;
  y.strides = strides;
  e.inputs = {sum};
  e.outputs = {{0, y}};
  return e;
}

// x is [m, k] in rows; w too, or [k, n] by columns of k as a transposed product has it.
Dispatch product(int64_t m, int64_t n, int64_t k, DType type, bool w_along_k, const Target& target) {
  ProductProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.x = {type, 0, {}, k, 1};
  p.w = {type, 0, {}, w_along_k ? 1 : n, w_along_k ? k : 1};
  p.sum = type == DType::kI8 ? DType::kI32 : DType::kF32;
  p.epilogue = sum_to({n, 1});
  p.epilogue.inputs[0].dtype = p.sum;
  return make_product(p, choose_product(p, target), target);
}

// 3 x 3 over images with their channels side by side.
Dispatch convolution(int64_t groups, int64_t channels, int64_t outputs, int64_t extent, DType type,
                     const Target& target) {
  ConvolutionProblem p;
  p.groups = groups;
  p.channels = channels;
  p.outputs = outputs;
  p.window.in = p.window.out = {1, extent, extent};
  p.window.kernel = {1, 3, 3};
  p.window.pad = {0, 1, 1};
  p.x_dtype = p.w_dtype = type;
  const int64_t c = groups * channels, o = groups * outputs;
  p.x = {0, c * extent * extent, 1, {0, extent * c, c}};
  p.w = {0, outputs * channels * 9, channels * 9, 1, {0, 3 * channels, channels}};
  p.epilogue = sum_to({outputs, o * extent * extent, 0, extent * o, o, 1});
  return make_convolution(p, choose_convolution(p, target), target);
}

Dispatch attention(int64_t heads, int64_t rows, int64_t head, DType type, const Target& target) {
  AttentionProblem p;
  p.batch = {heads};
  p.queries = p.keys = rows;
  p.head = p.value_head = head;
  p.q = p.k = p.v = {type, 0, {rows * head}, head, 1};
  p.score = sum_to({0, 0, 0});
  p.epilogue = sum_to({rows * head, head, 1});
  return make_attention(p, choose_attention(p, target), target);
}

// One direction over 49 steps.
Dispatch lstm(int64_t hidden, DType type, const Target& target) {
  RecurrentProblem p;
  p.steps = 49;
  p.hidden = hidden;
  p.functions[1] = p.functions[2] = {Activation::kTanh};
  p.dtype = p.r_dtype = type;
  p.sums.strides = {4 * hidden, 0, 0, 1};
  p.r.strides = {0, 1, 4 * hidden};
  p.y.strides = {hidden, 0, 0, 1};
  return make_recurrent(p, choose_recurrent(p, target), target);
}

}  // namespace

std::vector<UsualKernel> usual_kernels() {
  const auto of = [](auto call, auto... arguments) { return [=](const Target& t) { return call(arguments..., t); }; };
  constexpr DType kF32 = DType::kF32, kF16 = DType::kF16;
  return {
      {"product 4096^3, float16", false, false, of(product, 4096, 4096, 4096, kF16, false)},
      {"product 4096^3, float16, w along k", false, false, of(product, 4096, 4096, 4096, kF16, true)},
      {"product 4096^3, float32", false, false, of(product, 4096, 4096, 4096, kF32, false)},
      {"product 4096^3, float32 as halves", true, false, of(product, 4096, 4096, 4096, kF32, false)},
      {"product 128 768 3072, as halves", true, false, of(product, 128, 768, 3072, kF32, false)},
      {"product 196 256 2304, as halves", true, false, of(product, 196, 256, 2304, kF32, true)},
      {"product 512^3, int8", false, false, of(product, 512, 512, 512, DType::kI8, true)},
      {"product 1 4096 4096, float16", false, false, of(product, 1, 4096, 4096, kF16, true)},
      {"convolution 64 56x56, float32", false, false, of(convolution, 1, 64, 64, 56, kF32)},
      {"convolution 64 56x56, as halves", true, false, of(convolution, 1, 64, 64, 56, kF32)},
      {"convolution 512 7x7, float16", false, false, of(convolution, 1, 512, 512, 7, kF16)},
      {"convolution 96 of 1 112x112, float32", false, false, of(convolution, 96, 1, 1, 112, kF32)},
      {"attention 12 of 128 64, as halves", true, true, of(attention, 12, 128, 64, kF32)},
      {"attention 6 of 1500 64, as halves", true, true, of(attention, 6, 1500, 64, kF32)},
      {"attention 32 of 512 128, float16", true, true, of(attention, 32, 512, 128, kF16)},
      {"lstm of 64, float32", false, false, of(lstm, 64, kF32)},
      {"lstm of 256, float16", false, false, of(lstm, 256, kF16)},
  };
}

}  // namespace vireo::gpu
