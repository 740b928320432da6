#include "delegates/gpu/ptx/print.h"

#include <array>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

namespace vireo::gpu {
namespace {

constexpr int64_t kMostOffset = 1 << 20;  // bytes that an address leaves to its instruction
constexpr const char* kAwait = "griddepcontrol.wait;\n";

// Above this the launch says how much a workgroup shares.
constexpr uint32_t kMostShared = 48u << 10;

uint32_t bytes_of(Type t) { return t == Type::kQuad ? 16 : is_wide(t) ? 8 : 4; }
uint32_t shared_bytes(const SharedArray& a) { return (a.count * bytes_of(a.type) + 15) / 16 * 16; }

// Registers are named by the statement that sets them: %r of 32 bits, %f of floats, %d of 64 bits, %p of truths.
class Printer {
 public:
  Printer(const Program& program, const Target& target) : p_(program), target_(target) {}

  std::string run(const std::string& entry) {
    for (uint32_t i = 0; i < p_.body.size(); ++i) statement(i);
    std::string all = head(entry);
    all += text_;
    return all += "ret;\n}\n";
  }

 private:
  static std::string number(uint64_t n) { return std::to_string(n); }

  // ---- Around the statements

  std::string head(const std::string& entry) const {
    std::string out = ".visible .entry " + entry + "(";
    for (uint32_t i = 0; i < p_.bindings + p_.push_words; ++i) {
      out += i == 0 ? "\n" : ",\n";
      out += i < p_.bindings ? ".param .u64 b" + number(i) : ".param .u32 w" + number(i - p_.bindings);
    }
    out += ")\n.maxntid " + number(p_.size[0]) + ", " + number(p_.size[1]) + ", " + number(p_.size[2]) + "\n{\n";
    const std::string count = number(p_.body.size() + 1);
    out += ".reg .pred %p<" + count + ">;\n.reg .b32 %r<" + count + ">;\n.reg .f32 %f<" + count + ">;\n.reg .b64 %d<" +
           count + ">;\n.reg .b64 %a<" + number(addresses_ + 1) + ">;\n.reg .b32 %s<" + number(addresses_ + 1) +
           ">;\n.reg .b16 %h<2>;\n.reg .b32 %low, %high;\n" + declared_;
    for (size_t i = 0; i < p_.shared.size() && ptx_launch_bytes(p_) == 0; ++i)
      out += ".shared .align " + number(p_.unit.reads_tiles ? 1024 : 16) + " .b8 shared" + number(i) + "[" +
             number(shared_bytes(p_.shared[i])) + "];\n";
    for (uint32_t i = 0; i < p_.bindings; ++i) {
      out += ".reg .b64 %b" + number(i) + ";\nld.param.u64 %b" + number(i) + ", [b" + number(i) +
             "];\ncvta.to.global.u64 %b" + number(i) + ", %b" + number(i) + ";\n";
    }
    out += prologue_;
    if (target_.ptx < 90) return out;
    // In a graph this kernel may start before what the one before it wrote is seen. Letting each next one start earlier
    // than at the end (griddepcontrol.launch_dependents) made models up to 1.5 times slower, and 1.1 times where only
    // kernels of few workgroups did so: its workgroups wait on multiprocessors that this one still needs. Those that
    // ask for weights meanwhile are another matter (Start::kBegun in stream/recordings.h).
    return awaits_ ? out : out + kAwait;
  }

  // ---- Registers

  // The letter of the type's registers.
  static char letter(Type t) {
    if (t == Type::kBool) return 'p';
    if (is_float(t)) return 'f';
    return is_wide(t) ? 'd' : 'r';
  }
  static std::string reg(Type t, uint32_t i) { return std::string("%") + letter(t) + number(i); }
  std::string value(uint32_t i) const { return reg(type_of(p_.body[i]), i); }
  static std::string part(uint32_t i, uint32_t which) { return "%q" + number(i) + "_" + number(which); }
  static std::string quad(uint32_t i) {
    return "{" + part(i, 0) + ", " + part(i, 1) + ", " + part(i, 2) + ", " + part(i, 3) + "}";
  }
  void declare_quad(uint32_t i) { declared_ += ".reg .b32 %q" + number(i) + "_<4>;\n"; }

