// IntConv and IntGemm: 8-bit products that end in codes, alone or with an IntAdd or IntAffine of these codes in one
// composite.
#include "sdk/ops/shared/integer_product.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/forms.h"
#include "delegates/cpu/gemm_i8_shape.h"
#include "delegates/cpu/kernels/conv_nhwc_i8/conv_nhwc_i8.h"
#include "delegates/cpu/kernels/intgemm/packed.h"
#include "delegates/cpu/requantize_of.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"

namespace vireo {
namespace {

using composites::FusedCodes;
using cpu::ConvF32;
using cpu::ConvI8;
using cpu::GemmI8;
using cpu::Requantize;
using cpu::SecondStep;

// A zero point, which is a byte of either type, where kernels look for one.
uint8_t byte_of(int32_t zero_point) { return static_cast<uint8_t>(zero_point); }

const float* reals(const KernelContext& ctx, int32_t input) {
  return input < 0 ? nullptr : ctx.required(static_cast<size_t>(input)).as<const float>();
}

// What follows the product, where something does, and the codes that it adds.
struct Step {
  SecondStep step;
  const uint8_t* added = nullptr;

  Status read(const KernelContext& ctx, const FusedCodes& f) {
    if (!composites::fits(ctx, f))
      return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
    if (f.step == Op::kIntAdd) {
      const auto& a = *::flatbuffers::GetRoot<attrs::IntAdd>(f.step_attrs);
      const Tensor& other = ctx.required(static_cast<size_t>(f.operands[0]));
      factor_ = f.second ? a.b_multiplier() : a.a_multiplier();
      step.zero = f.second ? a.b_zero() : a.a_zero();
      step.factor = &factor_;
      step.adds = true;
      step.other_signed = other.dtype == DType::kI8;
      step.other_zero = f.second ? a.a_zero() : a.b_zero();
      step.other_factor = f.second ? a.a_multiplier() : a.b_multiplier();
      step.y = cpu::requantize_of(a);
      added = other.as<const uint8_t>();
    } else if (f.step == Op::kIntAffine) {
      const auto& a = *::flatbuffers::GetRoot<attrs::IntAffine>(f.step_attrs);
      step.zero = a.x_zero();
      step.factor = reals(ctx, f.operands[0]);
      step.below = reals(ctx, f.operands[1]);
      step.offset = reals(ctx, f.operands[2]);
      step.per_column = f.per_column;
      step.y = cpu::requantize_of(a);
    }
    return Status::kOk;
  }

