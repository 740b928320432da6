#include "delegates/gpu/host/print.h"

#include <vector>

#include "delegates/gpu/dialect/dialect.h"

namespace vireo::gpu {
namespace {

constexpr Dialect kDialect = Dialect::kHost;

class Printer {
 public:
  Printer(const Program& program, const std::string& symbol) : p_(program), symbol_(symbol) {}

  std::string run() {
    find_ways();
    find_crossings();
    const std::string lanes = std::to_string(p_.size[0] * p_.size[1] * p_.size[2]);
    for (uint32_t i = 0; i < p_.body.size(); ++i) declare(i, lanes);
    for (size_t i = 0; i < p_.shared.size(); ++i) {
      text_ += "static " + name(p_.shared[i].type) + " " + symbol_ + "_s" + std::to_string(i) + "[" +
               std::to_string(p_.shared[i].count) + "];\n";
      if (p_.unit.m != 0) {
        text_ += "static uint8_t " + symbol_ + "_s" + std::to_string(i) + "_t[" + std::to_string(p_.shared[i].count) +
                 "];\n";
      }
    }
    text_ +=
        "extern \"C\" int " + symbol_ +
        "(void* const* bindings, const uint64_t* bytes, const uint32_t* push, const uint32_t* groups, int backwards) "
        "{\n(void)bindings; (void)bytes; (void)push;\nconst uint32_t lanes = " +
        lanes +
        ";\nint wrong = 0;\nuint32_t group[3];\ncopy_groups copies; (void)copies;\ntile_groups tiles; (void)tiles;\n" +
        "for (group[2] = 0; group[2] < groups[2]; ++group[2])\nfor (group[1] = 0; group[1] < groups[1]; ++group[1])\n"
        "for (group[0] = 0; group[0] < groups[0]; ++group[0]) {\n";
    for (uint32_t i = 0; i < p_.body.size(); ++i) statement(i);
    close();
    text_ += "}\nreturn wrong;\n}\n";
    return text_;
  }

 private:
  static std::string name(Type t) { return spell(kDialect, t); }
  // Written where they are used.
  static bool is_inline(Op op) {
    return op == Op::kConstant || op == Op::kPush || op == Op::kGroup || op == Op::kLane || op == Op::kSubgroup;
  }
  static bool is_matrix(Op op) {
    return op == Op::kMatrixZero || op == Op::kMatrixLoad || op == Op::kMatrixMultiply || op == Op::kMatrixStore ||
           op == Op::kTileMultiply;
  }
  // What the whole workgroup does at once.
  static bool joins_lanes(Op op) {
    return op == Op::kBarrier || op == Op::kCopyGroup || op == Op::kCopyWait || op == Op::kShuffle ||
           op == Op::kTileBegin || op == Op::kTileCommit || op == Op::kTileWait || is_matrix(op);
  }

  // Which blocks have a barrier or a matrix inside: they are the workgroup's, not a lane's. Marks their heads, elses
  // and ends.
  void find_ways() {
    of_group_.assign(p_.body.size(), false);
    std::vector<std::vector<uint32_t>> open;
    for (uint32_t i = 0; i < p_.body.size(); ++i) {
      const Op op = p_.body[i].op;
      if (op == Op::kIf || op == Op::kFor) open.push_back({i});
      if (op == Op::kElse) open.back().push_back(i);
      if (joins_lanes(op)) of_group_[i] = true;
      if (!joins_lanes(op) && op != Op::kEndIf && op != Op::kEndFor) continue;
      if (joins_lanes(op)) {
        for (const auto& block : open) of_group_[block[0]] = true;
      } else {
        open.back().push_back(i);
        for (const uint32_t part : open.back()) of_group_[part] = of_group_[open.back()[0]];
        open.pop_back();
      }
    }
  }

