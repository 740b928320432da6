#include "sdk/ops/old_broadcast.h"

namespace vireo {

Value append_ones(ImportContext& ctx, Value v, int count) {
  TensorType t = ctx.type(v);
  const int rank = t.shape.rank;
  if (rank + count > kMaxRank) {
    (void)ctx.fail(Status::kUnsupported, "broadcasting to more than 8 dimensions");
    return {};
  }
  const ConstTensor* c = ctx.constant(v);
  if (c == nullptr) {
    (void)ctx.fail(Status::kUnsupported, "the operand that is broadcast is not a constant",
                   "export the model with opset 7 or newer");
    return {};
  }
  for (int i = 0; i < count; ++i) t.shape[rank + i] = 1;
  t.shape.rank = rank + count;
  return ctx.add_constant(t, std::vector<uint8_t>(c->bytes.begin(), c->bytes.end()));
}

Status old_broadcast(ImportContext& ctx, Value* second) {
  *second = ctx.input(1);
  if (!*second) return ctx.fail(Status::kInvalidModel, "the second operand is absent");
  if (ctx.opset() >= 7 || ctx.attr_int("broadcast", 0) == 0 || !ctx.has_attr("axis")) return Status::kOk;
  const int rank = ctx.type(ctx.input(0)).shape.rank, rank_b = ctx.type(*second).shape.rank;
  const int axis = normalize_axis(ctx.attr_int("axis", 0), rank);
  if (axis < 0 || axis + rank_b > rank) {
    return ctx.fail(Status::kInvalidModel, "axis does not place the second operand inside the first");
  }
  if (axis + rank_b == rank || rank_b == 0) return Status::kOk;
  *second = append_ones(ctx, *second, rank - axis - rank_b);
  return *second ? Status::kOk : Status::kInvalidModel;
}

}  // namespace vireo
