// Before   x -> Conv | Gemm | MatMul (weights, bias) -> y, float32
// After    x -> the same (Cast of float16 weights to float32, bias) -> y
// Fires    the weights are constant and finite in float16; Conv in one group; Gemm with x as it lies and a bias of one
//          value a column; weights of MatMul a matrix.        Idempotent: what has its Cast is left.
// Numerics float16 has 11 significant bits down to 2^-14 and steps of 2^-24 below, so that a weight is off by at most
//          max(u |w|, 2^-25), u = 2^-11, and
//            |dy| <= sum |x| max(u |w|, 2^-25).
//          x, sums, bias, residual and activation are float32 as before.
// Source   IEEE 754-2019, section 3.6 (binary16).
//
// Spelled in standard operators, the file means the same to a runtime that knows nothing of this; the converter's
// fuse_epilogue makes one node of the Cast, the product and what follows it.
#include "quant/schemes/fp16.h"

#include "quant/schemes/products16.h"

namespace vireo::quant {
namespace {

void run(ir::Graph& g, PassLog& log) { store_products(g, {DType::kF16, false, false, false}, log); }

}  // namespace

// A weight's error of 2^-11 over a deep model: what the comparison must allow of the largest value.
const Scheme kFp16 = {"fp16", "weights of products (Conv, Gemm, MatMul) in float16, arithmetic in float32", run, 0.01};

}  // namespace vireo::quant