  // "u32", as instructions name it; "b32" where signs do not matter.
  static std::string name(Type t) {
    switch (t) {
      case Type::kBool:
        return "pred";
      case Type::kI32:
        return "s32";
      case Type::kI64:
        return "s64";
      case Type::kU64:
        return "u64";
      case Type::kF32:
        return "f32";
      default:
        return "u32";
    }
  }
  static std::string bits(Type t) { return t == Type::kBool ? "pred" : is_wide(t) ? "b64" : "b32"; }

  void line(const std::string& text) { (text_ += text) += ";\n"; }
  // op result, operands.
  void make(uint32_t i, const std::string& op, const std::vector<uint32_t>& operands) {
    std::string text = op + " " + value(i);
    for (const uint32_t o : operands) text += ", " + value(o);
    line(text);
  }

  // ---- Memory

  // An index as a statement and what is added to it, where the sum needs no instruction of its own.
  std::pair<uint32_t, int64_t> split(uint32_t index, uint32_t bytes) const {
    int64_t added = 0;
    for (;;) {
      const Statement& s = p_.body[index];
      if (s.op != Op::kAdd) break;
      const bool second = p_.body[s.b].op == Op::kConstant;
      if (!second && p_.body[s.a].op != Op::kConstant) break;
      const int64_t more = static_cast<int32_t>(p_.body[second ? s.b : s.a].bits);
      if ((added + more) * bytes >= kMostOffset || (added + more) * bytes <= -kMostOffset) break;
      added += more;
      index = second ? s.a : s.b;
    }
    return {index, added * bytes};
  }
  static std::string behind(const std::string& base, int64_t offset) {
    return "[" + base + (offset < 0 ? "" : "+") + std::to_string(offset) + "]";
  }

  // Where the element lies. An index counts as signed: with less than 2^31 - 2^20 elements, what a constant makes of a
  // number below 0 or above them is the element all the same.
  std::string global(const Statement& s) {
    const Buffer& b = p_.buffers[s.bits];
    const uint32_t bytes = b.element == Element::kQuad ? 16 : 4u >> static_cast<uint32_t>(b.element);
    const auto [index, offset] = split(s.a, bytes);
    const std::string base = "%b" + number(b.binding);
    if (p_.body[index].op == Op::kConstant) {
      const int64_t at = static_cast<int64_t>(static_cast<int32_t>(p_.body[index].bits)) * bytes + offset;
      if (at < kMostOffset && at > -kMostOffset) return behind(base, at);
    }
    const std::string a = "%a" + number(addresses_++);
    line("mad.wide.s32 " + a + ", " + value(index) + ", " + number(bytes) + ", " + base);
    return behind(a, offset);
  }
  std::string shared(const Statement& s) {
    const uint32_t bytes = bytes_of(p_.shared[s.bits].type);
    const auto [index, offset] = split(s.a, bytes);
    return behind(shared_address(static_cast<uint32_t>(s.bits), index, bytes), offset);
  }
  std::string shared_address(uint32_t array, uint32_t index, uint32_t bytes) {
    std::string a = "%s" + number(addresses_++);
    line("mad.lo.u32 " + a + ", " + value(index) + ", " + number(bytes) + ", " + shared_base(array));
    return a;
  }
  // Its address in a register of the entry.
  std::string shared_base(uint32_t array) {
    std::string base = "%base" + number(array);
    if (bases_.size() <= array) bases_.resize(array + 1, false);
    if (!bases_[array]) {
      bases_[array] = true;
      const bool given = ptx_launch_bytes(p_) != 0;
      prologue_ += ".reg .b32 " + base + ";\nmov.u32 " + base + ", shared" + (given ? "" : number(array)) + ";\n";
      uint32_t first = 0;
      for (uint32_t i = 0; i < array; ++i) first += shared_bytes(p_.shared[i]);
      if (given) prologue_ += "add.u32 " + base + ", " + base + ", " + number(first) + ";\n";
    }
    return base;
  }

