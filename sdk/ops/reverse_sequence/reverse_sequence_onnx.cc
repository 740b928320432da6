#include "sdk/ops/reverse_sequence/reverse_sequence_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::ReverseSequenceT a;
  a.batch_axis = static_cast<int32_t>(ctx.attr_int("batch_axis", 1));
  a.time_axis = static_cast<int32_t>(ctx.attr_int("time_axis", 0));
  return import_direct(ctx, Op::kReverseSequence, pack<attrs::ReverseSequence>(a));
}

}  // namespace

extern const OnnxImport kReverseSequenceOnnx;
const OnnxImport kReverseSequenceOnnx = {"", "ReverseSequence", import};

}  // namespace vireo
