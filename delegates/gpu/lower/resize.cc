// Resize by any scale: one axis after the other, with tables of taps that are made here.
#include "sdk/ops/resize/resize.h"

#include <algorithm>
#include <cstring>

#include "delegates/gpu/lower/indexed_chain.h"

namespace vireo::gpu {
namespace {

constexpr int64_t kMostTaps = 32;  // of one axis: they stand in the code one after the other

// A constant input as shape functions and kernels see it; false where a run brings it.
bool read(const Lowering& l, size_t i, vireo::Tensor* out, const vireo::Tensor** at) {
  *at = nullptr;
  if (!l.has(i) || l.in(i).count() == 0) return true;
  if (!l.constant(i) || l.in(i).constant_bytes < l.in(i).bytes()) return false;
  out->dtype = l.in(i).dtype;
  out->shape = shape_of(l.in(i));
  out->data = const_cast<uint8_t*>(l.in(i).constant);
  *at = out;
  return true;
}

// Entries of one axis for each place: for each tap the element and its weight. A place outside of the input has -1.
std::vector<uint8_t> table_of(const ResizeAxis& axis, const ResizeTaps& taps) {
  std::vector<uint8_t> out;
  const auto put = [&out](const auto& v) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&v);
    out.insert(out.end(), bytes, bytes + sizeof(v));
  };
  for (int64_t i = 0; i < axis.out; ++i) {
    const bool outside = taps.first[i] == kResizeOutside;
    for (int64_t j = 0; j < taps.n; ++j) {
      put(outside ? -1 : static_cast<int32_t>(std::clamp<int64_t>(taps.first[i] + j, 0, axis.in - 1)));
      if (taps.weights != nullptr) put(static_cast<float>(outside ? 0 : taps.weights[i * taps.n + j]));
    }
  }
  return out;
}

// What a pass reads: x, or what the pass before it made.
struct Pass {
  Laid from;
  Extents dims;
  DType type;  // as read
};

class Resample {
 public:
  Resample(Lowering& l, const attrs::Resize& a) : l_(l), a_(a), nearest_(a.mode() == attrs::ResizeMode::nearest) {}

  std::string run() {
    const Datum &x = l_.in(0), &y = l_.out(0);
    if (std::string why = refuse(); !why.empty()) return why;
    vireo::Tensor given[3];
    const vireo::Tensor* at[3];
    for (size_t i = 0; i < 3; ++i) {
      if (!read(l_, i + 1, &given[i], &at[i])) return "its scales come with the data";
    }
    if (at[1] == nullptr && at[2] == nullptr) return "neither scales nor sizes";
    read_resize_axes(a_, shape_of(x), shape_of(y), {at[0], at[1], at[2]}, axis_);
    if (std::string why = make_taps(x.rank()); !why.empty()) return why;
    std::vector<size_t> order;  // axes that shrink come first
    for (size_t k = 0; k < x.dims.size(); ++k) {
      if (!resizes_nothing(axis_[k])) order.push_back(k);
    }
    std::sort(order.begin(), order.end(),
              [&](size_t k, size_t m) { return axis_[k].out * axis_[m].in < axis_[m].out * axis_[k].in; });
    Pass pass{l_.laid(l_.node().inputs[0]), x.dims, nearest_ ? moved_as(x.dtype) : x.dtype};
    if (order.empty()) {
      l_.lay(l_.node().outputs[0], pass.from);
      return "";
    }
    for (size_t n = 0; n < order.size(); ++n) along(order[n], n + 1 == order.size(), &pass);
    return "";
  }

 private:
  std::string refuse() const {
    const DType t = l_.in(0).dtype;
    if (nearest_) {
      if (dtype_bits(t) < 8 || t == DType::kString) return std::string("Resize of ") + dtype_name(t);
      if (a_.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize && a_.extrapolation_value() != 0)
        return "Resize to nearest elements with a value outside of the input";
      return moved_as(t) == DType::kU64 && !l_.target().int64 ? "this GPU does not compute with int64" : "";
    }
    const bool small = dtype_is_integer(t) && dtype_bits(t) >= 8 && dtype_bits(t) <= 16;
    return is_real(t) || small ? "" : std::string("Resize with weights of ") + dtype_name(t);
  }

