#include "converter/check_inputs.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "sdk/base/half.h"
#include "sdk/ops/gather/gather_generated.h"

namespace vireo {
namespace {

// What the numbers of an integer input are.
struct Numbers {
  enum class Kind { kBetween, kCounting, kWildcard } kind = Kind::kBetween;  // kWildcard: -1 and then ones
  int64_t low = 0, high = 1;
};

// An operand that asks for more of its numbers than 0 or 1.
struct Steered {
  Op op;
  size_t operand;
  Numbers numbers;
};

constexpr Numbers between(int64_t low, int64_t high) { return {Numbers::Kind::kBetween, low, high}; }
constexpr Numbers kAxes = {Numbers::Kind::kCounting, 0, 0};
constexpr int64_t kFar = int64_t{1} << 30;  // behind every end

constexpr Steered kSteered[] = {
    {Op::kSlice, 1, between(0, 0)},
    {Op::kSlice, 2, between(kFar, kFar)},
    {Op::kSlice, 3, kAxes},
    {Op::kSlice, 4, between(1, 1)},
    {Op::kReshape, 1, {Numbers::Kind::kWildcard, 0, 0}},
    {Op::kExpand, 1, between(1, 1)},
    {Op::kTile, 1, between(1, 2)},
    {Op::kConstantOfShape, 0, between(1, 2)},
    {Op::kPad, 3, kAxes},
    {Op::kSqueeze, 1, kAxes},
    {Op::kUnsqueeze, 1, kAxes},
    {Op::kReduceSum, 1, kAxes},
    {Op::kReduceMean, 1, kAxes},
    {Op::kReduceMax, 1, kAxes},
    {Op::kReduceMin, 1, kAxes},
    {Op::kReduceProd, 1, kAxes},
    {Op::kReduceNorm, 1, kAxes},
    {Op::kCumSum, 1, between(0, 0)},
    {Op::kTopK, 1, between(1, 1)},
    {Op::kRange, 0, between(0, 0)},
    {Op::kRange, 1, between(2, 4)},
    {Op::kRange, 2, between(1, 1)},
    {Op::kLoop, 0, between(1, 3)},
    {Op::kOneHot, 1, between(2, 4)},
    {Op::kNonMaxSuppression, 2, between(1, 2)},
    {Op::kResize, 3, between(2, 4)},
    {Op::kDiv, 1, between(1, 2)},
    {Op::kMod, 1, between(1, 2)},
    {Op::kGatherElements, 1, between(0, 0)},
    {Op::kGatherND, 1, between(0, 0)},
    {Op::kScatterElements, 1, between(0, 0)},
    {Op::kRoiAlign, 2, between(0, 0)},
    {Op::kDequantizeLinear, 0, between(0, 127)},
};

// Operators that hand on their operand's numbers.
constexpr Op kHandOn[] = {Op::kCast,   Op::kIdentity, Op::kReshape,   Op::kSqueeze, Op::kUnsqueeze,
                          Op::kConcat, Op::kFlatten,  Op::kTranspose, Op::kExpand,  Op::kSlice};

// Operands that say the extents of the result, where all extents of that are known: what the file declares.
std::vector<double> asked_by_result(const ir::Node& n, size_t operand) {
  const ir::Value *x = n.in(0), *y = n.out();
  if (x == nullptr || y == nullptr || !y->type.shape.is_static()) return {};
  const Shape &from = x->type.shape, &to = y->type.shape;
  const bool factors = (n.op == Op::kTile && operand == 1) || (n.op == Op::kResize && operand == 2);
  const bool extents = (n.op == Op::kConstantOfShape && operand == 0) || (n.op == Op::kResize && operand == 3) ||
                       (operand == 1 && (n.op == Op::kReshape || n.op == Op::kExpand || n.op == Op::kAffineGrid ||
                                         n.op == Op::kCenterCropPad));
  std::vector<double> out;
  for (int i = 0; i < to.rank; ++i) {
    if (extents) out.push_back(static_cast<double>(to[i]));
    if (!factors) continue;
    if (from.rank != to.rank || !from.is_static() || from[i] == 0) return {};
    out.push_back(static_cast<double>(to[i]) / static_cast<double>(from[i]));
  }
  // A grid is [N, ..., 2 or 3]; its size is that of the picture, of one channel.
  if (n.op == Op::kAffineGrid && out.size() > 2) {
    out.pop_back();
    out.insert(out.begin() + 1, 1);
  }
  return out;
}

// What one operand asks of its numbers; nothing for most.
std::optional<Numbers> asked_by(const ir::Node& n, size_t operand) {
  if (n.op == Op::kGather && operand == 1) {
    const Shape& data = n.in(0)->type.shape;
    const int axis = normalize_axis(n.attributes<attrs::Gather>().axis(), data.rank);
    const Dim extent = axis < 0 ? 1 : data[axis];
    return between(0, is_symbolic(extent) ? 0 : std::max<Dim>(extent, 1) - 1);
  }
  if ((n.op == Op::kLSTM || n.op == Op::kGRU || n.op == Op::kRNN) && operand == 4) {
    const Dim steps = n.in(0)->type.shape[0];
    return between(is_symbolic(steps) ? 1 : steps, is_symbolic(steps) ? 1 : steps);
  }
  for (const Steered& row : kSteered) {
    if (row.op == n.op && row.operand == operand) return row.numbers;
  }
  return std::nullopt;
}

// What the first reader that asks for something asks of `v`.
std::optional<Numbers> asked_of(const ir::Value& v, int depth = 0) {
  constexpr int kMostSteps = 16;
  for (const ir::Use& use : v.uses) {
    if (const auto found = asked_by(*use.node, use.input)) return found;
  }
  for (const ir::Use& use : v.uses) {
    const bool same = use.input == 0 || use.node->op == Op::kConcat;
    const bool hands_on = std::find(std::begin(kHandOn), std::end(kHandOn), use.node->op) != std::end(kHandOn);
    if (!same || !hands_on || depth == kMostSteps) continue;
    if (const auto found = asked_of(*use.node->out(), depth + 1)) return found;
  }
  return std::nullopt;
}

template <class T, class F>
void fill(HostTensor* t, int64_t count, const F& next) {
  t->bytes.resize(static_cast<size_t>(count) * sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    const auto v = static_cast<T>(next());
    std::memcpy(t->bytes.data() + static_cast<size_t>(i) * sizeof(T), &v, sizeof(T));
  }
}

class Maker {
 public:
  Maker(const ir::Graph& graph, const ConvertOptions& options, const MadeUp& how)
      : graph_(graph), options_(options), how_(how) {}

