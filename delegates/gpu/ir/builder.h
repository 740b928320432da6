// Writes a program as templates read: values with operators, and blocks as functions. Integers are folded where their
// operands are constants, and a statement that stands already in an enclosing block is not written again.
#ifndef VIREO_DELEGATES_GPU_IR_BUILDER_H_
#define VIREO_DELEGATES_GPU_IR_BUILDER_H_

#include <stdint.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "delegates/gpu/ir/program.h"

namespace vireo::gpu {

class Builder;

struct Value {
  Builder* builder = nullptr;
  uint32_t id = 0;
  Type type = Type::kNone;
  bool valid() const { return builder != nullptr; }
};

// Memory of one lane: a scalar, or an array with an index.
struct Variable {
  Builder* builder = nullptr;
  uint32_t id = 0;
  Type type = Type::kNone;
  Value get() const;
  Value get(Value index) const;
  void set(Value value) const;
  void set(Value index, Value value) const;
};

class Builder {
 public:
  Builder() {
    program_.body.reserve(1024);
    known_.reserve(512);
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Value constant(Type type, uint64_t bits);
  Value f32(float v);
  Value i32(int32_t v) { return constant(Type::kI32, static_cast<uint32_t>(v)); }
  Value u32(uint32_t v) { return constant(Type::kU32, v); }
  Value boolean(bool v) { return constant(Type::kBool, v ? 1 : 0); }
  // `v` as a number of `type`; floats from small whole numbers.
  Value number(Type type, int64_t v);
  bool is_constant(Value v, uint64_t* bits = nullptr) const;

  Value push(uint32_t word);
  Value group(uint32_t axis) { return make(Op::kGroup, Type::kU32, 0, 0, 0, axis); }
  Value lane() { return make(Op::kLane, Type::kU32); }
  Value subgroup() { return make(Op::kSubgroup, Type::kU32); }

  uint32_t buffer(uint32_t binding, Element element, bool written);
  Value load(Type type, uint32_t buffer, Value index);
  void store(uint32_t buffer, Value index, Value value);
  uint32_t shared(Type type, uint32_t count);
  Value shared_load(uint32_t array, Value index);
  void shared_store(uint32_t array, Value index, Value value);
  void barrier() { append({Op::kBarrier}); }
  void await() { append({Op::kAwait}); }
  void copy(uint32_t array, Value to, uint32_t buffer, Value from, Value there) {
    append({Op::kCopy, Type::kQuad, to.id, from.id, there.id, uint64_t{buffer} << 32 | array});
  }
  void copy_group() { append({Op::kCopyGroup}); }
  void copy_wait(uint32_t left) { append({Op::kCopyWait, Type::kNone, 0, 0, 0, left}); }

  // Statements about matrices (Program::unit); `array` is one of quads.
  enum class Role : uint8_t { kLeft, kRight, kTotal };
  uint32_t matrix(Role role) { return append({Op::kMatrix, Type::kNone, 0, 0, 0, static_cast<uint64_t>(role)}); }
  void matrix_zero(uint32_t sum) { append({Op::kMatrixZero, Type::kNone, sum}); }
  void matrix_load(uint32_t to, uint32_t array, Value first, uint32_t pitch, bool turned) {
    append({Op::kMatrixLoad, Type::kNone, to, first.id, 0, matrix_place(array, pitch, turned)});
  }
  void matrix_multiply(uint32_t left, uint32_t right, uint32_t sum) {
    append({Op::kMatrixMultiply, Type::kNone, left, right, sum});
  }
  void matrix_store(uint32_t sum, uint32_t array, Value first, uint32_t pitch) {
    append({Op::kMatrixStore, Type::kNone, sum, first.id, 0, matrix_place(array, pitch, false)});
  }
  Value matrix_element(uint32_t sum, uint32_t element) {
    return make_fresh({Op::kMatrixElement, program().unit.sum(), sum, 0, 0, element});
  }
  void matrix_set(uint32_t sum, uint32_t element, Value v) {
    append({Op::kMatrixSet, Type::kF32, sum, v.id, 0, element});
  }
  void matrix_set_left(uint32_t left, Value quad) { append({Op::kMatrixSetLeft, Type::kQuad, left, quad.id}); }
  void tile_begin() { append({Op::kTileBegin}); }
  void tile_multiply(Value left, Value right, uint32_t sum, const TilePlace& place) {
    append({Op::kTileMultiply, Type::kNone, left.id, right.id, sum, bits_of(place)});
  }
  void tile_commit() { append({Op::kTileCommit}); }
  void tile_wait(uint32_t left) { append({Op::kTileWait, Type::kNone, 0, 0, 0, left}); }
  Value shuffle(Value v, uint32_t mask) { return make_fresh({Op::kShuffle, v.type, v.id, 0, 0, mask}); }

  Variable variable(Type type, uint32_t count = 1);
  Variable variable(Value first);

  using Block = std::function<void()>;
  void when(Value condition, const Block& then, const Block& otherwise = nullptr);
  // body(i) for i = begin, begin + step ... below end.
  void loop(Value begin, Value end, uint32_t step, const std::function<void(Value)>& body);

  Value unary(Op op, Value a);
  Value binary(Op op, Value a, Value b);
  Value fma(Value a, Value b, Value c) { return make(Op::kFma, a.type, a.id, b.id, c.id); }
  Value select(Value condition, Value a, Value b);
  Value convert(Value v, Type to);
  Value bitcast(Value v, Type to);
  Value join(const std::array<Value, 4>& words) {
    return make(Op::kJoin, Type::kQuad, words[0].id, words[1].id, words[2].id, words[3].id);
  }
  Value part(Value quad, uint32_t which) { return make(Op::kPart, Type::kU32, quad.id, 0, 0, which); }
  Value pack_halves(Value low, Value high) { return make(Op::kPackHalves, Type::kU32, low.id, high.id); }
  Value unpack_half(Value word, uint32_t which) { return make(Op::kUnpackHalf, Type::kF32, word.id, 0, 0, which); }

  Program& program() { return program_; }

  // Whether floats become halves, and halves floats, by the device's own instructions.
  bool converts_halves = false;

 private:
  using Key = std::array<uint64_t, 6>;
  Value make(Op op, Type type, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0, uint64_t bits = 0);
  uint32_t append(const Statement& s);
  Value make_fresh(const Statement& s) { return {this, append(s), s.type}; }  // what it gives changes
  bool fold(Op op, Value a, Value b, Value* out);
  void open() { scopes_.push_back(known_.size()); }
  void close();

  Program program_;
  // Statements that hold in the block that is being written, found by their hash. Blocks end in the order in which they
  // began, the last one first, so a table without erasures and without an allocation for each is enough.
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Known {
    Key key;
    uint32_t id, next;  // of the same hash
  };
  static uint64_t hash_of(const Key& key);
  uint32_t* head_of(const Key& key) { return &heads_[hash_of(key) >> 52]; }
  std::vector<Known> known_;
  std::vector<uint32_t> heads_ = std::vector<uint32_t>(size_t{1} << 12, kNone);
  std::vector<size_t> scopes_;  // how many were known before each
};

Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator%(Value a, Value b);
Value operator&(Value a, Value b);
Value operator|(Value a, Value b);
Value operator^(Value a, Value b);
Value operator<<(Value a, Value b);
Value operator>>(Value a, Value b);
Value operator==(Value a, Value b);
Value operator!=(Value a, Value b);
Value operator<(Value a, Value b);
Value operator<=(Value a, Value b);
inline Value operator>(Value a, Value b) { return b < a; }
inline Value operator>=(Value a, Value b) { return b <= a; }
Value operator!(Value a);
Value operator-(Value a);  // a float's sign is turned, also that of 0

inline Value like(Value v, float constant) { return v.builder->f32(constant); }
inline Value fma(Value a, Value b, Value c) { return a.builder->fma(a, b, c); }
inline Value select(Value condition, Value a, Value b) { return a.builder->select(condition, a, b); }
inline Value maximum(Value a, Value b) { return a.builder->binary(Op::kMaximum, a, b); }
inline Value absolute(Value x) { return x.builder->unary(Op::kAbsolute, x); }
inline Value square_root(Value x) { return x.builder->unary(Op::kSquareRoot, x); }

// A whole number beside a value is of its type.
inline Value operator+(Value a, int64_t b) { return a + a.builder->number(a.type, b); }
inline Value operator-(Value a, int64_t b) { return a - a.builder->number(a.type, b); }
inline Value operator*(Value a, int64_t b) { return a * a.builder->number(a.type, b); }
inline Value operator/(Value a, int64_t b) { return a / a.builder->number(a.type, b); }
inline Value operator%(Value a, int64_t b) { return a % a.builder->number(a.type, b); }
inline Value operator&(Value a, int64_t b) { return a & a.builder->number(a.type, b); }
inline Value operator|(Value a, int64_t b) { return a | a.builder->number(a.type, b); }
inline Value operator<<(Value a, int64_t b) { return a << a.builder->number(a.type, b); }
inline Value operator>>(Value a, int64_t b) { return a >> a.builder->number(a.type, b); }
inline Value operator==(Value a, int64_t b) { return a == a.builder->number(a.type, b); }
inline Value operator!=(Value a, int64_t b) { return a != a.builder->number(a.type, b); }
inline Value operator<(Value a, int64_t b) { return a < a.builder->number(a.type, b); }
inline Value operator<=(Value a, int64_t b) { return a <= a.builder->number(a.type, b); }
inline Value operator>(Value a, int64_t b) { return a > a.builder->number(a.type, b); }
inline Value operator>=(Value a, int64_t b) { return a >= a.builder->number(a.type, b); }

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_IR_BUILDER_H_
