// GridSample: an image at places that a tensor says. The CPU's formulas, in float32.
#include <algorithm>

#include "delegates/gpu/lower/indexed_chain.h"
#include "sdk/ops/grid_sample/grid_sample_generated.h"

namespace vireo::gpu {
namespace {

using Padding = attrs::GridSamplePadding;
using Mode = attrs::GridSampleMode;

constexpr int64_t kMostSampled = 16;  // elements of one place: they stand in the code one after the other

class Sample {
 public:
  explicit Sample(Lowering& l)
      : l_(l),
        a_(l.node().attrs<attrs::GridSample>()),
        nearest_(a_.mode() == Mode::nearest),
        p_(l, l.out(0).dims),
        type_(nearest_ ? moved_as(l.in(0).dtype) : l.in(0).dtype) {}

  std::string run() {
    const Datum &x = l_.in(0), &grid = l_.in(1);
    const size_t axes = x.dims.size() - 2;
    if (!is_real(grid.dtype)) return std::string("places of ") + dtype_name(grid.dtype);
    if (nearest_ && dtype_bits(x.dtype) < 8) return std::string("GridSample of ") + dtype_name(x.dtype);
    if (nearest_ && type_ == DType::kU64 && !l_.target().int64) return "this GPU does not compute with int64";
    if (!nearest_ && !is_real(x.dtype)) return std::string("GridSample with weights of ") + dtype_name(x.dtype);
    const int64_t taps = nearest_ ? 1 : a_.mode() == Mode::linear ? 2 : 4;
    int64_t all = 1;
    for (size_t i = 0; i < axes; ++i) all *= taps;
    if (all > kMostSampled) return "GridSample of more than 16 elements";
    from_ = l_.laid(l_.node().inputs[0]);
    const Laid places = l_.laid(l_.node().inputs[1]), to = l_.make(l_.node().outputs[0]);
    std::vector<int> given;  // inputs come before functions
    for (size_t i = 0; i < axes; ++i) {
      View view;
      view.offset = places.offset + static_cast<int64_t>(axes - 1 - i) * places.strides.back();
      view.strides = {places.strides[0], 0};
      for (size_t k = 0; k < axes; ++k) view.strides.push_back(places.strides[1 + k]);
      given.push_back(p_.input(l_.node().inputs[1], std::move(view)));
    }
    image_ = p_.indexed(from_, type_);
    for (size_t i = 0; i < axes; ++i) {
      int v = given[i];
      if (grid.dtype != kReal) v = p_.b.function(Function::kCast, kReal, v);
      axes_.push_back(axis(v, x.dims[i + 2]));
    }
    int base = -1;
    for (uint32_t i = 0; i < 2; ++i) {
      if (x.dims[i] != 1) base = p_.add(base, p_.b.place(i), from_.strides[i]);
    }
    int y = sum(0, base, -1);
    if (!nearest_ && x.dtype != kReal) y = p_.b.function(Function::kCast, x.dtype, y);
    p_.b.output(y, view_of(to));
    p_.push({to.memory});
    return "";
  }

 private:
  struct Tap {
    int at = -1, inside = -1, weight = -1;  // -1: always inside, of weight 1
  };

  int real(Function f, int u, int v = -1, int w = -1) { return p_.b.function(f, kReal, u, v, w); }
  int real(float v) { return p_.b.constant_f32(v); }
  int less(int u, int v) { return p_.b.function(Function::kLess, DType::kBool, u, v); }
  int where(int condition, int u, int v, DType type = kReal) {
    return p_.b.function(Function::kWhere, type, condition, u, v);
  }
  float low() const { return a_.align_corners() ? 0 : -0.5f; }
  float high(int64_t n) const { return static_cast<float>(n) - (a_.align_corners() ? 1 : 0.5f); }

  // Mirrored at the borders of n elements until it is between them.
  int reflected(int v, int64_t n) {
    const float span = high(n) - low();
    if (span <= 0) return real(low());
    v = real(Function::kAbs, real(Function::kSub, v, real(low())));
    // The remainder of v by 2 span. Whole numbers stay exact; a true fmod would be most of the kernel.
    const int turns = real(Function::kFloor, real(Function::kDiv, v, real(2 * span)));
    v = real(Function::kSub, v, real(Function::kMul, turns, real(2 * span)));
    v = real(Function::kMin, v, real(Function::kSub, real(2 * span), v));
    return real(Function::kAdd, v, real(low()));
  }

