#include "delegates/gpu/spirv/emit.h"

#include "delegates/gpu/spirv/module.h"

namespace vireo::gpu {
namespace {
using namespace spirv;  // NOLINT(google-build-using-namespace): its opcodes stand in every line

// Of the specification: capabilities, execution modes, decorations, built-in inputs.
enum : uint32_t {
  kShader = 1,
  kFloat16 = 9,
  kInt64 = 11,
  kGroupNonUniform = 61,
  kStorageBuffer16 = 4433,
  kStorageBuffer8 = 4448,
  kDenormPreserve = 4464,
  kSignedZeroInfNanPreserve = 4466,
  kRoundingModeRte = 4467,
  kVulkanMemoryModel = 5345,
  kCooperativeMatrix = 6022,
  kModeLocalSize = 17,
  kModeDenormPreserve = 4459,
  kModeSignedZeroInfNanPreserve = 4461,
  kModeRoundingModeRte = 4462,
  kBlock = 2,
  kArrayStride = 6,
  kBuiltIn = 11,
  kAliased = 20,
  kNonWritable = 24,
  kBinding = 33,
  kDescriptorSet = 34,
  kOffset = 35,
  kNoContraction = 42,
  kWorkgroupId = 26,
  kLocalInvocationIndex = 29,
  kSubgroupId = 40,
  kNonPrivatePointer = 0x20,
};
enum : uint32_t {
  kRoundEven = 2,
  kTrunc = 3,
  kFAbs = 4,
  kFloor = 8,
  kCeil = 9,
  kExp2 = 29,
  kSqrt = 31,
  kFMax = 40,
  kFma = 50,
  kPackHalf2x16 = 58,
  kUnpackHalf2x16 = 62,
};  // GLSL.std.450

class Emitter {
 public:
  Emitter(const Program& program, const Target& target) : p_(program), target_(target), ids_(program.body.size()) {}

  Words run() {
    head();
    globals();
    const uint32_t none = m_.type(kOpTypeVoid), signature = m_.type(kOpTypeFunction, {none});
    const uint32_t entry = m_.value(kOpFunction, none, {0, signature});
    m_.op(kOpLabel, {m_.fresh()});
    for (uint32_t i = 0; i < p_.body.size(); ++i) {
      if (p_.body[i].op == Op::kVariable) variable(i);
      if (p_.body[i].op == Op::kMatrix)
        ids_[i] = m_.value(kOpVariable, m_.pointer(kFunction, matrix_type(i)), {kFunction});
    }
    inputs();
    for (uint32_t i = 0; i < p_.body.size(); ++i) statement(i);
    m_.op(kOpReturn, {});
    m_.op(kOpFunctionEnd, {});
    modes(entry);
    return m_.finish(entry, interface_);
  }

 private:
  struct Region {
    uint32_t merge = 0, other = 0;  // other: the label of the else block, or of the loop's continuation
    uint32_t head = 0;              // of a loop
    bool has_else = false;
  };

  uint32_t type(Type t) {
    switch (t) {
      case Type::kBool:
        return m_.type(kOpTypeBool);
      case Type::kI32:
        return m_.type(kOpTypeInt, {32, 1});
      case Type::kI64:
        return m_.type(kOpTypeInt, {64, 1});
      case Type::kU64:
        return m_.type(kOpTypeInt, {64, 0});
      case Type::kF32:
        return m_.type(kOpTypeFloat, {32});
      case Type::kQuad:
        return m_.type(kOpTypeVector, {type(Type::kU32), 4});
      default:
        return m_.type(kOpTypeInt, {32, 0});
    }
  }
  uint32_t word(uint32_t v) { return m_.constant(type(Type::kU32), {v}); }
  uint32_t element_type(Element e) {
    if (e == Element::kQuad) return type(Type::kQuad);
    return m_.type(kOpTypeInt, {e == Element::kWord ? 32u : e == Element::kHalfWord ? 16u : 8u, 0});
  }
  uint32_t id(uint32_t statement) const { return ids_[statement]; }
  bool uses(Element e) const {
    for (const Buffer& b : p_.buffers) {
      if (b.element == e) return true;
    }
    return false;
  }
  bool uses_wide() const {
    for (const Statement& s : p_.body) {
      if (is_wide(s.type)) return true;
    }
    return false;
  }
  bool has_unit() const { return p_.unit.m != 0; }
  bool controls() const { return target_.keeps_nan32 || target_.keeps_denormals32 || target_.rounds_even32; }

