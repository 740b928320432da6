// One matrix in codes of 4 or 8 bits: what the codes and their scales are, and how they are found.
#ifndef VIREO_QUANT_SCHEMES_MATRIX_CODES_H_
#define VIREO_QUANT_SCHEMES_MATRIX_CODES_H_

#include <functional>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/stage/log.h"
#include "quant/schemes/feedback.h"

namespace vireo::quant {

constexpr int64_t kCodesBlock = 32;  // weights of a column that share a scale in 4 bits

// A matrix [N, K] (rows: `by_rows`) or [K, N] in codes; sums run along K.
struct CodedMatrix {
  Shape shape;
  bool by_rows = false;
  bool finite = false;  // false: a weight is not, and there are no codes
  int bits = 4;
  int64_t block = 0;           // weights along K that share a scale; 8 bits: all of them
  std::vector<uint8_t> codes;  // as a tensor of int4 or int8 has them
  std::vector<float> scales;   // [N, blocks] or [blocks, N]
  bool half = false;           // scales are among float16's numbers
  double sqnr_db = 0;          // 10 log10(sum w^2 / sum (w - w')^2)
};

// The codes of `w`, a float32 constant of two dimensions.
//   4 bits   codes -8..7; each scale makes the block's sum of squared errors small
//   8 bits   codes -127..127; the column's largest weight over 127
CodedMatrix code_matrix(const ir::Constant& w, bool by_rows, int bits);

// What the weights of a product are rounded by, instead of by what they lose themselves.
struct RoundingTarget {
  const Moment* moment = nullptr;  // of the K numbers that a column multiplies
  // Makes of a column what it should be, where this is not the column itself. May be empty.
  std::function<void(std::vector<double>* column)> wanted;
};

// Sums over all columns: what the product gives, and what is lost by the nearest codes and by those that were taken.
struct RoundingLoss {
  double energy = 0, nearest = 0, taken = 0;
};

// The same, each column rounded with feedback, or to the nearest codes where these lose less; then codes and scales are
// changed one by one while the column loses less so. What it loses is (wanted - w')^T H (wanted - w').
CodedMatrix code_matrix(const ir::Constant& w, bool by_rows, int bits, const RoundingTarget& target,
                        RoundingLoss* loss);

// What the codes mean.
ir::ConstantPtr decoded(const CodedMatrix& matrix);

// The same as constants of a graph.
struct MatrixCodes {
  ir::Value* codes = nullptr;   // int4 or int8, of the matrix's shape
  ir::Value* scales = nullptr;  // [N, blocks] or [blocks, N]; float16 where it holds them, else float32
  int32_t block = 0;
  int bits = 4;
  bool finite = false;
};

// The report gets the distance from the original.
MatrixCodes add_codes(ir::Graph& g, const std::string& name, CodedMatrix matrix, PassLog& log);

// The sum of (importance[k] (w - w'))^2 over a matrix of finite weights, whose rows k are multiplied by factors[k]
// before they become codes of 4 bits and divided by them behind. Both have K numbers; factors are above 0.
double loss_of_codes(const ir::Constant& w, bool by_rows, const std::vector<float>& factors,
                     const std::vector<float>& importance);
// The matrix with its rows k multiplied by factors[k].
ir::ConstantPtr multiply_rows(const ir::Constant& w, bool by_rows, const std::vector<float>& factors);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_MATRIX_CODES_H_
