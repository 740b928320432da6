// Products (Conv, Gemm, MatMul, LSTM) whose weights are stored in 16 bits: what the schemes bf16 and fp16 share.
#ifndef VIREO_QUANT_SCHEMES_PRODUCTS16_H_
#define VIREO_QUANT_SCHEMES_PRODUCTS16_H_

#include "quant/schemes/scheme.h"

namespace vireo::quant {

struct Stored16 {
  DType type;      // kBF16 or kF16
  bool rounds_x;   // x goes through the type as well
  bool last_only;  // Conv: channels last alone
  bool lstm;       // its W and R, where its kernel takes it
};

// Gives each product that can have them constant weights of that type behind a Cast of its own to float32; weights that
// several products share stay shared.
void store_products(ir::Graph& graph, const Stored16& how, PassLog& log);

// Gemm with x as it lies and a bias of one value a column; `reason` says why not.
bool is_gemm_by_rows(const ir::Node& n, std::string* reason);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_PRODUCTS16_H_
