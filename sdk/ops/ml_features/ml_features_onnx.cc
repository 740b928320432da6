#include "sdk/ops/ml_features/ml_features_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_scaler(ImportContext& ctx) {
  attrs::ScalerT a;
  a.offset = ctx.attr_floats("offset");
  a.scale = ctx.attr_floats("scale");
  if (a.offset.empty()) a.offset = {0};  // absent ones change nothing
  if (a.scale.empty()) a.scale = {1};
  return import_direct(ctx, Op::kScaler, pack<attrs::Scaler>(a));
}

Status import_normalizer(ImportContext& ctx) {
  attrs::NormalizerT a;
  const std::string norm = ctx.attr_string("norm", "MAX");
  if (norm == "L1") {
    a.norm = attrs::NormalizerNorm::L1;
  } else if (norm == "L2") {
    a.norm = attrs::NormalizerNorm::L2;
  } else if (norm != "MAX") {
    return ctx.fail(Status::kInvalidModel, "norm '" + norm + "' is not MAX, L1 or L2");
  }
  return import_direct(ctx, Op::kNormalizer, pack<attrs::Normalizer>(a));
}

Status import_binarizer(ImportContext& ctx) {
  attrs::BinarizerT a;
  a.threshold = ctx.attr_float("threshold", 0);
  return import_direct(ctx, Op::kBinarizer, pack<attrs::Binarizer>(a));
}

Status import_imputer(ImportContext& ctx) {
  attrs::ImputerT a;
  a.imputed_reals = ctx.attr_floats("imputed_value_floats");
  a.imputed_integers = ctx.attr_ints("imputed_value_int64s");
  a.replaced_real = ctx.attr_float("replaced_value_float", 0);
  a.replaced_integer = ctx.attr_int("replaced_value_int64", 0);
  return import_direct(ctx, Op::kImputer, pack<attrs::Imputer>(a));
}

Status import_vectorizer(ImportContext& ctx) {
  attrs::FeatureVectorizerT a;
  a.dimensions = ctx.attr_ints("inputdimensions");
  return import_direct(ctx, Op::kFeatureVectorizer, pack<attrs::FeatureVectorizer>(a));
}

Status import_extractor(ImportContext& ctx) {
  return import_direct(ctx, Op::kArrayFeatureExtractor,
                       pack<attrs::ArrayFeatureExtractor>(attrs::ArrayFeatureExtractorT{}));
}

Status import_one_hot(ImportContext& ctx) {
  attrs::OneHotEncoderT a;
  a.integers = ctx.attr_ints("cats_int64s");
  a.strings = ctx.attr_strings("cats_strings");
  a.zeros = ctx.attr_int("zeros", 1) != 0;
  if (a.integers.empty() == a.strings.empty()) {
    return ctx.fail(Status::kInvalidModel, "one of cats_int64s and cats_strings must be given");
  }
  return import_direct(ctx, Op::kOneHotEncoder, pack<attrs::OneHotEncoder>(a));
}

}  // namespace

#define VIREO_FEATURES_ONNX(name, import) \
  extern const OnnxImport k##name##Onnx;  \
  const OnnxImport k##name##Onnx = {"ai.onnx.ml", #name, import};
VIREO_FEATURES_ONNX(Scaler, import_scaler)
VIREO_FEATURES_ONNX(Normalizer, import_normalizer)
VIREO_FEATURES_ONNX(Binarizer, import_binarizer)
VIREO_FEATURES_ONNX(Imputer, import_imputer)
VIREO_FEATURES_ONNX(FeatureVectorizer, import_vectorizer)
VIREO_FEATURES_ONNX(ArrayFeatureExtractor, import_extractor)
VIREO_FEATURES_ONNX(OneHotEncoder, import_one_hot)
#undef VIREO_FEATURES_ONNX

Status export_ml_features(ExportContext& ctx) {
  const char* const norms[] = {"MAX", "L1", "L2"};
  OnnxNode n = ctx.same();
  n.domain = "ai.onnx.ml";
  switch (ctx.op()) {
    case Op::kScaler:
      n.reals("offset", ctx.attrs<attrs::Scaler>().offset()).reals("scale", ctx.attrs<attrs::Scaler>().scale());
      break;
    case Op::kNormalizer:
      n.text("norm", norms[static_cast<size_t>(ctx.attrs<attrs::Normalizer>().norm())]);
      break;
    case Op::kBinarizer:
      n.real("threshold", ctx.attrs<attrs::Binarizer>().threshold());
      break;
    case Op::kImputer: {
      const auto& a = ctx.attrs<attrs::Imputer>();
      n.reals("imputed_value_floats", a.imputed_reals()).numbers("imputed_value_int64s", a.imputed_integers());
      const bool real = a.imputed_reals() != nullptr && a.imputed_reals()->size() != 0;
      if (real) n.real("replaced_value_float", a.replaced_real());
      if (!real) n.number("replaced_value_int64", a.replaced_integer());
      break;
    }
    case Op::kFeatureVectorizer:
      n.numbers("inputdimensions", ctx.attrs<attrs::FeatureVectorizer>().dimensions());
      break;
    case Op::kOneHotEncoder: {
      const auto& a = ctx.attrs<attrs::OneHotEncoder>();
      n.numbers("cats_int64s", a.integers()).texts("cats_strings", a.strings()).flag("zeros", a.zeros());
      break;
    }
    default:
      break;
  }
  return ctx.done(std::move(n));
}

}  // namespace vireo
