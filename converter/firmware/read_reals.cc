#include "converter/firmware/read_reals.h"

#include <cmath>
#include <cstddef>
#include <cstring>

#include "converter/firmware/kernel_numbers.h"
#include "converter/firmware/read_rows.h"
#include "delegates/mcu/kernels/reals.h"
#include "delegates/mcu/nodes/read_pool.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/composites/function.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/matmul/matmul.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo::firmware {
namespace {

constexpr vireo_mcu_bounds kUnbounded = {-INFINITY, INFINITY};
constexpr int64_t kMostProducts = 32768;  // of a sum
constexpr auto kRealsLast = "kernels for microcontrollers take float32 images with channels first";

int64_t count_of(const Shape& s) { return product(s, 0, s.rank); }

// Rows of weights, `rows` of them `row` elements apart and their elements `step`, as packed groups of four rows: what
// is behind the last row is 0.
void pack(const float* w, int64_t rows, int64_t k, int64_t row, int64_t step, float factor, std::vector<uint8_t>* to) {
  for (int64_t group = 0; group < rows; group += 4) {
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t r = group; r < group + 4; ++r) {
        const float v = r < rows ? factor * w[r * row + i * step] : 0;
        const auto* const bytes = reinterpret_cast<const uint8_t*>(&v);
        to->insert(to->end(), bytes, bytes + sizeof v);
      }
    }
  }
}

std::string read_conv(const NodeView& q, MadeValues* made, Call* call) {
  const auto& a = q.attrs<attrs::Conv>();
  const Shape &x = q.inputs[0].type.shape, &w = q.inputs[1].type.shape;
  if (x.rank > 4) return "kernels for microcontrollers take one or two spatial axes";
  if (a.layout() != 0) return kRealsLast;
  if (q.inputs[1].constant == nullptr) return "its weights are not constant";
  const Geometry g = conv_geometry(a, x, w, q.outputs[0].type.shape);
  vireo_mcu_conv_reals c = {};
  if (!mcu::read_geometry(g, &c) || product(w, 1, w.rank) > kMostProducts) return kSizes;
  c.batch = small(g.batch);
  c.groups = a.group();
  c.in_channels = small(g.channels_in) / a.group();
  c.out_channels = small(g.channels_out) / a.group();
  c.bounds = kUnbounded;
  const int64_t k = product(w, 1, w.rank);
  call->products = static_cast<uint64_t>(count_of(q.outputs[0].type.shape) * k);
  int32_t weights = input(q, 1);
  if (c.in_channels == 1 && c.groups > 1) {
    call->kernel = k_depthwise_reals;
    call->scratch_bytes = vireo_mcu_depthwise_reals_scratch(&c);
    call->inplace = vireo_mcu_depthwise_reals_in_place(&c) != 0 ? 1 : 0;
  } else {
    call->kernel = k_conv_reals;
    call->scratch_bytes = vireo_mcu_conv_reals_scratch(&c);
    call->inplace = vireo_mcu_conv_reals_in_place(&c) != 0 ? 1 : 0;
    std::vector<uint8_t> packed;
    for (int32_t n = 0; n < c.groups; ++n)
      pack(q.inputs[1].as<float>() + n * c.out_channels * k, c.out_channels, k, k, 1, 1, &packed);
    weights = made->constant(std::move(packed));
  }
  call->parameters = bytes_of(c);
  call->operands = {input(q, 0), weights, input(q, 2), q.node.outputs[0], kScratch};
  return "";
}

// y [m, n] = factor * a [m, k] b [k, n]; b's columns and rows are that many elements apart.
std::string read_product(const NodeView& q, int64_t m, int64_t n, int64_t k, int64_t b_n, int64_t b_k, float factor,
                         int32_t bias, MadeValues* made, Call* call) {
  if (k > kMostProducts || m > 1 << 20 || n > 1 << 20) return kSizes;
  if (q.inputs[1].constant == nullptr)
    return "neither kernel for microcontrollers multiplies by a matrix that is not constant";
  const vireo_mcu_gemm_reals g = {small(m), small(n), small(k), kUnbounded};
  std::vector<uint8_t> packed;
  pack(q.inputs[1].as<float>(), n, k, b_n, b_k, factor, &packed);
  call->kernel = k_gemm_reals;
  call->products = static_cast<uint64_t>(m * n * k);
  call->scratch_bytes = vireo_mcu_gemm_reals_scratch(&g);
  call->parameters = bytes_of(g);
  call->operands = {input(q, 0), made->constant(std::move(packed)), bias, q.node.outputs[0], kScratch};
  return "";
}

