// Tile of opset 1 repeats one axis: inputs (data, tiles, axis). Expand has had one form since opset 8.
#include "sdk/ops/expand/expand_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_expand(ImportContext& ctx) {
  return import_direct(ctx, Op::kExpand, pack<attrs::Expand>(attrs::ExpandT{}));
}

Status import_tile(ImportContext& ctx) {
  std::vector<uint8_t> a = pack<attrs::Tile>(attrs::TileT{});
  if (ctx.opset() >= 6) return import_direct(ctx, Op::kTile, std::move(a));
  const ConstTensor* tiles = ctx.constant(ctx.input(1));
  const ConstTensor* axis = ctx.constant(ctx.input(2));
  if (tiles == nullptr || axis == nullptr || tiles->count() != 1 || axis->count() != 1) {
    return ctx.fail(Status::kUnsupported, "tiles and axis of opset 1 are not constant",
                    "export the model with opset 6 or newer");
  }
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  const int k = normalize_axis(static_cast<int64_t>(read_real(axis->type.dtype, axis->bytes.data(), 0)), rank);
  if (k < 0) return ctx.fail(Status::kInvalidModel, "axis is outside the input's rank");
  std::vector<int64_t> repeats(static_cast<size_t>(rank), 1);
  repeats[static_cast<size_t>(k)] = static_cast<int64_t>(read_real(tiles->type.dtype, tiles->bytes.data(), 0));
  const Value y = ctx.emit1(Op::kTile, std::move(a), {ctx.input(0), ctx.add_i64(repeats)});
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kExpandOnnx;
extern const OnnxImport kTileOnnx;
const OnnxImport kExpandOnnx = {"", "Expand", import_expand};
const OnnxImport kTileOnnx = {"", "Tile", import_tile};

Status export_expand(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
