// Products (Gemm, MatMul, Conv) whose constant weights are stored in another form than the float32 they mean: what the
// adapters of all such forms share. A form is described by a `Kind`:
//   kPacks                     the number of constants that are packed
//   is_of(q, f)                the product's weights are stored in this form
//   takes_conv(f, reason), takes_gemm(f, reason)
//   pack(q, f, index, parallel, out, to)
//   gemm_scratch(f, shape, slots, packed), conv_scratch(...), gemm(call), conv(call)
#ifndef VIREO_DELEGATES_CPU_STORED_PRODUCT_H_
#define VIREO_DELEGATES_CPU_STORED_PRODUCT_H_

#include <new>

#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/forms.h"
#include "delegates/cpu/kernels/gemm/gemm.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"

namespace vireo::cpu {

inline bool is_conv(const Fused& f) { return f.core == Op::kConv; }
// The weights as stored are [N, K].
inline bool is_transposed(const Fused& f) {
  return (f.core == Op::kGemm && f.core_attrs<attrs::Gemm>().trans_b()) != f.turned;
}
inline bool is_last(const Fused& f) {
  return static_cast<Layout>(f.core_attrs<attrs::Conv>().layout()) == Layout::kNhwc;
}

inline ConvF32 stored_conv(const Fused& f, const Shape& x, const Shape& y) {
  const auto& a = f.core_attrs<attrs::Conv>();
  ConvF32 c = conv_shape(conv_geometry(a, x, f.inputs[1].type.shape, y), a.group());
  c.act = f.act;
  c.residual_last = f.residual_last;
  c.residual_times = f.residual_times;
  return c;
}

// All of A's rows, whatever dimensions they are counted in. Of GemmBf16, GemmF16, GemmCodes.
template <class Gemm>
Gemm stored_gemm(const Fused& f, const Shape& a) {
  const Shape& b = f.inputs[1].type.shape;
  Gemm g;
  g.k = g.lda = a[a.rank - 1];
  g.m = product(a, 0, a.rank - 1);
  g.n = g.ldc = b[is_transposed(f) ? 0 : 1];
  if (f.core == Op::kGemm) g.epilogue.alpha = f.core_attrs<attrs::Gemm>().alpha();
  g.epilogue.act = f.act;
  g.epilogue.residual_stride = g.n;
  g.epilogue.residual_last = f.residual_last;
  g.epilogue.residual_times = f.residual_times;
  return g;
}

// One matrix of weights and rows of A, with a bias of one value a column.
inline bool is_stored_gemm(const CpuQuery& q, const Fused& f, const char** reason) {
  const Shape &x = f.inputs[0].type.shape, &w = f.inputs[1].type.shape;
  *reason = "tuned for rows of A and one matrix of weights in this type";
  if (x.rank < 2 || w.rank != 2) return false;
  if (f.core == Op::kMatMul) return true;
  const auto& a = f.core_attrs<attrs::Gemm>();
  if (a.trans_a()) return false;
  const int64_t n = w[is_transposed(f) ? 0 : 1];
  const bool bias = f.input_count > 2 && f.inputs[2].given();
  const Shape& c = f.inputs[f.input_count > 2 ? 2 : 0].type.shape;
  const bool row = (c.rank == 1 && c[0] == n) || (c.rank == 2 && c[0] == 1 && c[1] == n);
  *reason = "tuned for a bias of one value a column in every run, and beta 1";
  return !bias || (a.beta() == 1 && row && f.inputs[2].is_static(q));
}

template <int kPacks>
struct StoredState {
  Fused fused;
  const void* packed[kPacks] = {};
};

// One run: where everything is.
struct StoredCall {
  const KernelContext& ctx;
  const Fused& f;
  const void* const* packed;
  const Shape& x;
  const void *weights, *bias, *residual, *slope;

