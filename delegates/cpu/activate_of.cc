#include "delegates/cpu/activate_of.h"

namespace vireo::cpu {

bool activate_of(const composites::Function& f, Activate* out) {
  const auto set = [&](Activation kind, float a = 0, float b = 0) {
    *out = {kind, a, b};
    return true;
  };
  switch (f.op) {
    case Op::kNone:
      return set(Activation::kNone);
    case Op::kRelu:
      return set(Activation::kRelu);
    case Op::kSigmoid:
      return set(Activation::kSigmoid);
    case Op::kTanh:
      return set(Activation::kTanh);
    case Op::kHardSwish:
      return set(Activation::kHardSwish);
    case Op::kSoftplus:
      return set(Activation::kSoftplus);
    case Op::kMish:
      return set(Activation::kMish);
    case Op::kExp:
      return set(Activation::kExp);
    case Op::kLog:
      return set(Activation::kLog);
    case Op::kSqrt:
      return set(Activation::kSqrt);
    case Op::kErf:
      return set(Activation::kErf);
    case Op::kAbs:
      return set(Activation::kAbs);
    case Op::kNeg:
      return set(Activation::kNeg);
    case Op::kFloor:
      return set(Activation::kFloor);
    case Op::kCeil:
      return set(Activation::kCeil);
    case Op::kRound:
      return set(Activation::kRound);
    case Op::kLeakyRelu:
      return set(Activation::kLeakyRelu, f.a);
    case Op::kSwish:
      return set(Activation::kSilu, f.a);
    case Op::kHardSigmoid:
      return set(Activation::kHardSigmoid, f.a, f.b);
    case Op::kGelu:
      return set(f.tanh_form ? Activation::kGeluTanh : Activation::kGelu);
    case Op::kElu:
      if (f.c == 1) return set(Activation::kSelu, f.a, f.b);
      return f.b == 1 && f.c == f.a && set(Activation::kCelu, f.a);
    case Op::kClip:
      return set(Activation::kClip, f.a, f.b);
    default:
      return false;
  }
}

}  // namespace vireo::cpu
