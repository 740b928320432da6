#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/op.h"

namespace vireo {
namespace {

// The types of these nodes' outputs follow from their bodies, which only the owner of the graph can see: the converter
// infers them on its IR, a session on its frames.
Status infer_control(InferContext& ctx) {
  return ctx.fail(Status::kInvalidArgument, "control flow is inferred through its body");
}

bool verify_scan(Span<const uint8_t> bytes) {
  if (!verify_attrs<attrs::Scan>(bytes)) return false;
  const auto* a = ::flatbuffers::GetRoot<attrs::Scan>(bytes.data());
  return (a->in_axes() == nullptr ? 0 : a->in_axes()->size()) == a->scanned_in() &&
         (a->in_reverse() == nullptr ? 0 : a->in_reverse()->size()) == a->scanned_in();
}

}  // namespace

extern const OpDef kIfOp;
extern const OpDef kLoopOp;
extern const OpDef kScanOp;
extern const OpDef kCompositeOp;
const OpDef kIfOp = {"If", verify_attrs<attrs::If>, infer_control, 1, 255, 1, 255, OpDef::kControlFlow, 0};
const OpDef kLoopOp = {"Loop", verify_attrs<attrs::Loop>, infer_control, 2, 255, 1, 255, OpDef::kControlFlow, 0};
const OpDef kScanOp = {"Scan", verify_scan, infer_control, 1, 255, 1, 255, OpDef::kControlFlow, 0};
const OpDef kCompositeOp = {
    "Composite", verify_attrs<attrs::Composite>, infer_control, 0, 255, 1, 255, OpDef::kControlFlow, 0};

}  // namespace vireo
