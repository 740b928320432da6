#include "sdk/ops/shared/old_broadcast.h"

#include "sdk/ops/reshape/reshape_generated.h"

namespace vireo {

Value append_ones(ImportContext& ctx, Value v, int count) {
  const int rank = ctx.type(v).shape.rank;
  if (rank + count > kMaxRank) {
    (void)ctx.fail(Status::kUnsupported, "broadcasting to more than 8 dimensions");
    return {};
  }
  std::vector<int64_t> shape(static_cast<size_t>(rank), 0);  // 0: as in `v`
  shape.resize(shape.size() + static_cast<size_t>(count), 1);
  return ctx.emit1(Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}), {v, ctx.add_i64(shape)});
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