  bool make(const ir::Value& v, HostTensor* t) {
    t->dtype = v.type.dtype;
    int64_t count = 1;
    for (int i = 0; i < v.type.shape.rank; ++i) {
      t->dims.push_back(extent(v.type.shape[i]));
      count *= t->dims.back();
    }
    for (const ir::Use& use : v.uses) {
      const std::vector<double> exact = asked_by_result(*use.node, use.input);
      if (exact.empty() || static_cast<int64_t>(exact.size()) != count) continue;
      size_t at = 0;
      if (fill_numbers(
              count, [&] { return exact[at++]; }, t))
        return true;
    }
    return fill_floats(v, count, t) || fill_integers(v, count, t) || fill_narrow(count, t);
  }

 private:
  int64_t extent(Dim d) {
    if (!is_symbolic(d)) return d;
    const auto [at, fresh] = extents_.emplace(d, 0);
    if (!fresh) return at->second;
    const Interval range = graph_.dims().interval(d);
    return at->second =
               std::clamp<int64_t>(how_.extent, std::max<int64_t>(1, range.lo), std::max<int64_t>(1, range.hi));
  }

  // The types that shapes and factors come in.
  template <class F>
  static bool fill_numbers(int64_t count, const F& next, HostTensor* t) {
    if (t->dtype == DType::kI64) return fill<int64_t>(t, count, next), true;
    if (t->dtype == DType::kI32) return fill<int32_t>(t, count, next), true;
    if (t->dtype == DType::kF32) return fill<float>(t, count, next), true;
    return false;
  }

  // Codes of fewer than 8 bits, any; small floats and scales, none of which is NaN or infinite.
  bool fill_narrow(int64_t count, HostTensor* t) {
    const bool codes = dtype_is_integer(t->dtype) || t->dtype == DType::kF4E2M1;
    const bool scale = t->dtype == DType::kF8E8M0;  // powers of two, 127 for 1
    if (!codes && !(dtype_is_float(t->dtype) && dtype_bits(t->dtype) <= 8)) return false;
    std::uniform_int_distribution<int> byte(scale ? 124 : 0, codes ? 255 : scale ? 130 : 31);
    t->bytes.resize(static_cast<size_t>(dtype_bytes(t->dtype, count)));
    for (uint8_t& b : t->bytes) b = static_cast<uint8_t>(byte(rng_));
    return true;
  }

