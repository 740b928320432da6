// DFT: opset 17 has the axis as an attribute (default 1), 20 as an input (default -2). An axis that changes from run to run
// would change the output's layout; ours is an attribute.
#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/value_reader.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import_dft(ImportContext& ctx) {
  attrs::FourierT a;
  a.inverse = ctx.attr_int("inverse", 0) != 0;
  a.onesided = ctx.attr_int("onesided", 0) != 0;
  a.axis = static_cast<int32_t>(ctx.opset() < 20 ? ctx.attr_int("axis", 1) : -2);
  if (const Value axis = ctx.input(2); ctx.opset() >= 20 && axis) {
    const ConstTensor* t = ctx.constant(axis);
    if (t == nullptr || t->count() != 1) {
      return ctx.fail(Status::kUnsupported, "the axis is computed while the model runs", "make it a constant");
    }
    a.axis = static_cast<int32_t>(read_integer(t->type.dtype, t->bytes.data(), 0));
  }
  std::vector<Value> inputs = {ctx.input(0)};
  if (ctx.input(1)) inputs.push_back(ctx.input(1));
  const Value y = ctx.emit1(Op::kDFT, pack<attrs::Fourier>(a), std::move(inputs));
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

Status import_stft(ImportContext& ctx) {
  attrs::FourierT a;
  a.onesided = ctx.attr_int("onesided", 1) != 0;
  return import_direct(ctx, Op::kSTFT, pack<attrs::Fourier>(a));
}

}  // namespace

extern const OnnxImport kDFTOnnx;
const OnnxImport kDFTOnnx = {"", "DFT", import_dft};
extern const OnnxImport kSTFTOnnx;
const OnnxImport kSTFTOnnx = {"", "STFT", import_stft};

}  // namespace vireo
