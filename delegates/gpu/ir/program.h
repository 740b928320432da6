// A kernel before it is code: typed statements in one list, structured, without pointers. A value is a number of 32 or
// 64 bits in one lane; memory is named by a buffer and an index of elements. SPIR-V (spirv/) and host C++ (host/) are
// printed from it.
//
// Weighed: a tree of nodes (each printer then walks it with its own recursion, and templates build it from leaves they
// must keep), and SSA with joins (SPIR-V wants it, the C dialects do not; drivers make it from variables).
#ifndef VIREO_DELEGATES_GPU_IR_PROGRAM_H_
#define VIREO_DELEGATES_GPU_IR_PROGRAM_H_

#include <stdint.h>

#include <array>
#include <string>
#include <vector>

namespace vireo::gpu {

enum class Type : uint8_t { kNone, kBool, kI32, kU32, kI64, kU64, kF32 };

constexpr bool is_float(Type t) { return t == Type::kF32; }
constexpr bool is_signed(Type t) { return t == Type::kI32 || t == Type::kI64 || t == Type::kF32; }
constexpr bool is_wide(Type t) { return t == Type::kI64 || t == Type::kU64; }

// `a`, `b`, `c` are numbers of statements whose values are taken, unless a row says something else.
enum class Op : uint8_t {
  kConstant,     // bits
  kPush,         // bits: the word of the push constants; kU32
  kGroup,        // bits: axis; number of the workgroup, kU32
  kLane,         // number of the lane in its workgroup, kU32
  kVariable,     // bits: elements of an array of the lane's own, 1 for a scalar; holds nothing defined before kSet
  kGet,          // a: variable; bits 1: an array, b: index
  kSet,          // a: variable, c: value; bits 1: an array, b: index
  kLoad,         // bits: buffer, a: index; the element widened to 32 bits, kU32 for all but words of kF32 and kI32
  kStore,        // bits: buffer, a: index, b: value, of which an element's low bits are kept
  kSharedLoad,   // bits: shared array, a: index
  kSharedStore,  // bits: shared array, a: index, b: value
  kIf,           // a: condition
  kElse,
  kEndIf,
  kFor,      // a: a variable that counts from b up to but not c by steps of `bits`; b, c kU32
  kEndFor,   // a: the kFor
  kBarrier,  // every lane of the workgroup arrives; shared memory that was written before is seen after
  // Numbers. Integers wrap. Floats: sums, differences and products are rounded once and never contracted.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,        // integers: towards zero, b != 0 and no overflow. Floats: 2.5 units in the last place (Vulkan)
  kRemainder,     // integers: C's
  kMultiplyHigh,  // kU32: the high word of the product
  kFma,           // a * b + c, rounded once or twice
  kAnd,           // also of kBool
  kOr,
  kXor,
  kShiftLeft,   // 0 <= b < width
  kShiftRight,  // with the sign where the type has one
  kNot,         // also of kBool
  kEqual,       // kBool, of two values of one type; a NaN equals nothing
  kNotEqual,
  kLess,
  kLessEqual,
  kSelect,      // a ? b : c
  kConvert,     // integer to integer: low bits, widened by the sign of the source; integer to float: nearest; float to
                // integer: towards zero, inside the type
  kBitcast,     // between types of equal width
  kAbsolute,    // floats
  kSquareRoot,  // 4.5 units in the last place (Vulkan)
  kFloor,
  kCeil,
  kTruncate,
  kRoundEven,
};

struct Statement {
  Op op;
  Type type = Type::kNone;  // of the result; of what is kept for kVariable, kSet; of the operands for comparisons
  uint32_t a = 0, b = 0, c = 0;
  uint64_t bits = 0;
};

constexpr bool is_comparison(Op op) {
  return op == Op::kEqual || op == Op::kNotEqual || op == Op::kLess || op == Op::kLessEqual;
}
// Of a statement's value: kBool for comparisons, whose `type` is their operands'.
constexpr Type type_of(const Statement& s) { return is_comparison(s.op) ? Type::kBool : s.type; }
// Whether a statement has a value.
constexpr bool has_value(Op op) {
  switch (op) {
    case Op::kVariable:
    case Op::kSet:
    case Op::kStore:
    case Op::kSharedStore:
    case Op::kIf:
    case Op::kElse:
    case Op::kEndIf:
    case Op::kFor:
    case Op::kEndFor:
    case Op::kBarrier:
      return false;
    default:
      return true;
  }
}

enum class Element : uint8_t { kWord, kHalfWord, kByte };  // 32, 16, 8 bits

// A binding seen as an array. Two buffers may see one binding.
struct Buffer {
  uint32_t binding = 0;
  Element element = Element::kWord;
  bool written = false;
};

struct SharedArray {
  Type type = Type::kF32;
  uint32_t count = 0;
};

struct Program {
  std::string name;                       // what it does, for reports
  std::array<uint32_t, 3> size{1, 1, 1};  // of a workgroup; a template's lanes are all along x
  uint32_t bindings = 0;
  uint32_t push_words = 0;
  std::vector<Buffer> buffers;
  std::vector<SharedArray> shared;
  std::vector<Statement> body;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_IR_PROGRAM_H_
