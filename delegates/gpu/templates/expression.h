// Elementwise programs: what a chain computes, and what other templates do with an element on its way in or out. Each
// is a list of scalar functions over the inputs at one place of an index space; an input's view says which element of
// its buffer belongs to a place, so that slices, transposes, broadcasts, padding and gathers need no kernel of their
// own.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_EXPRESSION_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_EXPRESSION_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "sdk/base/dtype.h"

namespace vireo::gpu {

constexpr int kMostAxes = 8;

// What a word of errors says.
enum class RunError : uint32_t { kNone, kIndex, kDivisor };

using Extents = std::vector<int64_t>;  // at most kMostAxes

// Element `offset + sum of coordinate * strides[axis]` of a buffer. strides has one entry an axis of the space; 0
// repeats an element (broadcasting), negative runs backwards.
struct View {
  int64_t offset = 0;
  Extents strides;
  // Bounds (Pad, Concat), one an axis or none: coordinate c reads the element of c - begin where that lies in
  // [0, extent) on every axis; elsewhere it is the value of input `otherwise`, one before this, or without one `fill`
  // (bits of the element, as stored).
  Extents begin, extent;
  int otherwise = -1;
  uint64_t fill = 0;
  // Gather: the coordinate along `gather_axis` is the value of input `gather_input` there instead, an int32 or int64;
  // negative ones count from gather_extent. Values outside [-gather_extent, gather_extent) read an element inside, and
  // with gather_reports are an error of the run, as of kIndex.
  int gather_axis = -1;
  int gather_input = -1;
  int64_t gather_extent = 0;
  bool gather_reports = false;
  bool gather_from_end = true;  // negative ones count from the end; else they are outside
};

struct Input {
  DType dtype = DType::kF32;  // as stored
  View view;
  bool given = false;  // the template hands the value in (a product's sum): no buffer; these come first
  int shares = -1;     // an earlier input whose buffer it reads
  // Only kElement reads it, wherever a step says; the view has an offset and strides of 0.
  bool indexed = false;
};

// The functions of sdk/ops by the same names and with the same results. The operands' type is that of operand a.
enum class Function : uint8_t {
  kConstant,  // bits
  kPlace,     // the coordinate on axis `bits` of the space, an int32
  kNumber,    // `bits`, an int32 that belongs to the problem: problems that differ in it share a program
  // a, an int32 or int64, counted from the end if it is below 0, held within `bits` places, as an int32. What is
  // outside of [-bits, bits) is an error of the run.
  kIndex,
  kElement,  // element b, an int32, of indexed input a
  kDivisor,  // a, an integer; 0 is an error of the run, and 1 here
  kCast,     // to the step's type; also Identity. p[0] != 0: narrow floats do not saturate
  kBitcast,
  kAbs,
  kNeg,
  kSqrt,
  kExp,
  kLog,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kTanh,
  kSigmoid,
  kRelu,
  kLeakyRelu,    // p[0] alpha
  kElu,          // p[0] alpha, p[1] gamma, p[2] divisor
  kHardSigmoid,  // p[0] alpha, p[1] beta
  kHardSwish,
  kSoftplus,
  kGeluErf,
  kGeluTanh,
  kErf,
  kFloor,
  kCeil,
  kRound,
  kSign,
  kNot,
  kIsNaN,
  kIsInf,  // p[0] != 0: negative, p[1] != 0: positive
  kMish,
  kSwish,   // p[0] alpha
  kShrink,  // p[0] lambd, p[1] bias
  kReciprocal,
  kAdd,
  kSub,
  kMul,
  kDiv,  // p[0] != 0: of float32, rounded to the nearest, for normal operands and quotients
  kPow,
  kModFloored,
  kModTruncated,
  kMin,
  kMax,
  kEqual,
  kLess,
  kLessOrEqual,
  kShiftLeft,
  kShiftRight,
  kAnd,
  kOr,
  kXor,
  kPRelu,
  kWhere,       // a (bool) ? b : c
  kClip,        // a held between b and c; either may be -1. NaN stays
  kQuantize,    // saturate(round(a / b) + c), 8 or 16 bits: b scale, c zero point of the step's type or -1
  kDequantize,  // (a - c) * b: b scale, c zero point of a's type or -1; the step's type is b's
};

// One function. Operands are numbers of values: 0 to inputs - 1 are the inputs, then one a step. The result is of
// `type` as stored: sums of float16 are rounded to float16, those of int8 wrap.
struct Step {
  Function function = Function::kCast;
  DType type = DType::kF32;
  int a = -1, b = -1, c = -1;
  float p[3] = {0, 0, 0};
  uint64_t bits = 0;  // kConstant: as stored
};

struct Output {
  int value = 0;  // its type is the type stored
  View view;      // without bounds and gathers; places are disjoint
};

struct Expression {
  std::vector<Input> inputs;
  std::vector<Step> steps;
  std::vector<Output> outputs;
  uint32_t slot = 0;  // the word among those of errors that is set

  DType type_of(int value) const;
  bool reports() const;  // it may find an error of the run: a binding of words follows those of the outputs
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_EXPRESSION_H_