  void head() {
    m_.capability(kShader);
    if (uses_wide()) m_.capability(kInt64);
    if (has_unit()) {
      for (const uint32_t c : {kFloat16, kGroupNonUniform, kVulkanMemoryModel, kCooperativeMatrix}) m_.capability(c);
      m_.extension("SPV_KHR_vulkan_memory_model");
      m_.extension("SPV_KHR_cooperative_matrix");
      m_.memory_model(3);  // Vulkan
    }
    if (uses(Element::kHalfWord)) m_.capability(kStorageBuffer16);
    if (uses(Element::kByte)) {
      m_.capability(kStorageBuffer8);
      m_.extension("SPV_KHR_8bit_storage");
    }
    if (target_.keeps_denormals32) m_.capability(kDenormPreserve);
    if (target_.keeps_nan32) m_.capability(kSignedZeroInfNanPreserve);
    if (target_.rounds_even32) m_.capability(kRoundingModeRte);
    if (controls()) m_.extension("SPV_KHR_float_controls");
  }
  void modes(uint32_t entry) {
    m_.execution_mode({entry, kModeLocalSize, p_.size[0], p_.size[1], p_.size[2]});
    if (target_.keeps_denormals32) m_.execution_mode({entry, kModeDenormPreserve, 32});
    if (target_.keeps_nan32) m_.execution_mode({entry, kModeSignedZeroInfNanPreserve, 32});
    if (target_.rounds_even32) m_.execution_mode({entry, kModeRoundingModeRte, 32});
  }

  // A struct around an array of `element`, as Vulkan wants its blocks.
  uint32_t block(uint32_t array) {
    const uint32_t out = m_.own_type(kOpTypeStruct, {array});
    m_.decorate({out, kBlock});
    m_.decorate_member({out, 0, kOffset, 0});
    return out;
  }

  void globals() {
    uint32_t blocks[4] = {0, 0, 0, 0};
    for (const Buffer& b : p_.buffers) {
      uint32_t& shape = blocks[static_cast<size_t>(b.element)];
      if (shape == 0) {
        const uint32_t array = m_.own_type(kOpTypeRuntimeArray, {element_type(b.element)});
        m_.decorate({array, kArrayStride, b.element == Element::kQuad ? 16u : 4u >> static_cast<uint32_t>(b.element)});
        shape = block(array);
      }
      const uint32_t variable = m_.global(m_.pointer(kStorageBuffer, shape), kStorageBuffer);
      m_.decorate({variable, kDescriptorSet, 0});
      m_.decorate({variable, kBinding, b.binding});
      m_.decorate({variable, kAliased});
      if (!b.written) m_.decorate({variable, kNonWritable});
      buffers_.push_back(variable);
    }
    if (p_.push_words > 0) {
      const uint32_t array = m_.own_type(kOpTypeArray, {type(Type::kU32), word(p_.push_words)});
      m_.decorate({array, kArrayStride, 4});
      push_ = m_.global(m_.pointer(kPushConstant, block(array)), kPushConstant);
    }
    for (const SharedArray& s : p_.shared) {
      const uint32_t array = m_.type(kOpTypeArray, {type(s.type), word(s.count)});
      shared_.push_back(m_.global(m_.pointer(kWorkgroup, array), kWorkgroup));
    }
  }

  // Built-in numbers are read at the beginning, so that every block sees them.
  void inputs() {
    for (const Statement& s : p_.body) {
      if (s.op == Op::kGroup && group_ == 0) {
        const uint32_t vector = m_.type(kOpTypeVector, {type(Type::kU32), 3});
        group_ = m_.value(kOpLoad, vector, {input(vector, kWorkgroupId)});
      }
      if (s.op == Op::kSubgroup && subgroup_ == 0) {
        subgroup_ = m_.value(kOpLoad, type(Type::kU32), {input(type(Type::kU32), kSubgroupId)});
      }
      if (s.op == Op::kLane && lane_ == 0) {
        lane_ = m_.value(kOpLoad, type(Type::kU32), {input(type(Type::kU32), kLocalInvocationIndex)});
      }
    }
  }
  uint32_t input(uint32_t type, uint32_t builtin) {
    const uint32_t variable = m_.global(m_.pointer(kInput, type), kInput);
    m_.decorate({variable, kBuiltIn, builtin});
    interface_.push_back(variable);
    return variable;
  }

