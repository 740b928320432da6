#include "delegates/xnnpack/rules.h"

namespace vireo::xnnpack {
namespace {

//                                                       elementwise, clamps, biased
constexpr Rule kConv = {define_conv, false, true, true};
constexpr Rule kConvTranspose = {define_conv_transpose, false, true, true};
constexpr Rule kMaxPool = {define_max_pool, false, true, false};
constexpr Rule kAveragePool = {define_average_pool, false, true, false};
constexpr Rule kGlobalAveragePool = {define_global_average_pool, false, false, false};
constexpr Rule kResize = {define_resize, false, false, false};
constexpr Rule kGemm = {define_gemm, false, true, true};
constexpr Rule kMatMul = {define_matmul, false, true, true};
constexpr Rule kUnary = {define_unary, true, false, false};
constexpr Rule kSwish = {define_swish, true, false, false, /*spare=*/true};
constexpr Rule kBinary = {define_binary, true, false, false};
constexpr Rule kSoftmax = {define_softmax, false, false, false};
constexpr Rule kTranspose = {define_transpose, false, false, false};
constexpr Rule kConcat = {define_concat, false, false, false};
constexpr Rule kReduceMean = {define_reduce_mean, false, false, false};

}  // namespace

const Rule* find_rule(Op op) {
  switch (op) {
    case Op::kConv:
      return &kConv;
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

}  // namespace vireo::xnnpack
