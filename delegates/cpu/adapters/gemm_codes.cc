// Gemm and MatMul whose constant weights are codes of 4 or 8 bits: a composite that begins with their DequantizeLinear.
#include "delegates/cpu/kernels/gemm_codes/gemm_codes.h"
#include "delegates/cpu/stored_product.h"

namespace vireo {
namespace {

using composites::Stored;
using cpu::CodedWeights;
using cpu::Fused;
using cpu::GemmCodes;
using cpu::is_transposed;

// Of `scale`, as it is stored.
void put_scales(const Fused& f, const void* scale, CodedWeights* out) {
  if (f.scale.type.dtype == DType::kF16) {
    out->half_scales = static_cast<const uint16_t*>(scale);
  } else {
    out->scales = static_cast<const float*>(scale);
  }
}

// Steps of the weights; false where scales do not lie so that the kernel knows them. Data is filled in later.
bool weights_of(const Fused& f, CodedWeights* out) {
  const TensorType& w = f.inputs[1].type;
  if (w.shape.rank != 2) return false;
  const bool transposed = is_transposed(f);
  const int64_t n = w.shape[transposed ? 0 : 1], k = w.shape[transposed ? 1 : 0];
  out->bits = dtype_bits(w.dtype);
  out->is_signed = dtype_is_signed(w.dtype);
  if (!dtype_is_integer(w.dtype) || (out->bits != 4 && out->bits != 8)) return false;
  out->n_step = transposed ? k : 1;
  out->k_step = transposed ? 1 : n;
  const int axis = f.axis < 0 ? f.axis + 2 : f.axis, k_axis = transposed ? 1 : 0;
  const Shape& s = f.scale.type.shape;
  out->block = k;
  out->scale_k_step = 0;
  if (f.block == 0) {
    const bool one = product(s, 0, s.rank) == 1;
    out->scale_n_step = one ? 0 : 1;
    return one || axis != k_axis;
  }
  if (axis != k_axis || s.rank != 2) return false;
  out->block = f.block;
  out->scale_n_step = transposed ? s[1] : 1;
  out->scale_k_step = transposed ? 1 : s[1];
  return f.block >= k || f.block % 8 == 0;
}

struct Codes : cpu::NoStoredConv {
  static constexpr uint32_t kPacks = 3;  // codes, their scales and their zeros: other codes may share scales
  using Call = cpu::StoredCall;

  static bool is_of(const CpuQuery&, const Fused& f) { return f.stored == Stored::kCodes; }
  static bool takes_gemm(const Fused& f, const char** reason) {
    CodedWeights w;
    *reason = "tuned for one matrix of 4 or 8 bits, with a scale for each column or for blocks of its rows by eights";
    if (!weights_of(f, &w)) return false;
    *reason = "";
    return true;
  }

  static bool pack(const CpuQuery& q, const Fused& f, uint32_t index, const Parallel& parallel, vireo_packed* out,
                   void* to) {
    CodedWeights w;
    if (!weights_of(f, &w)) return false;
    w.codes = f.inputs[1].fixed(q);
    put_scales(f, f.scale.fixed(q), &w);
    w.zeros = f.zero.given() ? f.zero.fixed(q) : nullptr;
    if (index > (w.zeros != nullptr ? 2u : 1u)) return false;
    const bool transposed = is_transposed(f);
    const Shape& s = f.inputs[1].type.shape;
    const int64_t n = s[transposed ? 0 : 1], k = s[transposed ? 1 : 0], blocks = cpu::blocks_of(w, k);
    constexpr int64_t kTransposed = 1, kSigned = 2, kScales = 16, kZeros = 32;
    const int64_t flags = (transposed ? kTransposed : 0) + (w.is_signed ? kSigned : 0);
    if (index == 0) {
      const size_t bytes = cpu::codes_packed_bytes(n, k, w.bits);
      if (!cpu::offer_packed(w.codes, kPackedCodes, {n, k, w.bits, flags}, bytes, out)) return false;
      if (to != nullptr) cpu::pack_codes(w, n, k, parallel, static_cast<uint32_t*>(to));
    } else if (index == 1) {
      const int64_t each = w.scale_n_step == 0 ? 0 : 1;  // one number for all columns packs otherwise
      const size_t bytes = cpu::scales_packed_bytes(n, blocks);
      if (!cpu::offer_packed(f.scale.fixed(q), kPackedCodes, {n, blocks, each, flags + kScales}, bytes, out))
        return false;
      if (to != nullptr) cpu::pack_scales(w, n, blocks, static_cast<float*>(to));
    } else {
      const int64_t kind = w.bits + (w.scale_n_step == 0 ? 16 : 0);
      const size_t bytes = cpu::zeros_packed_bytes(n, blocks);
      if (!cpu::offer_packed(w.zeros, kPackedCodes, {n, blocks, kind, flags + kZeros}, bytes, out)) return false;
      if (to != nullptr) cpu::pack_zeros(w, n, blocks, static_cast<uint8_t*>(to));
    }
    return true;
  }
  static size_t gemm_scratch(const Fused& f, const Shape& x, int32_t slots, bool packed) {
    const auto g = cpu::stored_gemm<GemmCodes>(f, x);
    return cpu::gemm_codes_scratch_bytes(g.m, g.n, g.k, slots, packed);
  }
  static void gemm(const Call& call) {
    auto g = cpu::stored_gemm<GemmCodes>(call.f, call.x);
    (void)weights_of(call.f, &g.b);
    call.put_tail(&g.epilogue);
    g.b.codes = call.weights;
    put_scales(call.f, call.f.scale.data(call.ctx), &g.b);
    g.b.zeros = call.f.zero.given() ? call.f.zero.data(call.ctx) : nullptr;
    g.packed = static_cast<const uint32_t*>(call.packed[0]);
    g.packed_scales = static_cast<const float*>(call.packed[1]);
    g.packed_zeros = static_cast<const uint8_t*>(call.packed[2]);
    cpu::gemm_codes(g, call.a<float>(), call.y<float>(), call.ctx.parallel, call.ctx.scratch.data());
  }
};

using Product = cpu::StoredProduct<Codes>;
constexpr CpuKernel kGemm4 = Product::kernel("gemm_f32_w4");
constexpr CpuKernel kGemm8 = Product::kernel("gemm_f32_w8");

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const Fused* const f = Product::takes(q, reason);
  if (f == nullptr) return nullptr;
  return dtype_bits(f->inputs[1].type.dtype) == 4 ? &kGemm4 : &kGemm8;
}

}  // namespace

extern const CpuOp kCpuOp_gemm_codes;
const CpuOp kCpuOp_gemm_codes = {"gemm_codes", choose};

}  // namespace vireo