  void load(uint32_t i) {
    const Statement& s = p_.body[i];
    const std::string at = global(s);
    switch (p_.buffers[s.bits].element) {
      case Element::kQuad:
        declare_quad(i);
        return line("ld.global.v4.b32 " + quad(i) + ", " + at);
      case Element::kWord:
        return line("ld.global.b32 " + value(i) + ", " + at);
      case Element::kHalfWord:
        return line("ld.global.u16 " + value(i) + ", " + at);
      default:
        return line("ld.global.u8 " + value(i) + ", " + at);
    }
  }
  void store(const Statement& s) {
    const std::string at = global(s);
    switch (p_.buffers[s.bits].element) {
      case Element::kQuad:
        return line("st.global.v4.b32 " + at + ", " + quad(s.b));
      case Element::kWord:
        return line("st.global.b32 " + at + ", " + value(s.b));
      case Element::kHalfWord:
        return line("st.global.u16 " + at + ", " + value(s.b));
      default:
        return line("st.global.u8 " + at + ", " + value(s.b));
    }
  }
  void shared_load(uint32_t i) {
    const Statement& s = p_.body[i];
    const std::string at = shared(s);
    if (s.type != Type::kQuad) return line("ld.shared." + bits(s.type) + " " + value(i) + ", " + at);
    declare_quad(i);
    line("ld.shared.v4.b32 " + quad(i) + ", " + at);
  }
  void shared_store(const Statement& s) {
    const std::string at = shared(s);
    const Type t = p_.shared[s.bits].type;
    if (t != Type::kQuad) return line("st.shared." + bits(t) + " " + at + ", " + value(s.b));
    line("st.shared.v4.b32 " + at + ", " + quad(s.b));
  }

  // Past the first-level cache, where no lane reads the quad again.
  void copy(const Statement& s) {
    Statement from = s, to = s;
    from.a = s.b;
    from.bits = s.bits >> 32;
    to.bits = s.bits & 0xffffffff;
    const std::string at = shared(to), source = global(from);
    if (p_.body[s.c].op == Op::kConstant && p_.body[s.c].bits != 0)
      return line("cp.async.cg.shared.global " + at + ", " + source + ", 16");
    const std::string bytes = "%s" + number(addresses_++);
    line("selp.b32 " + bytes + ", 16, 0, " + value(s.c));
    line("cp.async.cg.shared.global " + at + ", " + source + ", 16, " + bytes);
  }

  // ---- Variables: registers, or memory of the lane where there is an index

  void variable(uint32_t i) {
    const Statement& s = p_.body[i];
    if (s.bits > 1) {
      declared_ += ".local .align 16 .b8 local" + number(i) + "[" + number(s.bits * bytes_of(s.type)) + "];\n";
    } else if (s.type == Type::kQuad) {
      declare_quad(i);
    }
  }
  bool is_array(uint32_t variable) const { return p_.body[variable].bits > 1; }
  std::string local(const Statement& s) {
    const Type t = p_.body[s.a].type;
    if (s.bits == 0) return "[local" + number(s.a) + "]";
    const std::string a = "%a" + number(addresses_++), base = "%a" + number(addresses_++);
    line("mov.u64 " + base + ", local" + number(s.a));
    line("mad.wide.u32 " + a + ", " + value(s.b) + ", " + number(bytes_of(t)) + ", " + base);
    return "[" + a + "]";
  }
  void get(uint32_t i) {
    const Statement& s = p_.body[i];
    if (s.type == Type::kQuad) declare_quad(i);
    if (is_array(s.a)) {
      const std::string at = local(s);
      if (s.type == Type::kQuad) return line("ld.local.v4.b32 " + quad(i) + ", " + at);
      return line("ld.local." + bits(s.type) + " " + value(i) + ", " + at);
    }
    if (s.type != Type::kQuad) return line("mov." + bits(s.type) + " " + value(i) + ", " + reg(s.type, s.a));
    for (uint32_t w = 0; w < 4; ++w) line("mov.b32 " + part(i, w) + ", " + part(s.a, w));
  }
  void set(const Statement& s) {
    const Type t = p_.body[s.a].type;
    if (is_array(s.a)) {
      const std::string at = local(s);
      if (t == Type::kQuad) return line("st.local.v4.b32 " + at + ", " + quad(s.c));
      return line("st.local." + bits(t) + " " + at + ", " + value(s.c));
    }
    if (t != Type::kQuad) return line("mov." + bits(t) + " " + reg(t, s.a) + ", " + value(s.c));
    for (uint32_t w = 0; w < 4; ++w) line("mov.b32 " + part(s.a, w) + ", " + part(s.c, w));
  }

  // ---- Blocks

