// com.microsoft GatherBlockQuantized: rows of a table of codes with a scale, and maybe a zero point, for each block
// along one axis. What embeddings of quantized language models are stored as.
//   inputs  codes (int4, uint4, or uint8 that holds 8, 4 or 2 bits a code, packed along the last axis), indices,
//   scales,
//           zero points (packed as the codes)
//   becomes DequantizeLinear(Gather(codes), Gather(scales), Gather(zero points)) in blocks; where rows are gathered
//           along the axis of the blocks, Gather(DequantizeLinear(...))
// Zero points that are left out are 0, in uint8 the middle of the codes.
// Source: ONNX Runtime, ContribOperators.md.
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/quantize/quantize.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"

namespace vireo {
namespace {

// Codes of `bits` that lie packed in rows of bytes, as a constant of the packed type with `last` codes a row. Absent
// where `v` is no constant or its rows are too short.
Value unpacked(ImportContext& ctx, Value v, int64_t bits, Dim last) {
  const ConstTensor* const from = v ? ctx.constant(v) : nullptr;
  if (from == nullptr || from->type.shape.rank < 1 || is_symbolic(last)) return {};
  TensorType t = from->type;
  const int64_t row = t.shape[t.shape.rank - 1], each = 8 / bits;
  if (row * each < last) return {};
  t.dtype = bits == 4 ? DType::kU4 : DType::kU2;
  t.shape[t.shape.rank - 1] = last;
  const int64_t rows = row == 0 ? 0 : from->count() / row;
  std::vector<uint8_t> bytes(static_cast<size_t>((rows * last + each - 1) / each));
  for (int64_t i = 0; i < rows * last; ++i) {
    const int64_t at = i % last;
    const unsigned packed = from->bytes[static_cast<size_t>(i / last * row + at / each)];
    write_code(t.dtype, bytes.data(), i, packed >> (at % each * bits) & ((1u << bits) - 1));
  }
  return ctx.add_constant(t, std::move(bytes));
}

Status import_gather_block_quantized(ImportContext& ctx) {
  Steps s(ctx);
  Value codes = ctx.input(0), zeros = ctx.input(3);
  const Value indices = ctx.input(1), scales = ctx.input(2);
  if (!codes || !indices || !scales) return ctx.fail(Status::kInvalidModel, "an input that it needs is missing");
  const TensorType t = ctx.type(codes);
  const int rank = t.shape.rank;
  int64_t rows = ctx.attr_int("gather_axis", 0), blocks = ctx.attr_int("quantize_axis", 1);
  const int64_t bits = ctx.attr_int("bits", 4), block = ctx.attr_int("block_size", 128);
  if (rows < 0) rows += rank;
  if (blocks < 0) blocks += rank;
  if (rows < 0 || rows >= rank || blocks < 0 || blocks >= rank || block < 1 || block > INT32_MAX ||
      ctx.type(scales).shape.rank != rank) {
    return ctx.fail(Status::kInvalidModel, "gather_axis, quantize_axis, block_size or the scales' rank is wrong");
  }
  const bool bytes = t.dtype == DType::kU8;
  if (!bytes && t.dtype != DType::kU4 && t.dtype != DType::kI4) {
    return ctx.fail(Status::kUnsupported, std::string("a table of ") + dtype_name(t.dtype),
                    "quantize it to int4, uint4 or uint8");
  }
  if (bytes) {
    if (bits != 2 && bits != 4 && bits != 8)
      return ctx.fail(Status::kInvalidModel, "bits is " + std::to_string(bits) + ", wanted 2, 4 or 8");
    const ConstTensor* const scale = ctx.constant(scales);
    if (scale == nullptr || ctx.constant(codes) == nullptr || (zeros && ctx.constant(zeros) == nullptr))
      return ctx.fail(Status::kUnsupported, "a table of uint8 that is no constant");
    const Shape of_scales = scale->type.shape;
    if (bits != 8) {
      if (is_symbolic(t.shape[rank - 1])) return ctx.fail(Status::kInvalidModel, "the table's last extent is open");
      codes = unpacked(ctx, codes, bits, t.shape[rank - 1] * (8 / bits));
      if (zeros) zeros = unpacked(ctx, zeros, bits, of_scales[rank - 1]);
      if (!codes || (ctx.input(3) && !zeros))
        return ctx.fail(Status::kInvalidModel, "the packed zero points are not as many as the scales");
    }
    if (!zeros) {
      TensorType z{ctx.type(codes).dtype, of_scales};
      const int64_t count = scale->count();
      std::vector<uint8_t> middle(static_cast<size_t>((count * bits + 7) / 8));
      for (int64_t i = 0; i < count; ++i) write_code(z.dtype, middle.data(), i, 1u << (bits - 1));
      zeros = ctx.add_constant(z, std::move(middle));
    }
  }
  attrs::DequantizeLinearT a;
  a.block_size = static_cast<int32_t>(block);
  const auto dequantized = [&](Value c, Value scale, Value zero, int64_t axis) {
    a.axis = static_cast<int32_t>(axis);
    std::vector<Value> inputs = {c, scale};
    if (zero) inputs.push_back(zero);
    return s.one(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), inputs);
  };
  const auto axis = static_cast<int32_t>(rows);
  Value y;
  if (rows == blocks) {
    y = s.gather(dequantized(codes, scales, zeros, blocks), indices, axis);
  } else {
    // The block axis moves with what the indices put in place of the rows.
    const int64_t moved = blocks > rows ? blocks + ctx.type(indices).shape.rank - 1 : blocks;
    y = dequantized(s.gather(codes, indices, axis), s.gather(scales, indices, axis),
                    zeros ? s.gather(zeros, indices, axis) : Value{}, moved);
  }
  return y ? import_value(ctx, y) : Status::kInvalidModel;
}

}  // namespace

extern const OnnxImport kGatherBlockQuantizedOnnx;
const OnnxImport kGatherBlockQuantizedOnnx = {"com.microsoft", "GatherBlockQuantized", import_gather_block_quantized};

}  // namespace vireo
