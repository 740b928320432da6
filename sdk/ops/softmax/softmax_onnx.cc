// Opset 13 normalises along one axis. Before, the tensor was coerced to two dimensions at `axis` (default 1) and the whole
// second one was normalised: a Reshape on either side says the same.
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::SoftmaxT a;
  if (ctx.opset() >= 13) {
    a.axis = static_cast<int32_t>(ctx.attr_int("axis", -1));
    return import_direct(ctx, Op::kSoftmax, pack<attrs::Softmax>(a));
  }
  const TensorType x = ctx.type(ctx.input(0));
  const int axis = normalize_axis(ctx.attr_int("axis", 1), x.shape.rank);
  if (axis < 0) return ctx.fail(Status::kInvalidModel, "axis is outside the input's rank");
  if (axis == x.shape.rank - 1) {
    a.axis = axis;
    return import_direct(ctx, Op::kSoftmax, pack<attrs::Softmax>(a));
  }
  return ctx.fail(Status::kUnsupported, "coercion to two dimensions", "export the model with opset 13 or newer");
}

}  // namespace

extern const OnnxImport kSoftmaxOnnx;
const OnnxImport kSoftmaxOnnx = {"", "Softmax", import};

}  // namespace vireo
