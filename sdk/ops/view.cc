#include "sdk/ops/view.h"

namespace vireo {

Status import_direct(ImportContext& ctx, Op op, std::vector<uint8_t> attrs) {
  std::vector<Value> inputs;
  for (int i = 0; i < ctx.input_count(); ++i) inputs.push_back(ctx.input(i));
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  int outputs = ctx.output_count();
  while (outputs > 1 && !ctx.wants_output(outputs - 1)) --outputs;
  const std::vector<Value> out = ctx.emit(op, std::move(attrs), std::move(inputs), outputs);
  if (out.empty()) return Status::kInvalidModel;
  for (int i = 0; i < outputs; ++i) ctx.set_output(i, out[static_cast<size_t>(i)]);
  return Status::kOk;
}

}  // namespace vireo