  void begin_if(uint32_t i) {
    line("@!" + value(p_.body[i].a) + " bra ELSE" + number(i));
    open_.push_back({i, false});
  }
  void begin_else() {
    const uint32_t i = open_.back().first;
    open_.back().second = true;
    line("bra END" + number(i));
    text_ += "ELSE" + number(i) + ":\n";
  }
  void end_if() {
    const auto [i, has_else] = open_.back();
    open_.pop_back();
    text_ += (has_else ? "END" : "ELSE") + number(i) + ":\n";
  }
  void begin_loop(uint32_t i) {
    const Statement& s = p_.body[i];
    line("mov.b32 " + reg(Type::kU32, s.a) + ", " + value(s.b));
    text_ += "LOOP" + number(i) + ":\n";
    line("setp.ge.u32 " + reg(Type::kBool, i) + ", " + reg(Type::kU32, s.a) + ", " + value(s.c));
    line("@" + reg(Type::kBool, i) + " bra END" + number(i));
  }
  void end_loop(uint32_t head) {
    const Statement& s = p_.body[head];
    line("add.u32 " + reg(Type::kU32, s.a) + ", " + reg(Type::kU32, s.a) + ", " + number(s.bits));
    line("bra LOOP" + number(head));
    text_ += "END" + number(head) + ":\n";
  }

  // ---- Matrices
  //
  // An operand is four registers, of the 8 x 8 blocks that ldmatrix brings; a right one is two of the unit's columns of
  // eight. A sum is eight.

