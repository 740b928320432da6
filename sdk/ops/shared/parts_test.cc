#include "sdk/ops/shared/parts.h"

#include <gtest/gtest.h>

#include <vector>

#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::parts_test {
namespace {

constexpr Dim kN = handle_of(7);

struct Declared final : PartQuery {
  Op op;
  std::vector<uint8_t> bytes;
  std::vector<TensorType> in, out;
  std::vector<std::vector<int64_t>> lists;  // contents of inputs that are constants; empty: not one

  Declared(Op o, std::vector<uint8_t> attr, DType type = DType::kF32) : op(o), bytes(std::move(attr)), dtype(type) {}
  Declared& x(const Shape& s) { return add({dtype, s}, {}); }
  Declared& list(std::vector<int64_t> v) {
    const auto count = static_cast<Dim>(v.size());
    return add({DType::kI64, make_shape({count})}, std::move(v));
  }
  Declared& unknown(Dim count) { return add({DType::kI64, make_shape({count})}, {}); }
  Declared& y(const Shape& s) {
    out.push_back({dtype, s});
    return *this;
  }
  // Bytes; empty when there are no parts.
  std::vector<int64_t> at() {
    const OpDef& def = *find_op(op)->def;
    std::vector<int64_t> v((def.flags & OpDef::kInputsInside) != 0 ? in.size() : out.size());
    return part_offsets(def, *this, {v.data(), v.size()}) ? v : std::vector<int64_t>{};
  }

  TensorType input(size_t i) const override { return i < in.size() ? in[i] : TensorType{}; }
  TensorType output(size_t o) const override { return o < out.size() ? out[o] : TensorType{}; }
  const void* constant(size_t i) const override {
    return i < lists.size() && !lists[i].empty() ? lists[i].data() : nullptr;
  }
  Span<const uint8_t> attr_bytes() const override { return {bytes.data(), bytes.size()}; }

 private:
  Declared& add(const TensorType& t, std::vector<int64_t> v) {
    in.push_back(t);
    lists.push_back(std::move(v));
    return *this;
  }
  DType dtype;
};

using At = std::vector<int64_t>;

Declared slice(DType t = DType::kF32) { return {Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}), t}; }
Declared split(int axis, int parts = 0) {
  attrs::SplitT a;
  a.axis = axis;
  a.num_outputs = parts;
  return {Op::kSplit, pack<attrs::Split>(a)};
}
Declared concat(int axis, DType t = DType::kF32) {
  attrs::ConcatT a;
  a.axis = axis;
  return {Op::kConcat, pack<attrs::Concat>(a), t};
}
Declared gather(int axis) {
  attrs::GatherT a;
  a.axis = axis;
  return {Op::kGather, pack<attrs::Gather>(a)};
}

TEST(Parts, Slice) {
  const Shape x = make_shape({1, 6, 4, 5});
  EXPECT_EQ(slice().x(x).list({2}).list({4}).list({1}).y(make_shape({1, 2, 4, 5})).at(), At{160});
  EXPECT_EQ(slice().x(x).list({-2}).list({INT64_MAX}).list({-3}).y(make_shape({1, 2, 4, 5})).at(), At{320});
  EXPECT_EQ(slice().x(x).list({-9}).list({1}).list({1}).list({1}).y(make_shape({1, 1, 4, 5})).at(), At{0});
  // One element of the outer axes, so the run is inside one of them.
  EXPECT_EQ(slice().x(x).list({3, 1}).list({4, 3}).list({1, 2}).y(make_shape({1, 1, 2, 5})).at(), At{(60 + 5) * 4});
  EXPECT_EQ(slice(DType::kI8).x(x).list({3}).list({4}).list({1}).y(make_shape({1, 1, 4, 5})).at(), At{60});
  // Of a symbolic extent, what is counted from the front.
  EXPECT_EQ(slice().x(make_shape({kN, 8})).list({2}).list({9}).list({0}).y(make_shape({handle_of(8), 8})).at(), At{64});
}

