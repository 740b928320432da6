// The composite "lstm_bf16": an LSTM whose x and weights go through bfloat16.
//
//   Cast(W to float32), Cast(R to float32), Cast(x to bfloat16), Cast(back), LSTM(x, W, R, ...)
//
// W and R are constant bfloat16.
//
// The composites "lstm_codes" and "gru_codes": a cell whose products are of integers.
//
//   DequantizeLinear(W), DequantizeLinear(R), DequantizeLinear(x), LSTM or GRU(x, W, R, ...) with a state_scale
//
// W and R are constant int8 with a scale for each row, [gates H] for all directions or [D, gates H, 1] as blocks of a
// row, and no zero point. x has one scale and at most one zero point, which may come of the run.
//
// Any of a cell's results may be missing. What reads the weights comes first: the result then lies on no input.
#ifndef VIREO_SDK_COMPOSITES_RECURRENT_RECURRENT_H_
#define VIREO_SDK_COMPOSITES_RECURRENT_RECURRENT_H_

#include "sdk/composites/operand.h"
#include "sdk/ops/recurrent/recurrent_generated.h"

namespace vireo::composites {

// Where the cell's operands and results are among the node's; negative: absent.
struct FusedRecurrent {
  const attrs::Recurrent* attrs = nullptr;
  int32_t in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int32_t out[3] = {0, 1, 2};

  const GraphValue* in_of(const NodeView& node, int i) const {
    const bool given = in[i] >= 0 && static_cast<uint32_t>(in[i]) < node.input_count;
    return given && node.inputs[in[i]].type.dtype != DType::kNone ? &node.inputs[in[i]] : nullptr;
  }
  const Tensor* in_of(const KernelContext& ctx, int i) const {
    return in[i] < 0 ? nullptr : ctx.in(static_cast<size_t>(in[i]));
  }
  Tensor* out_of(const KernelContext& ctx, int i) const {
    return out[i] < 0 ? nullptr : ctx.out(static_cast<size_t>(out[i]));
  }
};

// The scales are inputs of the node.
struct FusedRecurrentCodes : FusedRecurrent {
  bool lstm = false;                  // else a GRU
  int32_t x_scale = -1, x_zero = -1;  // x_zero: negative without one
  int32_t w_scale = -1, r_scale = -1;

  // The scales of direction `dir`'s rows, [gates H].
  static const float* rows_of(const Tensor& scale, int64_t dir, int64_t rows) {
    return scale.as<const float>() + (scale.shape.rank == 1 ? 0 : dir * rows);
  }
};

// False where the node is no such composite.
bool match_recurrent_bf16(const NodeView& node, FusedRecurrent* out);
bool match_recurrent_codes(const NodeView& node, FusedRecurrentCodes* out);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_RECURRENT_RECURRENT_H_
