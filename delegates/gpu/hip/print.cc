#include "delegates/gpu/hip/print.h"

#include "delegates/gpu/dialect/dialect.h"

namespace vireo::gpu {
namespace {

constexpr Dialect kDialect = Dialect::kHip;

uint32_t words_of(const SharedArray& a) {
  const uint32_t each = a.type == Type::kQuad ? 4 : is_wide(a.type) ? 2 : 1;
  return (a.count * each + 3) / 4 * 4;
}

// Values are v and the number of their statement, variables and matrices too. b is a binding, w a word, s what is
// shared.
class Printer {
 public:
  explicit Printer(const Program& program) : p_(program) {}

  std::string run(const std::string& entry) {
    text_ = "VIREO_ENTRY(" + entry + ", " + number(p_.size[0] * p_.size[1] * p_.size[2]);
    for (uint32_t i = 0; i < p_.bindings; ++i) text_ += ", VIREO_MEMORY b" + number(i);
    for (uint32_t i = 0; i < p_.push_words; ++i) text_ += ", vu32 w" + number(i);
    text_ += ") {\n";
    uint32_t first = 0;
    for (size_t i = 0; i < p_.shared.size(); ++i) {
      const SharedArray& a = p_.shared[i];
      line("VIREO_SHARED(" + name(a.type) + ", s" + number(i) + ", " + number(a.count) + ", " + number(first) + ")");
      first += words_of(a);
    }
    for (uint32_t i = 0; i < p_.body.size(); ++i) statement(i);
    return text_ += "VIREO_END\n}\n";
  }

 private:
  static std::string number(uint64_t n) { return std::to_string(n); }
  static std::string name(Type t) { return spell(kDialect, t); }
  static std::string label(uint64_t i) { return "v" + number(i); }
  void line(const std::string& text) { (text_ += text) += ";\n"; }
  void result_is(uint32_t i, const std::string& expression) {
    line("const " + name(type_of(p_.body[i])) + " " + label(i) + " = " + expression);
  }

  // What is written where it is used.
  std::string value(uint32_t i) const {
    const Statement& s = p_.body[i];
    switch (s.op) {
      case Op::kConstant:
        if (s.type == Type::kF32) return "__builtin_bit_cast(float, " + number(s.bits) + "u)";
        return name(s.type) + "(" + number(s.bits) + (is_wide(s.type) ? "ull)" : "u)");
      case Op::kPush:
        return "w" + number(s.bits);
      case Op::kGroup:
        return std::string("VIREO_GROUP_") + "XYZ"[s.bits];
      case Op::kLane:
        return "VIREO_LANE";
      case Op::kSubgroup:
        return "VIREO_SUBGROUP";
      default:
        return label(i);
    }
  }

  static const char* suffix(Element e) {
    switch (e) {
      case Element::kWord:
        return "word";
      case Element::kHalfWord:
        return "half";
      case Element::kByte:
        return "byte";
      default:
        return "quad";
    }
  }
  std::string element(const char* verb, uint64_t buffer, uint32_t index) const {
    const Buffer& b = p_.buffers[buffer];
    return std::string(verb) + suffix(b.element) + "(b" + number(b.binding) + ", " + value(index);
  }
  std::string variable(const Statement& s) const {
    return p_.body[s.a].bits > 1 ? label(s.a) + "[" + (s.bits != 0 ? value(s.b) : "0") + "]" : label(s.a);
  }
  std::string arithmetic(const Statement& s) const {
    return fill(kDialect, s, [this](uint32_t i) { return value(i); });
  }

  void matrix_move(const Statement& s, bool stores) {
    const bool turned = (s.bits >> 31 & 1) != 0, right = p_.body[s.a].bits == 1;
    const char* const verb = stores ? "store_total" : turned == right ? "load_along" : "load_across";
    line(std::string(verb) + "(" + label(s.a) + ", s" + number(s.bits & 0x7fffffff) + ", VIREO_LANE % kWave, " +
         value(s.b) + ", " + number(s.bits >> 32) + ")");
  }

