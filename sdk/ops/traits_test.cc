// The last column of ops.def against what shape functions and kernels do.
#include "sdk/ops/traits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/label_encoder/label_encoder_generated.h"
#include "sdk/ops/regex/regex_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::traits_test {
namespace {

using Dims = std::vector<int64_t>;

bool has(Op op, uint16_t trait) { return (traits_of(op) & trait) != 0; }

// An attribute table that says nothing: all defaults.
std::vector<uint8_t> defaults() {
  ::flatbuffers::FlatBufferBuilder b;
  b.Finish(::flatbuffers::Offset<void>(b.EndTable(b.StartTable())));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

std::vector<uint8_t> attributes_of(Op op) {
  if (op == Op::kCast) {
    attrs::CastT a;
    a.to = static_cast<uint8_t>(DType::kI32);
    return pack<attrs::Cast>(a);
  }
  if (op == Op::kBitCast) {
    attrs::BitCastT a;
    a.to = static_cast<uint8_t>(DType::kI32);
    return pack<attrs::BitCast>(a);
  }
  if (op == Op::kLabelEncoder) {
    attrs::LabelEncoderT a;
    a.key_type = a.value_type = static_cast<uint8_t>(DType::kI64);
    a.keys_integers = {1, 2};
    a.values_integers = {7, 9};
    return pack<attrs::LabelEncoder>(a);
  }
  if (op == Op::kRegexFullMatch) {  // of no class but one: it goes to state 1 with the first byte, and stays
    attrs::RegexFullMatchT a;
    a.classes.assign(256, 0);
    a.next = {1, 1};
    a.accepts = {0, 1};
    return pack<attrs::RegexFullMatch>(a);
  }
  if (op == Op::kDepthToSpace) {
    attrs::DepthToSpaceT a;
    a.blocksize = 2;
    return pack<attrs::DepthToSpace>(a);
  }
  if (op == Op::kSpaceToDepth) {
    attrs::SpaceToDepthT a;
    a.blocksize = 2;
    return pack<attrs::SpaceToDepth>(a);
  }
  return defaults();
}

constexpr DType kTypes[] = {DType::kF32, DType::kI64, DType::kI32,   DType::kBool,
                            DType::kU8,  DType::kI8,  DType::kString};
const Dims kShapes[] = {{2, 1, 3}, {1, 3}, {}};
constexpr size_t kMostInputs = 3;

size_t count_of(const Dims& dims) {
  size_t n = 1;
  for (const int64_t d : dims) n *= static_cast<size_t>(d);
  return n;
}

template <class T>
void put(TestTensor* t, const std::vector<size_t>& from) {
  std::vector<T> values;
  for (const size_t i : from) values.push_back(static_cast<T>(i % 5 + 1));
  t->bytes.resize(values.size() * sizeof(T));
  std::memcpy(t->bytes.data(), values.data(), t->bytes.size());
}

// Element k has the `from[k]`-th of the numbers 1 to 5, in turn.
TestTensor tensor(DType dtype, const Dims& dims, const std::vector<size_t>& from) {
  TestTensor t;
  t.type = {dtype, make_shape(dims)};
  switch (dtype) {
    case DType::kF32:
      put<float>(&t, from);
      break;
    case DType::kI64:
      put<int64_t>(&t, from);
      break;
    case DType::kI32:
      put<int32_t>(&t, from);
      break;
    case DType::kBool:
      for (const size_t i : from) t.bytes.push_back(i % 2);
      break;
    case DType::kString:
      for (const size_t i : from) t.strings.push_back(std::string(i % 5, 'a'));
      break;
    default:
      put<uint8_t>(&t, from);
  }
  return t;
}

// One choice of types and shapes for all inputs.
struct Choice {
  std::vector<DType> types;
  std::vector<Dims> shapes;

  // Elements of inputs that have all six: in their order, or as `from` says.
  OpTest with(Op op, const std::vector<size_t>& from) const {
    OpTest t(op, attributes_of(op));
    for (size_t i = 0; i < types.size(); ++i) {
      std::vector<size_t> own(count_of(shapes[i]), i);
      if (shapes[i] == kShapes[0]) own = from;
      for (size_t k = 0; k < own.size() && shapes[i] == kShapes[1]; ++k) own[k] = k + 1;
      t.input(tensor(types[i], shapes[i], own));
    }
    return t;
  }
  bool is_whole() const {
    return std::all_of(shapes.begin(), shapes.end(), [](const Dims& d) { return d != kShapes[1]; }) &&
           std::find(shapes.begin(), shapes.end(), kShapes[0]) != shapes.end();
  }
};

void extend(const Choice& c, size_t count, std::vector<Choice>* out) {
  if (c.types.size() == count) {
    out->push_back(c);
    return;
  }
  for (const DType t : kTypes) {
    for (const Dims& dims : kShapes) {
      Choice next = c;
      next.types.push_back(t);
      next.shapes.push_back(dims);
      extend(next, count, out);
    }
  }
}

const std::vector<size_t> kInOrder = {0, 1, 2, 3, 4, 5}, kMixed = {3, 5, 1, 0, 2, 4}, kOneOther = {0, 1, 2, 3, 6, 5};

// What the shape function accepts.
std::vector<Choice> accepted(const OpDef& def, Op op) {
  std::vector<Choice> all, good;
  for (size_t n = std::max<size_t>(def.min_inputs, 1); n <= std::min<size_t>(def.max_inputs, kMostInputs); ++n)
    extend({}, n, &all);
  for (Choice& c : all) {
    if (c.with(op, kInOrder).infer() == Status::kOk) good.push_back(std::move(c));
  }
  return good;
}

Dims broadcast_of(const std::vector<Dims>& shapes) {
  const auto with = [&](const Dims& d) { return std::find(shapes.begin(), shapes.end(), d) != shapes.end(); };
  return with(kShapes[0]) ? kShapes[0] : with(kShapes[1]) ? kShapes[1] : kShapes[2];
}

std::string element(const TestTensor& t, size_t k) {
  if (t.type.dtype == DType::kString) return t.strings[k];
  const size_t size = t.bytes.size() / 6;
  return {reinterpret_cast<const char*>(t.bytes.data()) + k * size, size};
}

// "" where an element of y comes from the elements at its place alone, whichever place that is; else what differs.
std::string broken_law(Op op, const std::vector<Choice>& choices, size_t* runs) {
  for (const Choice& c : choices) {
    OpTest shapes = c.with(op, kInOrder);
    if (shapes.infer() != Status::kOk) return "it changed its mind";
    if (shapes.y().type.shape != make_shape(broadcast_of(c.shapes))) return "the shape is not what inputs broadcast to";
    if (!c.is_whole()) continue;
    OpTest plain = c.with(op, kInOrder), mixed = c.with(op, kMixed), other = c.with(op, kOneOther);
    if (plain.run() != Status::kOk || mixed.run() != Status::kOk || other.run() != Status::kOk) continue;
    ++*runs;
    for (size_t k = 0; k < 6; ++k) {
      if (element(mixed.y(), k) != element(plain.y(), kMixed[k])) return "elements change with their place";
      if (k != 4 && element(other.y(), k) != element(plain.y(), k)) return "an element depends on another place";
    }
  }
  return "";
}

TEST(Traits, ElementwiseIsWhatKernelsDo) {
  for (const OpRow& row : op_rows()) {
    if (!is_elementwise(row.op)) continue;
    size_t runs = 0;
    EXPECT_EQ(broken_law(row.op, accepted(*row.def, row.op), &runs), "") << row.def->name;
    EXPECT_GT(runs, 0u) << row.def->name << ": no choice of types and shapes runs";
  }
}

// Those that are not, though the operands and defaults of this test make them look so.
bool seems_elementwise(Op op) {
  return op == Op::kQuantizeLinear || op == Op::kDequantizeLinear ||  // a scale may belong to an index of an axis
         op == Op::kLRN || op == Op::kMeanVarianceNormalization ||    // over channels, or over axes
         op == Op::kImputer || op == Op::kScaler ||                   // a value for each column
         op == Op::kTensorScatter;                                    // here the update is as large as what it updates
}

// An appended row is not overlooked.
TEST(Traits, WhatIsElementwiseSaysSo) {
  for (const OpRow& row : op_rows()) {
    if (is_elementwise(row.op) || has(row.op, trait::kStructure) || row.def->max_outputs != 1) continue;
    if (find_ref(row.op) == nullptr || seems_elementwise(row.op)) continue;
    if ((row.def->flags & (OpDef::kRandom | OpDef::kDataDependent)) != 0) continue;
    size_t runs = 0;
    EXPECT_FALSE(broken_law(row.op, accepted(*row.def, row.op), &runs).empty() && runs > 0)
        << row.def->name << " has no trait kElementwise, and does what it promises";
  }
}

TEST(Traits, ReductionsKeepTheirAxes) {
  for (const OpRow& row : op_rows()) {
    if (!is_reduction(row.op)) continue;
    OpTest t(row.op, defaults());
    t.input<float>({2, 3}, {1, 2, 3, 4, 5, 6}).input<int64_t>({1}, {1});
    ASSERT_EQ(t.infer(), Status::kOk) << row.def->name << ": " << t.message();
    EXPECT_EQ(t.y().type.shape, make_shape({2, 1})) << row.def->name;
  }
}

// `op` on 16 numbers.
OpTest moving(Op op, const std::vector<float>& x) {
  OpTest t(op, attributes_of(op));
  t.input<float>(op == Op::kDepthToSpace   ? Dims{1, 4, 2, 2}
                 : op == Op::kSpaceToDepth ? Dims{1, 1, 4, 4}
                                           : Dims{4, 4},
                 x);
  switch (op) {
    case Op::kReshape:
      t.input<int64_t>({2}, {2, 8});
      break;
    case Op::kUnsqueeze:
      t.input<int64_t>({1}, {0});
      break;
    case Op::kSlice:
      t.input<int64_t>({1}, {1}).input<int64_t>({1}, {3});
      break;
    case Op::kSplit:
      t.input<int64_t>({2}, {1, 3}).outputs(2);
      break;
    case Op::kGather:
      t.input<int64_t>({3}, {2, 0, 2});
      break;
    case Op::kGatherElements:
      t.input<int64_t>({2, 2}, {3, 1, 0, 0});
      break;
    case Op::kGatherND:
      t.input<int64_t>({2, 2}, {3, 1, 0, 0});
      break;
    case Op::kExpand:
      t.input<int64_t>({3}, {2, 4, 4});
      break;
    case Op::kTile:
      t.input<int64_t>({2}, {1, 2});
      break;
    case Op::kCompress:
      t.input_bool({4}, {1, 0, 1, 1}).unknown(16);
      break;
    case Op::kReverseSequence:
      t.input<int64_t>({4}, {1, 2, 3, 4});
      break;
    case Op::kArrayFeatureExtractor:
      t.input<int64_t>({2}, {3, 1});
      break;
    default:  // of one operand
      break;
  }
  return t;
}

TEST(Traits, WhatMovesComputesNothing) {
  std::vector<float> x(16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) + 0.5f;
  const std::set<float> known(x.begin(), x.end());
  for (const OpRow& row : op_rows()) {
    if (!moves_elements(row.op)) continue;
    OpTest t = moving(row.op, x);
    ASSERT_EQ(t.run(), Status::kOk) << row.def->name << ": " << t.message();
    const std::vector<float> y = t.y().as<float>();
    ASSERT_FALSE(y.empty()) << row.def->name;
    for (const float v : y) EXPECT_EQ(known.count(v), 1u) << row.def->name << " makes " << v;
  }
}

TEST(Traits, AgreeWithDefinitions) {
  for (const OpRow& row : op_rows()) {
    const RefKernel* ref = find_ref(row.op);
    const bool structure = has(row.op, trait::kStructure);
    EXPECT_EQ(structure, (row.def->flags & OpDef::kControlFlow) != 0) << row.def->name;
    EXPECT_EQ(has(row.op, trait::kParts), row.def->parts != nullptr) << row.def->name;
    EXPECT_EQ(has(row.op, trait::kText), ref != nullptr && ref->text_bytes != nullptr) << row.def->name;
    EXPECT_TRUE(structure || !is_control_flow(row.op)) << row.def->name;
    EXPECT_TRUE(!structure || ref == nullptr) << row.def->name;
  }
}

// The sections that INTEGER.md and the heads of ops.def name.
TEST(Traits, StandInTheirSections) {
  for (const OpRow& row : op_rows()) {
    const auto number = static_cast<int>(row.op);
    EXPECT_EQ(has(row.op, trait::kStructure), number < 10) << row.def->name;
    EXPECT_EQ(is_own(row.op), number >= 240 && number < 260) << row.def->name;
    EXPECT_EQ(has(row.op, trait::kHost), number >= 280 && number < 300) << row.def->name;
  }
}

TEST(Traits, OfNoRowAreNone) { EXPECT_EQ(traits_of(static_cast<Op>(65535)), trait::kPlain); }

}  // namespace
}  // namespace vireo::traits_test
