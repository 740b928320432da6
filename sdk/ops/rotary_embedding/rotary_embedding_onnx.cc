// com.microsoft's form has the position ids in front of the tables: of each token, or the first one's alone.
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_rotary_embedding(ImportContext& ctx) {
  attrs::RotaryEmbeddingT a;
  a.heads = ctx.attr_int32("num_heads", 0);
  a.rotated = ctx.attr_int32("rotary_embedding_dim", 0);
  a.interleaved = ctx.attr_int("interleaved", 0) != 0;
  return import_direct(ctx, Op::kRotaryEmbedding, pack<attrs::RotaryEmbedding>(a));
}

Status import_contrib(ImportContext& ctx) {
  const Value x = ctx.input(0), ids = ctx.input(1), cosines = ctx.input(2), sines = ctx.input(3);
  if (!x || !ids || !cosines || !sines) return ctx.fail(Status::kInvalidModel, "an input is missing");
  if (ctx.attr_int("is_packed_batching", 0) != 0 || ctx.attr_float("scale", 1) != 1) {
    return ctx.fail(Status::kUnsupported, "is_packed_batching or a scale", "export the model without it");
  }
  const Shape shape = ctx.type(x).shape, table = ctx.type(cosines).shape, at = ctx.type(ids).shape;
  if ((shape.rank != 3 && shape.rank != 4) || table.rank != 2 || is_symbolic(table[1]) || at.rank < 1 || at.rank > 2) {
    return ctx.fail(Status::kInvalidModel, "input, position_ids and tables of ranks " + std::to_string(shape.rank) +
                                               ", " + std::to_string(at.rank) + " and " + std::to_string(table.rank) +
                                               ", wanted 3 or 4, 1 or 2, and 2");
  }
  if (table[1] < 1 || table[1] > INT32_MAX / 2)
    return ctx.fail(Status::kInvalidModel, "tables with " + std::to_string(table[1]) + " columns");
  attrs::RotaryEmbeddingT a;
  a.interleaved = ctx.attr_int("interleaved", 0) != 0;
  a.rotated = static_cast<int32_t>(2 * table[1]);
  if (shape.rank == 3) {
    int64_t heads = ctx.attr_int("num_heads", 0);
    if (heads == 0 && !is_symbolic(shape[2])) heads = shape[2] / a.rotated;
    if (heads < 0 || heads > INT32_MAX) return ctx.fail(Status::kInvalidModel, std::to_string(heads) + " heads");
    a.heads = static_cast<int32_t>(heads);
  }
  Steps s(ctx);
  Value positions = ids;
  if (at.rank == 1) {
    const int64_t tokens = shape.rank == 3 ? 1 : 2;
    const Value count = s.shape(x, tokens, tokens + 1);
    positions = s.expand(s.add(s.range(count), ids), s.concat({s.shape(x, 0, 1), count}, 0));
    if (!positions) return Status::kInvalidModel;
  }
  return import_as(ctx, Op::kRotaryEmbedding, pack<attrs::RotaryEmbedding>(a), {x, cosines, sines, positions});
}

}  // namespace

extern const OnnxImport kMsRotaryEmbeddingOnnx;
const OnnxImport kMsRotaryEmbeddingOnnx = {"com.microsoft", "RotaryEmbedding", import_contrib};
extern const OnnxImport kRotaryEmbeddingOnnx;
const OnnxImport kRotaryEmbeddingOnnx = {"", "RotaryEmbedding", import_rotary_embedding};

Status export_rotary_embedding(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::RotaryEmbedding>();
  OnnxNode n = ctx.same().flag("interleaved", a.interleaved()).needs(23);
  if (a.heads() != 0) n.number("num_heads", a.heads());
  if (a.rotated() != 0) n.number("rotary_embedding_dim", a.rotated());
  return ctx.done(std::move(n));
}

}  // namespace vireo