  template <class F>
  void for_operands(const Statement& s, const F& f) const {
    if (s.op == Op::kFor) {
      f(s.b);
      f(s.c);
    } else if (s.op == Op::kGet) {
      if (s.bits != 0) f(s.b);
    } else if (s.op == Op::kSet) {
      f(s.c);
      if (s.bits != 0) f(s.b);
    } else if (s.op == Op::kLoad || s.op == Op::kSharedLoad || s.op == Op::kIf || s.op == Op::kShuffle) {
      f(s.a);
    } else if (s.op == Op::kMatrixSet || s.op == Op::kMatrixSetLeft) {
      f(s.b);
    } else if (s.op == Op::kMatrixLoad || s.op == Op::kMatrixStore) {
      f(s.b);
    } else if (s.op == Op::kStore || s.op == Op::kSharedStore || s.op == Op::kTileMultiply) {
      f(s.a);
      f(s.b);
    } else if (s.op == Op::kCopy) {
      f(s.a);
      f(s.b);
      f(s.c);
    } else if (const char* pattern = spell(kDialect, s.op)) {
      const std::string text = pattern;
      if (text.find("$0") != std::string::npos) f(s.a);
      if (text.find("$1") != std::string::npos) f(s.b);
      if (text.find("$2") != std::string::npos) f(s.c);
      if (text.find("$3") != std::string::npos) f(static_cast<uint32_t>(s.bits));
    }
  }

  // A value that is used in another run of lanes than it is made in has a place for each lane.
  void find_crossings() {
    std::vector<uint32_t> made(p_.body.size(), 0);
    kept_.assign(p_.body.size(), false);
    uint32_t run = 1;
    for (uint32_t i = 0; i < p_.body.size(); ++i) {
      if (of_group_[i]) ++run;
      made[i] = run;
      for_operands(p_.body[i], [&](uint32_t operand) {
        if (made[operand] != run || of_group_[i]) kept_[operand] = true;
      });
      if (of_group_[i]) ++run;
    }
  }

  std::string label(uint32_t i) const { return symbol_ + "_v" + std::to_string(i); }
  const char* number_of_matrix() const { return p_.unit.codes ? "int32_t" : "float"; }
  // The prelude's names of the operands' elements.
  static std::string elements(const Unit& u, bool right) {
    return !u.codes ? "halves" : (right ? u.right_signed : u.left_signed) ? "codes<true>" : "codes<false>";
  }
  void declare(uint32_t i, const std::string& lanes) {
    const Statement& s = p_.body[i];
    if (s.op == Op::kMatrix) {
      const Unit& u = p_.unit;
      const uint32_t elements = s.bits == 0 ? u.m * u.k : s.bits == 1 ? u.k * u.n : u.m * u.n;
      text_ += std::string("static ") + number_of_matrix() + " " + label(i) + "[" + lanes + " / " +
               std::to_string(u.lanes) + "][" + std::to_string(elements) + "];\n";
    } else if (s.op == Op::kVariable) {
      text_ += "static " + name(s.type) + " " + label(i) + "[" + lanes + "][" + std::to_string(s.bits) + "];\n";
    } else if (has_value(s.op) && !is_inline(s.op) && kept_[i]) {
      text_ += "static " + name(type_of(s)) + " " + label(i) + "[" + lanes + "];\n";
    }
  }

  std::string value(uint32_t i, const char* lane = "l") const {
    const Statement& s = p_.body[i];
    const std::string bits = std::to_string(s.bits);
    switch (s.op) {
      case Op::kConstant:
        if (s.type == Type::kF32) return "__builtin_bit_cast(float, " + bits + "u)";
        return name(s.type) + "(" + bits + (is_wide(s.type) ? "ull)" : "u)");
      case Op::kPush:
        return "push[" + bits + "]";
      case Op::kGroup:
        return "group[" + bits + "]";
      case Op::kLane:
        return lane;
      case Op::kSubgroup:
        return std::string("(") + lane + " / " + std::to_string(p_.unit.lanes) + ")";
      default:
        return kept_[i] ? label(i) + "[" + lane + "]" : label(i);
    }
  }

  void open() {
    if (open_) return;
    open_ = true;
    text_ += "for (uint32_t at = 0; at < lanes; ++at) {\nconst uint32_t l = backwards ? lanes - 1 - at : at;\n";
  }
  void close() {
    if (open_) text_ += "}\n";
    open_ = false;
  }
  void result_is(uint32_t i, const std::string& expression) {
    if (kept_[i]) {
      text_ += label(i) + "[l] = " + expression + ";\n";
    } else {
      text_ +=
          "const " + name(type_of(p_.body[i])) + " " + label(i) + " = " + expression + "; (void)" + label(i) + ";\n";
    }
  }

