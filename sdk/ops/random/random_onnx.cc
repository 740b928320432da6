// The opsets of these operators differ in the types they allow alone.
#include "sdk/ops/random/random_generated.h"
#include "sdk/ops/shared/dtype_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

// `otherwise`: ONNX's default of dtype; 0 where it is the input's.
Status import_random(ImportContext& ctx, Op op, DType otherwise) {
  attrs::RandomT a;
  VIREO_TRY(import_dtype(ctx, "dtype", otherwise, &a.dtype));
  a.shape = ctx.attr_ints("shape");
  a.low = ctx.attr_float("low", 0);
  a.high = ctx.attr_float("high", 1);
  a.mean = ctx.attr_float("mean", 0);
  a.scale = ctx.attr_float("scale", 1);
  a.sample_size = ctx.attr_int("sample_size", 1);
  a.seeded = ctx.has_attr("seed");
  a.seed = ctx.attr_float("seed", 0);
  return import_direct(ctx, op, pack<attrs::Random>(a));
}

}  // namespace

#define VIREO_RANDOM_ONNX(name, dtype)         \
  extern const OnnxImport k##name##Onnx;       \
  const OnnxImport k##name##Onnx = {"", #name, \
                                    [](ImportContext& ctx) { return import_random(ctx, Op::k##name, DType::dtype); }};
VIREO_RANDOM_ONNX(RandomNormal, kF32)
VIREO_RANDOM_ONNX(RandomNormalLike, kNone)
VIREO_RANDOM_ONNX(RandomUniform, kF32)
VIREO_RANDOM_ONNX(RandomUniformLike, kNone)
VIREO_RANDOM_ONNX(Bernoulli, kNone)
VIREO_RANDOM_ONNX(Multinomial, kI32)
#undef VIREO_RANDOM_ONNX

Status export_random(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Random>();
  OnnxNode n = ctx.same();
  const Op op = ctx.op();
  if (op == Op::kRandomNormal || op == Op::kRandomUniform) {
    n.set("shape",
          a.shape() == nullptr ? std::vector<int64_t>{} : std::vector<int64_t>(a.shape()->begin(), a.shape()->end()));
  }
  if (a.dtype() != 0) n.number("dtype", a.dtype());
  if (op == Op::kRandomNormal || op == Op::kRandomNormalLike) n.real("mean", a.mean()).real("scale", a.scale());
  if (op == Op::kRandomUniform || op == Op::kRandomUniformLike) n.real("low", a.low()).real("high", a.high());
  if (op == Op::kMultinomial) n.number("sample_size", a.sample_size());
  if (a.seeded()) n.real("seed", a.seed());
  return ctx.done(std::move(n));
}

}  // namespace vireo