  void statement(uint32_t i) {
    const Statement& s = p_.body[i];
    switch (s.op) {
      case Op::kConstant:
      case Op::kPush:
      case Op::kGroup:
      case Op::kLane:
      case Op::kSubgroup:
        return;
      case Op::kVariable:
        return line(name(s.type) + " " + label(i) + (s.bits > 1 ? "[" + number(s.bits) + "]" : ""));
      case Op::kGet:
        return result_is(i, variable(s));
      case Op::kSet:
        return line(variable(s) + " = " + value(s.c));
      case Op::kLoad: {
        const std::string loaded = element("load_", s.bits, s.a) + ")";
        const bool as_it_is = s.type == Type::kQuad || s.type == Type::kU32;
        return result_is(i, as_it_is ? loaded : "__builtin_bit_cast(" + name(s.type) + ", " + loaded + ")");
      }
      case Op::kStore: {
        const bool quad = s.type == Type::kQuad;
        return line(element("store_", s.bits, s.a) + ", " +
                    (quad ? value(s.b) : "__builtin_bit_cast(vu32, " + value(s.b) + ")") + ")");
      }
      case Op::kSharedLoad:
        return result_is(i, "VIREO_READ(s" + number(s.bits) + ", " + value(s.a) + ")");
      case Op::kSharedStore:
        return line("VIREO_WRITE(s" + number(s.bits) + ", " + value(s.a) + ", " + value(s.b) + ")");
      case Op::kCopy:  // it is there at once
        return line("VIREO_WRITE(s" + number(s.bits & 0xffffffff) + ", " + value(s.a) + ", " + value(s.c) + " ? " +
                    element("load_", s.bits >> 32, s.b) + ") : quad{})");
      case Op::kCopyGroup:
      case Op::kCopyWait:
      case Op::kAwait:
        return;
      case Op::kIf:
        text_ += "if (" + value(s.a) + ") {\n";
        return;
      case Op::kElse:
        text_ += "} else {\n";
        return;
      case Op::kFor:
        text_ += "VIREO_LOOP for (" + label(s.a) + " = " + value(s.b) + "; " + label(s.a) + " < " + value(s.c) + "; " +
                 label(s.a) + " += " + number(s.bits) + ") {\n";
        return;
      case Op::kEndIf:
      case Op::kEndFor:
        text_ += "}\n";
        return;
      case Op::kBarrier:
        return line("VIREO_BARRIER(" + number(i) + ")");
      case Op::kMatrix:
        return line((s.bits == 2 ? "total " : "operand ") + label(i));
      case Op::kMatrixZero:
        return line(label(s.a) + " = total{}");
      case Op::kMatrixLoad:
      case Op::kMatrixStore:
        return matrix_move(s, s.op == Op::kMatrixStore);
      case Op::kMatrixMultiply:
        return line("VIREO_MULTIPLY(" + number(i) + ", " + label(s.a) + ", " + label(s.b) + ", " + label(s.c) + ")");
      case Op::kShuffle:
        return result_is(i, "VIREO_EXCHANGE(" + number(i) + ", " + value(s.a) + ", " + number(s.bits) + ")");
      case Op::kTileBegin:  // of units that are not AMD's (Unit::reads_tiles, Unit::known)
      case Op::kTileMultiply:
      case Op::kTileCommit:
      case Op::kTileWait:
      case Op::kMatrixElement:
      case Op::kMatrixSet:
      case Op::kMatrixSetLeft:
        text_ += "#error \"a matrix unit of another vendor\"\n";
        return;
      default:
        result_is(i, arithmetic(s));
    }
  }

