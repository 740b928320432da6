// The integer operators with codes of 16 bits on one side: products with int8 weights, IntAdd, IntMul, IntAffine.
#include <new>

#include "delegates/cpu/broadcast_rows.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/half_words/half_words.h"
#include "delegates/cpu/packed.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/shared/integer_product.h"

namespace vireo {
namespace {

using cpu::CodesOut;
using cpu::CodeType;
using cpu::ConvF32;
using cpu::ProductI16;
using cpu::WeightsI16;

CodeType type_of(DType t) { return {is_half_word(t), dtype_is_signed(t)}; }

template <class Attrs>
CodesOut out_of(const Attrs& a) {
  return {type_of(static_cast<DType>(a.output_dtype())), a.y_zero(), a.low(), a.high()};
}

// ---- Products

struct State {
  const void* packed = nullptr;  // null: packed for each run, in scratch memory
};

// The product as a convolution, and how its weights lie.
struct Product {
  ConvF32 shape;
  WeightsI16 weights;
};
Product product_of(const attrs::IntConv& a, const Shape& x, const Shape& w, const Shape& y) {
  Product p;
  p.shape = cpu::conv_shape(conv_geometry(a, x, w, y), a.group());
  const int64_t taps = product(w, 2, w.rank);
  p.weights.o_step = w[1] * taps;
  p.weights.i_step = taps;
  p.weights.t_step = 1;
  return p;
}
Product product_of(const attrs::IntGemm&, const Shape& a, const Shape& b, const Shape&) {
  Product p;
  p.shape.in_channels = a[a.rank - 1];
  p.shape.out_channels = b[b.rank - 1];
  p.shape.in[2] = p.shape.out[2] = product(a, 0, a.rank - 1);
  p.weights.o_step = 1;
  p.weights.i_step = b[b.rank - 1];
  return p;
}
template <class Attrs>
Product product_of(const CpuQuery& q) {
  return product_of(q.attrs<Attrs>(), q.inputs[0].type.shape, q.inputs[1].type.shape, q.outputs[0].type.shape);
}

template <class Attrs>
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  const Product p = product_of<Attrs>(q);
  const ConvF32& s = p.shape;
  const int64_t taps = q.op == Op::kIntConv ? s.kernel[0] * s.kernel[1] * s.kernel[2] : 0;
  if (index != 0 ||
      !cpu::offer_packed(q.inputs[1].constant, kPackedI16, {s.out_channels, s.groups, s.in_channels / s.groups, taps},
                         cpu::pack_product_i16_bytes(s), out)) {
    return false;
  }
  if (to == nullptr) return true;
  WeightsI16 weights = p.weights;
  weights.data = static_cast<const int8_t*>(out->constant);
  cpu::pack_product_i16(s, weights, parallel, to);
  return true;
}

template <class Attrs>
void prepare(const CpuQuery& q, void* state) {
  new (state) State{cpu::packed_at(q, pack<Attrs>)};
}

template <class Attrs>
int64_t scratch(const CpuQuery& q) {
  const ConvF32 s = product_of<Attrs>(q).shape;
  const size_t packed = cpu::will_be_packed(q, pack<Attrs>) ? 0 : (cpu::pack_product_i16_bytes(s) + 63) & ~size_t{63};
  return static_cast<int64_t>(packed + cpu::product_i16_scratch_bytes(s, q.slots));
}

int32_t zero_of(const attrs::IntConv& a) { return a.x_zero(); }
int32_t zero_of(const attrs::IntGemm& a) { return a.a_zero(); }
bool is_last(const attrs::IntConv& a) { return a.layout() != 0; }
bool is_last(const attrs::IntGemm&) { return true; }

template <class Attrs>
Status run(const KernelContext& ctx, const void* state) {
  const auto& a = ctx.attrs<Attrs>();
  const Tensor &x = *ctx.in(0), &w = *ctx.in(1), &m = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  Product made = product_of(a, x.shape, w.shape, y.shape);
  ProductI16 p;
  p.shape = made.shape;
  p.last = is_last(a);
  p.x_type = type_of(x.dtype);
  p.x_zero = zero_of(a);
  p.multiplier = m.as<const float>();
  p.multiplier_per_channel = m.count() != 1;
  if (ctx.in(3) != nullptr) p.bias = ctx.in(3)->as<const int32_t>();
  p.out = out_of(a);
  const void* packed = static_cast<const State*>(state)->packed;
  uint8_t* room = ctx.scratch.data();
  if (packed == nullptr) {
    made.weights.data = w.as<const int8_t>();
    cpu::pack_product_i16(p.shape, made.weights, ctx.parallel, room);
    packed = room;
    room += (cpu::pack_product_i16_bytes(p.shape) + 63) & ~size_t{63};
  }
  cpu::product_i16(p, x.data, packed, y.data, ctx.parallel, room);
  return Status::kOk;
}

// ---- Element by element

Status run_binary(const KernelContext& ctx, cpu::BinaryI16 f) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  const Shape* shapes[] = {&a.shape, &b.shape};
  const Broadcast walk(y.shape, shapes, 2);
  f.a_type = type_of(a.dtype);
  f.b_type = type_of(b.dtype);
  cpu::binary_i16(f, cpu::broadcast_rows(walk), a.data, b.data, y.data, ctx.parallel);
  return Status::kOk;
}