  void variable(uint32_t i) {
    const Statement& s = p_.body[i];
    uint32_t shape = type(s.type);
    if (s.bits > 1) shape = m_.type(kOpTypeArray, {shape, word(static_cast<uint32_t>(s.bits))});
    ids_[i] = m_.value(kOpVariable, m_.pointer(kFunction, shape), {kFunction});
  }
  uint32_t place(const Statement& s) {
    if (s.bits == 0) return id(s.a);
    return m_.value(kOpAccessChain, m_.pointer(kFunction, type(p_.body[s.a].type)), {id(s.a), id(s.b)});
  }
  uint32_t buffer_place(const Statement& s) {
    const Buffer& b = p_.buffers[s.bits];
    return m_.value(kOpAccessChain, m_.pointer(kStorageBuffer, element_type(b.element)),
                    {buffers_[s.bits], word(0), id(s.a)});
  }
  uint32_t shared_place(const Statement& s) {
    return m_.value(kOpAccessChain, m_.pointer(kWorkgroup, type(p_.shared[s.bits].type)), {shared_[s.bits], id(s.a)});
  }
  // Of subgroup scope; in the memory model that matrices need, what barriers order is said to be no lane's own.
  uint32_t matrix_type(uint32_t statement) {
    const auto role = static_cast<uint32_t>(p_.body[statement].bits);
    const Unit& u = p_.unit;
    return m_.type(kOpTypeCooperativeMatrixKHR, {m_.type(kOpTypeFloat, {role == 2 ? 32u : 16u}), word(3),
                                                 word(role == 1 ? u.k : u.m), word(role == 0 ? u.k : u.n), word(role)});
  }
  uint32_t matrix_memory(const Statement& s) {
    const auto array = static_cast<uint32_t>(s.bits & 0x7fffffff);
    return m_.value(kOpAccessChain, m_.pointer(kWorkgroup, type(Type::kQuad)), {shared_[array], id(s.b)});
  }
  uint32_t cast(Opcode op, Type to, uint32_t v) { return m_.value(op, type(to), {v}); }

  void load(uint32_t i) {
    const Statement& s = p_.body[i];
    const Element e = p_.buffers[s.bits].element;
    uint32_t v = m_.value(kOpLoad, element_type(e), {buffer_place(s)});
    if (e == Element::kHalfWord || e == Element::kByte) v = cast(kOpUConvert, Type::kU32, v);
    ids_[i] = s.type == Type::kU32 || s.type == Type::kQuad ? v : cast(kOpBitcast, s.type, v);
  }
  void store(const Statement& s) {
    const Element e = p_.buffers[s.bits].element;
    uint32_t v = id(s.b);
    if (s.type != Type::kU32 && s.type != Type::kQuad) v = cast(kOpBitcast, Type::kU32, v);
    if (e == Element::kHalfWord || e == Element::kByte) v = m_.value(kOpUConvert, element_type(e), {v});
    m_.op(kOpStore, {buffer_place(s), v});
  }
  void constant(uint32_t i) {
    const Statement& s = p_.body[i];
    if (s.type == Type::kBool) {
      ids_[i] = m_.boolean(s.bits != 0);
    } else if (is_wide(s.type)) {
      ids_[i] = m_.constant(type(s.type), {static_cast<uint32_t>(s.bits), static_cast<uint32_t>(s.bits >> 32)});
    } else {
      ids_[i] = m_.constant(type(s.type), {static_cast<uint32_t>(s.bits)});
    }
  }

  // Vulkan has none that end later: it is done at once.
  void copy(const Statement& s) {
    const auto buffer = static_cast<uint32_t>(s.bits >> 32), array = static_cast<uint32_t>(s.bits);
    const uint32_t quad = type(Type::kQuad), zero = word(0);
    const uint32_t from = m_.value(kOpAccessChain, m_.pointer(kStorageBuffer, quad), {buffers_[buffer], zero, id(s.b)});
    const uint32_t nothing = m_.value(kOpCompositeConstruct, quad, {zero, zero, zero, zero});
    const uint32_t v = m_.value(kOpSelect, quad, {all_of(id(s.c)), m_.value(kOpLoad, quad, {from}), nothing});
    const uint32_t to = m_.value(kOpAccessChain, m_.pointer(kWorkgroup, quad), {shared_[array], id(s.a)});
    if (has_unit()) return m_.op(kOpStore, {to, v, kNonPrivatePointer});
    m_.op(kOpStore, {to, v});
  }
  // A truth for each word of a quad: SPIR-V 1.3 chooses vectors by vectors.
  uint32_t all_of(uint32_t truth) {
    const uint32_t truths = m_.type(kOpTypeVector, {type(Type::kBool), 4});
    return m_.value(kOpCompositeConstruct, truths, {truth, truth, truth, truth});
  }

