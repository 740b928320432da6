// Before   x -> Conv | Gemm | MatMul (weights, bias) -> y, float32
// After    x -> Cast to bfloat16 -> Cast to float32 -> the same (Cast of bfloat16 weights to float32, bias) -> y
// Fires    the weights are constant and finite in bfloat16; Conv
//          in one group and channels last; Gemm with x as it lies and a bias of
//          one value a column; weights of MatMul a matrix.        Idempotent: what has its Casts is left.
// Numerics bfloat16 has 8 significant bits, so each operand is rounded by at most u = 2^-8 of itself, and
//            |dy| <= (2 u + u^2) sum |w x|,
//          0.8 % of the sum of magnitudes at worst. Roundings are independent, so that of a sum of many terms it is
//          about u sqrt(2 / 3) of sqrt(sum (w x)^2). Sums are float32 as before; bias, residual and activation are not
//          rounded.
// Source   Kalamkar et al. 2019, "A Study of BFLOAT16 for Deep Learning Training", arXiv:1905.12322.
//
// Spelled in standard operators, the file means the same to a runtime that knows nothing of this; the converter's
// fuse_epilogue makes one node of the Casts, the product and what follows it. Casts are for each product its own: a
// shared one would be a tensor in memory between nodes, and rounding on the way costs a kernel next to nothing.
#include "quant/schemes/bf16.h"

#include "quant/schemes/products16.h"

namespace vireo::quant {
namespace {

void run(ir::Graph& g, SchemeLog& log) { store_products(g, {DType::kBF16, true, true}, log); }

}  // namespace

const Scheme kBf16 = {"bf16", "products (Conv, Gemm, MatMul) in bfloat16: half the weights", run, 0.05};

}  // namespace vireo::quant