  // "buffer, its bytes, index" for the functions of the prelude.
  std::string memory(const Statement& s) const {
    const Buffer& b = p_.buffers[s.bits];
    const char* element = b.element == Element::kWord       ? "uint32_t"
                          : b.element == Element::kHalfWord ? "uint16_t"
                          : b.element == Element::kByte     ? "uint8_t"
                                                            : "quad";
    const std::string binding = std::to_string(b.binding);
    return std::string("<") + element + ">(bindings[" + binding + "], bytes[" + binding + "], " + value(s.a) +
           ", &wrong";
  }
  std::string variable(const Statement& s) const {
    return label(s.a) + "[l][" + (s.bits != 0 ? value(s.b) : "0") + "]";
  }
  std::string matrix_element(const Statement& s) const {
    const std::string lanes = std::to_string(p_.unit.lanes);
    return label(s.a) + "[l / " + lanes + "][matrix_place(l % " + lanes + ", " + std::to_string(s.bits) + ", " +
           std::to_string(p_.unit.n) + ")]";
  }
  // `touch`: 1 a lane reads it, 2 writes it.
  std::string shared(const Statement& s, const char* touch) const {
    const std::string array = symbol_ + "_s" + std::to_string(s.bits);
    const std::string at = "inside(" + value(s.a) + ", " + std::to_string(p_.shared[s.bits].count) + ", &wrong)";
    if (p_.unit.m == 0) return array + "[" + at + "]";
    return array + "[touched(" + array + "_t, " + at + ", " + touch + ", &wrong)]";
  }

  std::string number(const Statement& s) const {
    return fill(kDialect, s, [this](uint32_t i) { return value(i); });
  }

  // All lanes agree on what leads to a barrier.
  void agree(uint32_t i) {
    if (!is_inline(p_.body[i].op))
      text_ += "for (uint32_t l = 1; l < lanes; ++l) if (" + value(i) + " != " + value(i, "0") + ") wrong = 2;\n";
  }

  void agree_in_group(uint32_t i) {
    if (is_inline(p_.body[i].op)) return;
    text_ += "for (uint32_t l = first; l < first + " + std::to_string(p_.unit.lanes) + "; ++l) if (" + value(i) +
             " != " + value(i, "first") + ") wrong = 2;\n";
  }

  // Subgroups one after another; an operand is the first lane's, and the others' must be the same.
  void matrix_statement(const Statement& s) {
    const Unit& u = p_.unit;
    const auto number = [](uint32_t n) { return ", " + std::to_string(n); };
    const auto of = [this](uint32_t matrix) { return label(matrix) + "[g]"; };
    text_ += "for (uint32_t g = 0; g < lanes / " + std::to_string(u.lanes) + "; ++g) {\nconst uint32_t first = g * " +
             std::to_string(u.lanes) + "; (void)first;\n";
    if (s.op == Op::kMatrixZero) {
      text_ += "for (auto& v : " + of(s.a) + ") v = 0;\n";
    } else if (s.op == Op::kMatrixMultiply) {
      text_ += "matrix_multiply(" + of(s.a) + ", " + of(s.b) + ", " + of(s.c) + number(u.m) + number(u.n) +
               number(u.k) + ");\n";
    } else if (s.op == Op::kTileMultiply) {
      agree_in_group(s.a);
      agree_in_group(s.b);
      const TilePlace place = tile_place_of(s.bits);
      const std::string memory = symbol_ + "_s" + std::to_string(place.array);
      text_ += "tiles.add({multiply_tile<" + elements(u, false) + ", " + elements(u, true) + ">, " + of(s.c) + ", " +
               memory + number(u.m) + number(u.n) + number(u.k) + ", " + value(s.a, "first") + ", " +
               value(s.b, "first") + number(place.depth) + number(place.block) +
               (place.left_turned ? ", true" : ", false") + (place.right_turned ? ", true" : ", false") +
               number(u.of_quad()) + "}, " + memory + "_t" + number(p_.shared[place.array].count) + ", &wrong);\n";
    } else {
      agree_in_group(s.b);
      const auto array = static_cast<uint32_t>(s.bits & 0x7fffffff);
      const std::string memory = symbol_ + "_s" + std::to_string(array);
      const bool stores = s.op == Op::kMatrixStore;
      const uint64_t role = p_.body[s.a].bits;
      text_ += (stores ? "matrix_store(" : "matrix_load<" + elements(u, role == 1) + ">(") + of(s.a) + ", " + memory +
               ", " + memory + "_t" + number(p_.shared[array].count) + ", " + value(s.b, "first") +
               number(static_cast<uint32_t>(s.bits >> 32)) + number(role == 1 ? u.k : u.m) +
               number(role == 0 ? u.k : u.n);
      if (!stores) text_ += (s.bits >> 31 & 1) != 0 ? ", true" : ", false";
      text_ += ", &wrong);\n";
    }
    text_ += "}\n";
  }

