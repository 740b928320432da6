// One matrix in codes of 4 or 8 bits: what the codes and their scales are, and how they are found.
#ifndef VIREO_QUANT_SCHEMES_MATRIX_CODES_H_
#define VIREO_QUANT_SCHEMES_MATRIX_CODES_H_

#include <vector>

#include "converter/ir/graph.h"
#include "converter/stage/log.h"

namespace vireo::quant {

constexpr int64_t kCodesBlock = 32;  // weights of a column that share a scale in 4 bits

// A matrix [N, K] (rows: `by_rows`) or [K, N] as constants of a graph; sums run along K.
struct MatrixCodes {
  ir::Value* codes = nullptr;  // int4 or int8, of the matrix's shape
  ir::Value* scales =
      nullptr;          // [N, blocks] or [blocks, N]; 8 bits: one block. float16 where it holds them, else float32
  int32_t block = 0;    // weights along K that share a scale
  bool finite = false;  // false: a weight is not, and there are no codes
};

// The codes of `w`, a float32 constant of two dimensions. The report gets the distance from the original.
//   4 bits   codes -8..7; each scale makes the block's sum of squared errors small
//   8 bits   codes -127..127; the column's largest weight over 127
MatrixCodes matrix_codes(ir::Graph& g, const ir::Value& w, bool by_rows, int bits, PassLog& log);

// The sum of (importance[k] (w - w'))^2 over a matrix of finite weights, whose rows k are multiplied by factors[k]
// before they become codes of 4 bits and divided by them behind. Both have K numbers; factors are above 0.
double loss_of_codes(const ir::Constant& w, bool by_rows, const std::vector<float>& factors,
                     const std::vector<float>& importance);
// The matrix with its rows k multiplied by factors[k].
ir::ConstantPtr multiply_rows(const ir::Constant& w, bool by_rows, const std::vector<float>& factors);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_MATRIX_CODES_H_
