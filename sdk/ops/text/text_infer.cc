// StringConcat (a, b): y[k] = a[k] followed by b[k], broadcast.
// StringSplit (x): y [shape of x, n], the parts of each string, n of the one that has most, "" behind the last of the
//   others; z i64 [shape of x], how many parts each has. As Python's str.split(delimiter, max_splits); without a
//   delimiter white space is what Unicode calls so. n is known after the run; the bound is in the attributes.
// StringNormalizer (x [C] or [1, C]): without the strings that are stopwords, in one case (Unicode's simple mappings).
// What
//   is left: [n] or [1, n]; where nothing is, one "".
//   alias    none;  scratch none;  text: StringConcat and StringNormalizer, only where a string is not one of the
//   inputs' error    kInvalidArgument where strings take more bytes, or parts, than are reserved
// Bytes that are no UTF-8 are kept as they are. Source: ONNX opset 20 "StringConcat", "StringSplit", opset 10
// "StringNormalizer".
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/text/text_generated.h"

namespace vireo {
namespace {

Status infer_string_concat(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kStringSet));
  VIREO_TRY(check_type(ctx, 1, kStringSet));
  ctx.output(0).dtype = DType::kString;
  return broadcast(ctx, ctx.input(0).shape, ctx.input(1).shape, &ctx.output(0).shape);
}

Status infer_split(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kStringSet));
  const auto& a = ctx.attrs<attrs::StringSplit>();
  const Shape& x = ctx.input(0).shape;
  VIREO_TRY(check_result_rank(ctx, int64_t{x.rank} + 1));
  ctx.output(0) = {DType::kString, x};
  Shape& y = ctx.output(0).shape;
  const int64_t most = a.most_parts();
  y[y.rank++] = ctx.bounded(a.max_splits() >= 0 && a.max_splits() < most ? a.max_splits() + 1 : most);
  if (ctx.wants(1)) ctx.output(1) = {DType::kI64, x};
  return Status::kOk;
}

Status infer_string_normalizer(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kStringSet));
  VIREO_TRY(check_rank(ctx, 0, 1, 2));
  const Shape& x = ctx.input(0).shape;
  if (ctx.attrs<attrs::StringNormalizer>().change() > attrs::CaseChange::MAX)
    return ctx.fail(Status::kInvalidModel, "StringNormalizer: its case change is not known");
  if (x.rank == 2 && ctx.differ(x[0], 1))
    return ctx.fail(Status::kInvalidModel, "StringNormalizer of {}: wanted [C] or [1, C]", x);
  ctx.output(0) = {DType::kString, x};
  const auto* words = ctx.attrs<attrs::StringNormalizer>().stopwords();
  Shape& y = ctx.output(0).shape;
  if (y.rank == 2) y[0] = 1;
  const bool all_stay = (words == nullptr || words->size() == 0) && !is_symbolic(x[x.rank - 1]) && x[x.rank - 1] > 0;
  if (!all_stay) y[y.rank - 1] = ctx.bounded(ctx.max(x[x.rank - 1], 1));
  return Status::kOk;
}

}  // namespace

extern const OpDef kStringConcatOp;
extern const OpDef kStringSplitOp;
extern const OpDef kStringNormalizerOp;

const OpDef kStringConcatOp = {
    "StringConcat", verify_attrs<attrs::StringConcat>, infer_string_concat, 2, 2, 1, 1, OpDef::kPure, 0};
const OpDef kStringSplitOp = {
    "StringSplit", verify_attrs<attrs::StringSplit>, infer_split, 1, 1, 1, 2, OpDef::kDataDependent, 0};
const OpDef kStringNormalizerOp = {"StringNormalizer",
                                   verify_attrs<attrs::StringNormalizer>,
                                   infer_string_normalizer,
                                   1,
                                   1,
                                   1,
                                   1,
                                   OpDef::kDataDependent,
                                   0};

}  // namespace vireo