  static std::string element(uint32_t matrix, uint32_t which) { return "%m" + number(matrix) + "_" + number(which); }
  static std::string elements(uint32_t matrix, uint32_t from, uint32_t count) {
    std::string out = "{";
    for (uint32_t e = from; e < from + count; ++e) out += (e == from ? "" : ", ") + element(matrix, e);
    return out + "}";
  }
  void matrix(uint32_t i) {
    const bool sum = p_.body[i].bits == 2;
    declared_ += std::string(sum && !p_.unit.codes ? ".reg .f32 %m" : ".reg .b32 %m") + number(i) + "_<" +
                 number(sum ? p_.unit.elements() : 4) + ">;\n";
  }
  // What a lane adds to the address of a matrix whose lines lie `pitch` quads apart: the line that it brings. Blocks
  // follow each other down the lines first, or along them.
  std::string lane_offset(uint32_t pitch, bool down_first) {
    const std::pair<uint32_t, bool> key{pitch, down_first};
    const auto known = lanes_.find(key);
    if (known != lanes_.end()) return known->second;
    std::string r = "%lane" + number(lanes_.size());
    prologue_ += "{\n.reg .b32 %x<6>;\nmov.u32 %x0, %tid.x;\nand.b32 %x1, %x0, 7;\nshr.u32 %x2, %x0, 3;\n" +
                 std::string("and.b32 %x3, %x2, 1;\nshr.u32 %x4, %x0, 4;\nand.b32 %x4, %x4, 1;\n");
    const std::string line = down_first ? "%x3" : "%x4", across = down_first ? "%x4" : "%x3";
    prologue_ += "mad.lo.u32 %x1, " + line + ", 8, %x1;\nmul.lo.u32 %x1, %x1, " + number(uint64_t{pitch} * 16) +
                 ";\nmad.lo.u32 " + r + ", " + across + ", 16, %x1;\n}\n";
    prologue_ = ".reg .b32 " + r + ";\n" + prologue_;
    lanes_.emplace(key, r);
    return r;
  }
  void matrix_load(const Statement& s) {
    const auto pitch = static_cast<uint32_t>(s.bits >> 32);
    const bool turned = (s.bits >> 31 & 1) != 0, right = p_.body[s.a].bits == 1;
    const bool transposes = turned != right;
    const auto [index, offset] = split(s.b, 16);
    const std::string first = shared_address(static_cast<uint32_t>(s.bits & 0x7fffffff), index, 16);
    const std::string mine = "%s" + number(addresses_++);
    line("add.u32 " + mine + ", " + first + ", " + lane_offset(pitch, !turned));
    line(std::string("ldmatrix.sync.aligned.m8n8.x4") + (transposes ? ".trans" : "") + ".shared.b16 " +
         elements(s.a, 0, 4) + ", " + behind(mine, offset));
  }
  // ".s8.u8": the types of bytes.
  std::string code_types() const {
    return std::string(p_.unit.left_signed ? ".s8" : ".u8") + (p_.unit.right_signed ? ".s8" : ".u8");
  }
  // Lanes have the same bytes of 32 along the depth as of 16 halves.
  void matrix_multiply(const Statement& s) {
    for (uint32_t half = 0; half < 2; ++half) {
      const std::string sum = elements(s.c, half * 4, 4);
      if (p_.unit.codes) {
        line("mma.sync.aligned.m16n8k32.row.col.s32" + code_types() + ".s32 " + sum + ", " + elements(s.a, 0, 4) +
             ", " + elements(s.b, half * 2, 2) + ", " + sum);
        continue;
      }
      if (target_.ptx >= 80) {
        line("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + sum + ", " + elements(s.a, 0, 4) + ", " +
             elements(s.b, half * 2, 2) + ", " + sum);
        continue;
      }
      for (uint32_t k = 0; k < 2; ++k) {
        line("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " + sum + ", " + elements(s.a, k * 2, 2) + ", " +
             elements(s.b, half * 2 + k, 1) + ", " + sum);
      }
    }
  }
  // A lane has two neighbours of two lines in each half of the columns.
  void matrix_store(const Statement& s) {
    const auto pitch = static_cast<uint32_t>(s.bits >> 32);
    const std::pair<uint32_t, bool> key{pitch, true};
    if (sums_.find(key) == sums_.end()) {
      const std::string r = "%sum" + number(sums_.size());
      prologue_ = ".reg .b32 " + r + ";\n" + prologue_ +
                  "{\n.reg .b32 %x<4>;\nmov.u32 %x0, %tid.x;\nshr.u32 %x3, %x0, 5;\nand.b32 %x3, %x3, " +
                  number(p_.unit.lanes / 32 - 1) + ";\nand.b32 %x0, %x0, 31;\nshr.u32 %x1, %x0, 2;\n" +
                  "mad.lo.u32 %x1, %x3, 16, %x1;\nand.b32 %x2, %x0, 3;\nmul.lo.u32 %x1, %x1, " +
                  number(uint64_t{pitch} * 16) + ";\nmad.lo.u32 " + r + ", %x2, 8, %x1;\n}\n";
      sums_.emplace(key, r);
    }
    const auto [index, offset] = split(s.b, 16);
    const std::string first = shared_address(static_cast<uint32_t>(s.bits & 0x7fffffff), index, 16);
    const std::string mine = "%s" + number(addresses_++);
    line("add.u32 " + mine + ", " + first + ", " + sums_.at(key));
    for (uint32_t half = 0; half < p_.unit.n / 8; ++half) {
      for (uint32_t low = 0; low < 2; ++low) {
        line(std::string("st.shared.v2.") + (p_.unit.codes ? "b32 " : "f32 ") +
             behind(mine, offset + half * 32 + int64_t{low} * 8 * pitch * 16) + ", " +
             elements(s.a, half * 4 + low * 2, 2));
      }
    }
  }

  // ---- Tiles
  //
  // A descriptor of 64 bits says where an operand lies, in units of 16 bytes: where it begins, how far the next 64
  // neighbours of a turned one are, how far the next eight lines are, and that quads lie as kTileMultiply has them.

  std::string tile(uint32_t index, const TilePlace& place, bool turned) {
    const auto [first, offset] = split(index, 16);
    const std::string from = shared_address(place.array, first, 16), at = "%a" + number(addresses_++);
    // A line is 128 bytes; where lines go along k, 16 of them are one step into the depth, else 32 bytes of each.
    const int64_t begin = offset / 16 + (turned ? int64_t{place.depth} * 8 : place.depth / p_.unit.of_quad());
    line("shr.u32 " + from + ", " + from + ", 4");
    line("cvt.u64.u32 " + at + ", " + from);
    const uint64_t rest = uint64_t{1} << 62 | uint64_t{64} << 32 | uint64_t{turned ? place.block : 1} << 16;
    line("add.s64 " + at + ", " + at + ", " + number(rest + static_cast<uint64_t>(begin)));
    return at;
  }
  void tile_multiply(const Statement& s) {
    const TilePlace place = tile_place_of(s.bits);
    const std::string left = tile(s.a, place, place.left_turned), right = tile(s.b, place, place.right_turned);
    const Unit& u = p_.unit;
    line("wgmma.mma_async.sync.aligned.m" + number(u.m) + "n" + number(u.n) + "k" + number(u.k) +
         (u.codes ? ".s32" + code_types() : ".f32.f16.f16") + " " + elements(s.c, 0, u.elements()) + ", " + left +
         ", " + right + ", 1" +
         (u.codes ? std::string()
                  : std::string(", 1, 1, ") + (place.left_turned ? "1, " : "0, ") + (place.right_turned ? "1" : "0")));
  }