std::string read_gemm(const NodeView& q, MadeValues* made, Call* call) {
  const auto& a = q.attrs<attrs::Gemm>();
  const Shape &as = q.inputs[0].type.shape, &bs = q.inputs[1].type.shape;
  if (a.trans_a()) return "kernels for microcontrollers take its first matrix as it lies, and transA is set";
  const int64_t n = bs[a.trans_b() ? 0 : 1], k = as[1];
  int32_t bias = input(q, 2);
  if (bias >= 0) {
    const GraphValue& c = q.inputs[2];
    const int64_t count = count_of(c.type.shape);
    if ((count != n && count != 1) || c.constant == nullptr)
      return "kernels for microcontrollers add one constant for each column";
    if (count != n || a.beta() != 1) {
      std::vector<uint8_t> numbers;
      for (int64_t i = 0; i < n; ++i) {
        const float v = a.beta() * c.as<float>()[count == 1 ? 0 : i];
        const std::vector<uint8_t> bytes = bytes_of(v);
        numbers.insert(numbers.end(), bytes.begin(), bytes.end());
      }
      bias = made->constant(std::move(numbers));
    }
  }
  return read_product(q, as[0], n, k, a.trans_b() ? k : 1, a.trans_b() ? 1 : n, a.alpha(), bias, made, call);
}

// Both are known in a run alone, or there are several on the right.
std::string read_matrices(const NodeView& q, const MatmulShape& s, Call* call) {
  if (s.k > kMostProducts || s.batch > 1 << 20 || s.m > 1 << 20 || s.n > 1 << 20) return kSizes;
  vireo_mcu_matmul_reals g = {small(s.batch), small(s.m), small(s.n), small(s.k), 0, 0};
  int64_t a = 0, b = 0;
  if (s.batch > 1) s.offsets(1, &a, &b);
  g.a_step = small(a), g.b_step = small(b);
  for (int64_t i = 0; i < s.batch; ++i) {
    int64_t a_at = 0, b_at = 0;
    s.offsets(i, &a_at, &b_at);
    if (a_at != i * a || b_at != i * b) return "its matrices are broadcast along several axes";
  }
  call->kernel = k_matmul_reals;
  call->products = static_cast<uint64_t>(s.batch * s.m * s.n * s.k);
  call->scratch_bytes = vireo_mcu_matmul_reals_scratch(&g);
  call->parameters = bytes_of(g);
  call->operands = {input(q, 0), input(q, 1), q.node.outputs[0], kScratch};
  return "";
}

std::string read_matmul(const NodeView& q, MadeValues* made, Call* call) {
  const Shape &a = q.inputs[0].type.shape, &b = q.inputs[1].type.shape;
  const MatmulShape s = matmul_shape(a, b, q.outputs[0].type.shape);
  if (b.rank > 2 || q.inputs[1].constant == nullptr) return read_matrices(q, s, call);
  return read_product(q, s.batch * s.m, s.n, s.k, 1, s.n, 1, kNothing, made, call);
}

std::string read_softmax(const NodeView& q, Call* call) {
  const Shape& x = q.inputs[0].type.shape;
  const int at = q.attrs<attrs::Softmax>().axis();
  const int axis = at < 0 ? at + x.rank : at;
  const vireo_mcu_softmax_reals s = {small(product(x, 0, axis)), small(x[axis]), small(product(x, axis + 1, x.rank))};
  call->kernel = k_softmax_reals;
  call->parameters = bytes_of(s);
  call->operands = {input(q, 0), q.node.outputs[0]};
  call->inplace = 1;
  return "";
}

