// com.microsoft MatMulNBits: weights in 4 or 8 bits with a scale, and maybe a zero point, for each column and block of
// k.
//   inputs  a, codes [N, blocks, bytes], scales [N, blocks], zero points, group indices, bias [N]
//   becomes MatMul(a, DequantizeLinear(codes [K, N] in blocks along k)) + bias, in float32 also where a is float16:
//           what accuracy_level asks for is the least
// Zero points that are left out are in the middle of the codes: signed codes without any. Real ones must be whole
// numbers. Source: ONNX Runtime, ContribOperators.md.
#include <cmath>
#include <cstring>

#include "sdk/base/half.h"
#include "sdk/ops/quantize/quantize.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"

namespace vireo {
namespace {

struct Weights {
  int64_t k = 0, n = 0, bits = 0, block = 0, blocks = 0;
  const ConstTensor *codes = nullptr, *scales = nullptr, *zeros = nullptr;
};

TensorType matrix(DType dtype, int64_t rows, int64_t columns) {
  TensorType t{dtype, {}};
  t.shape.rank = 2;
  t.shape[0] = rows;
  t.shape[1] = columns;
  return t;
}

// Element `i` of a row of packed codes.
unsigned code_at(const Weights& w, const uint8_t* row, int64_t i) {
  return w.bits == 8 ? row[i] : row[i / 2] >> (i % 2 * 4) & 15u;
}

Status read(ImportContext& ctx, Weights* w) {
  w->k = ctx.attr_int("K", 0);
  w->n = ctx.attr_int("N", 0);
  w->bits = ctx.attr_int("bits", 4);
  w->block = ctx.attr_int("block_size", 128);
  if (w->bits != 4 && w->bits != 8) {
    return ctx.fail(Status::kUnsupported, "weights of " + std::to_string(w->bits) + " bits",
                    "quantize them to 4 or 8 bits");
  }
  if (w->k < 1 || w->n < 1 || w->block < 16 || w->block > INT32_MAX || w->k > INT32_MAX || w->n > INT32_MAX) {
    return ctx.fail(Status::kInvalidModel, "K is " + std::to_string(w->k) + ", N " + std::to_string(w->n) +
                                               ", block_size " + std::to_string(w->block));
  }
  w->blocks = (w->k + w->block - 1) / w->block;
  w->codes = ctx.constant(ctx.input(1));
  w->scales = ctx.constant(ctx.input(2));
  if (w->codes == nullptr || w->scales == nullptr || (ctx.input(3) && ctx.constant(ctx.input(3)) == nullptr)) {
    return ctx.fail(Status::kUnsupported, "weights that are no constants");
  }
  w->zeros = ctx.input(3) ? ctx.constant(ctx.input(3)) : nullptr;
  const int64_t bytes = w->n * w->blocks * (w->block * w->bits / 8);
  if (static_cast<int64_t>(w->codes->bytes.size()) != bytes) {
    return ctx.fail(Status::kInvalidModel, "the weights have " + std::to_string(w->codes->bytes.size()) +
                                               " bytes, wanted " + std::to_string(bytes));
  }
  const DType s = w->scales->type.dtype;
  if ((s != DType::kF32 && s != DType::kF16 && s != DType::kBF16) || w->scales->count() != w->n * w->blocks) {
    return ctx.fail(Status::kInvalidModel, std::to_string(w->scales->count()) + " scales of " + dtype_name(s) +
                                               ", wanted " + std::to_string(w->n * w->blocks) + " real ones");
  }
  if (ctx.input(4)) {
    const ConstTensor* groups = ctx.constant(ctx.input(4));
    bool in_order = groups != nullptr && groups->type.dtype == DType::kI32 && groups->count() >= w->k;
    for (int64_t i = 0; in_order && i < w->k; ++i)
      in_order = read_element<int32_t>(groups->bytes.data(), i) == i / w->block;
    if (!in_order)
      return ctx.fail(Status::kUnsupported, "group indices that are not in order",
                      "quantize the weights without reordering (act_order)");
  }
  return Status::kOk;
}

// Zero point of column n and block b as a code.
Status read_zeros(ImportContext& ctx, const Weights& w, std::vector<uint8_t>* out) {
  const int64_t row = (w.blocks * w.bits + 7) / 8, count = w.n * w.blocks;
  const DType type = w.zeros->type.dtype;
  out->resize(static_cast<size_t>(count));
  const bool packed = type == DType::kU8;
  const bool real = type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
  if ((!packed && !real) ||
      (packed ? static_cast<int64_t>(w.zeros->bytes.size()) != w.n * row : w.zeros->count() != count)) {
    return ctx.fail(Status::kInvalidModel,
                    std::to_string(w.zeros->count()) + " zero points of " + dtype_name(w.zeros->type.dtype));
  }
  for (int64_t i = 0; i < count; ++i) {
    if (packed) {
      (*out)[static_cast<size_t>(i)] =
          static_cast<uint8_t>(code_at(w, w.zeros->bytes.data() + i / w.blocks * row, i % w.blocks));
      continue;
    }
    const float zero = read_float(type, w.zeros->bytes.data(), i);
    if (!(zero >= 0) || zero >= static_cast<float>(1 << w.bits) || zero != std::floor(zero)) {
      return ctx.fail(Status::kUnsupported, "a zero point of " + std::to_string(zero),
                      "quantize the weights with zero points that are whole numbers");
    }
    (*out)[static_cast<size_t>(i)] = static_cast<uint8_t>(zero);
  }
  return Status::kOk;
}

std::vector<uint8_t> room(int64_t count, int64_t bits) {
  return std::vector<uint8_t>(static_cast<size_t>((count * bits + 7) / 8));
}

Status import_nbits(ImportContext& ctx) {
  Weights w;
  VIREO_TRY(read(ctx, &w));
  const DType type = ctx.type(ctx.input(0)).dtype;
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16)
    return ctx.fail(Status::kInvalidModel, std::string("a product of ") + dtype_name(type));
  std::vector<uint8_t> zero;
  if (w.zeros != nullptr) VIREO_TRY(read_zeros(ctx, w, &zero));
  // Codes without zero points become signed: the middle becomes 0.
  const unsigned moved = w.zeros == nullptr ? 1u << (w.bits - 1) : 0;
  const DType coded =
      w.bits == 4 ? (w.zeros == nullptr ? DType::kI4 : DType::kU4) : (w.zeros == nullptr ? DType::kI8 : DType::kU8);
  std::vector<uint8_t> codes = room(w.k * w.n, w.bits), zeros = room(w.blocks * w.n, w.bits);
  std::vector<uint8_t> scales(static_cast<size_t>(w.blocks * w.n) * sizeof(float));
  const int64_t row = w.blocks * (w.block * w.bits / 8);
  for (int64_t n = 0; n < w.n; ++n) {
    const uint8_t* const from = w.codes->bytes.data() + n * row;
    for (int64_t k = 0; k < w.k; ++k) write_code(coded, codes.data(), k * w.n + n, code_at(w, from, k) ^ moved);
    for (int64_t b = 0; b < w.blocks; ++b) {
      const int64_t to = b * w.n + n, at = n * w.blocks + b;
      write_float(DType::kF32, scales.data(), to, read_float(w.scales->type.dtype, w.scales->bytes.data(), at));
      if (w.zeros != nullptr) write_code(coded, zeros.data(), to, zero[static_cast<size_t>(at)]);
    }
  }
  Steps s(ctx);
  attrs::DequantizeLinearT a;
  a.axis = 0;
  a.block_size = static_cast<int32_t>(w.block < w.k ? w.block : w.k);
  std::vector<Value> operands = {ctx.add_constant(matrix(coded, w.k, w.n), std::move(codes)),
                                 ctx.add_constant(matrix(DType::kF32, w.blocks, w.n), std::move(scales))};
  if (w.zeros != nullptr) operands.push_back(ctx.add_constant(matrix(coded, w.blocks, w.n), std::move(zeros)));
  const Value weights = ctx.emit1(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), std::move(operands));
  Value y = s.matmul(s.cast(ctx.input(0), DType::kF32), weights);
  if (ctx.input(5)) y = s.add(y, s.cast(ctx.input(5), DType::kF32));
  y = s.cast(y, type);
  return y ? import_value(ctx, y) : Status::kInvalidModel;
}

}  // namespace

extern const OnnxImport kMatMulNBitsOnnx;
const OnnxImport kMatMulNBitsOnnx = {"com.microsoft", "MatMulNBits", import_nbits};

}  // namespace vireo
