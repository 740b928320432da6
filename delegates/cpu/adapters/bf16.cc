// Conv channels last, Gemm and MatMul whose operands go through bfloat16: a composite that quant/schemes/bf16 made.
#include "delegates/cpu/kernels/conv/depthwise_of.h"
#include "delegates/cpu/kernels/depthwise_nhwc/depthwise_nhwc.h"
#include "delegates/cpu/kernels/gemm_bf16/gemm_bf16.h"
#include "delegates/cpu/stored_product.h"

namespace vireo {
namespace {

using composites::Operand;
using composites::Stored;
using cpu::Bf16Operands;
using cpu::Columns16;
using cpu::Fused;
using cpu::GemmBf16;

bool is_half(const Operand& o) { return o.type.dtype == DType::kBF16; }
// Sums end in bfloat16, or begin so.
bool ends_half(const Fused& f) { return f.half || is_half(f.residual); }

struct Bf16 {
  static constexpr uint32_t kPacks = 1;
  using Call = cpu::StoredCall;

  static bool is_of(const CpuQuery&, const Fused& f) { return f.stored == Stored::kBf16; }
  static bool takes_conv(const Fused& f, const char** reason) {
    *reason = "in bfloat16, tuned for channels last in one group or one a channel, these between nodes in bfloat16";
    if (!cpu::is_last(f) || f.core_attrs<attrs::Conv>().group() != 1) return false;
    *reason = "";
    return true;
  }
  static bool takes_gemm(const Fused&, const char** reason) {
    *reason = "";
    return true;
  }
  static bool pack(const CpuQuery& q, const Fused& f, uint32_t, const Parallel& parallel, vireo_packed* out, void* to) {
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
  static size_t gemm_scratch(const Fused& f, const Shape& x, int32_t slots, bool packed) {
    const auto g = cpu::stored_gemm<GemmBf16>(f, x);
    return cpu::gemm_bf16_scratch_bytes(g.m, g.n, g.k, slots, packed, ends_half(f));
  }
  static size_t conv_scratch(const Fused& f, const cpu::ConvF32& c, int32_t slots, bool packed, cpu::Sizes) {
    return cpu::conv_bf16_scratch_bytes(c, slots, packed, ends_half(f));
  }
  // What the tail adds goes with them where it is bfloat16.
  template <class Tail>
  static Bf16Operands operands(const Call& call, Tail* tail) {
    Bf16Operands o;
    o.a = call.template a<uint8_t>();
    o.a_half = is_half(call.f.inputs[0]);
    o.c = call.template y<uint8_t>();
    o.c_half = call.f.half;
    if (is_half(call.f.residual)) {
      o.residual = static_cast<const uint16_t*>(call.residual);
      tail->residual = nullptr;
    }
    return o;
  }
  static void gemm(const Call& call) {
    auto g = cpu::stored_gemm<GemmBf16>(call.f, call.x);
    call.put_tail(&g.epilogue);
    g.b = Columns16::matrix(call.weights, g.n, g.k, cpu::is_transposed(call.f));
    g.packed = static_cast<const uint16_t*>(call.packed[0]);
    cpu::gemm_bf16(g, operands(call, &g.epilogue), call.ctx.parallel, call.ctx.scratch.data());
  }
  static void conv(const Call& call) {
    cpu::ConvF32 c = cpu::stored_conv(call.f, call.x, call.ctx.out(0)->shape);
    call.put_tail(&c);
    const Bf16Operands o = operands(call, &c);
    cpu::conv_bf16(c, o, call.weights, static_cast<const uint16_t*>(call.packed[0]), call.ctx.parallel,
                   call.ctx.scratch.data());
  }
};

using Product = cpu::StoredProduct<Bf16>;
constexpr CpuKernel kGemm = Product::kernel("gemm_bf16");
constexpr CpuKernel kConv = Product::kernel("conv_bf16_nhwc");

// Channels last, one filter a channel, x and y in bfloat16, with an end that the kernel has.
bool is_depthwise(const Fused& f) {
  if (f.stored != Stored::kBf16 || !cpu::is_conv(f) || !cpu::is_last(f)) return false;
  const Shape &x = f.inputs[0].type.shape, &w = f.inputs[1].type.shape;
  const int64_t channels = x[x.rank - 1];
  return x.rank >= 3 && x.rank <= 4 && f.core_attrs<attrs::Conv>().group() == channels && w[0] == channels && f.half &&
         is_half(f.inputs[0]) && !f.residual.given() && !f.slope.given() && cpu::depthwise_nhwc_ends(f.act.kind);
}
int64_t depthwise_scratch(const CpuQuery& q) {
  const Fused* const f = cpu::product_of(q);
  if (f == nullptr) return 0;
  return static_cast<int64_t>(cpu::depthwise_nhwc_f32_scratch_bytes(
      cpu::depthwise_of(cpu::stored_conv(*f, f->inputs[0].type.shape, f->core_type.shape))));
}
void prepare_depthwise(const CpuQuery& q, void* state) {
  if (const Fused* const f = cpu::product_of(q)) new (state) Fused(*f);
}
Status run_depthwise(const KernelContext& ctx, const void* state) {
  const Fused& f = *static_cast<const Fused*>(state);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  cpu::ConvF32 c = cpu::stored_conv(f, f.inputs[0].shape(ctx), y.shape);
  if (f.input_count > 2 && f.inputs[2].given()) c.bias = f.inputs[2].f32(ctx);
  if (f.bias.given()) c.bias = f.bias.f32(ctx);
  cpu::depthwise_nhwc_bf16(cpu::depthwise_of(c), reinterpret_cast<const uint16_t*>(f.inputs[0].data(ctx)),
                           reinterpret_cast<const uint16_t*>(f.inputs[1].data(ctx)), y.as<uint16_t>(), ctx.parallel,
                           ctx.scratch.data());
  return Status::kOk;
}
constexpr CpuKernel kDepthwise = {"depthwise_bf16_nhwc", sizeof(Fused), depthwise_scratch, prepare_depthwise,
                                  run_depthwise};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const Fused* f = cpu::product_of(q);
  *reason = "";
  if (f != nullptr && is_depthwise(*f)) return &kDepthwise;
  f = Product::takes(q, reason);
  if (f == nullptr) return nullptr;
  return cpu::is_conv(*f) ? &kConv : &kGemm;
}

}  // namespace

extern const CpuOp kCpuOp_bf16;
const CpuOp kCpuOp_bf16 = {"bf16", choose};

}  // namespace vireo
