// The composites "conv", "conv_transpose", "gemm" and "matmul", and the same with "_bf16", "_f16" or "_codes" behind:
// a product and the elementwise tail that a kernel does on its sums.
//
//   stored     kPlain   product(x, weights, ...) first
//              kF16     Cast(weights to float32), product
//              kBf16    Cast(weights), Cast(x to bfloat16), Cast(back), product: both go through bfloat16. Where x is
//                       bfloat16 already, the Cast to it is missing
//              kCodes   DequantizeLinear(weights), product. Its scales may be widened from float16 in front of it, and
//                       the matrix be turned by a Transpose behind it
//   tail       bias -> residual -> activation -> residual or factor, each but the product may be missing, one residual
//              or factor at most. kBf16: what is added may be widened from bfloat16 first, and the result narrowed last
//
// Where the weights are stored otherwise they are constant, and their Cast or DequantizeLinear comes first: the result
// then lies on no input, for a product reads x to its end. A plain node reads as a product without a tail.
#ifndef VIREO_SDK_COMPOSITES_EPILOGUE_EPILOGUE_H_
#define VIREO_SDK_COMPOSITES_EPILOGUE_EPILOGUE_H_

#include "sdk/composites/composites.h"
#include "sdk/composites/function.h"
#include "sdk/composites/operand.h"

namespace vireo::composites {

struct FusedProduct {
  Op core = Op::kNone;  // Conv, ConvTranspose, Gemm or MatMul
  Stored stored = Stored::kPlain;
  const uint8_t* attrs = nullptr;
  size_t attrs_size = 0;
  Operand inputs[kMaxCoreInputs];  // of the core, in front of its Casts: x, and the weights as they are stored
  uint32_t input_count = 0;
  TensorType core_type;         // of the core's output
  Operand bias;                 // an Add of one value a channel; only where the core has no bias of its own
  Operand residual;             // an Add of a whole tensor
  bool residual_last = false;   // after the activation
  bool residual_times = false;  // after the activation, and a Mul
  Function function;            // the activation
  Operand slope;                // of a PRelu, one value a channel; there is no `function` then
  bool half = false;            // the result is rounded to bfloat16 at the end
  bool varies = false;          // there is a tail, and extents that change between runs
  // Of the DequantizeLinear, where the weights are codes.
  Operand scale, zero;  // scale: as stored, float32 or float16; zero: absent where all are 0
  int32_t axis = 0;
  int64_t block = 0;    // 0: one scale for each index of `axis`, or one for all
  bool turned = false;  // the product multiplies the codes' matrix turned

  template <class T>
  const T& core_attrs() const {
    return *::flatbuffers::GetRoot<T>(attrs);
  }
};

// False where the node is no such product.
bool match_product(const NodeView& node, FusedProduct* out);

// Values that were given to the session's run must be as the body was read: the residual and the core's own result are
// of the output's shape, none is broadcast.
bool fits(const KernelContext& ctx, const FusedProduct& f);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_EPILOGUE_EPILOGUE_H_