  void shuffle_wide(uint32_t i) {
    const Statement& s = p_.body[i];
    line("mov.b64 {%low, %high}, " + value(s.a));
    for (const char* word : {"%low", "%high"})
      line(std::string("shfl.sync.bfly.b32 ") + word + ", " + word + ", " + number(s.bits) + ", 31, 0xffffffff");
    line("mov.b64 " + value(i) + ", {%low, %high}");
  }

  // ---- Numbers

  void constant(uint32_t i) {
    const Statement& s = p_.body[i];
    switch (s.type) {
      case Type::kBool:
        return line("setp.ne.u32 " + value(i) + ", " + (s.bits != 0 ? "1" : "0") + ", 0");
      case Type::kI64:
      case Type::kU64:
        return line("mov.u64 " + value(i) + ", " + number(s.bits));
      case Type::kF32: {
        char hex[16];
        std::snprintf(hex, sizeof(hex), "0f%08X", static_cast<uint32_t>(s.bits));
        return line("mov.f32 " + value(i) + ", " + hex);
      }
      default:
        return line("mov.u32 " + value(i) + ", " + number(static_cast<uint32_t>(s.bits)));
    }
  }

  void arithmetic(uint32_t i) {
    const Statement& s = p_.body[i];
    const std::string t = name(s.type), b = bits(s.type);
    const bool truth = s.type == Type::kBool, real = is_float(s.type);
    switch (s.op) {
      case Op::kAdd:
        return make(i, real ? "add.rn.f32" : "add." + t, {s.a, s.b});
      case Op::kSubtract:
        return make(i, real ? "sub.rn.f32" : "sub." + t, {s.a, s.b});
      case Op::kMultiply:
        return make(i, real ? "mul.rn.f32" : "mul.lo." + t, {s.a, s.b});
      case Op::kDivide:
        return make(i, real ? "div.rn.f32" : "div." + t, {s.a, s.b});
      case Op::kRemainder:
        return make(i, "rem." + t, {s.a, s.b});
      case Op::kMultiplyHigh:
        return make(i, "mul.hi." + t, {s.a, s.b});
      case Op::kFma:
        return make(i, real ? "fma.rn.f32" : "mad.lo." + t, {s.a, s.b, s.c});
      case Op::kMaximum:
        return make(i, "max.f32", {s.a, s.b});
      case Op::kAnd:
        return make(i, "and." + b, {s.a, s.b});
      case Op::kOr:
        return make(i, "or." + b, {s.a, s.b});
      case Op::kXor:
        return make(i, "xor." + b, {s.a, s.b});
      case Op::kNot:
        return make(i, "not." + b, {s.a});
      case Op::kShiftLeft:
        return line("shl." + b + " " + value(i) + ", " + value(s.a) + ", " + amount(s.b));
      case Op::kShiftRight:
        return line("shr." + t + " " + value(i) + ", " + value(s.a) + ", " + amount(s.b));
      case Op::kEqual:
      case Op::kNotEqual:
        if (!truth) return make(i, (s.op == Op::kEqual ? "setp.eq." : real ? "setp.neu." : "setp.ne.") + t, {s.a, s.b});
        make(i, "xor.pred", {s.a, s.b});
        if (s.op == Op::kEqual) line("not.pred " + value(i) + ", " + value(i));
        return;
      case Op::kLess:
        return make(i, "setp.lt." + t, {s.a, s.b});
      case Op::kLessEqual:
        return make(i, "setp.le." + t, {s.a, s.b});
      case Op::kSelect:
        return select(i);
      case Op::kJoin: {
        declare_quad(i);
        const std::array<uint32_t, 4> words = {s.a, s.b, s.c, static_cast<uint32_t>(s.bits)};
        for (uint32_t w = 0; w < 4; ++w) line("mov.b32 " + part(i, w) + ", " + value(words[w]));
        return;
      }
      case Op::kPart:
        return line("mov.b32 " + value(i) + ", " + part(s.a, static_cast<uint32_t>(s.bits)));
      case Op::kPackHalves:
        if (target_.ptx >= 80) return line("cvt.rn.f16x2.f32 " + value(i) + ", " + value(s.b) + ", " + value(s.a));
        line("cvt.rn.f16.f32 %h0, " + value(s.a));
        line("cvt.rn.f16.f32 %h1, " + value(s.b));
        return line("mov.b32 " + value(i) + ", {%h0, %h1}");
      case Op::kUnpackHalf:
        line("mov.b32 {%h0, %h1}, " + value(s.a));
        return line("cvt.f32.f16 " + value(i) + ", %h" + number(s.bits));
      case Op::kConvert:
        return convert(i);
      case Op::kBitcast:
        return line("mov." + b + " " + value(i) + ", " + value(s.a));
      case Op::kAbsolute:
        return make(i, "abs.f32", {s.a});
      case Op::kSquareRoot:
        return make(i, "sqrt.rn.f32", {s.a});
      case Op::kExp2:
        return make(i, "ex2.approx.f32", {s.a});
      case Op::kFloor:
        return make(i, "cvt.rmi.f32.f32", {s.a});
      case Op::kCeil:
        return make(i, "cvt.rpi.f32.f32", {s.a});
      case Op::kTruncate:
        return make(i, "cvt.rzi.f32.f32", {s.a});
      case Op::kRoundEven:
        return make(i, "cvt.rni.f32.f32", {s.a});
      default:
        return;
    }
  }
  // Shifts count in 32 bits.
  std::string amount(uint32_t i) {
    if (!is_wide(type_of(p_.body[i]))) return value(i);
    std::string a = "%s" + number(addresses_++);
    line("cvt.u32.u64 " + a + ", " + value(i));
    return a;
  }
  void select(uint32_t i) {
    const Statement& s = p_.body[i];
    const std::string p = value(s.a);
    if (s.type == Type::kQuad) {
      declare_quad(i);
      for (uint32_t w = 0; w < 4; ++w)
        line("selp.b32 " + part(i, w) + ", " + part(s.b, w) + ", " + part(s.c, w) + ", " + p);
    } else if (s.type == Type::kBool) {
      const std::string out = value(i), other = "%other" + number(i);
      declared_ += ".reg .pred " + other + ";\n";
      line("not.pred " + other + ", " + p);
      line("and.pred " + other + ", " + other + ", " + value(s.c));
      line("and.pred " + out + ", " + p + ", " + value(s.b));
      line("or.pred " + out + ", " + out + ", " + other);
    } else {
      line("selp." + bits(s.type) + " " + value(i) + ", " + value(s.b) + ", " + value(s.c) + ", " + p);
    }
  }
  void convert(uint32_t i) {
    const Statement& s = p_.body[i];
    const Type from = type_of(p_.body[s.a]), to = s.type;
    if (is_float(from)) return make(i, "cvt.rzi." + name(to) + ".f32", {s.a});
    if (is_float(to)) return make(i, "cvt.rn.f32." + name(from), {s.a});
    if (is_wide(to) == is_wide(from)) return make(i, "mov." + bits(to), {s.a});
    make(i, "cvt." + name(to) + "." + name(from), {s.a});
  }

