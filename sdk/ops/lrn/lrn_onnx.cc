// Opsets 1 and 13 differ in types alone.
#include "sdk/ops/lrn/lrn_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::LRNT a;
  a.alpha = ctx.attr_float("alpha", a.alpha);
  a.beta = ctx.attr_float("beta", a.beta);
  a.bias = ctx.attr_float("bias", a.bias);
  const int64_t size = ctx.attr_int("size", 0);
  if (size < 1 || size > INT32_MAX) return ctx.fail(Status::kInvalidModel, "size is " + std::to_string(size));
  a.size = static_cast<int32_t>(size);
  return import_direct(ctx, Op::kLRN, pack<attrs::LRN>(a));
}

}  // namespace

extern const OnnxImport kLRNOnnx;
const OnnxImport kLRNOnnx = {"", "LRN", import};

}  // namespace vireo