  template <class T>
  const T* a() const {
    return static_cast<const T*>(f.inputs[0].data(ctx));
  }
  template <class T>
  T* y() const {
    return ctx.out(0)->as<T>();
  }
  // Those of float32 as the kernels' descriptions take them.
  void put_tail(Epilogue* e) const {
    e->col_bias = static_cast<const float*>(bias);
    e->residual = static_cast<const float*>(residual);
    e->col_slope = static_cast<const float*>(slope);
  }
  void put_tail(ConvF32* c) const {
    c->bias = static_cast<const float*>(bias);
    c->residual = static_cast<const float*>(residual);
    c->slope = static_cast<const float*>(slope);
  }
};

template <class Kind>
class StoredProduct {
 public:
  using State = StoredState<Kind::kPacks>;

  // The product of this form that the node is; null where it is none that the kernels take.
  static const Fused* takes(const CpuQuery& q, const char** reason) {
    const Fused* const f = product_of(q);
    *reason = "";  // another body is another kernel's
    if (f == nullptr || !Kind::is_of(q, *f)) return nullptr;
    if (is_conv(*f)) {
      const int rank = f->inputs[0].type.shape.rank;
      *reason = "tuned for one to three spatial axes";
      return rank >= 3 && rank <= 5 && Kind::takes_conv(*f, reason) ? f : nullptr;
    }
    const bool gemm = f->core == Op::kGemm || f->core == Op::kMatMul;
    return gemm && is_stored_gemm(q, *f, reason) && Kind::takes_gemm(*f, reason) ? f : nullptr;
  }

  static constexpr CpuKernel kernel(const char* name) {
    return {name, sizeof(State), scratch_bytes, prepare, run, pack};
  }

 private:
  static bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
    const Fused* const f = product_of(q);
    return index < Kind::kPacks && f != nullptr && Kind::pack(q, *f, index, parallel, out, to);
  }

  static int64_t scratch_bytes(const CpuQuery& q) {
    const Fused* const found = product_of(q);
    if (found == nullptr) return 0;
    const Fused& f = *found;
    const bool packed = will_be_packed(q, pack);
    const Shape& x = f.inputs[0].type.shape;
    if (!is_conv(f)) return static_cast<int64_t>(Kind::gemm_scratch(f, x, q.slots, packed));
    const Sizes sizes = q.is_static() ? Sizes::kFixed : Sizes::kUpperBounds;
    const ConvF32 c = stored_conv(f, x, f.core_type.shape);
    return static_cast<int64_t>(Kind::conv_scratch(f, c, q.slots, packed, sizes));
  }

  static void prepare(const CpuQuery& q, void* state) {
    auto* const s = new (state) State();
    if (const Fused* const f = product_of(q)) s->fused = *f;
    for (uint32_t i = 0; i < Kind::kPacks; ++i) s->packed[i] = packed_at(q, pack, i);
  }

  static Status run(const KernelContext& ctx, const void* state) {
    const auto& s = *static_cast<const State*>(state);
    const Fused& f = s.fused;
    if (!fits(ctx, f))
      return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
    if (ctx.out(0)->count() == 0) return Status::kOk;
    const auto at = [&](const composites::Operand& o) { return o.given() ? o.data(ctx) : nullptr; };
    const bool own_bias = f.input_count > 2 && f.inputs[2].given();
    const StoredCall call = {ctx,
                             f,
                             s.packed,
                             f.inputs[0].shape(ctx),
                             f.inputs[1].data(ctx),
                             at(own_bias ? f.inputs[2] : f.bias),
                             at(f.residual),
                             at(f.slope)};
    if (is_conv(f)) {
      Kind::conv(call);
    } else {
      Kind::gemm(call);
    }
    return Status::kOk;
  }
};

// For kinds without Conv.
struct NoStoredConv {
  static bool takes_conv(const Fused&, const char** reason) {
    *reason = "";
    return false;
  }
  static size_t conv_scratch(const Fused&, const ConvF32&, int32_t, bool, Sizes) { return 0; }
  static void conv(const StoredCall&) {}
};

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_STORED_PRODUCT_H_
