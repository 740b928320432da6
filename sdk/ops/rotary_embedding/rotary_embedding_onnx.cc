#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::RotaryEmbeddingT a;
  a.heads = static_cast<int32_t>(ctx.attr_int("num_heads", 0));
  a.rotated = static_cast<int32_t>(ctx.attr_int("rotary_embedding_dim", 0));
  a.interleaved = ctx.attr_int("interleaved", 0) != 0;
  return import_direct(ctx, Op::kRotaryEmbedding, pack<attrs::RotaryEmbedding>(a));
}

}  // namespace

extern const OnnxImport kRotaryEmbeddingOnnx;
const OnnxImport kRotaryEmbeddingOnnx = {"", "RotaryEmbedding", import};

Status export_rotary_embedding(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::RotaryEmbedding>();
  OnnxNode n = ctx.same().flag("interleaved", a.interleaved()).needs(23);
  if (a.heads() != 0) n.number("num_heads", a.heads());
  if (a.rotated() != 0) n.number("rotary_embedding_dim", a.rotated());
  return ctx.done(std::move(n));
}

}  // namespace vireo