  void group_statement(uint32_t i) {
    const Statement& s = p_.body[i];
    close();
    if (is_matrix(s.op)) return matrix_statement(s);
    switch (s.op) {
      case Op::kBarrier:
        for (size_t array = 0; p_.unit.m != 0 && array < p_.shared.size(); ++array)
          text_ += "memset(" + symbol_ + "_s" + std::to_string(array) + "_t, 0, " +
                   std::to_string(p_.shared[array].count) + ");\n";
        break;
      case Op::kShuffle:  // every lane has its value before any takes another's
        open();
        return result_is(i, value(s.a, ("(l ^ " + std::to_string(s.bits) + ")").c_str()));
      case Op::kCopyGroup:
        text_ += "copies.close();\n";
        break;
      case Op::kCopyWait:
        text_ += "copies.wait(" + std::to_string(s.bits) + ");\n";
        break;
      case Op::kTileCommit:
        text_ += "tiles.close();\n";
        break;
      case Op::kTileWait:
        text_ += "tiles.wait(" + std::to_string(s.bits) + ");\n";
        break;
      case Op::kIf:
        agree(s.a);
        text_ += "if (" + value(s.a, "0") + ") {\n";
        break;
      case Op::kElse:
        text_ += "} else {\n";
        break;
      case Op::kFor: {
        agree(s.b);
        agree(s.c);
        const std::string u = "u" + std::to_string(i);
        text_ += "for (uint32_t " + u + " = " + value(s.b, "0") + "; " + u + " < " + value(s.c, "0") + "; " + u +
                 " += " + std::to_string(s.bits) + ") {\nfor (uint32_t l = 0; l < lanes; ++l) " + label(s.a) +
                 "[l][0] = " + u + ";\n";
        break;
      }
      case Op::kEndIf:
      case Op::kEndFor:
        text_ += "}\n";
        break;
      default:
        break;
    }
  }

  void statement(uint32_t i) {
    const Statement& s = p_.body[i];
    if (of_group_[i]) return group_statement(i);
    if (s.op == Op::kVariable || s.op == Op::kMatrix || s.op == Op::kAwait || is_inline(s.op)) return;
    open();
    switch (s.op) {
      case Op::kGet:
        return result_is(i, variable(s));
      case Op::kSet:
        text_ += variable(s) + " = " + value(s.c) + ";\n";
        return;
      case Op::kLoad:
        if (s.type == Type::kQuad) return result_is(i, "load" + memory(s) + ")");
        return result_is(i, "__builtin_bit_cast(" + name(s.type) + ", uint32_t(load" + memory(s) + ")))");
      case Op::kStore:
        text_ += "store" + memory(s) + ", ";
        text_ += s.type == Type::kQuad ? value(s.b) + ");\n" : "__builtin_bit_cast(uint32_t, " + value(s.b) + "));\n";
        return;
      case Op::kMatrixElement:
        return result_is(i, matrix_element(s));
      case Op::kMatrixSet:
        text_ += matrix_element(s) + " = " + value(s.b) + ";\n";
        return;
      case Op::kMatrixSetLeft:
        text_ += "matrix_set_left(" + label(s.a) + "[l / 32], l % 32, " + value(s.b) + ");\n";
        return;
      case Op::kSharedLoad:
        return result_is(i, shared(s, "1"));
      case Op::kSharedStore:
        text_ += shared(s, "2") + " = " + value(s.b) + ";\n";
        return;
      case Op::kCopy: {
        Statement from = s, to = s;
        from.a = s.b;
        from.bits = s.bits >> 32;
        to.bits = s.bits & 0xffffffff;
        text_ += "copies.add(&" + shared(to, "2") + ", " + value(s.c) + " ? load" + memory(from) + ") : quad{});\n";
        return;
      }
      case Op::kIf:
        text_ += "if (" + value(s.a) + ") {\n";
        return;
      case Op::kElse:
        text_ += "} else {\n";
        return;
      case Op::kFor: {
        const std::string v = label(s.a) + "[l][0]";
        text_ += "for (" + v + " = " + value(s.b) + "; " + v + " < " + value(s.c) + "; " + v +
                 " += " + std::to_string(s.bits) + ") {\n";
        return;
      }
      case Op::kEndIf:
      case Op::kEndFor:
        text_ += "}\n";
        return;
      default:
        result_is(i, number(s));
    }
  }

