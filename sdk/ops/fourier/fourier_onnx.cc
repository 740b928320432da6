// DFT: opset 17 has the axis as an attribute (default 1), 20 as an input (default -2).
// STFT: one form since 17.
#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/shared/strict_export.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_dft(ImportContext& ctx) {
  attrs::FourierT a;
  a.inverse = ctx.attr_int("inverse", 0) != 0;
  a.onesided = ctx.attr_int("onesided", 0) != 0;
  std::vector<Value> inputs = {ctx.input(0), ctx.input(1), ctx.input(2)};
  if (ctx.opset() < 20) inputs[2] = add_scalar_integer(ctx, DType::kI64, ctx.attr_int("axis", 1));
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  const Value y = ctx.emit1(Op::kDFT, pack<attrs::Fourier>(a), std::move(inputs));
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

Status import_stft(ImportContext& ctx) {
  attrs::FourierT a;
  a.onesided = ctx.attr_int("onesided", 1) != 0;
  std::vector<uint8_t> packed = pack<attrs::Fourier>(a);
  if (ctx.type(ctx.input(0)).shape.rank != 2) return import_direct(ctx, Op::kSTFT, std::move(packed));
  // [batch, length]: what torch.stft was exported to, and ONNX Runtime takes.
  ctx.beyond_standard("its signal has rank 2: it is read as [batch, length, 1], a real signal");
  Steps steps(ctx);
  std::vector<Value> inputs = {steps.unsqueeze(ctx.input(0), {2}), ctx.input(1), ctx.input(2), ctx.input(3)};
  while (!inputs.back() && inputs.size() > 1) inputs.pop_back();
  const Value y = inputs[0] ? ctx.emit1(Op::kSTFT, std::move(packed), std::move(inputs)) : Value{};
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kDFTOnnx;
const OnnxImport kDFTOnnx = {"", "DFT", import_dft};
extern const OnnxImport kSTFTOnnx;
const OnnxImport kSTFTOnnx = {"", "STFT", import_stft};

Status export_fourier(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Fourier>();
  OnnxNode n = ctx.same().flag("onesided", a.onesided());
  const bool dft = ctx.op() == Op::kDFT;  // x, length, axis; STFT: x, step, window, length
  for (const int i : {1, dft ? 2 : 3}) {
    if (static_cast<size_t>(i) < n.inputs.size()) n.inputs[static_cast<size_t>(i)] = one_number(ctx, i);
  }
  if (dft) n.flag("inverse", a.inverse());
  return ctx.done(std::move(n));
}

}  // namespace vireo
