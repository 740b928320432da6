#include "delegates/xnnpack/rules.h"

namespace vireo::xnnpack {
namespace {

constexpr uint8_t kFloats = kFloat32 | kFloat16, kMoved = kFloats | kBytes;
constexpr bool kReshapes = true;

//                                                       elementwise, clamps, biased
constexpr Rule kConv = {define_conv, false, true, true, false, kFloats};
constexpr Rule kIntConv = {define_int_conv, false, false, false, false, kCodes};
constexpr Rule kIntGemm = {define_int_gemm, false, false, false, false, kCodes, kReshapes};
constexpr Rule kIntMul = {define_int_mul, false, false, false, false, kCodes};
constexpr Rule kIntAveragePool = {define_int_average_pool, false, false, false, false, kCodes};
constexpr Rule kDequantize = {define_dequantize, false, false, false, false, kFloat32 | kCodes};
constexpr Rule kConvTranspose = {define_conv_transpose, false, true, true, false, kFloats};
constexpr Rule kMaxPool = {define_max_pool, false, true, false, false, kMoved};
constexpr Rule kAveragePool = {define_average_pool, false, true, false, false, kFloats};
constexpr Rule kGlobalAveragePool = {define_global_average_pool, false, false, false, false, kFloats};
constexpr Rule kResize = {define_resize, false, false, false, false, kFloats};
constexpr Rule kGemm = {define_gemm, false, true, true, false, kFloats, kReshapes};
constexpr Rule kMatMul = {define_matmul, false, true, true, false, kFloats, kReshapes};
constexpr Rule kUnary = {define_unary, true, false, false, false, kFloats, kReshapes};
constexpr Rule kSwish = {define_swish, true, false, false, /*spare=*/true, kFloats, kReshapes};
constexpr Rule kBinary = {define_binary, true, false, false, false, kFloats, kReshapes};
constexpr Rule kSoftmax = {define_softmax, false, false, false};
constexpr Rule kTranspose = {define_transpose, false, false, false, false, kMoved, kReshapes};
constexpr Rule kConcat = {define_concat, false, false, false, false, kMoved};
constexpr Rule kReduceMean = {define_reduce_mean, false, false, false, false, kFloats};

}  // namespace

const Rule* find_rule(Op op) {
  switch (op) {
    case Op::kConv:
      return &kConv;
    case Op::kIntConv:
      return &kIntConv;
    case Op::kIntGemm:
      return &kIntGemm;
    case Op::kIntMul:
      return &kIntMul;
    case Op::kIntAveragePool:
      return &kIntAveragePool;
    case Op::kDequantizeLinear:
      return &kDequantize;
    case Op::kConvTranspose:
      return &kConvTranspose;
    case Op::kMaxPool:
      return &kMaxPool;
    case Op::kAveragePool:
      return &kAveragePool;
    case Op::kGlobalAveragePool:
      return &kGlobalAveragePool;
    case Op::kResize:
      return &kResize;
    case Op::kGemm:
      return &kGemm;
    case Op::kMatMul:
      return &kMatMul;
    case Op::kSoftmax:
      return &kSoftmax;
    case Op::kTranspose:
      return &kTranspose;
    case Op::kConcat:
      return &kConcat;
    case Op::kReduceMean:
      return &kReduceMean;
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
    case Op::kMax:
    case Op::kPRelu:
      return &kBinary;
    case Op::kSwish:
      return &kSwish;
    case Op::kAbs:
    case Op::kNeg:
    case Op::kSqrt:
    case Op::kExp:
    case Op::kLog:
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kRelu:
    case Op::kLeakyRelu:
    case Op::kElu:
    case Op::kHardSwish:
    case Op::kGelu:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRound:
    case Op::kClip:
      return &kUnary;
    default:
      return nullptr;
  }
}

// differences_test.cc shows each difference.
const char* why_no_rule(Op op) {
  switch (op) {
    case Op::kIntAdd:
      return "XNNPACK adds codes in fixed point: other bits than IntAdd";
    case Op::kIntResize:
      return "XNNPACK rounds halves up: other bits than IntResize";
    case Op::kIntAffine:
      return "XNNPACK has no factors of codes for each channel";
    case Op::kIntTable:
      return "XNNPACK can be given no table";
    case Op::kIntSoftmax:
      return "XNNPACK has no Softmax of codes";
    case Op::kQuantizeLinear:
      return "XNNPACK multiplies by the scale's reciprocal: other bits than QuantizeLinear";
    case Op::kDynamicQuantizeLinear:
    case Op::kMatMulInteger:
      return "XNNPACK quantizes each row by itself: other bits than DynamicQuantizeLinear";
    case Op::kQLinearConv:
    case Op::kQLinearMatMul:
      return "its multiplier is not known before it runs";
    default:
      return "XNNPACK has no such operator";
  }
}

}  // namespace vireo::xnnpack
