#include "sdk/ops/shared/strict_export.h"

namespace vireo {
namespace {

std::string of_rank(ExportContext& ctx, int i, int rank) {
  const TensorType t = ctx.input_type(i);
  if (t.dtype == DType::kNone || t.shape.rank == rank) return ctx.input(i);
  if (const ConstTensor* c = ctx.constant(i)) {  // a reader may want to know it
    Shape shape;
    shape.rank = rank;
    if (rank == 1) shape[0] = 1;
    return ctx.add_constant({{t.dtype, shape}, {c->bytes.begin(), c->bytes.end()}, {}});
  }
  return ctx.step("Reshape", {ctx.input(i), ctx.add_i64(std::vector<int64_t>(static_cast<size_t>(rank), 1))});
}

}  // namespace

std::string one_number(ExportContext& ctx, int i) { return of_rank(ctx, i, 0); }
std::string list_of_one(ExportContext& ctx, int i) { return of_rank(ctx, i, 1); }

void name_outputs(ExportContext& ctx, int count, OnnxNode* node) {
  while (static_cast<int>(node->outputs.size()) < count) node->outputs.emplace_back();
  for (std::string& name : node->outputs) {
    if (name.empty()) name = ctx.fresh("unused");
  }
}

}  // namespace vireo