  std::string make_taps(int rank) {
    int64_t words = 0;
    for (int k = 0; k < rank; ++k) {
      const int64_t taps = nearest_ || resizes_nothing(axis_[k]) ? 1 : resize_taps(a_, axis_[k].scale);
      if (taps > kMostTaps) return "Resize over more than 32 elements of an axis";
      words += axis_[k].out * (1 + taps);
    }
    memory_.resize(static_cast<size_t>(words));
    const Span<uint8_t> span(reinterpret_cast<uint8_t*>(memory_.data()), memory_.size() * sizeof(uint64_t));
    return make_resize_taps(a_, axis_, rank, span, taps_) ? "" : "its tables are larger than they should be";
  }

  // Resizes axis k of what `pass` has, which is then the result.
  void along(size_t k, bool last, Pass* pass) {
    const ResizeTaps& taps = taps_[k];
    const DType made = nearest_ ? pass->type : last ? l_.out(0).dtype : kReal;
    Extents dims = pass->dims;
    dims[k] = axis_[k].out;
    Laid to;
    if (last) {
      to = l_.make(l_.node().outputs[0]);
    } else {
      uint64_t count = 1;
      for (const int64_t d : dims) count *= static_cast<uint64_t>(d);
      to = {l_.make_memory(count * static_cast<uint64_t>(dtype_bits(made)) / 8), 0, dense_strides(dims)};
    }
    IndexedChain p(l_, dims);
    const int x = p.indexed(pass->from, pass->type);
    const int table = p.indexed({l_.table(table_of(axis_[k], taps)), 0, {}}, DType::kI32);
    int base = -1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d != k && dims[d] != 1) base = p.add(base, p.b.place(static_cast<uint32_t>(d)), pass->from.strides[d]);
    }
    const int64_t words = taps.weights == nullptr ? 1 : 2 * taps.n;
    const int entry = p.add(-1, p.b.place(static_cast<uint32_t>(k)), words);
    int value = -1, first = -1;
    for (int64_t j = 0; j < taps.n; ++j) {
      const auto word = [&](int64_t at) {
        return p.element(table, at == 0 ? entry : p.add(entry, p.number(at), 1), DType::kI32);
      };
      const int place = word(taps.weights == nullptr ? 0 : 2 * j);
      if (j == 0) first = place;
      const int inside = p.b.function(Function::kMax, DType::kI32, place, p.number(0));
      int v = p.element(x, p.add(base, inside, pass->from.strides[k]), pass->type);
      if (taps.weights == nullptr && nearest_) {
        value = v;
        continue;
      }
      if (pass->type != kReal) v = p.b.function(Function::kCast, kReal, v);
      if (taps.weights != nullptr) {
        const int weight = p.b.function(Function::kBitcast, kReal, word(2 * j + 1));
        v = p.b.function(Function::kMul, kReal, v, weight);
      }
      value = value < 0 ? v : p.b.function(Function::kAdd, kReal, value, v);
    }
    if (a_.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize) {
      const int outside = p.b.function(Function::kLess, DType::kBool, first, p.number(0));
      const DType type = nearest_ ? made : kReal;
      const int other = nearest_ ? p.b.constant(type, 0) : p.b.constant_f32(a_.extrapolation_value());
      value = p.b.function(Function::kWhere, type, outside, other, value);
    }
    if (!nearest_ && made != kReal) value = narrowed(&p, value, made);
    p.b.output(value, view_of(to));
    p.push({to.memory});
    *pass = {to, dims, made};
  }

  static int narrowed(IndexedChain* p, int value, DType to) {
    if (dtype_is_integer(to)) {
      const int bits = dtype_bits(to);
      const auto most = static_cast<float>(dtype_is_signed(to) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1);
      const float least = dtype_is_signed(to) ? -most - 1 : 0;
      value = p->b.function(Function::kRound, kReal, value);
      const int low = p->b.constant_f32(least), high = p->b.constant_f32(most);
      value = p->b.function(Function::kClip, kReal, value, low, high);
    }
    return p->b.function(Function::kCast, to, value);
  }

  Lowering& l_;
  const attrs::Resize& a_;
  const bool nearest_;
  ResizeAxis axis_[kMaxRank];
  ResizeTaps taps_[kMaxRank];
  std::vector<uint64_t> memory_;
};

}  // namespace

std::string lower_resize(Lowering& l) { return Resample(l, l.node().attrs<attrs::Resize>()).run(); }

}  // namespace vireo::gpu
