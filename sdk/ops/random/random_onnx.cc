// The opsets of these operators differ in the types they allow alone.
#include "sdk/ops/random/random_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

// `otherwise`: ONNX's default of dtype; 0 where it is the input's.
Status import(ImportContext& ctx, Op op, DType otherwise) {
  attrs::RandomT a;
  const int64_t dtype = ctx.attr_int("dtype", static_cast<int64_t>(otherwise));
  if (dtype < 0 || dtype >= kDTypeCount) {
    return ctx.fail(Status::kInvalidModel, "dtype is " + std::to_string(dtype) + ", which is no ONNX data type");
  }
  a.dtype = static_cast<uint8_t>(dtype);
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
                                    [](ImportContext& ctx) { return import(ctx, Op::k##name, DType::dtype); }};
VIREO_RANDOM_ONNX(RandomNormal, kF32)
VIREO_RANDOM_ONNX(RandomNormalLike, kNone)
VIREO_RANDOM_ONNX(RandomUniform, kF32)
VIREO_RANDOM_ONNX(RandomUniformLike, kNone)
VIREO_RANDOM_ONNX(Bernoulli, kNone)
VIREO_RANDOM_ONNX(Multinomial, kI32)
#undef VIREO_RANDOM_ONNX

}  // namespace vireo
