// Transpose: y[i_0, i_1, ...] = x[j] with j[perm[k]] = i_k. Every data type; no aliasing. Source: ONNX opset 25
// "Transpose".
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo {
namespace {

Status infer_transpose(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const auto* perm = ctx.attrs<attrs::Transpose>().perm();
  const int rank = x.shape.rank;
  if (perm != nullptr && static_cast<int>(perm->size()) != rank) {
    return ctx.fail(Status::kInvalidModel, "Transpose: perm has {} entries for {}", perm->size(), x.shape);
  }
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  y.shape.rank = rank;
  bool seen[kMaxRank] = {};
  for (int i = 0; i < rank; ++i) {
    const int p = perm == nullptr ? rank - 1 - i : perm->Get(static_cast<unsigned>(i));
    if (p < 0 || p >= rank || seen[p]) {
      return ctx.fail(Status::kInvalidModel, "Transpose: perm[{}] = {} is not a new axis of {}", i, p, x.shape);
    }
    seen[p] = true;
    y.shape[i] = x.shape[p];
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kTransposeOp;
const OpDef kTransposeOp = {"Transpose", verify_attrs<attrs::Transpose>, infer_transpose, 1, 1, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
