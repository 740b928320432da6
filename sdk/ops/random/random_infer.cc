#include "sdk/ops/random/random_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

bool is_plain_float(DType t) { return t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16; }

// The type named by the attribute, else the input's.
DType chosen(InferContext& ctx, bool like) {
  const uint8_t t = ctx.attrs<attrs::Random>().dtype();
  return t == 0 && like ? ctx.input(0).dtype : static_cast<DType>(t);
}

Status infer_filled(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Random>();
  const DType t = chosen(ctx, /*like=*/false);
  if (!is_plain_float(t))
    return ctx.fail(Status::kInvalidModel, "dtype {}, wanted a floating-point type", dtype_name(t));
  Shape s;
  if (a.shape() != nullptr) {
    if (a.shape()->size() > kMaxRank) {
      return ctx.fail(Status::kUnsupported, "rank {} is above {}", a.shape()->size(), kMaxRank);
    }
    for (const int64_t d : *a.shape()) {
      if (d < 0) return ctx.fail(Status::kInvalidModel, "shape has the extent {}", d);
      s[s.rank++] = d;
    }
  }
  ctx.output(0) = {t, s};
  return Status::kOk;
}

Status infer_like(InferContext& ctx) {
  const DType t = chosen(ctx, /*like=*/true);
  if (!is_plain_float(t)) {
    return ctx.fail(Status::kInvalidModel, "the output would be {}; give dtype a floating-point type", dtype_name(t));
  }
  ctx.output(0) = {t, ctx.input(0).shape};
  return Status::kOk;
}

Status infer_bernoulli(InferContext& ctx) {
  const DType in = ctx.input(0).dtype, t = chosen(ctx, /*like=*/true);
  if (!is_plain_float(in)) {
    return ctx.fail(Status::kInvalidModel, "probabilities of type {}, wanted floating point", dtype_name(in));
  }
  const bool whole_byte = dtype_is_integer(t) && dtype_bits(t) >= 8;
  if (!is_plain_float(t) && !whole_byte && t != DType::kBool) {
    return ctx.fail(Status::kInvalidModel, "dtype {}, wanted a number or bool", dtype_name(t));
  }
  ctx.output(0) = {t, ctx.input(0).shape};
  return Status::kOk;
}

Status infer_multinomial(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Random>();
  VIREO_TRY(check_rank(ctx, 0, 2, 2));
  const TensorType& x = ctx.input(0);
  if (!is_plain_float(x.dtype)) {
    return ctx.fail(Status::kInvalidModel, "logarithms of type {}, wanted floating point", dtype_name(x.dtype));
  }
  const DType t = chosen(ctx, /*like=*/false);
  if (t != DType::kI32 && t != DType::kI64) {
    return ctx.fail(Status::kInvalidModel, "dtype {}, wanted int32 or int64", dtype_name(t));
  }
  if (a.sample_size() < 0) return ctx.fail(Status::kInvalidModel, "sample_size is {}", a.sample_size());
  ctx.output(0) = {t, Shape{2, {x.shape[0], a.sample_size()}}};
  return Status::kOk;
}

}  // namespace

#define VIREO_RANDOM_OP(name, infer, inputs)                                                                         \
  extern const OpDef k##name##Op;                                                                                    \
  const OpDef k##name##Op = {#name,        verify_attrs<attrs::Random>, infer, inputs, inputs, 1, 1, OpDef::kRandom, \
                             /*inplace=*/0};
VIREO_RANDOM_OP(RandomNormal, infer_filled, 0)
VIREO_RANDOM_OP(RandomNormalLike, infer_like, 1)
VIREO_RANDOM_OP(RandomUniform, infer_filled, 0)
VIREO_RANDOM_OP(RandomUniformLike, infer_like, 1)
VIREO_RANDOM_OP(Bernoulli, infer_bernoulli, 1)
VIREO_RANDOM_OP(Multinomial, infer_multinomial, 1)
#undef VIREO_RANDOM_OP

}  // namespace vireo