Status run_add(const KernelContext& ctx, const void*) {
  const auto& t = ctx.attrs<attrs::IntAdd>();
  cpu::BinaryI16 f;
  f.a_zero = t.a_zero();
  f.b_zero = t.b_zero();
  f.a_multiplier = t.a_multiplier();
  f.b_multiplier = t.b_multiplier();
  f.out = out_of(t);
  return run_binary(ctx, f);
}

Status run_mul(const KernelContext& ctx, const void*) {
  const auto& t = ctx.attrs<attrs::IntMul>();
  cpu::BinaryI16 f;
  f.is_product = true;
  f.a_zero = t.a_zero();
  f.b_zero = t.b_zero();
  f.a_multiplier = t.multiplier();
  f.out = out_of(t);
  return run_binary(ctx, f);
}

Status run_affine(const KernelContext& ctx, const void*) {
  const auto& t = ctx.attrs<attrs::IntAffine>();
  const Tensor& x = *ctx.in(0);
  if (x.count() == 0) return Status::kOk;
  cpu::AffineI16 f;
  f.x_type = type_of(x.dtype);
  f.zero = t.x_zero();
  f.factor = ctx.in(1)->as<const float>();
  if (ctx.in(2) != nullptr) f.below = ctx.in(2)->as<const float>();
  if (ctx.in(3) != nullptr) f.offset = ctx.in(3)->as<const float>();
  f.out = out_of(t);
  const Shape* shapes[] = {&x.shape, &ctx.in(1)->shape};
  const Broadcast walk(x.shape, shapes, 2);
  cpu::affine_i16(f, cpu::broadcast_rows(walk), x.data, ctx.out(0)->data, ctx.parallel);
  return Status::kOk;
}

template <class Attrs>
constexpr CpuKernel product_kernel(const char* name) {
  return {name, sizeof(State), scratch<Attrs>, prepare<Attrs>, run<Attrs>, pack<Attrs>};
}
constexpr CpuKernel kConv = product_kernel<attrs::IntConv>("conv_i16"),
                    kGemm = product_kernel<attrs::IntGemm>("gemm_i16");
constexpr CpuKernel kAdd = {"add_i16", 0, nullptr, nullptr, run_add};
constexpr CpuKernel kMul = {"mul_i16", 0, nullptr, nullptr, run_mul};
constexpr CpuKernel kAffine = {"affine_i16", 0, nullptr, nullptr, run_affine};

bool is_there(const CpuQuery& q, uint32_t i) { return i < q.input_count && q.inputs[i].type.dtype != DType::kNone; }

const CpuKernel* choose_product(const CpuQuery& q, const char** reason) {
  *reason = "tuned for int8 weights without zero points";
  if (q.inputs[1].type.dtype != DType::kI8 || is_there(q, 4)) return nullptr;
  const Shape &x = q.inputs[0].type.shape, &w = q.inputs[1].type.shape;
  if (q.op == Op::kIntGemm) {
    *reason = "tuned for one matrix on the right";
    if (x.rank < 1 || w.rank != 2 || !q.inputs[1].is_static) return nullptr;
    *reason = "";
    return &kGemm;
  }
  *reason = "tuned for one to three spatial axes and filters of one shape";
  if (x.rank < 3 || x.rank > 5 || !q.inputs[1].is_static) return nullptr;
  *reason = "";
  return &kConv;
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "";  // codes of 8 bits are another file's
  const bool two = q.op == Op::kIntAdd || q.op == Op::kIntMul;
  const bool wide = is_half_word(q.inputs[0].type.dtype) || is_half_word(q.outputs[0].type.dtype) ||
                    (two && is_half_word(q.inputs[1].type.dtype));
  if (!wide) return nullptr;
  switch (q.op) {
    case Op::kIntAdd:
      return &kAdd;
    case Op::kIntMul:
      return &kMul;
    case Op::kIntAffine:
      return &kAffine;
    default:
      return choose_product(q, reason);
  }
}

}  // namespace

extern const CpuOp kCpuOp_half_words;
const CpuOp kCpuOp_half_words = {"half_words", choose};

}  // namespace vireo