std::string put_pool(const NodeView& q, const vireo_mcu_pool_reals& p, bool average, Call* call) {
  call->kernel = average ? k_average_reals : k_max_reals;
  call->parameters = bytes_of(p);
  call->operands = {input(q, 0), q.node.outputs[0]};
  return "";
}

std::string read_pool(const NodeView& q, Call* call) {
  const auto& a = q.attrs<attrs::Pool>();
  if (a.layout() != 0) return kRealsLast;
  if (q.output_count > 1 && q.outputs[1].type.dtype != DType::kNone)
    return "kernels for microcontrollers do not say where a maximum was";
  vireo_mcu_pool window;
  if (!mcu::read_pool(q, a, &window)) return kSizes;
  vireo_mcu_pool_reals p = {};
  p.planes = window.batch * window.channels;
  std::memcpy(p.in, window.in,
              sizeof p.in + sizeof p.out + sizeof p.kernel + sizeof p.stride + sizeof p.dilation + sizeof p.pad +
                  sizeof p.pad_end);
  p.count_padding = a.count_include_pad() ? 1 : 0;
  return put_pool(q, p, q.op == Op::kAveragePool, call);
}

// Over the last axes, all of them: planes of one row.
std::string read_whole(const NodeView& q, int64_t planes, int64_t elements, bool average, Call* call) {
  if (elements > 1 << 14 || elements < 1) return kSizes;
  const int32_t n = small(elements);
  const vireo_mcu_pool_reals p = {small(planes), {1, n}, {1, 1}, {1, n}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 0};
  return put_pool(q, p, average, call);
}

std::string read_mean(const NodeView& q, Call* call) {
  const Shape& x = q.inputs[0].type.shape;
  uint32_t axes = (1u << x.rank) - 1;
  if (q.input_count > 1 && q.inputs[1].type.dtype != DType::kNone) {
    if (q.inputs[1].constant == nullptr) return "its axes are not constant";
    const int64_t count = count_of(q.inputs[1].type.shape);
    if (count == 0 && q.attrs<attrs::Reduce>().noop_with_empty_axes()) return "it reduces nothing";
    if (count != 0) axes = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = q.inputs[1].as<int64_t>()[i];
      axes |= 1u << (at < 0 ? at + x.rank : at);
    }
  }
  int first = x.rank;
  while (first > 0 && (axes >> (first - 1) & 1) != 0) --first;
  if ((axes & ((1u << first) - 1)) != 0) return "kernels for microcontrollers reduce the last axes";
  return read_whole(q, product(x, 0, first), product(x, first, x.rank), true, call);
}

std::string read_binary(const NodeView& q, int32_t what, Call* call) {
  vireo_mcu_binary_reals f = {};
  if (!read_rows(q, &f)) return "its operands are broadcast along several axes with others between them";
  f.what = what;
  call->kernel = k_binary_reals;
  call->parameters = bytes_of(f);
  call->operands = {input(q, 0), input(q, 1), q.node.outputs[0]};
  call->inplace = 3;  // the planner asks for as many bytes as the result has: none of them is read twice then
  return "";
}

// A function of one number: false where there is no kernel.
bool read_kind(const composites::Function& f, vireo_mcu_function* to) {
  const auto is = [&](int32_t what, float a = 0, float b = 0) {
    to->what = what;
    to->a = a;
    to->b = b;
    return true;
  };
  switch (f.op) {
    case Op::kRelu:
      return is(VIREO_MCU_CLIP, 0, INFINITY);
    case Op::kClip:
      return is(VIREO_MCU_CLIP, f.a, f.b);
    case Op::kLeakyRelu:
      return is(VIREO_MCU_LEAKY_RELU, f.a);
    case Op::kSigmoid:
      return is(VIREO_MCU_SIGMOID);
    case Op::kTanh:
      return is(VIREO_MCU_TANH);
    case Op::kHardSigmoid:
      return is(VIREO_MCU_HARD_SIGMOID, f.a, f.b);
    case Op::kHardSwish:
      return is(VIREO_MCU_HARD_SWISH, 1.0f / 6, 0.5f);
    case Op::kSwish:
      return is(VIREO_MCU_SWISH, f.a);
    case Op::kElu:
      return f.b == 1 && f.c == 1 && is(VIREO_MCU_ELU, f.a);
    case Op::kExp:
      return is(VIREO_MCU_EXP);
    case Op::kNeg:
      return is(VIREO_MCU_NEGATE);
    case Op::kAbs:
      return is(VIREO_MCU_ABSOLUTE);
    case Op::kSqrt:
      return is(VIREO_MCU_SQRT);
    default:
      return false;
  }
}