  void statement(uint32_t i) {
    const Statement& s = p_.body[i];
    switch (s.op) {
      case Op::kConstant:
        return constant(i);
      case Op::kPush:
        return line("ld.param.u32 " + value(i) + ", [w" + number(s.bits) + "]");
      case Op::kGroup:
        return line("mov.u32 " + value(i) + ", %ctaid." + "xyz"[s.bits]);
      case Op::kLane:
        return line("mov.u32 " + value(i) + ", %tid.x");
      case Op::kSubgroup:
        line("mov.u32 " + value(i) + ", %tid.x");
        return line("shr.u32 " + value(i) + ", " + value(i) + ", 5");
      case Op::kVariable:
        return variable(i);
      case Op::kGet:
        return get(i);
      case Op::kSet:
        return set(s);
      case Op::kLoad:
        return load(i);
      case Op::kStore:
        return store(s);
      case Op::kSharedLoad:
        return shared_load(i);
      case Op::kSharedStore:
        return shared_store(s);
      case Op::kCopy:
        return copy(s);
      case Op::kCopyGroup:
        return line("cp.async.commit_group");
      case Op::kCopyWait:
        line("cp.async.wait_group " + number(s.bits));
        if (p_.unit.reads_tiles) line("fence.proxy.async.shared::cta");  // units see what lanes wrote
        return;
      case Op::kIf:
        return begin_if(i);
      case Op::kElse:
        return begin_else();
      case Op::kEndIf:
        return end_if();
      case Op::kFor:
        return begin_loop(i);
      case Op::kEndFor:
        return end_loop(s.a);
      case Op::kBarrier:
        return line("bar.sync 0");
      case Op::kAwait:
        awaits_ = true;
        if (target_.ptx >= 90) text_ += kAwait;
        return;
      case Op::kMatrix:
        return matrix(i);
      case Op::kMatrixZero:
        for (uint32_t e = 0; e < p_.unit.elements(); ++e)
          line((p_.unit.codes ? "mov.b32 " : "mov.f32 ") + element(s.a, e) + (p_.unit.codes ? ", 0" : ", 0f00000000"));
        return;
      case Op::kMatrixLoad:
        return matrix_load(s);
      case Op::kMatrixMultiply:
        return matrix_multiply(s);
      case Op::kMatrixStore:
        return matrix_store(s);
      case Op::kMatrixElement:
        return line((p_.unit.codes ? "mov.b32 " : "mov.f32 ") + value(i) + ", " +
                    element(s.a, static_cast<uint32_t>(s.bits)));
      case Op::kMatrixSet:
        return line("mov.f32 " + element(s.a, static_cast<uint32_t>(s.bits)) + ", " + value(s.b));
      case Op::kMatrixSetLeft:
        for (uint32_t w = 0; w < 4; ++w) line("mov.b32 " + element(s.a, w) + ", " + part(s.b, w));
        return;
      case Op::kTileBegin:
        return line("wgmma.fence.sync.aligned");
      case Op::kTileMultiply:
        return tile_multiply(s);
      case Op::kTileCommit:
        return line("wgmma.commit_group.sync.aligned");
      case Op::kTileWait:
        return line("wgmma.wait_group.sync.aligned " + number(s.bits));
      case Op::kShuffle:
        if (is_wide(s.type)) return shuffle_wide(i);
        return line("shfl.sync.bfly.b32 " + value(i) + ", " + value(s.a) + ", " + number(s.bits) + ", 31, 0xffffffff");
      default:
        arithmetic(i);
    }
  }

