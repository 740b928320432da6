#include "delegates/gpu/host/print.h"

#include <vector>

#include "delegates/gpu/host/dialect.h"

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
    }
    text_ +=
        "extern \"C\" int " + symbol_ +
        "(void* const* bindings, const uint64_t* bytes, const uint32_t* push, const uint32_t* groups, int backwards) "
        "{\n(void)bindings; (void)bytes; (void)push;\nconst uint32_t lanes = " +
        lanes + ";\nint wrong = 0;\nuint32_t group[3];\n" +
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
  static bool is_inline(Op op) { return op == Op::kConstant || op == Op::kPush || op == Op::kGroup || op == Op::kLane; }

  // Which blocks have a barrier inside: they are the workgroup's, not a lane's. Marks their heads, elses and ends.
  void find_ways() {
    of_group_.assign(p_.body.size(), false);
    std::vector<std::vector<uint32_t>> open;
    for (uint32_t i = 0; i < p_.body.size(); ++i) {
      const Op op = p_.body[i].op;
      if (op == Op::kIf || op == Op::kFor) open.push_back({i});
      if (op == Op::kElse) open.back().push_back(i);
      if (op == Op::kBarrier) of_group_[i] = true;
      if (op != Op::kBarrier && op != Op::kEndIf && op != Op::kEndFor) continue;
      if (op == Op::kBarrier) {
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
    } else if (s.op == Op::kLoad || s.op == Op::kSharedLoad || s.op == Op::kIf) {
      f(s.a);
    } else if (s.op == Op::kStore || s.op == Op::kSharedStore) {
      f(s.a);
      f(s.b);
    } else if (const char* pattern = spell(kDialect, s.op)) {
      const std::string text = pattern;
      if (text.find("$0") != std::string::npos) f(s.a);
      if (text.find("$1") != std::string::npos) f(s.b);
      if (text.find("$2") != std::string::npos) f(s.c);
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
  void declare(uint32_t i, const std::string& lanes) {
    const Statement& s = p_.body[i];
    if (s.op == Op::kVariable) {
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
                                                            : "uint8_t";
    const std::string binding = std::to_string(b.binding);
    return std::string("<") + element + ">(bindings[" + binding + "], bytes[" + binding + "], " + value(s.a) +
           ", &wrong";
  }
  std::string variable(const Statement& s) const {
    return label(s.a) + "[l][" + (s.bits != 0 ? value(s.b) : "0") + "]";
  }
  std::string shared(const Statement& s) const {
    return symbol_ + "_s" + std::to_string(s.bits) + "[inside(" + value(s.a) + ", " +
           std::to_string(p_.shared[s.bits].count) + ", &wrong)]";
  }

  std::string number(const Statement& s) const {
    std::string out;
    const std::string pattern = spell(kDialect, s.op);
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '$') {
        out += pattern[i];
        continue;
      }
      const char what = pattern[++i];
      out += what == 't' ? name(s.type) : value(what == '0' ? s.a : what == '1' ? s.b : s.c);
    }
    return out;
  }

  // All lanes agree on what leads to a barrier.
  void agree(uint32_t i) {
    if (!is_inline(p_.body[i].op))
      text_ += "for (uint32_t l = 1; l < lanes; ++l) if (" + value(i) + " != " + value(i, "0") + ") wrong = 2;\n";
  }

  void group_statement(uint32_t i) {
    const Statement& s = p_.body[i];
    close();
    switch (s.op) {
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
    if (s.op == Op::kVariable || is_inline(s.op)) return;
    open();
    switch (s.op) {
      case Op::kGet:
        return result_is(i, variable(s));
      case Op::kSet:
        text_ += variable(s) + " = " + value(s.c) + ";\n";
        return;
      case Op::kLoad:
        return result_is(i, "__builtin_bit_cast(" + name(s.type) + ", uint32_t(load" + memory(s) + ")))");
      case Op::kStore:
        text_ += "store" + memory(s) + ", __builtin_bit_cast(uint32_t, " + value(s.b) + "));\n";
        return;
      case Op::kSharedLoad:
        return result_is(i, shared(s));
      case Op::kSharedStore:
        text_ += shared(s) + " = " + value(s.b) + ";\n";
        return;
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
template <class T> static uint32_t load(const void* p, uint64_t bytes, uint64_t i, int* wrong) {
  if ((i + 1) * sizeof(T) > bytes) return *wrong = 1, 0;
  return static_cast<const T*>(p)[i];
}
template <class T> static void store(void* p, uint64_t bytes, uint64_t i, int* wrong, uint32_t v) {
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
)";
}

std::string print_host(const Program& program, const std::string& symbol) { return Printer(program, symbol).run(); }

}  // namespace vireo::gpu