  // [-1, 1] to places of elements, moved inside as the padding says, and bounded.
  int place(int v, int64_t n) {
    const auto d = static_cast<float>(n);
    v = real(Function::kAdd, v, real(1));
    if (a_.align_corners()) {
      v = real(Function::kMul, real(Function::kMul, v, real(0.5f)), real(d - 1));
    } else {
      v = real(Function::kMul, real(Function::kSub, real(Function::kMul, v, real(d)), real(1)), real(0.5f));
    }
    if (nearest_) v = real(Function::kRound, v);
    const auto is_nan = [this](int u) { return p_.b.function(Function::kIsNaN, DType::kBool, u); };
    v = where(is_nan(v), real(-4), v);  // no number: outside
    if (a_.padding() != Padding::zeros) {
      const int outside = p_.b.function(Function::kOr, DType::kBool, less(v, real(low())), less(real(high(n)), v));
      int moved = -1;
      if (a_.padding() == Padding::border) {
        moved = where(less(v, real(0)), real(0), real(d - 1));
      } else {
        moved = reflected(v, n);
        moved = where(is_nan(moved), real(low()), moved);  // an infinite one has no mirror image
      }
      v = where(outside, moved, v);
    }
    return real(Function::kClip, v, real(-4), real(d + 4));
  }

  // Element i, a whole number as a float.
  Tap tap(int i, int64_t n) {
    const int last = real(static_cast<float>(n - 1)), first = real(0);
    Tap t;
    if (a_.padding() == Padding::zeros) {
      const int outside = p_.b.function(Function::kOr, DType::kBool, less(i, first), less(last, i));
      t.inside = p_.b.function(Function::kNot, DType::kBool, outside);
    } else if (a_.padding() == Padding::reflection) {
      i = reflected(i, n);
    }
    t.at = p_.b.function(Function::kCast, kPlaceType, real(Function::kClip, i, first, last));
    return t;
  }

  // c0 + c1 v + c2 v^2 + c3 v^3
  int cubic(int v, float c0, float c1, float c2, float c3) {
    int y = real(c3);
    for (const float c : {c2, c1, c0}) y = real(Function::kAdd, real(Function::kMul, y, v), real(c));
    return y;
  }

  std::vector<Tap> axis(int v, int64_t n) {
    v = place(v, n);
    const int first = real(Function::kFloor, v);
    const auto beside = [&](float by) { return tap(real(Function::kAdd, first, real(by)), n); };
    if (nearest_) return {tap(first, n)};
    const int t = real(Function::kSub, v, first), rest = real(Function::kSub, real(1), t);
    std::vector<Tap> taps;
    if (a_.mode() == Mode::linear) {
      taps = {beside(0), beside(1)};
      taps[0].weight = rest;
      taps[1].weight = t;
      return taps;
    }
    constexpr float a = -0.75f;
    taps = {beside(-1), beside(0), beside(1), beside(2)};
    const int far = real(Function::kAdd, t, real(1)), past = real(Function::kSub, real(2), t);
    taps[0].weight = cubic(far, -4 * a, 8 * a, -5 * a, a);
    taps[1].weight = cubic(t, 1, 0, -(a + 3), a + 2);
    taps[2].weight = cubic(rest, 1, 0, -(a + 3), a + 2);
    taps[3].weight = cubic(past, -4 * a, 8 * a, -5 * a, a);
    return taps;
  }

  // Over the taps of axis k and those behind it, from element `at` on; `inside`: of the axes before.
  int sum(size_t k, int at, int inside) {
    if (k == axes_.size()) {
      int v = p_.element(image_, at, type_);
      if (!nearest_ && type_ != kReal) v = p_.b.function(Function::kCast, kReal, v);
      const DType type = nearest_ ? type_ : kReal;
      return inside < 0 ? v : where(inside, v, p_.b.constant(type, 0), type);
    }
    int total = -1;
    for (const Tap& t : axes_[k]) {
      const int both = inside < 0     ? t.inside
                       : t.inside < 0 ? inside
                                      : p_.b.function(Function::kAnd, DType::kBool, inside, t.inside);
      int v = sum(k + 1, p_.add(at, t.at, from_.strides[k + 2]), both);
      if (t.weight >= 0) v = real(Function::kMul, v, t.weight);
      total = total < 0 ? v : real(Function::kAdd, total, v);
    }
    return total;
  }

  Lowering& l_;
  const attrs::GridSample& a_;
  const bool nearest_;
  IndexedChain p_;
  const DType type_;
  Laid from_;
  int image_ = -1;
  std::vector<std::vector<Tap>> axes_;
};

}  // namespace

std::string lower_sample(Lowering& l) {
  if (!l.has(0) || !l.has(1)) return "an operand is left out";
  return Sample(l).run();
}

}  // namespace vireo::gpu