  const Program& p_;
  std::string text_;
};

// On a card. Types have names of their own: hiprtc brings some of its own, clang none.
constexpr char kHead[] = R"HIP(typedef int vi32;
typedef long long vi64;
typedef unsigned long long vu64;
#define VIREO_CALL static inline __attribute__((device, always_inline))
struct __attribute__((aligned(16), may_alias)) quad { vu32 w[4]; };
struct __attribute__((aligned(8), may_alias)) pair { vu32 w[2]; };
typedef vu32 __attribute__((may_alias)) any_word;
typedef float __attribute__((may_alias)) any_float;
typedef unsigned short __attribute__((may_alias)) any_half;
typedef unsigned char any_byte;
#define VIREO_MEMORY void*
template <class T> VIREO_CALL T* element(VIREO_MEMORY b, vu32 at) { return (T*)((char*)b + vu32(at * sizeof(T))); }
VIREO_CALL quad load_quad(VIREO_MEMORY b, vu32 at) { return *element<quad>(b, at); }
VIREO_CALL vu32 load_word(VIREO_MEMORY b, vu32 at) { return *element<any_word>(b, at); }
VIREO_CALL vu32 load_half(VIREO_MEMORY b, vu32 at) { return *element<any_half>(b, at); }
VIREO_CALL vu32 load_byte(VIREO_MEMORY b, vu32 at) { return *element<any_byte>(b, at); }
VIREO_CALL void store_quad(VIREO_MEMORY b, vu32 at, quad v) { *element<quad>(b, at) = v; }
VIREO_CALL void store_word(VIREO_MEMORY b, vu32 at, vu32 v) { *element<any_word>(b, at) = v; }
VIREO_CALL void store_half(VIREO_MEMORY b, vu32 at, vu32 v) { *element<any_half>(b, at) = (unsigned short)v; }
VIREO_CALL void store_byte(VIREO_MEMORY b, vu32 at, vu32 v) { *element<any_byte>(b, at) = (unsigned char)v; }
VIREO_CALL bool inverse(bool v) { return !v; }
template <class T> VIREO_CALL T inverse(T v) { return ~v; }
template <class T, class F> VIREO_CALL T converted(F v) { return T(v); }
VIREO_CALL vu32 half_of(float v) { return __builtin_bit_cast(unsigned short, (_Float16)v); }
VIREO_CALL float float_of_half(vu32 v) { return __builtin_bit_cast(_Float16, (unsigned short)v); }
#if __has_builtin(__builtin_amdgcn_exp2f)
#define exp2_of __builtin_amdgcn_exp2f
#else
#define exp2_of __builtin_exp2f
#endif
#define VIREO_ENTRY(name, lanes, ...) \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(lanes, lanes))) void name(__VA_ARGS__)
#define VIREO_END
#define VIREO_LOOP _Pragma("clang loop unroll(disable)")
#define VIREO_LANE __builtin_amdgcn_workitem_id_x()
#define VIREO_SUBGROUP vu32(__builtin_amdgcn_readfirstlane(int(VIREO_LANE / kWave)))
#define VIREO_GROUP_X __builtin_amdgcn_workgroup_id_x()
#define VIREO_GROUP_Y __builtin_amdgcn_workgroup_id_y()
#define VIREO_GROUP_Z __builtin_amdgcn_workgroup_id_z()
#define VIREO_SHARED(type, name, count, first) static __attribute__((shared, aligned(16))) type name[count]
#define VIREO_READ(s, at) s[at]
#define VIREO_WRITE(s, at, v) s[at] = v
// Of shared memory only, where the compiler can say so: loads of other memory stay under way.
#if __clang_major__ >= 19
#define VIREO_FENCE(order) __builtin_amdgcn_fence(order, "workgroup", "local")
#else
#define VIREO_FENCE(order) __builtin_amdgcn_fence(order, "workgroup")
#endif
#define VIREO_BARRIER(number) VIREO_FENCE(__ATOMIC_RELEASE); __builtin_amdgcn_s_barrier(); VIREO_FENCE(__ATOMIC_ACQUIRE)
VIREO_CALL quad read_quad(const quad* s, vu32 at) { return s[at]; }
VIREO_CALL pair read_pair(const quad* s, vu32 at, vu32 which) { return ((const pair*)s)[at * 2 + which]; }
typedef unsigned short two_halves __attribute__((ext_vector_type(2)));
VIREO_CALL vu32 read_halves(const quad* s, vu32 low, vu32 high, vu32 which) {  // each loads into half a register
  const any_half* const h = (const any_half*)s;
  return __builtin_bit_cast(vu32, two_halves{h[low * 8 + which], h[high * 8 + which]});
}
VIREO_CALL void write_float(quad* s, vu32 at, vu32 which, float v) { ((any_float*)s)[at * 4 + which] = v; }
// Pairs and fours of lanes have an instruction, neighbours of 32 too; all others go by an address.
template <int mask> VIREO_CALL int exchanged(int v) {
  if constexpr (mask == 1) return __builtin_amdgcn_mov_dpp(v, 0xB1, 15, 15, true);
  if constexpr (mask == 2) return __builtin_amdgcn_mov_dpp(v, 0x4E, 15, 15, true);
  if constexpr (mask < 32) return __builtin_amdgcn_ds_swizzle(v, mask << 10 | 31);
  return __builtin_amdgcn_ds_bpermute(int(VIREO_LANE % kWave ^ mask) << 2, v);
}
template <int mask, class T> VIREO_CALL T exchange(T v) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, exchanged<mask>(__builtin_bit_cast(int, v)));
  } else {
    pair p = __builtin_bit_cast(pair, v);
    for (vu32& w : p.w) w = vu32(exchanged<mask>(int(w)));
    return __builtin_bit_cast(T, p);
  }
}
#define VIREO_EXCHANGE(number, v, mask) exchange<mask>(v)
)HIP";