 private:
  float factor_ = 1;
};

struct State {
  cpu::PackedI8 packed;
  FusedCodes fused;
};

// Kernels read int4 weights as bytes: where they are not packed, they are widened for each run, first of all in the
// scratch memory.
size_t bytes_of_nibbles(const Shape& w) { return (static_cast<size_t>(product(w, 0, w.rank)) + 63) & ~size_t{63}; }
int64_t room_for_nibbles(const CpuQuery& q, cpu::PackConstant pack) {
  if (q.inputs[1].type.dtype != DType::kI4 || cpu::will_be_packed(q, pack)) return 0;
  return static_cast<int64_t>(bytes_of_nibbles(q.inputs[1].type.shape));
}
const uint8_t* as_bytes(const Tensor& w, const void* packed, uint8_t** scratch) {
  if (w.dtype != DType::kI4 || packed != nullptr) return w.as<const uint8_t>();
  uint8_t* const to = *scratch;
  for (int64_t i = 0; i < w.count(); ++i) to[i] = static_cast<uint8_t>(cpu::nibble_at(w.data, i));
  *scratch += bytes_of_nibbles(w.shape);
  return to;
}

template <cpu::PackConstant kPack>
void prepare(const CpuQuery& q, void* state) {
  auto* const s = new (state) State();
  if (kPack != nullptr) cpu::prepare_packed_i8(q, kPack, &s->packed);
  if (const FusedCodes* const f = cpu::codes_of(q)) s->fused = *f;
}

// ---- Convolution

ConvI8 conv_of(const attrs::IntConv& a, const Shape& x, const Shape& w, const Shape& y) {
  ConvI8 c;
  c.shape = cpu::conv_shape(conv_geometry(a, x, w, y), a.group());
  return c;
}

ConvI8 conv_of(const CpuQuery& q) {
  const FusedCodes& f = *cpu::codes_of(q);  // a convolution was chosen for it
  ConvI8 c =
      conv_of(f.product<attrs::IntConv>(), q.inputs[0].type.shape, q.inputs[1].type.shape, q.outputs[0].type.shape);
  c.x_signed = q.inputs[0].type.dtype == DType::kI8;
  c.w_signed = true;
  c.w_nibbles = q.inputs[1].type.dtype == DType::kI4;
  return c;
}

int64_t conv_scratch(const CpuQuery& q) {
  return room_for_nibbles(q, nullptr) + static_cast<int64_t>(cpu::conv_i8_scratch_bytes(conv_of(q), true, q.slots));
}

// Channels last: filters are columns of a product.
bool pack_conv(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  const ConvI8 c = conv_of(q);
  const ConvF32& s = c.shape;
  const int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  if (index != 0 || !cpu::offer_packed(q.inputs[1].constant, kPackedI8,
                                       {s.out_channels, s.in_channels * taps, taps, cpu::signs_of(c)},
                                       cpu::conv_nhwc_i8_packed_bytes(s), out)) {
    return false;
  }
  if (to != nullptr) cpu::pack_conv_nhwc_i8(c, out->constant, parallel, to);
  return true;
}
int64_t conv_last_scratch(const CpuQuery& q) {
  const cpu::Sizes sizes = q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds;
  return room_for_nibbles(q, pack_conv) + static_cast<int64_t>(cpu::conv_nhwc_i8_scratch_bytes(
                                              conv_of(q), q.slots, cpu::will_be_packed(q, pack_conv), sizes));
}

template <bool kLast>
Status run_conv(const KernelContext& ctx, const void* state) {
  const State& s = *static_cast<const State*>(state);
  const auto& a = s.fused.product<attrs::IntConv>();
  const Tensor &x = *ctx.in(0), &w = *ctx.in(1), &m = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  ConvI8 c = conv_of(a, x.shape, w.shape, y.shape);
  Requantize finish = cpu::requantize_of(a);
  finish.multiplier = m.as<const float>();
  finish.multiplier_per_row = m.count() != 1;
  if (s.fused.bias >= 0) finish.bias = ctx.required(static_cast<size_t>(s.fused.bias)).as<const int32_t>();
  Step step;
  if (s.fused.step != Op::kNone) {
    VIREO_TRY(step.read(ctx, s.fused));
    finish.then = &step.step;
    c.added = step.added;
  }
  const uint8_t x_zero = byte_of(a.x_zero());
  c.x_signed = x.dtype == DType::kI8;
  c.w_signed = true;
  c.x_zero = &x_zero;
  if (s.fused.step == Op::kNone && ctx.in(4) != nullptr) {
    c.w_zero = ctx.in(4)->data;
    c.w_zero_per_channel = ctx.in(4)->count() != 1;
  }
  c.finish = &finish;
  uint8_t* scratch = ctx.scratch.data();
  const uint8_t* const weights = as_bytes(w, s.packed.data, &scratch);
  if constexpr (kLast) {
    cpu::conv_nhwc_i8(c, x.data, weights, s.packed.data, y.data, ctx.parallel, scratch);
  } else {
    cpu::conv_i8(c, x.data, weights, y.data, ctx.parallel, scratch);
  }
  return Status::kOk;
}

// ---- Matrix product

bool pack_gemm(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  return index == 0 && cpu::pack_constant_i8(q, 0, 1, parallel, out, to);
}

int64_t gemm_scratch(const CpuQuery& q) {
  const Shape &a = q.inputs[0].type.shape, &b = q.inputs[1].type.shape;
  GemmI8 g;
  g.k = a[a.rank - 1];
  g.n = b.rank >= 2 ? b[b.rank - 1] : 1;
  g.m = product(a, 0, a.rank - 1);
  return room_for_nibbles(q, pack_gemm) + static_cast<int64_t>(cpu::gemm_i8_scratch_bytes(g, true, q.slots));
}

Status run_gemm(const KernelContext& ctx, const void* opaque) {
  const State& state = *static_cast<const State*>(opaque);
  const auto& attributes = state.fused.product<attrs::IntGemm>();
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1), &m = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  const MatmulShape s = matmul_shape(a.shape, b.shape, y.shape);
  Requantize finish = cpu::requantize_of(attributes);
  finish.multiplier = m.as<const float>();
  finish.multiplier_per_column = m.count() != 1;
  finish.bias_per_column = true;
  if (state.fused.bias >= 0) finish.bias = ctx.required(static_cast<size_t>(state.fused.bias)).as<const int32_t>();
  Step step;
  if (state.fused.step != Op::kNone) {
    VIREO_TRY(step.read(ctx, state.fused));
    finish.then = &step.step;
  }
  const uint8_t a_zero = byte_of(attributes.a_zero());
  GemmI8 g = cpu::gemm_i8_shape(s, a, b);
  g.a_zero = &a_zero;
  if (state.fused.step == Op::kNone && ctx.in(4) != nullptr) {
    g.b_zero = ctx.in(4)->data;
    g.b_zero_per_column = ctx.in(4)->count() != 1;
  }
  g.finish = &finish;
  g.packed = state.packed.data;
  int64_t batch = s.batch;
  bool b_shared = true;
  for (int i = 0; i < s.rank; ++i) b_shared = b_shared && s.b_step[i] == 0;
  if (b_shared && a.count() == batch * s.m * s.k) {  // one product with more rows
    g.m *= batch;
    batch = 1;
  }
  uint8_t* scratch = ctx.scratch.data();
  const uint8_t* const right = as_bytes(b, g.packed, &scratch);
  for (int64_t i = 0; i < batch; ++i) {
    int64_t a_at = 0, b_at = 0;
    s.offsets(i, &a_at, &b_at);
    if (step.added != nullptr) g.added = step.added + i * g.m * g.n;
    cpu::gemm_i8(g, a.as<const uint8_t>() + a_at, right + b_at, y.as<uint8_t>() + i * g.m * g.n, ctx.parallel, scratch);
  }
  return Status::kOk;
}

constexpr CpuKernel kConv = {"int_conv_nchw", sizeof(State), conv_scratch, prepare<nullptr>, run_conv<false>};
constexpr CpuKernel kConvLast = {"int_conv_nhwc",    sizeof(State),  conv_last_scratch,
                                 prepare<pack_conv>, run_conv<true>, pack_conv};
constexpr CpuKernel kGemm = {"int_gemm", sizeof(State), gemm_scratch, prepare<pack_gemm>, run_gemm, pack_gemm};

// All codes of the node, and of a body those between its nodes.
bool all_bytes(const CpuQuery& q, const FusedCodes& f) {
  const auto made =
      f.core == Op::kIntGemm ? f.product<attrs::IntGemm>().output_dtype() : f.product<attrs::IntConv>().output_dtype();
  return is_byte(q.inputs[0].type.dtype) && is_byte(q.outputs[0].type.dtype) && is_byte(static_cast<DType>(made)) &&
         (f.step != Op::kIntAdd || is_byte(q.inputs[f.operands[0]].type.dtype));
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const FusedCodes* const found = cpu::codes_of(q);
  *reason = "";  // another body is another kernel's
  if (found == nullptr) return nullptr;
  const FusedCodes& f = *found;
  *reason = "tuned for codes of 8 bits";
  if (!all_bytes(q, f)) return nullptr;
  *reason = "tuned for int4 weights that are known";
  if (q.inputs[1].type.dtype == DType::kI4 && !q.inputs[1].is_static) return nullptr;
  if (f.core == Op::kIntGemm) return &kGemm;
  *reason = "tuned for one to three spatial axes";
  const int rank = q.inputs[0].type.shape.rank;
  if (rank < 3 || rank > 5) return nullptr;
  *reason = "tuned, channels last, for one group, or depthwise over two axes with one output a channel";
  const auto& a = f.product<attrs::IntConv>();
  const bool last = a.layout() != 0;
  if (last && !cpu::conv_nhwc_i8_serves(conv_of(q).shape)) return nullptr;
  *reason = "tuned, channels last, for filters of one shape";
  if (last && !q.inputs[1].is_static) return nullptr;
  *reason = "a convolution in groups does nothing more with its codes, nor do channels first with factors of channels";
  if (f.step != Op::kNone && (a.group() != 1 || (!last && f.per_column))) return nullptr;
  *reason = "";
  return last ? &kConvLast : &kConv;
}

}  // namespace

extern const CpuOp kCpuOp_integer_product;
const CpuOp kCpuOp_integer_product = {"integer_product", choose};

}  // namespace vireo