  void begin_if(const Statement& s, uint32_t i) {
    Region r;
    r.merge = m_.fresh();
    r.has_else = has_else(i);
    r.other = r.has_else ? m_.fresh() : r.merge;
    const uint32_t then = m_.fresh();
    m_.op(kOpSelectionMerge, {r.merge, 0});
    m_.op(kOpBranchConditional, {id(s.a), then, r.other});
    m_.op(kOpLabel, {then});
    regions_.push_back(r);
  }
  bool has_else(uint32_t i) const {
    int depth = 0;
    for (++i;; ++i) {
      const Op op = p_.body[i].op;
      if (op == Op::kIf) ++depth;
      if (op == Op::kElse && depth == 0) return true;
      if (op == Op::kEndIf && depth-- == 0) return false;
    }
  }
  void begin_loop(const Statement& s) {
    Region r;
    r.merge = m_.fresh();
    r.other = m_.fresh();
    r.head = m_.fresh();
    const uint32_t body = m_.fresh();
    m_.op(kOpStore, {id(s.a), id(s.b)});
    m_.op(kOpBranch, {r.head});
    m_.op(kOpLabel, {r.head});
    const uint32_t at = m_.value(kOpLoad, type(Type::kU32), {id(s.a)});
    const uint32_t more = m_.value(kOpULessThan, type(Type::kBool), {at, id(s.c)});
    m_.op(kOpLoopMerge, {r.merge, r.other, 0});
    m_.op(kOpBranchConditional, {more, body, r.merge});
    m_.op(kOpLabel, {body});
    regions_.push_back(r);
  }
  void end_loop(const Statement& end) {
    const Region r = regions_.back();
    regions_.pop_back();
    const Statement& s = p_.body[end.a];
    m_.op(kOpBranch, {r.other});
    m_.op(kOpLabel, {r.other});
    const uint32_t at = m_.value(kOpLoad, type(Type::kU32), {id(s.a)});
    m_.op(kOpStore, {id(s.a), m_.value(kOpIAdd, type(Type::kU32), {at, word(static_cast<uint32_t>(s.bits))})});
    m_.op(kOpBranch, {r.head});
    m_.op(kOpLabel, {r.merge});
  }

  void statement(uint32_t i) {
    const Statement& s = p_.body[i];
    switch (s.op) {
      case Op::kConstant:
        return constant(i);
      case Op::kPush:
        ids_[i] = m_.value(kOpLoad, type(Type::kU32),
                           {m_.value(kOpAccessChain, m_.pointer(kPushConstant, type(Type::kU32)),
                                     {push_, word(0), word(static_cast<uint32_t>(s.bits))})});
        return;
      case Op::kGroup:
        ids_[i] = m_.value(kOpCompositeExtract, type(Type::kU32), {group_, static_cast<uint32_t>(s.bits)});
        return;
      case Op::kLane:
        ids_[i] = lane_;
        return;
      case Op::kSubgroup:
        ids_[i] = subgroup_;
        return;
      case Op::kMatrix:
        return;
      case Op::kMatrixZero:
        return m_.op(kOpStore, {id(s.a), m_.composite(matrix_type(s.a), m_.constant(type(Type::kF32), {0}))});
      case Op::kMatrixLoad:
        return m_.op(kOpStore, {id(s.a), m_.value(kOpCooperativeMatrixLoadKHR, matrix_type(s.a),
                                                  {matrix_memory(s), word(static_cast<uint32_t>(s.bits >> 31) & 1),
                                                   word(static_cast<uint32_t>(s.bits >> 32)), kNonPrivatePointer})});
      case Op::kMatrixMultiply: {
        const uint32_t sum = m_.value(kOpLoad, matrix_type(s.c), {id(s.c)});
        const uint32_t left = m_.value(kOpLoad, matrix_type(s.a), {id(s.a)});
        const uint32_t right = m_.value(kOpLoad, matrix_type(s.b), {id(s.b)});
        return m_.op(kOpStore,
                     {id(s.c), m_.value(kOpCooperativeMatrixMulAddKHR, matrix_type(s.c), {left, right, sum})});
      }
      case Op::kMatrixStore:
        return m_.op(kOpCooperativeMatrixStoreKHR,
                     {matrix_memory(s), m_.value(kOpLoad, matrix_type(s.a), {id(s.a)}), word(0),
                      word(static_cast<uint32_t>(s.bits >> 32)), kNonPrivatePointer});
      case Op::kVariable:
        return;
      case Op::kGet:
        ids_[i] = m_.value(kOpLoad, type(s.type), {place(s)});
        return;
      case Op::kSet:
        return m_.op(kOpStore, {place(s), id(s.c)});
      case Op::kLoad:
        return load(i);
      case Op::kStore:
        return store(s);
      case Op::kSharedLoad:
        ids_[i] = has_unit() ? m_.value(kOpLoad, type(s.type), {shared_place(s), kNonPrivatePointer})
                             : m_.value(kOpLoad, type(s.type), {shared_place(s)});
        return;
      case Op::kSharedStore:
        if (has_unit()) return m_.op(kOpStore, {shared_place(s), id(s.b), kNonPrivatePointer});
        return m_.op(kOpStore, {shared_place(s), id(s.b)});
      case Op::kCopy:
        return copy(s);
      case Op::kCopyGroup:
      case Op::kCopyWait:
      case Op::kAwait:
        return;
      case Op::kIf:
        return begin_if(s, i);
      case Op::kElse:
        m_.op(kOpBranch, {regions_.back().merge});
        return m_.op(kOpLabel, {regions_.back().other});
      case Op::kEndIf:
        m_.op(kOpBranch, {regions_.back().merge});
        m_.op(kOpLabel, {regions_.back().merge});
        return regions_.pop_back();
      case Op::kFor:
        return begin_loop(s);
      case Op::kEndFor:
        return end_loop(s);
      case Op::kBarrier:  // of the workgroup; acquire, release, workgroup memory
        return m_.op(kOpControlBarrier, {word(2), word(2), word(0x108)});
      default:
        ids_[i] = number(s);
    }
  }

