#include "delegates/gpu/ir/builder.h"

#include "sdk/base/half.h"

namespace vireo::gpu {
namespace {

// Its value depends on its operands only.
bool is_pure(Op op) { return has_value(op) && op != Op::kGet && op != Op::kLoad && op != Op::kSharedLoad; }

uint64_t masked(Type t, uint64_t bits) {
  if (t == Type::kBool) return bits & 1;
  return is_wide(t) ? bits : static_cast<uint32_t>(bits);
}
int64_t as_signed(Type t, uint64_t bits) {
  return t == Type::kI32 ? static_cast<int32_t>(static_cast<uint32_t>(bits)) : static_cast<int64_t>(bits);
}
bool less(Type t, uint64_t a, uint64_t b) { return is_signed(t) ? as_signed(t, a) < as_signed(t, b) : a < b; }

// Integers and bools. False: not defined for these operands.
bool compute(Op op, Type t, uint64_t a, uint64_t b, uint64_t* out) {
  switch (op) {
    case Op::kAdd:
      return *out = a + b, true;
    case Op::kSubtract:
      return *out = a - b, true;
    case Op::kMultiply:
      return *out = a * b, true;
    case Op::kDivide:
      if (b == 0 || is_signed(t)) return false;
      return *out = a / b, true;
    case Op::kRemainder:
      if (b == 0 || is_signed(t)) return false;
      return *out = a % b, true;
    case Op::kAnd:
      return *out = a & b, true;
    case Op::kOr:
      return *out = a | b, true;
    case Op::kXor:
      return *out = a ^ b, true;
    case Op::kShiftLeft:
      return *out = a << (b & 63), true;
    case Op::kShiftRight:
      return *out = is_signed(t) ? static_cast<uint64_t>(as_signed(t, a) >> (b & 63)) : a >> (b & 63), true;
    case Op::kEqual:
      return *out = a == b, true;
    case Op::kNotEqual:
      return *out = a != b, true;
    case Op::kLess:
      return *out = less(t, a, b), true;
    case Op::kLessEqual:
      return *out = !less(t, b, a), true;
    default:
      return false;
  }
}

}  // namespace

Value Variable::get() const { return get({}); }
Value Variable::get(Value index) const {
  builder->program().body.push_back({Op::kGet, type, id, index.valid() ? index.id : id, 0, index.valid()});
  return {builder, static_cast<uint32_t>(builder->program().body.size() - 1), type};
}
void Variable::set(Value value) const { set({}, value); }
void Variable::set(Value index, Value value) const {
  builder->program().body.push_back({Op::kSet, type, id, index.valid() ? index.id : id, value.id, index.valid()});
}

uint32_t Builder::append(const Statement& s) {
  program_.body.push_back(s);
  return static_cast<uint32_t>(program_.body.size() - 1);
}

Value Builder::make(Op op, Type type, uint32_t a, uint32_t b, uint32_t c, uint64_t bits) {
  const Type result = is_comparison(op) ? Type::kBool : type;
  const Key key = {static_cast<uint64_t>(op), static_cast<uint64_t>(type), a, b, c, bits};
  if (is_pure(op)) {
    for (uint32_t at = *head_of(key); at != kNone; at = known_[at].next) {
      if (known_[at].key == key) return {this, known_[at].id, result};
    }
  }
  const uint32_t id = append({op, type, a, b, c, bits});
  if (is_pure(op)) {
    uint32_t* const head = head_of(key);
    known_.push_back({key, id, *head});
    *head = static_cast<uint32_t>(known_.size()) - 1;
  }
  return {this, id, result};
}

uint64_t Builder::hash_of(const Key& key) {
  uint64_t hash = 0;
  for (const uint64_t word : key) hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash;
}

void Builder::close() {
  while (known_.size() > scopes_.back()) {
    *head_of(known_.back().key) = known_.back().next;
    known_.pop_back();
  }
  scopes_.pop_back();
}

Value Builder::constant(Type type, uint64_t bits) { return make(Op::kConstant, type, 0, 0, 0, masked(type, bits)); }
Value Builder::f32(float v) { return constant(Type::kF32, float_bits(v)); }
Value Builder::number(Type type, int64_t v) {
  return type == Type::kF32 ? f32(static_cast<float>(v)) : constant(type, static_cast<uint64_t>(v));
}
bool Builder::is_constant(Value v, uint64_t* bits) const {
  const Statement& s = program_.body[v.id];
  if (bits != nullptr) *bits = s.bits;
  return s.op == Op::kConstant;
}

Value Builder::push(uint32_t word) {
  if (word >= program_.push_words) program_.push_words = word + 1;
  return make(Op::kPush, Type::kU32, 0, 0, 0, word);
}

uint32_t Builder::buffer(uint32_t binding, Element element, bool written) {
  if (binding >= program_.bindings) program_.bindings = binding + 1;
  for (uint32_t i = 0; i < program_.buffers.size(); ++i) {
    Buffer& b = program_.buffers[i];
    if (b.binding != binding || b.element != element) continue;
    b.written = b.written || written;
    return i;
  }
  program_.buffers.push_back({binding, element, written});
  return static_cast<uint32_t>(program_.buffers.size() - 1);
}
Value Builder::load(Type type, uint32_t buffer, Value index) { return make(Op::kLoad, type, index.id, 0, 0, buffer); }
void Builder::store(uint32_t buffer, Value index, Value value) {
  append({Op::kStore, value.type, index.id, value.id, 0, buffer});
}

uint32_t Builder::shared(Type type, uint32_t count) {
  program_.shared.push_back({type, count});
  return static_cast<uint32_t>(program_.shared.size() - 1);
}
Value Builder::shared_load(uint32_t array, Value index) {
  return make(Op::kSharedLoad, program_.shared[array].type, index.id, 0, 0, array);
}
void Builder::shared_store(uint32_t array, Value index, Value value) {
  append({Op::kSharedStore, value.type, index.id, value.id, 0, array});
}

Variable Builder::variable(Type type, uint32_t count) {
  return {this, append({Op::kVariable, type, 0, 0, 0, count}), type};
}
Variable Builder::variable(Value first) {
  const Variable v = variable(first.type);
  v.set(first);
  return v;
}

void Builder::when(Value condition, const Block& then, const Block& otherwise) {
  uint64_t bits = 0;
  if (is_constant(condition, &bits)) {
    if (bits != 0) {
      then();
    } else if (otherwise) {
      otherwise();
    }
    return;
  }
  append({Op::kIf, Type::kNone, condition.id});
  open();
  then();
  close();
  if (otherwise) {
    append({Op::kElse});
    open();
    otherwise();
    close();
  }
  append({Op::kEndIf});
}

void Builder::loop(Value begin, Value end, uint32_t step, const std::function<void(Value)>& body) {
  const Variable counter = variable(Type::kU32);
  const uint32_t head = append({Op::kFor, Type::kU32, counter.id, begin.id, end.id, step});
  open();
  body(counter.get());
  close();
  append({Op::kEndFor, Type::kNone, head});
}

Value Builder::unary(Op op, Value a) {
  uint64_t bits = 0;
  if (op == Op::kNot && is_constant(a, &bits)) return constant(a.type, ~bits);
  return make(op, a.type, a.id);
}

// Identities that leave one operand, a constant or a shift; floats are left as they are.
bool Builder::fold(Op op, Value a, Value b, Value* out) {
  if (is_float(a.type)) return false;
  uint64_t x = 0, y = 0;
  const bool has_x = is_constant(a, &x), has_y = is_constant(b, &y);
  if (has_x && has_y) {
    uint64_t result = 0;
    if (!compute(op, a.type, x, y, &result)) return false;
    *out = constant(is_comparison(op) ? Type::kBool : a.type, result);
    return true;
  }
  if (a.id == b.id && op == Op::kSubtract) return *out = constant(a.type, 0), true;
  const bool x0 = has_x && x == 0, y0 = has_y && y == 0, x1 = has_x && x == 1, y1 = has_y && y == 1;
  const uint64_t all = masked(a.type, ~uint64_t{0});
  const bool two = has_y && y != 0 && (y & (y - 1)) == 0 && !is_signed(a.type);  // a power of it
  uint64_t shift = 0;
  while (two && y >> shift != 1) ++shift;
  switch (op) {
    case Op::kAdd:
    case Op::kOr:
      if (x0) return *out = b, true;
      [[fallthrough]];
    case Op::kSubtract:
    case Op::kShiftLeft:
    case Op::kShiftRight:
      if (y0) return *out = a, true;
      return false;
    case Op::kMultiply:
      if (x1 || y0) return *out = b, true;
      if (y1 || x0) return *out = a, true;
      return false;
    case Op::kAnd:
      if (y0 || (has_x && x == all)) return *out = b, true;
      if (x0 || (has_y && y == all)) return *out = a, true;
      return false;
    case Op::kDivide:
      if (y1) return *out = a, true;
      if (!two) return false;  // a driver that divides by a shift itself may schedule what is around it worse
      return *out = make(Op::kShiftRight, a.type, a.id, constant(a.type, shift).id), true;
    case Op::kRemainder:
      if (y1) return *out = constant(a.type, 0), true;
      if (!two) return false;
      return *out = make(Op::kAnd, a.type, a.id, constant(a.type, y - 1).id), true;
    default:
      return false;
  }
}

Value Builder::binary(Op op, Value a, Value b) {
  Value folded;
  if (fold(op, a, b, &folded)) return folded;
  return make(op, a.type, a.id, b.id);
}

Value Builder::select(Value condition, Value a, Value b) {
  uint64_t bits = 0;
  if (is_constant(condition, &bits)) return bits != 0 ? a : b;
  if (a.id == b.id) return a;
  return make(Op::kSelect, a.type, condition.id, a.id, b.id);
}

Value Builder::convert(Value v, Type to) {
  uint64_t bits = 0;
  if (v.type == to) return v;
  if (v.type == Type::kBool) return select(v, number(to, 1), number(to, 0));
  if (to == Type::kBool) return v != 0;
  if (is_constant(v, &bits) && !is_float(v.type) && !is_float(to)) {
    return constant(to, is_signed(v.type) ? static_cast<uint64_t>(as_signed(v.type, bits)) : bits);
  }
  if (!is_float(v.type) && !is_float(to) && is_wide(v.type) == is_wide(to)) return bitcast(v, to);
  return make(Op::kConvert, to, v.id);
}

Value Builder::bitcast(Value v, Type to) {
  uint64_t bits = 0;
  if (v.type == to) return v;
  if (is_constant(v, &bits)) return constant(to, bits);
  return make(Op::kBitcast, to, v.id);
}

Value operator+(Value a, Value b) { return a.builder->binary(Op::kAdd, a, b); }
Value operator-(Value a, Value b) { return a.builder->binary(Op::kSubtract, a, b); }
Value operator*(Value a, Value b) { return a.builder->binary(Op::kMultiply, a, b); }
Value operator/(Value a, Value b) { return a.builder->binary(Op::kDivide, a, b); }
Value operator%(Value a, Value b) { return a.builder->binary(Op::kRemainder, a, b); }
Value operator&(Value a, Value b) { return a.builder->binary(Op::kAnd, a, b); }
Value operator|(Value a, Value b) { return a.builder->binary(Op::kOr, a, b); }
Value operator^(Value a, Value b) { return a.builder->binary(Op::kXor, a, b); }
Value operator<<(Value a, Value b) { return a.builder->binary(Op::kShiftLeft, a, b); }
Value operator>>(Value a, Value b) { return a.builder->binary(Op::kShiftRight, a, b); }
Value operator==(Value a, Value b) { return a.builder->binary(Op::kEqual, a, b); }
Value operator!=(Value a, Value b) { return a.builder->binary(Op::kNotEqual, a, b); }
Value operator<(Value a, Value b) { return a.builder->binary(Op::kLess, a, b); }
Value operator<=(Value a, Value b) { return a.builder->binary(Op::kLessEqual, a, b); }
Value operator!(Value a) { return a.builder->unary(Op::kNot, a); }
Value operator-(Value a) {
  Builder& b = *a.builder;
  if (!is_float(a.type)) return b.number(a.type, 0) - a;
  return b.bitcast(b.bitcast(a, Type::kU32) ^ b.u32(0x80000000u), Type::kF32);
}

}  // namespace vireo::gpu