  const Program& p_;
  const Target& target_;
  std::string text_, declared_, prologue_;
  uint32_t addresses_ = 0;
  bool awaits_ = false;
  std::vector<bool> bases_;
  std::vector<std::pair<uint32_t, bool>> open_;  // the blocks of kIf, and whether they have an else
  std::map<std::pair<uint32_t, bool>, std::string> lanes_, sums_;
};

}  // namespace

std::string ptx_head(const Target& target) {
  // Version 7.8 is the first that knows the ninth family, 8.4 the first that has its tiles of bytes of both signs.
  const char* const level = target.tile_unit   ? ".version 8.4\n.target sm_90a\n"
                            : target.ptx >= 90 ? ".version 7.8\n.target sm_90\n"
                            : target.ptx >= 80 ? ".version 7.0\n.target sm_80\n"
                                               : ".version 6.5\n.target sm_75\n";
  return std::string(level) + ".address_size 64\n.extern .shared .align 1024 .b8 shared[];\n";
}

uint32_t ptx_launch_bytes(const Program& program) {
  uint32_t bytes = 0;
  for (const SharedArray& a : program.shared) bytes += shared_bytes(a);
  return bytes > kMostShared ? bytes : 0;
}

std::string ptx_entry(const Program& program, const Target& target, const std::string& name) {
  return Printer(program, target).run(name);
}

std::string print_ptx(const Program& program, const Target& target) {
  return ptx_head(target) + ptx_entry(program, target, "kernel");
}

}  // namespace vireo::gpu