TEST(Parts, SlicesThatAreNoRun) {
  const Shape x = make_shape({1, 6, 4, 5});
  EXPECT_EQ(slice().x(x).list({0}).list({2}).list({2}).y(make_shape({1, 6, 2, 5})).at(), At{});
  EXPECT_EQ(slice().x(x).list({0}).list({6}).list({1}).list({2}).y(make_shape({1, 3, 4, 5})).at(), At{});
  EXPECT_EQ(slice().x(x).unknown(1).list({4}).list({1}).y(make_shape({1, 2, 4, 5})).at(), At{});
  EXPECT_EQ(slice().x(x).list({0}).list({2}).unknown(1).y(make_shape({1, 2, 4, 5})).at(), At{});
  EXPECT_EQ(slice().x(make_shape({kN, 8})).list({-2}).list({9}).list({0}).y(make_shape({handle_of(8), 8})).at(), At{});
  EXPECT_EQ(slice().x(make_shape({2, kN})).list({1}).list({2}).list({0}).y(make_shape({1, kN})).at(), At{});
  EXPECT_EQ(slice(DType::kI4).x(x).list({2}).list({4}).list({1}).y(make_shape({1, 2, 4, 5})).at(), At{});
  const Shape vast = make_shape({1 << 30, 1 << 30, 1 << 30});
  EXPECT_EQ(slice().x(vast).list({9}).list({10}).y(make_shape({1, 1 << 30, 1 << 30})).at(), At{});
}

TEST(Parts, Split) {
  const Shape x = make_shape({1, 6, 8}), y = make_shape({1, 2, 8}), z = make_shape({1, 4, 8});
  EXPECT_EQ(split(1).x(x).list({2, 4}).y(y).y(z).at(), (At{0, 64}));
  EXPECT_EQ(split(-2, 3).x(x).y(y).y(y).y(y).at(), (At{0, 64, 128}));
  EXPECT_EQ(split(0, 4).x(make_shape({6, 8})).y(y).y(y).y(y).y(y).at(), (At{0, 64, 128, 192}));  // the last is empty
  EXPECT_EQ(split(0).x(make_shape({kN, 8})).list({2, 4}).y(y).y(z).at(), (At{0, 64}));
  EXPECT_EQ(split(0, 2).x(make_shape({kN, 8})).y(y).y(z).at(), At{});
  EXPECT_EQ(split(2, 2).x(x).y(y).y(y).at(), At{});
  EXPECT_EQ(split(1).x(x).unknown(2).y(y).y(z).at(), At{});
  EXPECT_EQ(split(1).x(x).list({7}).y(y).y(z).at(), At{});             // fewer sizes than outputs
  EXPECT_EQ(split(1).x(x).list({-1, 7}).y(y).y(z).at(), (At{0, -1}));  // refused by the shape function
}

TEST(Parts, Concat) {
  const Shape a = make_shape({1, 2, 8}), b = make_shape({1, 4, 8}), n = make_shape({1, kN, 8});
  EXPECT_EQ(concat(1).x(a).x(b).x(a).y(make_shape({1, 8, 8})).at(), (At{0, 64, 192}));
  EXPECT_EQ(concat(-2).x(a).x(n).y(make_shape({1, handle_of(8), 8})).at(), (At{0, 64}));
  EXPECT_EQ(concat(1).x(n).x(a).y(make_shape({1, handle_of(8), 8})).at(), At{});
  EXPECT_EQ(concat(2).x(a).x(a).y(make_shape({1, 2, 16})).at(), At{});
  EXPECT_EQ(concat(0).x(a).x(a).y(make_shape({2, 2, 8})).at(), (At{0, 64}));
  EXPECT_EQ(concat(1, DType::kString).x(a).x(a).y(make_shape({1, 4, 8})).at(), At{});
}

TEST(Parts, GatherOfOneIndex) {
  const Shape x = make_shape({1, 6, 8}), y = make_shape({1, 8});
  EXPECT_EQ(gather(1).x(x).list({3}).y(y).at(), At{96});
  EXPECT_EQ(gather(1).x(x).list({-1}).y(y).at(), At{160});
  EXPECT_EQ(gather(1).x(x).list({3, 4}).y(y).at(), At{});
  EXPECT_EQ(gather(1).x(x).unknown(1).y(y).at(), At{});
  EXPECT_EQ(gather(2).x(x).list({3}).y(y).at(), At{});
}

}  // namespace
}  // namespace vireo::parts_test