  bool fill_floats(const ir::Value& v, int64_t count, HostTensor* t) {
    float lo = -1, hi = 1;
    for (const IoMeaning& m : options_.io) {
      if (m.name == v.name) lo = m.range_lo, hi = m.range_hi;
    }
    // Scales of a Resize enlarge.
    const auto scales = [](const ir::Use& use) { return use.node->op == Op::kResize && use.input == 2; };
    if (std::any_of(v.uses.begin(), v.uses.end(), scales)) lo = hi = 1;
    std::uniform_real_distribution<float> real(lo, std::max(lo, hi));
    switch (t->dtype) {
      case DType::kF32:
        fill<float>(t, count, [&] { return real(rng_); });
        return true;
      case DType::kF64:
        fill<double>(t, count, [&] { return real(rng_); });
        return true;
      case DType::kF16:
        fill<uint16_t>(t, count, [&] { return f32_to_f16(real(rng_)); });
        return true;
      case DType::kBF16:
        fill<uint16_t>(t, count, [&] { return f32_to_bf16(real(rng_)); });
        return true;
      default:
        return false;
    }
  }

  bool fill_integers(const ir::Value& v, int64_t count, HostTensor* t) {
    const Numbers otherwise = between(how_.least, 1);
    const Numbers numbers = t->dtype == DType::kBool ? otherwise : asked_of(v).value_or(otherwise);
    std::uniform_int_distribution<int64_t> number(numbers.low, numbers.high);
    int64_t at = 0;
    const auto next = [&]() -> int64_t {
      if (numbers.kind == Numbers::Kind::kCounting) return at++;
      if (numbers.kind == Numbers::Kind::kWildcard) return at++ == 0 ? -1 : 1;
      return number(rng_);
    };
    switch (t->dtype) {
      case DType::kI64:
      case DType::kU64:
        fill<int64_t>(t, count, next);
        return true;
      case DType::kI32:
      case DType::kU32:
        fill<int32_t>(t, count, next);
        return true;
      case DType::kI16:
      case DType::kU16:
        fill<int16_t>(t, count, next);
        return true;
      case DType::kI8:
      case DType::kU8:
      case DType::kBool:
        fill<int8_t>(t, count, next);
        return true;
      case DType::kString:
        t->strings.assign(static_cast<size_t>(count), "a");
        return true;
      default:
        return false;
    }
  }

  const ir::Graph& graph_;
  const ConvertOptions& options_;
  const MadeUp& how_;
  std::mt19937 rng_{1};
  std::map<Dim, int64_t> extents_;
};

}  // namespace

std::vector<MadeUp> ways_to_make_up(const ir::Graph& graph) {
  constexpr size_t kMostExtents = 8;
  std::set<int64_t> fixed;
  bool open = false;
  for (const ir::Value* v : graph.inputs()) {
    for (int i = 0; i < v->type.shape.rank; ++i) {
      const Dim d = v->type.shape[i];
      open = open || is_symbolic(d);
      if (!is_symbolic(d) && d > 1) fixed.insert(d);
    }
  }
  std::vector<MadeUp> ways{{1, 0}, {1, 1}};
  fixed.insert(2);
  for (const int64_t extent : fixed) {
    if (open && ways.size() < 2 + kMostExtents) ways.push_back({extent, 0});
  }
  return ways;
}

bool make_inputs(const ir::Graph& graph, const ConvertOptions& options, const MadeUp& how,
                 std::vector<HostTensor>* inputs, std::string* missing) {
  Maker maker(graph, options, how);
  inputs->clear();
  for (const ir::Value* v : graph.inputs()) {
    inputs->emplace_back();
    if (maker.make(*v, &inputs->back())) continue;
    *missing = "\"" + v->name + "\" is " + dtype_name(v->type.dtype);
    return false;
  }
  return true;
}

std::string steering_inputs(const ir::Graph& graph) {
  std::string names;
  for (const ir::Value* v : graph.inputs()) {
    const DType t = v->type.dtype;
    if (dtype_is_integer(t) || t == DType::kBool) names += (names.empty() ? "\"" : ", \"") + v->name + "\"";
  }
  return names;
}

}  // namespace vireo
