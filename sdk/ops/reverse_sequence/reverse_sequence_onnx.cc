#include "sdk/ops/reverse_sequence/reverse_sequence_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_reverse_sequence(ImportContext& ctx) {
  attrs::ReverseSequenceT a;
  a.batch_axis = ctx.attr_int32("batch_axis", 1);
  a.time_axis = ctx.attr_int32("time_axis", 0);
  return import_direct(ctx, Op::kReverseSequence, pack<attrs::ReverseSequence>(a));
}

}  // namespace

extern const OnnxImport kReverseSequenceOnnx;
const OnnxImport kReverseSequenceOnnx = {"", "ReverseSequence", import_reverse_sequence};

Status export_reverse_sequence(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::ReverseSequence>();
  return ctx.done(ctx.same().number("batch_axis", a.batch_axis()).number("time_axis", a.time_axis()));
}

}  // namespace vireo
