// DFT: opset 17 has the axis as an attribute (default 1), 20 as an input (default -2).
#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_dft(ImportContext& ctx) {
  attrs::FourierT a;
  a.inverse = ctx.attr_int("inverse", 0) != 0;
  a.onesided = ctx.attr_int("onesided", 0) != 0;
  std::vector<Value> inputs = {ctx.input(0), ctx.input(1), ctx.input(2)};
  if (ctx.opset() < 20) inputs[2] = ctx.add_i64({ctx.attr_int("axis", 1)});
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
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

Status export_fourier(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Fourier>();
  OnnxNode n = ctx.same().flag("onesided", a.onesided());
  if (ctx.op() == Op::kDFT) n.flag("inverse", a.inverse());
  return ctx.done(std::move(n));
}

}  // namespace vireo
