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

// kQuad: four words, for loads and stores of 16 bytes; its parts are taken one by one.
enum class Type : uint8_t { kNone, kBool, kI32, kU32, kI64, kU64, kF32, kQuad };

constexpr bool is_float(Type t) { return t == Type::kF32; }
constexpr bool is_signed(Type t) { return t == Type::kI32 || t == Type::kI64 || t == Type::kF32; }
constexpr bool is_wide(Type t) { return t == Type::kI64 || t == Type::kU64; }

// `a`, `b`, `c` are numbers of statements whose values are taken, unless a row says something else.
enum class Op : uint8_t {
  kConstant,  // bits
  kPush,      // bits: the word of the push constants; kU32
  kGroup,     // bits: axis; number of the workgroup, kU32
  kLane,      // number of the lane in its workgroup, kU32
  kSubgroup,  // number of the lane's subgroup in its workgroup, kU32; of programs with a matrix unit
  kVariable,  // bits: elements of an array of the lane's own, 1 for a scalar; holds nothing defined before kSet
  kGet,       // a: variable; bits 1: an array, b: index
  kSet,       // a: variable, c: value; bits 1: an array, b: index
  // bits: buffer, a: index; the element widened to 32 bits, kU32 for all but words of kF32 and kI32; kQuad of quads
  kLoad,
  kStore,        // bits: buffer, a: index, b: value, of which an element's low bits are kept
  kSharedLoad,   // bits: shared array, a: index
  kSharedStore,  // bits: shared array, a: index, b: value
  // A quad of buffer `bits` >> 32 at index b to quad a of shared array `bits` & 0xffffffff, or zeros where c, a kBool,
  // is false. It is there for the lane behind the kCopyWait that says so, and nothing touches it before. Copies since
  // the last kCopyGroup are one group; kCopyWait leaves the newest `bits` groups under way. All lanes come to both
  // together.
  kCopy,
  kCopyGroup,
  kCopyWait,
  kIf,  // a: condition
  kElse,
  kEndIf,
  kFor,      // a: a variable that counts from b up to but not c by steps of `bits`; b, c kU32
  kEndFor,   // a: the kFor
  kBarrier,  // every lane of the workgroup arrives; shared memory that was written before is seen after
  // Behind it is seen what launches before this one wrote; in front of it nothing is read but constants. Once, outside
  // of blocks; a program without it begins with it.
  kAwait,
  // Matrices that a subgroup owns. All lanes of the workgroup come to these together, and operands are the same in all
  // lanes of a subgroup. Shared memory is one of quads, which hold neighbours along a row, or along a column where
  // `turned`. Bytes (Unit::codes) are neighbours along the depth in either operand. Shapes are those of Program::unit.
  kMatrix,          // bits: 0 left operand, 1 right operand, 2 sum; memory of the subgroup
  kMatrixZero,      // a: a sum
  kMatrixLoad,      // a: an operand, b: its first quad; bits: matrix_place()
  kMatrixMultiply,  // sum c += a b
  kMatrixStore,     // a: a sum, b: its first quad; bits: matrix_place(), not turned
  // Where it is known how a unit spreads its matrices over lanes (Unit::known): 16 lines over each 32 of its lanes.
  // Element e of a lane l of them is that of line l / 4 + 8 (e >> 1 & 1) and column 8 (e >> 2) + 2 (l & 3) + (e & 1).
  kMatrixElement,  // element `bits` of sum a, kF32; kI32 of bytes
  kMatrixSet,      // element `bits` of sum a becomes b
  kMatrixSetLeft,  // a: a left operand, b: a kQuad of the lane's eight elements in their order, as halves
  // A unit that reads its operands where they lie in shared memory (Unit::reads_tiles). A tile is lines of eight quads,
  // neighbours along k, or along m or n where it is turned: then 64 halves, and `block` quads further the next
  // 64. Line r has its quad q at q ^ (r & 7), and a tile begins at a multiple of 64 quads. The products run while lanes
  // go on: those since the last kTileCommit are one group, and kTileWait leaves the newest `bits` groups under way.
  // Nothing touches their sums before, nothing writes what they read, and kTileBegin stands between what lanes did with
  // a sum and the next product into it.
  kTileBegin,
  kTileMultiply,  // sum c += unit.k of the depth of the tiles at a and b, quads; bits: tile_place()
  kTileCommit,
  kTileWait,
  kShuffle,  // a of the lane whose number differs in the bits of `bits`; all lanes of the workgroup come to it
  // Numbers. Integers wrap. Floats: sums, differences and products are rounded once and never contracted.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,        // integers: towards zero, b != 0 and no overflow. Floats: 2.5 units in the last place (Vulkan)
  kRemainder,     // integers: C's
  kMultiplyHigh,  // kU32: the high word of the product
  kFma,           // a * b + c, rounded once or twice
  kMaximum,       // the larger of two floats; either, where one is a NaN
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
  kJoin,        // a, b, c and `bits` (a statement too), all kU32, as a kQuad
  kPart,        // word `bits` of a kQuad, kU32
  kPackHalves,  // floats a and b to float16, nearest even: kU32, a in the low half
  kUnpackHalf,  // half `bits` of kU32 a as kF32; exact
  kConvert,     // integer to integer: low bits, widened by the sign of the source; integer to float: nearest; float to
                // integer: towards zero, inside the type
  kBitcast,     // between types of equal width
  kAbsolute,    // floats
  kSquareRoot,  // 4.5 units in the last place (Vulkan)
  kExp2,        // 2 to the power of a float up to 0: relative error below 2^-20, results below 2^-126 may be 0
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

// Of kMatrixLoad and kMatrixStore: which shared array, and how many quads lie between lines.
constexpr uint64_t matrix_place(uint32_t array, uint32_t pitch, bool turned) {
  return array | uint64_t{turned ? 1u : 0u} << 31 | uint64_t{pitch} << 32;
}

// Of kTileMultiply: which shared array, at which depth of the tiles, which of them are turned, and their blocks.
struct TilePlace {
  uint32_t array = 0, depth = 0, block = 0;
  bool left_turned = false, right_turned = false;
};
constexpr uint64_t bits_of(const TilePlace& t) {
  return t.array | uint64_t{t.depth} << 8 | uint64_t{t.block} << 24 | uint64_t{t.left_turned} << 56 |
         uint64_t{t.right_turned} << 57;
}
constexpr TilePlace tile_place_of(uint64_t bits) {
  return {static_cast<uint32_t>(bits & 0xff), static_cast<uint32_t>(bits >> 8 & 0xffff),
          static_cast<uint32_t>(bits >> 24 & 0xffffffff), (bits >> 56 & 1) != 0, (bits >> 57 & 1) != 0};
}

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
    case Op::kCopy:
    case Op::kCopyGroup:
    case Op::kCopyWait:
    case Op::kIf:
    case Op::kElse:
    case Op::kEndIf:
    case Op::kFor:
    case Op::kEndFor:
    case Op::kBarrier:
    case Op::kAwait:
    case Op::kMatrix:
    case Op::kMatrixZero:
    case Op::kMatrixLoad:
    case Op::kMatrixMultiply:
    case Op::kMatrixStore:
    case Op::kMatrixSet:
    case Op::kMatrixSetLeft:
    case Op::kTileBegin:
    case Op::kTileMultiply:
    case Op::kTileCommit:
    case Op::kTileWait:
      return false;
    default:
      return true;
  }
}

