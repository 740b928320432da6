// Resize between codes: the weights of each axis become integers, so that a sum is exact.
#include <cmath>
#include <limits>
#include <memory>

#include "converter/passes/quantized/integer_region.h"
#include "sdk/ops/int_resize/int_resize.h"
#include "sdk/ops/resize/resize.h"

namespace vireo::passes {
namespace {

// Bits behind the point of the product of all axes' weights: 255 * 2^22 leaves one bit for the overshoot of cubic
// weights.
constexpr int kFraction = 22;
constexpr int kLeastBits = 6;  // of one axis: weights off by more than 1 % are no longer the operator

struct Taps {
  int axis = 0;
  int64_t positions = 0, count = 0;
  std::vector<int32_t> places;
  std::vector<double> weights;
};

// An optional input as the kernel sees it. `storage` holds it.
bool constant_tensor(const ir::Node& n, size_t i, Tensor* storage, const Tensor** out) {
  *out = nullptr;
  if (n.in(i) == nullptr) return true;
  const ir::ConstantPtr& c = n.in(i)->constant;
  if (c == nullptr) return false;
  storage->dtype = c->tensor.type.dtype;
  storage->shape = c->tensor.type.shape;
  storage->data = const_cast<uint8_t*>(c->tensor.bytes.data());  // only read
  *out = storage;
  return true;
}

bool read_taps(const ir::Node& n, std::vector<Taps>* out, std::string* why) {
  const auto& a = n.attributes<attrs::Resize>();
  const Shape &x = n.in(0)->type.shape, &y = n.out()->type.shape;
  for (int k = 0; k < x.rank; ++k) {
    if (is_symbolic(x[k]) || is_symbolic(y[k]) || x[k] < 1 || y[k] < 1) {
      *why = "its extents are not known";
      return false;
    }
  }
  Tensor storage[3];
  ResizeInputs inputs{};
  if (!constant_tensor(n, 1, &storage[0], &inputs.roi) || !constant_tensor(n, 2, &storage[1], &inputs.scales) ||
      !constant_tensor(n, 3, &storage[2], &inputs.sizes)) {
    *why = "its scales are not constant";
    return false;
  }
  ResizeAxis axes[kMaxRank];
  ResizeTaps taps[kMaxRank];
  read_resize_axes(a, x, y, inputs, axes);
  int64_t words = 0;
  for (int k = 0; k < x.rank; ++k) words += y[k] * (1 + resize_taps(a, axes[k].scale));
  std::vector<int64_t> memory(static_cast<size_t>(words));
  if (!make_resize_taps(a, axes, x.rank, {reinterpret_cast<uint8_t*>(memory.data()), memory.size() * 8}, taps)) {
    *why = "its weights are not known";
    return false;
  }
  for (int k = 0; k < x.rank; ++k) {
    if (resizes_nothing(axes[k])) continue;
    Taps t;
    t.axis = k;
    t.positions = y[k];
    t.count = taps[k].n;
    for (int64_t i = 0; i < t.positions * t.count; ++i) {
      const int64_t first = taps[k].first[i / t.count];
      if (first == kResizeOutside) {
        *why = "it reaches outside of its input";
        return false;
      }
      const int64_t at = first + i % t.count, last = x[k] - 1;
      t.places.push_back(static_cast<int32_t>(at < 0 ? 0 : at > last ? last : at));
      t.weights.push_back(taps[k].weights == nullptr ? 1 : taps[k].weights[i]);
    }
    out->push_back(std::move(t));
  }
  return true;
}

// Weights in units of 2^-bits, those of a position with the sum that they should have: what is constant stays so.
// `most`: the largest sum of magnitudes.
std::vector<int32_t> weight_codes(const Taps& t, int bits, double* most) {
  std::vector<int32_t> out;
  *most = 0;
  for (int64_t i = 0; i < t.positions; ++i) {
    const double* w = &t.weights[static_cast<size_t>(i * t.count)];
    const size_t first = out.size();
    size_t largest = first;
    double sum = 0;
    int64_t have = 0;
    for (int64_t j = 0; j < t.count; ++j) {
      sum += w[j];
      out.push_back(static_cast<int32_t>(std::nearbyint(std::ldexp(w[j], bits))));
      have += out.back();
      if (std::abs(out.back()) > std::abs(out[largest])) largest = out.size() - 1;
    }
    out[largest] += static_cast<int32_t>(static_cast<int64_t>(std::nearbyint(std::ldexp(sum, bits))) - have);
    double all = 0;
    for (size_t j = first; j < out.size(); ++j) all += std::abs(static_cast<double>(out[j]));
    *most = std::max(*most, all);
  }
  return out;
}

}  // namespace

ir::Value* make_int_resize(const Region& r, std::string* why) {
  const ir::Node& n = *r.core;
  Scale x;
  ir::Value* codes = operand(n, 0, &x, why);
  std::vector<Taps> taps;
  if (codes == nullptr || !all_bytes(x, r.y, why) || !read_taps(n, &taps, why)) return nullptr;
  if (taps.empty() || taps.size() > static_cast<size_t>(kMaxIntResizeAxes)) {
    *why = "it resamples " + std::to_string(taps.size()) + " axes";
    return nullptr;
  }
  for (const Taps& t : taps) {
    for (const double w : t.weights) {
      if (std::abs(w) < 2) continue;  // also NaN, of a scale that is none
      *why = "its weights are not those of an interpolation";
      return nullptr;
    }
  }
  const double largest = std::numeric_limits<int32_t>::max();
  std::vector<std::vector<int32_t>> weights(taps.size());
  int bits = kFraction / static_cast<int>(taps.size());
  for (;; --bits) {
    if (bits < kLeastBits) {
      *why = "a sum of its weights may leave int32";
      return nullptr;
    }
    double sum = span_of(x.dtype, x.zero());
    for (size_t i = 0; i < taps.size(); ++i) {
      double most = 0;
      weights[i] = weight_codes(taps[i], bits, &most);
      sum *= most;
    }
    if (sum <= largest) break;
  }
  attrs::IntResizeT a;
  const int all_bits = bits * static_cast<int>(taps.size());
  if (!multiplier_of(std::ldexp(x.scale() / r.y.scale(), -all_bits), &a.multiplier, why)) return nullptr;
  std::vector<ir::Value*> inputs{codes};
  for (size_t i = 0; i < taps.size(); ++i) {
    a.axes.push_back(taps[i].axis);
    Shape s;
    s.rank = 2;
    s.dims[0] = taps[i].positions;
    s.dims[1] = taps[i].count;
    const std::string name = n.name + "_axis" + std::to_string(taps[i].axis);
    inputs.push_back(
        r.graph->add_constant(name + "_places", ir::make_constant_of<int32_t>(DType::kI32, s, taps[i].places)));
    inputs.push_back(
        r.graph->add_constant(name + "_weights", ir::make_constant_of<int32_t>(DType::kI32, s, weights[i])));
  }
  a.x_zero = x.zero();
  set_codes(r, &a);
  return finish(r, add_node(*r.graph, Op::kIntResize, pack<attrs::IntResize>(a), inputs, n, r.end), why);
}

}  // namespace vireo::passes