// Under both heads.
constexpr char kMatrices[] = R"(struct operand { vu32 w[kHalves / 2]; };
struct total { float v[kFloats]; };
// The lane's line of an operand whose quads follow the depth.
template <class S> VIREO_CALL void load_along(operand& to, S s, vu32 lane, vu32 first, vu32 pitch) {
  const vu32 line = first + lane % 16 * pitch, depth = lane / 16 * kDepthStep;
  if constexpr (kHalves == 4) {
    const pair v = read_pair(s, line + depth / 8, depth / 4 % 2);
    for (vu32 i = 0; i < 2; ++i) to.w[i] = v.w[i];
  } else {
    for (vu32 q = 0; q < kHalves / 8; ++q) {
      const quad v = read_quad(s, line + depth / 8 + q);
      for (vu32 i = 0; i < 4; ++i) to.w[q * 4 + i] = v.w[i];
    }
  }
}
// ... whose quads follow the lines.
template <class S> VIREO_CALL void load_across(operand& to, S s, vu32 lane, vu32 first, vu32 pitch) {
  const vu32 depth = lane / 16 * kDepthStep, line = lane % 16;
  for (vu32 i = 0; i < kHalves / 2; ++i) {
    const vu32 at = first + (depth + 2 * i) * pitch + line / 8;
    to.w[i] = read_halves(s, at, at + pitch, line % 8);
  }
}
template <class S> VIREO_CALL void store_total(const total& from, S s, vu32 lane, vu32 first, vu32 pitch) {
  for (vu32 i = 0; i < kFloats; ++i)
    write_float(s, first + (lane / 16 * kRowStep + i * kElementStep) * pitch + lane % 16 / 4, lane % 4, from.v[i]);
}
)";

}  // namespace

std::string hip_constants(const Target& target) {
  const HipUnit* const unit = hip_unit(target);
  const auto constant = [](const char* name, uint32_t n) {
    return std::string("constexpr vu32 ") + name + " = " + std::to_string(n) + ";\n";
  };
  std::string out = "typedef unsigned int vu32;\n" + constant("kWave", target.subgroup);
  if (unit == nullptr) return out;
  return out + constant("kHalves", unit->halves) + constant("kDepthStep", unit->depth_step) +
         constant("kFloats", unit->floats) + constant("kRowStep", unit->row_step) +
         constant("kElementStep", unit->element_step);
}
std::string hip_matrices(const Target& target) { return hip_unit(target) == nullptr ? "" : kMatrices; }

std::string hip_text(const std::string& entries, const Target& target) {
  // In a namespace: hiprtc puts headers of its own in front.
  std::string out =
      "#pragma clang fp contract(off)\nnamespace vireo {\n" + hip_constants(target) + kHead + hip_matrices(target);
  if (const HipUnit* const unit = hip_unit(target)) {
    out +=
        "typedef _Float16 halves __attribute__((ext_vector_type(" + std::to_string(unit->halves) +
        ")));\ntypedef float floats __attribute__((ext_vector_type(" + std::to_string(unit->floats) + ")));\n" +
        "VIREO_CALL void multiply(const operand& a, const operand& b, total& c) {\n  c = __builtin_bit_cast(total, " +
        unit->builtin + "(__builtin_bit_cast(halves, a), __builtin_bit_cast(halves, b), " +
        "__builtin_bit_cast(floats, c)" + unit->more + "));\n}\n" +
        "#define VIREO_MULTIPLY(number, a, b, c) multiply(a, b, c)\n";
  }
  return out + entries + "}\n";
}

std::string hip_options(const std::string& family) {
  return "-x hip -std=c++17 -O3 -nogpulib -nogpuinc --offload-device-only --no-gpu-bundle-output -ffp-contract=off "
         "-fno-math-errno --offload-arch=" +
         family;
}

uint32_t hip_shared_words(const Program& program) {
  uint32_t words = 0;
  for (const SharedArray& a : program.shared) words += words_of(a);
  return words;
}

std::string hip_entry(const Program& program, const std::string& name) { return Printer(program).run(name); }

std::string print_hip(const Program& program) { return kHipBegin + hip_entry(program, "kernel"); }

}  // namespace vireo::gpu
