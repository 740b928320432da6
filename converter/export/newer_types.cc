#include "converter/export/newer_types.h"

#include <algorithm>
#include <iterator>

namespace vireo::exporter {
namespace {

// Operators that take bfloat16 since opset 22.
constexpr const char* kBF16Since22[] = {"Acos",
                                        "Acosh",
                                        "Asin",
                                        "Asinh",
                                        "Atan",
                                        "Atanh",
                                        "AveragePool",
                                        "Conv",
                                        "Cos",
                                        "Cosh",
                                        "Det",
                                        "ConvTranspose",
                                        "DeformConv",
                                        "Elu",
                                        "EyeLike",
                                        "GRU",
                                        "GridSample",
                                        "GlobalAveragePool",
                                        "GlobalLpPool",
                                        "HardSwish",
                                        "LSTM",
                                        "HardSigmoid",
                                        "LpPool",
                                        "GlobalMaxPool",
                                        "MaxPool",
                                        "MaxRoiPool",
                                        "MaxUnpool",
                                        "LpNormalization",
                                        "Mish",
                                        "InstanceNormalization",
                                        "Multinomial",
                                        "RNN",
                                        "RoiAlign",
                                        "RandomNormal",
                                        "Round",
                                        "RandomNormalLike",
                                        "Selu",
                                        "Sin",
                                        "Sinh",
                                        "RandomUniform",
                                        "Softplus",
                                        "RandomUniformLike",
                                        "Softsign",
                                        "Tan",
                                        "ThresholdedRelu"};

struct Row {
  const char* op;
  int opset;
  DType types[4];  // kNone ends the list
};

// From the schemas of onnx 1.23; types of fewer than 8 bits are Writer::need_type's.
constexpr Row kRows[] = {
    {"BitShift", 28, {DType::kI8, DType::kI16, DType::kI32, DType::kI64}},
    {"Celu", 28, {DType::kBF16, DType::kF16, DType::kF64}},
    {"Compress", 28, {DType::kBF16}},
    {"Einsum", 28, {DType::kBF16}},
    {"OneHot", 28, {DType::kBF16}},
    {"Range", 27, {DType::kBF16, DType::kF16}},
    {"ReverseSequence", 28, {DType::kBF16}},
    {"TopK", 24, {DType::kBF16}},
    {"Unique", 28, {DType::kBF16}},
};

}  // namespace

int opset_with_type(const std::string& op, DType type) {
  const auto is_op = [&](const char* name) { return op == name; };
  if (type == DType::kBF16 && std::any_of(std::begin(kBF16Since22), std::end(kBF16Since22), is_op)) return 22;
  for (const Row& row : kRows) {
    if (is_op(row.op) && std::find(std::begin(row.types), std::end(row.types), type) != std::end(row.types))
      return row.opset;
  }
  return 0;
}

}  // namespace vireo::exporter