enum class Element : uint8_t { kWord, kHalfWord, kByte, kQuad };  // 32, 16, 8, 128 bits

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

// What multiplies matrices: m x k by k x n halves into m x n floats, or bytes into integers of 32 bits that wrap, by
// the lanes of one subgroup, or by four of them where it reads tiles. m 0: nothing.
struct Unit {
  uint32_t m = 0, n = 0, k = 0;
  uint32_t lanes = 0;                              // that have a matrix
  bool known = false;                              // how it spreads a sum over lanes
  bool reads_tiles = false;                        // kTileMultiply in place of kMatrixLoad and kMatrixMultiply
  bool codes = false;                              // bytes; else halves
  bool left_signed = false, right_signed = false;  // of bytes

  uint32_t elements() const { return m * n / lanes; }  // of a lane's sum
  uint32_t of_quad() const { return codes ? 16 : 8; }  // elements of an operand
  Type sum() const { return codes ? Type::kI32 : Type::kF32; }
};

struct Program {
  std::string name;                       // what it does, for reports
  std::array<uint32_t, 3> size{1, 1, 1};  // of a workgroup; a template's lanes are all along x
  uint32_t bindings = 0;
  uint32_t push_words = 0;
  std::vector<Buffer> buffers;
  std::vector<SharedArray> shared;
  std::vector<Statement> body;
  Unit unit;  // of its matrices
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_IR_PROGRAM_H_