  const Program& p_;
  std::string symbol_, text_;
  std::vector<bool> of_group_, kept_;
  bool open_ = false;
};

}  // namespace

std::string host_prelude() {
  return R"(#include <math.h>
#include <stdint.h>
#include <string.h>
#include <utility>
#include <vector>
struct quad { uint32_t w[4]; };
// Copies to shared memory that end later. Until they are waited for their place holds NaNs.
struct copy_groups {
  std::vector<std::vector<std::pair<quad*, quad>>> groups = {{}};
  void add(quad* to, quad v) {
    groups.back().push_back({to, v});
    for (uint32_t& word : to->w) word = 0x7e7f7e7fu;
  }
  void close() { groups.emplace_back(); }
  void wait(size_t left) {
    for (size_t g = 0; g + 1 + left < groups.size(); ++g) {
      for (auto& c : groups[g]) *c.first = c.second;
      groups[g].clear();
    }
  }
};
template <class T> static T load(const void* p, uint64_t bytes, uint64_t i, int* wrong) {
  if ((i + 1) * sizeof(T) > bytes) return *wrong = 1, T();
  return static_cast<const T*>(p)[i];
}
template <class T, class V> static void store(void* p, uint64_t bytes, uint64_t i, int* wrong, V v) {
  if ((i + 1) * sizeof(T) > bytes) { *wrong = 1; return; }
  static_cast<T*>(p)[i] = T(v);
}
static inline uint32_t inside(uint32_t i, uint32_t count, int* wrong) { return i < count ? i : (*wrong = 1, 0); }
static inline bool inverse(bool v) { return !v; }
template <class T> static T inverse(T v) { return ~v; }
// Out of range: any number, but no undefined behaviour.
template <class T, class F> static T converted(F v) { return T(v); }
template <> int32_t converted(float v) { return v > -2147483904.0f && v < 2147483648.0f ? int32_t(v) : INT32_MIN; }
template <> uint32_t converted(float v) { return v > -1.0f && v < 4294967296.0f ? uint32_t(v) : 0; }
static uint32_t half_of(float f) {
  const uint32_t u = __builtin_bit_cast(uint32_t, f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return sign | 0x7e00;
  if (a >= 0x477ff000) return sign | 0x7c00;
  if (a < 0x38800000) return sign | uint32_t(rintf(__builtin_bit_cast(float, a) * 16777216.0f));
  return sign | (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
}
static float float_of_half(uint32_t h) {
  const uint32_t a = h & 0x7fff, sign = (h & 0x8000) << 16;
  const float small = float(a) * 5.9604644775390625e-8f;
  const uint32_t bits = a >= 0x7c00 ? (a << 13) + (224u << 23) : a >= 0x400 ? (a << 13) + (112u << 23)
                                                               : __builtin_bit_cast(uint32_t, small);
  return __builtin_bit_cast(float, sign | bits);
}
// What was done to a place since a barrier: 1 lanes read, 2 wrote, 4 a matrix read, 8 wrote. Lanes and matrices, or two
// matrices, do not meet without a barrier where one of them writes.
static inline uint32_t touched(uint8_t* uses, uint32_t at, int how, int* wrong) {
  const int was = uses[at];
  if ((how == 1 && (was & 8)) || (how == 2 && (was & 12)) || (how == 4 && (was & 10)) || (how == 8 && (was & 7)))
    *wrong = 3;
  uses[at] |= how;
  return at;
}
// Elements of a quad.
struct halves {
  typedef float number;
  static constexpr uint32_t of_quad = 8;
  static float at(const quad& q, uint32_t i) { return float_of_half(q.w[i / 2] >> i % 2 * 16 & 0xffff); }
};
template <bool has_sign> struct codes {
  typedef int32_t number;
  static constexpr uint32_t of_quad = 16;
  static int32_t at(const quad& q, uint32_t i) {
    const uint32_t byte = q.w[i / 4] >> i % 4 * 8 & 0xff;
    return has_sign ? int8_t(byte) : int32_t(byte);
  }
};
template <class E> static void matrix_load(typename E::number* to, const quad* from, uint8_t* uses, uint32_t count,
                        uint32_t first, uint32_t pitch, uint32_t rows, uint32_t columns, bool turned, int* wrong) {
  for (uint32_t r = 0; r < rows; ++r) for (uint32_t c = 0; c < columns; ++c) {
    const uint32_t line = turned ? c : r, at = turned ? r : c, q = first + line * pitch + at / E::of_quad;
    if (q >= count) { *wrong = 1; return; }
    to[r * columns + c] = E::at(from[touched(uses, q, 4, wrong)], at % E::of_quad);
  }
}
template <class T> static void matrix_store(const T* v, quad* to, uint8_t* uses, uint32_t count, uint32_t first,
                         uint32_t pitch, uint32_t rows, uint32_t columns, int* wrong) {
  for (uint32_t r = 0; r < rows; ++r) for (uint32_t c = 0; c < columns; ++c) {
    const uint32_t q = first + r * pitch + c / 4;
    if (q >= count) { *wrong = 1; return; }
    to[touched(uses, q, 8, wrong)].w[c % 4] = __builtin_bit_cast(uint32_t, v[r * columns + c]);
  }
}
static uint32_t matrix_place(uint32_t lane, uint32_t e, uint32_t columns) {
  return (lane / 32 * 16 + lane % 32 / 4 + 8 * (e >> 1 & 1)) * columns + 8 * (e >> 2) + 2 * (lane & 3) + (e & 1);
}
static void matrix_set_left(float* to, uint32_t lane, quad q) {
  for (uint32_t e = 0; e < 8; ++e) to[matrix_place(lane, e, 16)] = float_of_half(q.w[e / 2] >> e % 2 * 16 & 0xffff);
}
template <class T> static void matrix_multiply(const T* a, const T* b, T* sum, uint32_t m, uint32_t n, uint32_t k) {
  for (uint32_t i = 0; i < m; ++i) for (uint32_t l = 0; l < k; ++l) for (uint32_t j = 0; j < n; ++j)
    sum[i * n + j] += a[i * k + l] * b[l * n + j];
}
// Products of tiles happen when they are waited for, with what lies in shared memory then.
struct tile_product {
  void (*multiply)(const tile_product&);
  void* sum;
  const quad* memory;
  uint32_t m, n, k, left, right, depth, block;
  bool left_turned, right_turned;
  uint32_t of_quad;
  uint32_t element(uint32_t first, uint32_t line, uint32_t k, bool turned) const {
    const uint32_t r = turned ? k : line, at = turned ? line % 64 : k;
    return (first + (turned ? line / 64 * block : 0) + r * 8 + ((at / of_quad) ^ (r & 7))) * of_quad + at % of_quad;
  }
  uint32_t left_element(uint32_t i, uint32_t l) const { return element(left, i, depth + l, left_turned); }
  uint32_t right_element(uint32_t j, uint32_t l) const { return element(right, j, depth + l, right_turned); }
};
template <class L, class R> static void multiply_tile(const tile_product& p) {
  std::vector<typename L::number> a(p.m * p.k), b(p.k * p.n);
  for (uint32_t l = 0; l < p.k; ++l) {
    for (uint32_t i = 0, e; i < p.m; ++i)
      e = p.left_element(i, l), a[i * p.k + l] = L::at(p.memory[e / L::of_quad], e % L::of_quad);
    for (uint32_t j = 0, e; j < p.n; ++j)
      e = p.right_element(j, l), b[l * p.n + j] = R::at(p.memory[e / R::of_quad], e % R::of_quad);
  }
  matrix_multiply(a.data(), b.data(), static_cast<typename L::number*>(p.sum), p.m, p.n, p.k);
}
struct tile_groups {
  std::vector<std::vector<tile_product>> groups = {{}};
  void add(const tile_product& p, uint8_t* uses, uint32_t count, int* wrong) {
    if (p.left % 64 != 0 || p.right % 64 != 0) *wrong = 1;
    for (uint32_t l = 0; l < p.k; ++l) for (uint32_t i = 0; i < p.m + p.n; ++i) {
      const uint32_t q = (i < p.m ? p.left_element(i, l) : p.right_element(i - p.m, l)) / p.of_quad;
      if (q >= count) { *wrong = 1; return; }
      touched(uses, q, 4, wrong);
    }
    groups.back().push_back(p);
  }
  void close() { groups.emplace_back(); }
  void wait(size_t left) {
    for (size_t g = 0; g + 1 + left < groups.size(); ++g) {
      for (const tile_product& p : groups[g]) p.multiply(p);
      groups[g].clear();
    }
  }
};
)";
}

std::string print_host(const Program& program, const std::string& symbol) { return Printer(program, symbol).run(); }

}  // namespace vireo::gpu
