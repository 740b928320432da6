// Conv channels last, Gemm and MatMul whose operands go through bfloat16: a composite that quant/schemes/bf16 made.
#include "delegates/cpu/kernels/gemm_bf16/gemm_bf16.h"
#include "delegates/cpu/stored_product.h"

namespace vireo {
namespace {

using cpu::Columns16;
using cpu::Fused;
using cpu::GemmBf16;

struct Bf16 {
  struct Extra {};
  static constexpr uint32_t kPacks = 1;
  using Call = cpu::StoredCall<Extra>;

  static bool read(const CpuQuery& q, int axis, Fused* f, Extra*, const char** reason) {
    return cpu::read_fused_bf16(q, axis, f, reason);
  }
  static bool takes_conv(const Fused& f, const char** reason) {
    *reason = "in bfloat16, tuned for channels last in one group";
    if (!cpu::is_last(f) || f.core_attrs<attrs::Conv>().group() != 1) return false;
    *reason = "";
    return true;
  }
  static bool takes_gemm(const Fused&, const Extra&, const char** reason) {
    *reason = "";
    return true;
  }
  static bool pack(const CpuQuery& q, const Fused& f, const Extra&, uint32_t, const Parallel& parallel,
                   vireo_packed* out, void* to) {
    const Shape& w = f.inputs[1].type.shape;
    const bool transposed = cpu::is_transposed(f), conv = cpu::is_conv(f);
    const int64_t taps = conv ? product(w, 2, w.rank) : 0;
    const int64_t n = conv || transposed ? w[0] : w[1], k = conv ? w[1] * taps : transposed ? w[1] : w[0];
    const size_t bytes = static_cast<size_t>(cpu::bf16_packed_elements(n, k)) * sizeof(uint16_t);
    if (!cpu::offer_packed(f.inputs[1].fixed(q), kPackedBf16, {n, k, taps, transposed ? 1 : 0}, bytes, out))
      return false;
    if (to == nullptr) return true;
    const Columns16 b =
        conv ? Columns16::filters(out->constant, w[1], taps) : Columns16::matrix(out->constant, n, k, transposed);
    cpu::pack_bf16(b, n, k, parallel, static_cast<uint16_t*>(to));
    return true;
  }
  static size_t gemm_scratch(const Fused& f, const Extra&, const Shape& x, int32_t slots, bool packed) {
    const auto g = cpu::stored_gemm<GemmBf16>(f, x);
    return cpu::gemm_bf16_scratch_bytes(g.m, g.n, g.k, slots, packed);
  }
  static size_t conv_scratch(const Fused&, const Extra&, const cpu::ConvF32& c, int32_t slots, bool packed) {
    return cpu::conv_bf16_scratch_bytes(c, slots, packed);
  }
  static void gemm(const Call& call) {
    auto g = cpu::stored_gemm<GemmBf16>(call.f, call.x);
    call.put_tail(&g.epilogue);
    g.b = Columns16::matrix(call.weights, g.n, g.k, cpu::is_transposed(call.f));
    g.packed = static_cast<const uint16_t*>(call.packed[0]);
    cpu::gemm_bf16(g, call.a<float>(), call.y<float>(), call.ctx.parallel, call.ctx.scratch.data());
  }
  static void conv(const Call& call) {
    cpu::ConvF32 c = cpu::stored_conv(call.f, call.x, call.ctx.out(0)->shape);
    call.put_tail(&c);
    cpu::conv_bf16(c, call.a<float>(), call.weights, static_cast<const uint16_t*>(call.packed[0]), call.y<float>(),
                   call.ctx.parallel, call.ctx.scratch.data());
  }
};

using Product = cpu::StoredProduct<Bf16>;
constexpr CpuKernel kGemm = Product::kernel("gemm_bf16");
constexpr CpuKernel kConv = Product::kernel("conv_bf16_nhwc");

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  Fused f;
  Bf16::Extra extra;
  if (!Product::takes(q, &f, &extra, reason)) return nullptr;
  return cpu::is_conv(f) ? &kConv : &kGemm;
}

constexpr Op kOps[] = {Op::kComposite};

}  // namespace

extern const CpuOp kCpuOp_bf16;
const CpuOp kCpuOp_bf16 = {"bf16", choose, Span<const Op>(kOps)};

}  // namespace vireo