  struct Choice {  // by the type of the operands
    Opcode f, i, u, b;
  };
  static Opcode choose(const Choice& c, Type t) {
    return is_float(t) ? c.f : t == Type::kBool ? c.b : is_signed(t) ? c.i : c.u;
  }
  static Choice choice(Op op) {
    constexpr Opcode none = kOpReturn;
    switch (op) {
      case Op::kAdd:
        return {kOpFAdd, kOpIAdd, kOpIAdd, none};
      case Op::kSubtract:
        return {kOpFSub, kOpISub, kOpISub, none};
      case Op::kMultiply:
        return {kOpFMul, kOpIMul, kOpIMul, none};
      case Op::kDivide:
        return {kOpFDiv, kOpSDiv, kOpUDiv, none};
      case Op::kRemainder:
        return {none, none, kOpUMod, none};  // signed ones: signed_remainder()
      case Op::kAnd:
        return {none, kOpBitwiseAnd, kOpBitwiseAnd, kOpLogicalAnd};
      case Op::kOr:
        return {none, kOpBitwiseOr, kOpBitwiseOr, kOpLogicalOr};
      case Op::kXor:
        return {none, kOpBitwiseXor, kOpBitwiseXor, kOpLogicalNotEqual};
      case Op::kShiftLeft:
        return {none, kOpShiftLeftLogical, kOpShiftLeftLogical, none};
      case Op::kShiftRight:
        return {none, kOpShiftRightArithmetic, kOpShiftRightLogical, none};
      case Op::kEqual:
        return {kOpFOrdEqual, kOpIEqual, kOpIEqual, kOpLogicalEqual};
      case Op::kNotEqual:
        return {kOpFUnordNotEqual, kOpINotEqual, kOpINotEqual, kOpLogicalNotEqual};
      case Op::kLess:
        return {kOpFOrdLessThan, kOpSLessThan, kOpULessThan, none};
      default:  // kLessEqual
        return {kOpFOrdLessThanEqual, kOpSLessThanEqual, kOpULessThanEqual, none};
    }
  }

