// IntConv and IntGemm of 8-bit codes.
#include <string.h>

#include "delegates/mcu/adapters/serve.h"
#include "delegates/mcu/kernels/depthwise.h"
#include "delegates/mcu/kernels/product.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/matmul/matmul.h"

namespace vireo {
namespace {

constexpr int64_t kMostProducts = 32768;  // of a sum, so that its scratch memory is counted in 32 bits

int64_t count_of(const GraphValue& v) {
  return v.type.dtype == DType::kNone ? 0 : product(v.type.shape, 0, v.type.shape.rank);
}

const int32_t* bias_of(const KernelContext& ctx) {
  return ctx.in(3) != nullptr ? ctx.in(3)->as<const int32_t>() : nullptr;
}
const int8_t* zeros_of(const KernelContext& ctx) {
  return ctx.in(4) != nullptr ? ctx.in(4)->as<const int8_t>() : nullptr;
}

// ---- Convolution

bool read_conv(const CpuQuery& q, vireo_mcu_conv* c) {
  const auto& a = q.attrs<attrs::IntConv>();
  const TensorType &x = q.inputs[0].type, &w = q.inputs[1].type, &y = q.outputs[0].type;
  if (x.shape.rank > 4) return false;
  const Geometry g = conv_geometry(a, x.shape, w.shape, y.shape);
  memset(static_cast<void*>(c), 0, sizeof *c);
  if (!mcu::read_geometry(g, c)) return false;
  c->batch = static_cast<int32_t>(g.batch);
  c->groups = a.group();
  c->in_channels = static_cast<int32_t>(g.channels_in) / a.group();
  c->out_channels = static_cast<int32_t>(g.channels_out) / a.group();
  c->codes = mcu::codes_of(a);
  c->x_zero = static_cast<uint8_t>(a.x_zero());
  c->x_flip = mcu::flip_of(x.dtype);
  c->y_flip = mcu::flip_of(y.dtype);
  c->last = a.layout() != 0 ? 1 : 0;
  c->w_nibbles = w.dtype == DType::kI4 ? 1 : 0;
  c->one_multiplier = count_of(q.inputs[2]) == 1 ? 1 : 0;
  c->one_w_zero = q.input_count > 4 && count_of(q.inputs[4]) == 1 ? 1 : 0;
  return product(w.shape, 1, w.shape.rank) <= kMostProducts;
}

bool slides(const vireo_mcu_conv& c) { return vireo_mcu_is_depthwise(&c) && c.w_nibbles == 0; }

void prepare_conv(const CpuQuery& q, void* state) { (void)read_conv(q, static_cast<vireo_mcu_conv*>(state)); }

int64_t conv_scratch(const CpuQuery& q) {
  vireo_mcu_conv c = {};
  (void)read_conv(q, &c);
  return slides(c) ? vireo_mcu_depthwise_scratch(&c) : vireo_mcu_conv_scratch(&c);
}

Status run_conv(const KernelContext& ctx, const void* state) {
  const auto& c = *static_cast<const vireo_mcu_conv*>(state);
  const auto run = slides(c) ? vireo_mcu_depthwise_run : vireo_mcu_conv_run;
  run(&c, mcu::codes_in(ctx, 0), mcu::codes_in(ctx, 1), ctx.in(2)->as<const float>(), bias_of(ctx), zeros_of(ctx),
      mcu::codes_out(ctx), ctx.scratch.data());
  return Status::kOk;
}

// ---- Matrix product

bool read_gemm(const CpuQuery& q, vireo_mcu_gemm* g) {
  const auto& t = q.attrs<attrs::IntGemm>();
  const TensorType &a = q.inputs[0].type, &b = q.inputs[1].type, &y = q.outputs[0].type;
  if (b.shape.rank > 2) return false;
  const MatmulShape s = matmul_shape(a.shape, b.shape, y.shape);
  if (s.k > kMostProducts) return false;
  memset(static_cast<void*>(g), 0, sizeof *g);
  g->m = static_cast<int32_t>(s.batch * s.m);
  g->n = static_cast<int32_t>(s.n);
  g->k = static_cast<int32_t>(s.k);
  g->codes = mcu::codes_of(t);
  g->a_zero = static_cast<uint8_t>(t.a_zero());
  g->a_flip = mcu::flip_of(a.dtype);
  g->b_flip = mcu::flip_of(b.dtype);
  g->y_flip = mcu::flip_of(y.dtype);
  g->b_nibbles = b.dtype == DType::kI4 ? 1 : 0;
  g->one_multiplier = count_of(q.inputs[2]) == 1 ? 1 : 0;
  g->one_b_zero = q.input_count > 4 && count_of(q.inputs[4]) == 1 ? 1 : 0;
  return true;
}

void prepare_gemm(const CpuQuery& q, void* state) { (void)read_gemm(q, static_cast<vireo_mcu_gemm*>(state)); }

int64_t gemm_scratch(const CpuQuery& q) {
  vireo_mcu_gemm g = {};
  (void)read_gemm(q, &g);
  return vireo_mcu_gemm_scratch(&g);
}

Status run_gemm(const KernelContext& ctx, const void* state) {
  vireo_mcu_gemm_run(static_cast<const vireo_mcu_gemm*>(state), mcu::codes_in(ctx, 0), mcu::codes_in(ctx, 1),
                     ctx.in(2)->as<const float>(), bias_of(ctx), zeros_of(ctx), mcu::codes_out(ctx),
                     ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kConv = {"mcu_conv", sizeof(vireo_mcu_conv), conv_scratch, prepare_conv, run_conv};
constexpr CpuKernel kGemm = {"mcu_gemm", sizeof(vireo_mcu_gemm), gemm_scratch, prepare_gemm, run_gemm};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for codes of 8 bits";
  if (!is_byte(q.inputs[0].type.dtype) || !is_byte(q.outputs[0].type.dtype)) return nullptr;
  *reason = "tuned for sizes that are known and small";
  if (!mcu::serves_sizes(q)) return nullptr;
  *reason = "tuned for multipliers that are known";
  if (!mcu::serves_multipliers(q, 2)) return nullptr;
  union {
    vireo_mcu_conv conv;
    vireo_mcu_gemm gemm;
  } read;
  *reason = "tuned for one or two spatial axes, and one matrix on the right";
  if (!(q.op == Op::kIntConv ? read_conv(q, &read.conv) : read_gemm(q, &read.gemm))) return nullptr;
  *reason = "";
  return q.op == Op::kIntConv ? &kConv : &kGemm;
}

}  // namespace

extern const CpuOp kCpuOp_mcu_product;
const CpuOp kCpuOp_mcu_product = {"mcu_product", choose};

}  // namespace vireo
