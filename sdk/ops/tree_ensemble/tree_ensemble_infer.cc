#include "sdk/ops/shared/infer.h"
#include "sdk/ops/tree_ensemble/tree_ensemble.h"
#include "sdk/ops/tree_ensemble/tree_ensemble_generated.h"

namespace vireo {
namespace {

using Attrs = attrs::TreeEnsemble;

template <class V>
uint32_t size(const V* v) {
  return v == nullptr ? 0 : v->size();
}
// A vector of `want` elements, of which one form must be there.
template <class A, class B>
bool one_of(const A* narrow, const B* wide, uint32_t want) {
  return wide != nullptr ? wide->size() == want : size(narrow) == want;
}
// [begin, end) pairs in ascending order within `limit`.
template <class V>
bool ascending(const V* v, uint32_t limit) {
  uint32_t last = 0;
  for (const uint32_t k : *v) {
    if (k < last || k > limit) return false;
    last = k;
  }
  return true;
}

// Everything that steers an address in the kernel, but for the columns of the input.
bool verify_table(Span<const uint8_t> bytes, bool classifier) {
  if (!verify_attrs<Attrs>(bytes)) return false;
  const Attrs& a = *::flatbuffers::GetRoot<Attrs>(bytes.data());
  const uint32_t nodes = size(a.features());
  if (nodes >= kTreeLeaf || a.targets() == 0 || size(a.modes()) != nodes || size(a.true_children()) != nodes ||
      size(a.false_children()) != nodes || !one_of(a.thresholds(), a.thresholds_f64(), nodes) ||
      (a.missing_true() != nullptr && a.missing_true()->size() != nodes)) {
    return false;
  }
  if (a.leaf_begin() == nullptr || a.leaf_begin()->size() == 0) return false;
  const uint32_t leaves = a.leaf_begin()->size() - 1, votes = size(a.vote_targets());
  if (leaves >= kTreeLeaf || !ascending(a.leaf_begin(), votes) ||
      !one_of(a.vote_weights(), a.vote_weights_f64(), votes)) {
    return false;
  }
  for (uint32_t i = 0; i < votes; ++i) {
    if (a.vote_targets()->Get(i) >= a.targets()) return false;
  }
  const auto reference_ok = [&](uint32_t r, int64_t parent) {
    return (r & kTreeLeaf) != 0 ? (r & ~kTreeLeaf) < leaves : r<nodes&& static_cast<int64_t>(r)> parent;
  };
  for (uint32_t i = 0; i < size(a.roots()); ++i) {
    if (!reference_ok(a.roots()->Get(i), -1)) return false;
  }
  for (uint32_t i = 0; i < nodes; ++i) {
    if (!reference_ok(a.true_children()->Get(i), i) || !reference_ok(a.false_children()->Get(i), i)) return false;
    const uint8_t mode = a.modes()->Get(i);
    if (mode > static_cast<uint8_t>(attrs::TreeMode::MAX)) return false;
    if (mode == static_cast<uint8_t>(attrs::TreeMode::Member) && a.member_begin() == nullptr) return false;
  }
  if (a.member_begin() != nullptr &&
      (a.member_begin()->size() != nodes + 1 || !ascending(a.member_begin(), size(a.members())))) {
    return false;
  }
  if (a.base_values() != nullptr && a.base_values()->size() != a.targets()) return false;
  if (a.aggregate() > attrs::TreeAggregate::MAX || a.transform() > attrs::TreeTransform::MAX ||
      a.binary() > attrs::TreeBinary::MAX) {
    return false;
  }
  if (!classifier) return a.binary() == attrs::TreeBinary::No;
  if (a.binary() != attrs::TreeBinary::No && a.targets() != 2) return false;
  return a.labels_strings() != nullptr ? a.labels_strings()->size() == a.targets()
                                       : size(a.labels_integers()) == a.targets();
}

bool verify(Span<const uint8_t> bytes) { return verify_table(bytes, /*classifier=*/false); }
bool verify_classifier(Span<const uint8_t> bytes) { return verify_table(bytes, /*classifier=*/true); }

Status check_input(InferContext& ctx, Dim* rows) {
  const Attrs& a = ctx.attrs<Attrs>();
  const TensorType& x = ctx.input(0);
  switch (x.dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kF16:
    case DType::kI32:
    case DType::kI64:
      break;
    default:
      return ctx.fail(Status::kInvalidModel, "trees over {}, wanted float, double, int32 or int64",
                      dtype_name(x.dtype));
  }
  VIREO_TRY(check_rank(ctx, 0, 1, 2));
  *rows = x.shape.rank == 2 ? x.shape[0] : 1;
  const Dim columns = x.shape[x.shape.rank - 1];
  if (is_symbolic(columns) || a.features() == nullptr) return Status::kOk;
  for (uint32_t i = 0; i < a.features()->size(); ++i) {
    if (static_cast<int64_t>(a.features()->Get(i)) >= columns) {
      return ctx.fail(Status::kInvalidModel, "a tree asks for feature {} but the input has {} columns",
                      a.features()->Get(i), columns);
    }
  }
  return Status::kOk;
}

Status infer_scores(InferContext& ctx, DType t) {
  Dim rows = 0;
  VIREO_TRY(check_input(ctx, &rows));
  ctx.output(0) = {t, Shape{2, {rows, static_cast<Dim>(ctx.attrs<Attrs>().targets())}}};
  return Status::kOk;
}
Status infer_ensemble(InferContext& ctx) {
  if (!dtype_is_float(ctx.input(0).dtype)) {
    return ctx.fail(Status::kInvalidModel, "input is {}, wanted floating point", dtype_name(ctx.input(0).dtype));
  }
  return infer_scores(ctx, ctx.input(0).dtype);
}
Status infer_regressor(InferContext& ctx) { return infer_scores(ctx, DType::kF32); }

Status infer_classifier(InferContext& ctx) {
  const Attrs& a = ctx.attrs<Attrs>();
  Dim rows = 0;
  VIREO_TRY(check_input(ctx, &rows));
  if (ctx.wants(0)) ctx.output(0) = {a.labels_strings() != nullptr ? DType::kString : DType::kI64, Shape{1, {rows}}};
  if (ctx.wants(1)) ctx.output(1) = {DType::kF32, Shape{2, {rows, static_cast<Dim>(a.targets())}}};
  return Status::kOk;
}

}  // namespace

extern const OpDef kTreeEnsembleOp;
const OpDef kTreeEnsembleOp = {"TreeEnsemble", verify, infer_ensemble, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};
extern const OpDef kTreeEnsembleRegressorOp;
const OpDef kTreeEnsembleRegressorOp = {"TreeEnsembleRegressor", verify, infer_regressor, 1, 1, 1, 1, OpDef::kPure, 0};
extern const OpDef kTreeEnsembleClassifierOp;
const OpDef kTreeEnsembleClassifierOp = {
    "TreeEnsembleClassifier", verify_classifier, infer_classifier, 1, 1, 1, 2, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
