// Conv, Gemm and MatMul with constant weights in float16: of float16 models, alone or fused with what follows, and of
// float32 ones that quant/schemes/fp16 gave such weights.
#include "delegates/cpu/kernels/conv_f16/conv_f16.h"
#include "delegates/cpu/kernels/gemm_f16/gemm_f16.h"
#include "delegates/cpu/stored_product.h"

namespace vireo {
namespace {

using composites::Stored;
using cpu::Columns16;
using cpu::ConvF16;
using cpu::Fused;
using cpu::GemmF16;

struct F16 {
  static constexpr uint32_t kPacks = 1;
  using Call = cpu::StoredCall;

  // x and y are float16, as the weights.
  static bool halves(const Fused& f) { return f.core_type.dtype == DType::kF16; }
  static bool is_of(const CpuQuery& q, const Fused& f) {
    if (f.stored != Stored::kPlain) return f.stored == Stored::kF16;
    return halves(f) && f.input_count >= 2 && f.inputs[0].type.dtype == DType::kF16 &&
           f.inputs[1].type.dtype == DType::kF16 && f.inputs[1].fixed(q) != nullptr;
  }
  static bool takes_conv(const Fused&, const char** reason) {
    *reason = "";
    return true;
  }
  static bool takes_gemm(const Fused&, const char** reason) {
    *reason = "";
    return true;
  }
  static ConvF16 conv_of(const Fused& f, const cpu::ConvF32& shape) {
    ConvF16 c;
    c.shape = shape;
    c.last = cpu::is_last(f);
    return c;
  }
  static bool pack(const CpuQuery& q, const Fused& f, uint32_t, const Parallel& parallel, vireo_packed* out, void* to) {
    const Shape& w = f.inputs[1].type.shape;
    const void* const weights = f.inputs[1].fixed(q);
    auto* const panels = static_cast<uint16_t*>(to);
    if (cpu::is_conv(f)) {
      const ConvF16 c = conv_of(f, cpu::stored_conv(f, f.inputs[0].type.shape, f.core_type.shape));
      const int64_t taps = product(w, 2, w.rank);
      const size_t bytes = static_cast<size_t>(cpu::conv_f16_packed_elements(c)) * sizeof(uint16_t);
      if (!cpu::offer_packed(weights, kPackedF16, {w[0], w[1] * taps, taps, c.shape.groups}, bytes, out)) return false;
      if (to != nullptr) cpu::pack_conv_f16(c, static_cast<const uint16_t*>(weights), parallel, panels);
      return true;
    }
    const bool transposed = cpu::is_transposed(f);
    const int64_t n = w[transposed ? 0 : 1], k = w[transposed ? 1 : 0];
    const size_t bytes = static_cast<size_t>(cpu::f16_packed_elements(n, k)) * sizeof(uint16_t);
    if (!cpu::offer_packed(weights, kPackedF16, {n, k, 0, transposed ? 1 : 0}, bytes, out)) return false;
    if (to != nullptr) cpu::pack_f16(Columns16::matrix(weights, n, k, transposed), n, k, parallel, panels);
    return true;
  }
  static size_t gemm_scratch(const Fused& f, const Shape& x, int32_t slots, bool packed) {
    const auto g = cpu::stored_gemm<GemmF16>(f, x);
    return cpu::gemm_f16_scratch_bytes(g.m, g.n, g.k, slots, packed, halves(f));
  }
  static size_t conv_scratch(const Fused& f, const cpu::ConvF32& c, int32_t slots, bool packed, cpu::Sizes sizes) {
    return cpu::conv_f16_scratch_bytes(conv_of(f, c), slots, packed, halves(f), sizes);
  }
  static cpu::HalfTail tail_of(const Call& call) {
    return {static_cast<const uint16_t*>(call.bias), static_cast<const uint16_t*>(call.residual),
            static_cast<const uint16_t*>(call.slope)};
  }
  static void gemm(const Call& call) {
    auto g = cpu::stored_gemm<GemmF16>(call.f, call.x);
    g.b = Columns16::matrix(call.weights, g.n, g.k, cpu::is_transposed(call.f));
    g.packed = static_cast<const uint16_t*>(call.packed[0]);
    void* const scratch = call.ctx.scratch.data();
    if (halves(call.f)) {
      cpu::gemm_f16(g, tail_of(call), call.a<uint16_t>(), call.y<uint16_t>(), call.ctx.parallel, scratch);
      return;
    }
    call.put_tail(&g.epilogue);
    cpu::gemm_f16(g, call.a<float>(), call.y<float>(), call.ctx.parallel, scratch);
  }
  static void conv(const Call& call) {
    ConvF16 c = conv_of(call.f, cpu::stored_conv(call.f, call.x, call.ctx.out(0)->shape));
    c.packed = static_cast<const uint16_t*>(call.packed[0]);
    const auto* const weights = static_cast<const uint16_t*>(call.weights);
    void* const scratch = call.ctx.scratch.data();
    if (halves(call.f)) {
      c.tail = tail_of(call);
      cpu::conv_f16(c, call.a<uint16_t>(), weights, call.y<uint16_t>(), call.ctx.parallel, scratch);
      return;
    }
    call.put_tail(&c.shape);
    cpu::conv_f16(c, call.a<float>(), weights, call.y<float>(), call.ctx.parallel, scratch);
  }
};

using Product = cpu::StoredProduct<F16>;
constexpr CpuKernel kGemm = Product::kernel("gemm_f16");
constexpr CpuKernel kConv = Product::kernel("conv_f16_nchw");
constexpr CpuKernel kConvLast = Product::kernel("conv_f16_nhwc");
constexpr CpuKernel kGemmWeights = Product::kernel("gemm_f32_w16");
constexpr CpuKernel kConvWeights = Product::kernel("conv_f32_w16_nchw");
constexpr CpuKernel kConvWeightsLast = Product::kernel("conv_f32_w16_nhwc");

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const Fused* const f = Product::takes(q, reason);
  if (f == nullptr) return nullptr;
  const bool halves = F16::halves(*f);
  if (!cpu::is_conv(*f)) return halves ? &kGemm : &kGemmWeights;
  if (cpu::is_last(*f)) return halves ? &kConvLast : &kConvWeightsLast;
  return halves ? &kConv : &kConvWeights;
}

}  // namespace

extern const CpuOp kCpuOp_f16;
const CpuOp kCpuOp_f16 = {"f16", choose};

}  // namespace vireo