  uint32_t number(const Statement& s) {
    switch (s.op) {
      case Op::kMultiplyHigh: {
        const uint32_t u = type(Type::kU32), pair = m_.type(kOpTypeStruct, {u, u});
        return m_.value(kOpCompositeExtract, u, {m_.value(kOpUMulExtended, pair, {id(s.a), id(s.b)}), 1});
      }
      case Op::kFma:
        return m_.extended(kFma, type(s.type), {id(s.a), id(s.b), id(s.c)});
      case Op::kMaximum:
        return m_.extended(kFMax, type(s.type), {id(s.a), id(s.b)});
      case Op::kNot:
        return m_.value(s.type == Type::kBool ? kOpLogicalNot : kOpNot, type(s.type), {id(s.a)});
      case Op::kSelect:
        return m_.value(kOpSelect, type(s.type), {id(s.a), id(s.b), id(s.c)});
      case Op::kConvert:
        return convert(s);
      case Op::kBitcast:
        return cast(kOpBitcast, s.type, id(s.a));
      case Op::kAbsolute:
        return m_.extended(kFAbs, type(s.type), {id(s.a)});
      case Op::kSquareRoot:
        return m_.extended(kSqrt, type(s.type), {id(s.a)});
      case Op::kExp2:
        return m_.extended(kExp2, type(s.type), {id(s.a)});
      case Op::kFloor:
        return m_.extended(kFloor, type(s.type), {id(s.a)});
      case Op::kCeil:
        return m_.extended(kCeil, type(s.type), {id(s.a)});
      case Op::kTruncate:
        return m_.extended(kTrunc, type(s.type), {id(s.a)});
      case Op::kRoundEven:
        return m_.extended(kRoundEven, type(s.type), {id(s.a)});
      case Op::kJoin:
        return m_.value(kOpCompositeConstruct, type(Type::kQuad),
                        {id(s.a), id(s.b), id(s.c), id(static_cast<uint32_t>(s.bits))});
      case Op::kPart:
        return m_.value(kOpCompositeExtract, type(Type::kU32), {id(s.a), static_cast<uint32_t>(s.bits)});
      case Op::kPackHalves: {
        const uint32_t pair = m_.type(kOpTypeVector, {type(Type::kF32), 2});
        return m_.extended(kPackHalf2x16, type(Type::kU32),
                           {m_.value(kOpCompositeConstruct, pair, {id(s.a), id(s.b)})});
      }
      case Op::kUnpackHalf: {
        const uint32_t pair = m_.type(kOpTypeVector, {type(Type::kF32), 2});
        return m_.value(kOpCompositeExtract, type(Type::kF32),
                        {m_.extended(kUnpackHalf2x16, pair, {id(s.a)}), static_cast<uint32_t>(s.bits)});
      }
      case Op::kRemainder:
        return is_signed(s.type) ? signed_remainder(s) : arithmetic(s);
      default:
        return arithmetic(s);
    }
  }
  // Vulkan leaves OpSRem undefined where an operand is negative, and a card's driver makes use of it.
  uint32_t signed_remainder(const Statement& s) {
    const uint32_t whole = m_.value(kOpSDiv, type(s.type), {id(s.a), id(s.b)});
    const uint32_t taken = m_.value(kOpIMul, type(s.type), {whole, id(s.b)});
    return m_.value(kOpISub, type(s.type), {id(s.a), taken});
  }
  uint32_t arithmetic(const Statement& s) {
    const Opcode op = choose(choice(s.op), s.type);
    const uint32_t out = m_.value(op, type(type_of(s)), {id(s.a), id(s.b)});
    if (op == kOpFAdd || op == kOpFSub || op == kOpFMul) m_.decorate({out, kNoContraction});
    return out;
  }

  uint32_t convert(const Statement& s) {
    const Type from = type_of(p_.body[s.a]), to = s.type;
    const uint32_t v = id(s.a);
    if (is_float(from)) return cast(is_signed(to) ? kOpConvertFToS : kOpConvertFToU, to, v);
    if (is_float(to)) return cast(is_signed(from) ? kOpConvertSToF : kOpConvertUToF, to, v);
    if (is_wide(to) && is_signed(from)) return cast(kOpSConvert, to, v);
    const Type unsigned_to = is_wide(to) ? Type::kU64 : Type::kU32;
    const uint32_t resized = cast(kOpUConvert, unsigned_to, v);
    return to == unsigned_to ? resized : cast(kOpBitcast, to, resized);
  }

  const Program& p_;
  const Target& target_;
  Module m_;
  Words ids_;  // of the statements' values
  Words buffers_, shared_, interface_;
  uint32_t push_ = 0, group_ = 0, lane_ = 0, subgroup_ = 0;
  std::vector<Region> regions_;
};

}  // namespace

std::vector<uint32_t> emit_spirv(const Program& program, const Target& target) {
  return Emitter(program, target).run();
}

}  // namespace vireo::gpu