// A bound of Clip; false where it is not known.
bool read_bound(const NodeView& q, uint32_t i, float otherwise, float* out) {
  *out = otherwise;
  if (i >= q.input_count || q.inputs[i].type.dtype == DType::kNone) return true;
  if (q.inputs[i].constant == nullptr || q.inputs[i].type.dtype != DType::kF32) return false;
  *out = *q.inputs[i].as<float>();
  return true;
}

std::string read_function(const NodeView& q, Call* call) {
  composites::Function f;
  vireo_mcu_function to = {};
  if (q.op == Op::kClip) {
    f.op = q.op;
    if (!read_bound(q, 1, -INFINITY, &f.a) || !read_bound(q, 2, INFINITY, &f.b)) return "its bounds are not constant";
  } else if (!composites::read_function(GraphReader(*q.host, q.graph), q.node, &f)) {
    return kUnknownNode;
  }
  if (!read_kind(f, &to)) return kUnknownNode;
  to.count = small(count_of(q.outputs[0].type.shape));
  call->kernel = k_function;
  call->parameters = bytes_of(to);
  call->operands = {input(q, 0), q.node.outputs[0]};
  call->inplace = 1;
  return "";
}

}  // namespace

std::string read_reals(const NodeView& q, MadeValues* made, Call* call) {
  if (q.input_count == 0 || q.output_count == 0 || q.inputs[0].type.dtype != DType::kF32 ||
      q.outputs[0].type.dtype != DType::kF32)
    return kUnknownNode;
  if (!mcu::serves_sizes(q)) return kSizes;
  const Shape& x = q.inputs[0].type.shape;
  switch (q.op) {
    case Op::kConv:
      return read_conv(q, made, call);
    case Op::kGemm:
      return read_gemm(q, made, call);
    case Op::kMatMul:
      return read_matmul(q, made, call);
    case Op::kSoftmax:
      return read_softmax(q, call);
    case Op::kAveragePool:
    case Op::kMaxPool:
      return read_pool(q, call);
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
      if (q.attrs<attrs::GlobalPool>().layout() != 0) return kRealsLast;
      return read_whole(q, x[0] * x[1], product(x, 2, x.rank), q.op == Op::kGlobalAveragePool, call);
    case Op::kReduceMean:
      return read_mean(q, call);
    case Op::kAdd:
      return read_binary(q, VIREO_MCU_ADD_REALS, call);
    case Op::kSub:
      return read_binary(q, VIREO_MCU_SUB_REALS, call);
    case Op::kMul:
      return read_binary(q, VIREO_MCU_MUL_REALS, call);
    case Op::kDiv:
      return read_binary(q, VIREO_MCU_DIV_REALS, call);
    default:
      return read_function(q, call);
  }
}

bool clamp_in_product(const Call& call, Call* product) {
  vireo_mcu_function f;
  const bool is_gemm = product->kernel == k_gemm_reals;
  if (!is_gemm && product->kernel != k_conv_reals && product->kernel != k_depthwise_reals) return false;
  if (call.kernel != k_function || call.operands[0] != product->operands[3]) return false;
  std::memcpy(&f, call.parameters.data(), sizeof f);
  if (f.what != VIREO_MCU_CLIP) return false;
  const vireo_mcu_bounds bounds = {f.a, f.b};
  const size_t at = is_gemm ? offsetof(vireo_mcu_gemm_reals, bounds) : offsetof(vireo_mcu_conv_reals, bounds);
  std::memcpy(product->parameters.data() + at, &bounds, sizeof bounds);
  product->operands[3] = call.operands[1];
  product->outputs = call.outputs;
  return true;
}

}  // namespace vireo::firmware
