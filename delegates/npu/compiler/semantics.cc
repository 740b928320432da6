#include "delegates/npu/compiler/semantics.h"

#include <algorithm>

namespace vireo::npu {
namespace {

// The window's reach along one axis, inside [0, extent); one place of it where the window lies in the padding alone.
void reach(int64_t stride, int64_t pad, int64_t span, int64_t extent, int64_t* begin, int64_t* end) {
  const int64_t lo = *begin * stride - pad, hi = (*end - 1) * stride - pad + span;
  *begin = std::clamp<int64_t>(lo, 0, extent - 1);
  *end = std::clamp<int64_t>(hi, *begin + 1, extent);
}

std::string shape_text(const GraphTensor& t) {
  std::string s = "[";
  for (int i = 0; i < 4; ++i) s += (i ? "," : "") + std::to_string(t.shape[static_cast<size_t>(i)]);
  return s + "]";
}

int64_t window_out(const Layer& l, int axis, int64_t in) {
  const auto a = static_cast<size_t>(axis);
  return (in + l.pad_begin[a] + l.pad_end[a] - (l.kernel[a] - 1) * l.dilation[a] - 1) / l.stride[a] + 1;
}

std::string check_window(const Layer& l) {
  for (size_t a = 0; a < 2; ++a) {
    if (l.kernel[a] < 1 || l.kernel[a] > 4096)
      return "its window has " + std::to_string(l.kernel[a]) + " taps along an axis, the machine 1 to 4096";
    if (l.stride[a] < 1 || l.stride[a] > 255 || l.dilation[a] < 1 || l.dilation[a] > 255)
      return "its strides and dilations must be 1 to 255";
    if (l.pad_begin[a] < 0 || l.pad_begin[a] > 16383 || l.pad_end[a] < 0 || l.pad_end[a] > 16383)
      return "its padding must be 0 to 16383";
  }
  return "";
}

// "" or what of a tensor's shape the machine does not have.
std::string check_shape(const GraphTensor& t) {
  for (const int64_t d : t.shape) {
    if (d < 1 || d > 65535) return "is " + shape_text(t) + ", and the machine's extents are 1 to 65535";
  }
  if (t.shape[3] * bytes_of(t.type) > 65535) return "has pixels above 65535 bytes";
  uint64_t bytes = bytes_of(t.type);  // below 2^64: three extents, and a pixel
  for (const int64_t d : t.shape) bytes *= static_cast<uint64_t>(d);
  return bytes > UINT32_MAX ? "is " + shape_text(t) + ", and the machine addresses 4 GiB" : "";
}

bool is_code(int32_t v, Type type) {
  return type == kI16 ? v >= -32768 && v <= 32767 : type == kU8 ? v >= 0 && v <= 255 : v >= -128 && v <= 127;
}

bool one_or(size_t n, int64_t channels) { return n == 1 || n == static_cast<size_t>(channels); }

}  // namespace

const char* kind_name(Kind kind) {
  constexpr const char* kNames[] = {"conv",     "add",          "mul",       "affine",   "table",
                                    "max_pool", "average_pool", "resize",    "softmax",  "concat",
                                    "slice",    "reshape",      "transpose", "quantize", "dequantize"};
  return kNames[static_cast<size_t>(kind)];
}

void Box::cover(const Box& other) {
  if (other.empty()) return;
  const bool none = empty();
  for (int i = 0; i < 3; ++i) {
    begin[i] = none ? other.begin[i] : std::min(begin[i], other.begin[i]);
    end[i] = none ? other.end[i] : std::max(end[i], other.end[i]);
  }
}

Box whole(const GraphTensor& t) {
  Box b;
  for (int i = 0; i < 3; ++i) b.end[i] = t.shape[static_cast<size_t>(i) + 1];
  return b;
}

bool is_depthwise(const Graph& g, const Layer& l) {
  return l.kind == Kind::kConv && l.groups > 1 && l.groups == g.tensors[static_cast<size_t>(l.inputs[0])].shape[3];
}

int64_t concat_offset(const Graph& g, const Layer& l, size_t input) {
  int64_t at = 0;
  for (size_t i = 0; i < input; ++i)
    at += g.tensors[static_cast<size_t>(l.inputs[i])].shape[static_cast<size_t>(l.axis)];
  return at;
}

Box needed(const Graph& g, const Layer& l, size_t input, const Box& y) {
  const GraphTensor& x = g.tensors[static_cast<size_t>(l.inputs[input])];
  Box b = y;
  switch (l.kind) {
    case Kind::kConv:
    case Kind::kMaxPool:
    case Kind::kAveragePool:
      for (int a = 0; a < 2; ++a) {
        const auto i = static_cast<size_t>(a);
        reach(l.stride[i], l.pad_begin[i], (l.kernel[i] - 1) * l.dilation[i] + 1, x.shape[i + 1], &b.begin[a],
              &b.end[a]);
      }
      if (l.kind == Kind::kConv) {
        const int64_t in = x.shape[3] / l.groups;
        const int64_t out = g.tensors[static_cast<size_t>(l.output)].shape[3] / l.groups;
        b.begin[2] = y.begin[2] / out * in;
        b.end[2] = (y.end[2] - 1) / out * in + in;
      }
      return b;
    case Kind::kAdd:
    case Kind::kMul:
      for (int a = 0; a < 3; ++a) {
        if (x.shape[static_cast<size_t>(a) + 1] != 1) continue;
        b.begin[a] = 0;
        b.end[a] = 1;
      }
      return b;
    case Kind::kResize:
      for (int a = 0; a < 2; ++a) {
        const ResizeAxis& r = l.resize[a];
        if (r.taps == 0) continue;
        const auto first = r.places.begin() + y.begin[a] * r.taps, last = r.places.begin() + y.end[a] * r.taps;
        b.begin[a] = *std::min_element(first, last);
        b.end[a] = *std::max_element(first, last) + 1;
      }
      return b;
    case Kind::kConcat: {
      const int a = l.axis - 1;
      const int64_t at = concat_offset(g, l, input), extent = x.shape[static_cast<size_t>(l.axis)];
      b.begin[a] = std::max<int64_t>(0, y.begin[a] - at);
      b.end[a] = std::min(extent, y.end[a] - at);
      return b.end[a] > b.begin[a] ? b : Box();
    }
    case Kind::kSlice:
      for (int a = 0; a < 3; ++a) {
        const auto i = static_cast<size_t>(a) + 1;
        const int64_t lo = l.begin[i] + y.begin[a] * l.step[i], hi = l.begin[i] + (y.end[a] - 1) * l.step[i] + 1;
        b.begin[a] = std::clamp<int64_t>(lo, 0, x.shape[i] - 1);
        b.end[a] = std::clamp<int64_t>(hi, b.begin[a] + 1, x.shape[i]);
      }
      return b;
    default:
      return b;
  }
}

std::string refusal(const Graph& g, size_t index) {
  const Layer& l = g.layers[index];
  const auto count = static_cast<int>(g.tensors.size());
  if (l.output < 0 || l.output >= count) return "its result is no tensor of the graph";
  const size_t wanted = l.kind == Kind::kAdd || l.kind == Kind::kMul ? 2 : 1;
  if (l.kind == Kind::kConcat ? l.inputs.empty() : l.inputs.size() != wanted) return "it has another number of inputs";
  for (const int i : l.inputs) {
    if (i < 0 || i >= count || i == l.output) return "an input is no tensor of the graph";
    const GraphTensor& x = g.tensors[static_cast<size_t>(i)];
    if (const std::string why = check_shape(x); !why.empty()) return "tensor \"" + x.name + "\" " + why;
    if (!x.data.empty() && static_cast<int64_t>(x.data.size()) != x.bytes())
      return "constant \"" + x.name + "\" has another size";
  }
  const GraphTensor &x = g.tensors[static_cast<size_t>(l.inputs[0])], &y = g.tensors[static_cast<size_t>(l.output)];
  if (const std::string why = check_shape(y); !why.empty()) return "its result " + why;
  const bool same_shape = x.shape == y.shape;
  bool real = x.type == kF32 || y.type == kF32, all_real = x.type == kF32 && y.type == kF32;
  for (const int i : l.inputs) {
    real = real || g.tensors[static_cast<size_t>(i)].type == kF32;
    all_real = all_real && g.tensors[static_cast<size_t>(i)].type == kF32;
  }
  switch (l.kind) {
    case Kind::kQuantize:
    case Kind::kDequantize:
      break;
    case Kind::kAdd:
    case Kind::kMul:
    case Kind::kConcat:
    case Kind::kSlice:
    case Kind::kReshape:
    case Kind::kTranspose:
      if (real && !all_real) return "it reads codes and float32";
      break;
    default:
      if (real) return "float32 has no unit for it";
  }
  switch (l.kind) {
    case Kind::kConv:
    case Kind::kAdd:
    case Kind::kMul:
    case Kind::kAffine:
    case Kind::kAveragePool:
    case Kind::kResize:
    case Kind::kSoftmax:
      if (real) break;
      if (!is_code(l.a_zero, x.type) ||
          (l.inputs.size() > 1 && !is_code(l.b_zero, g.tensors[static_cast<size_t>(l.inputs[1])].type)))
        return "a zero point is none of its operand's codes";
      if (!is_code(l.y_zero, y.type) || !is_code(l.low, y.type) || !is_code(l.high, y.type) || l.low > l.high)
        return "its zero point or bounds are none of its result's codes";
      break;
    default:
      break;
  }
  std::string mismatch = "its result is " + shape_text(y) + ", which does not follow from " + shape_text(x);
  switch (l.kind) {
    case Kind::kConv: {
      if (std::string why = check_window(l); !why.empty()) return why;
      if (l.groups < 1 || x.shape[3] % l.groups != 0 || y.shape[3] % l.groups != 0)
        return "its groups do not divide its channels";
      if (x.shape[0] != y.shape[0] || window_out(l, 0, x.shape[1]) != y.shape[1] ||
          window_out(l, 1, x.shape[2]) != y.shape[2])
        return mismatch;
      const int64_t filter = l.kernel[0] * l.kernel[1] * (x.shape[3] / l.groups);
      if (static_cast<int64_t>(l.weights.size()) != filter * y.shape[3]) return "it has another number of weights";
      if (!one_or(l.m.size(), y.shape[3])) return "it has another number of multipliers";
      if (!l.w_zero.empty() && !one_or(l.w_zero.size(), y.shape[3]))
        return "it has another number of weights' zero points";
      if (!l.bias.empty() && static_cast<int64_t>(l.bias.size()) != y.shape[3])
        return "it has another number of biases";
      return "";
    }
    case Kind::kAdd:
    case Kind::kMul: {
      if (l.m.size() != (l.kind == Kind::kAdd ? 2u : 1u)) return "it has another number of multipliers";
      const GraphTensor& b = g.tensors[static_cast<size_t>(l.inputs[1])];
      for (size_t i = 0; i < 4; ++i) {
        if ((x.shape[i] != y.shape[i] && x.shape[i] != 1) || (b.shape[i] != y.shape[i] && b.shape[i] != 1))
          return mismatch;
      }
      return "";
    }
    case Kind::kAffine: {
      if (!same_shape) return mismatch;
      const int64_t c = y.shape[3];
      if (!one_or(l.factor.size(), c) || (!l.below.empty() && l.below.size() != l.factor.size()) ||
          (!l.offset.empty() && l.offset.size() != l.factor.size()))
        return "its factors and offsets are neither one nor one a channel";
      return "";
    }
    case Kind::kQuantize:
    case Kind::kDequantize: {
      if (!same_shape) return mismatch;
      const bool to_codes = l.kind == Kind::kQuantize;
      if ((to_codes ? x : y).type != kF32 || (to_codes ? y : x).type == kF32)
        return "it is not between codes and float32";
      if (!one_or(l.factor.size(), y.shape[3]) || (!l.zero.empty() && l.zero.size() != l.factor.size()))
        return "its scales and zero points are neither one nor one a channel";
      return "";
    }
    case Kind::kTable:
      if (!same_shape) return mismatch;
      if (x.type == kI16 || y.type == kI16) return "tables of 16 bits have no unit";
      return l.table.size() == 256 ? "" : "its table has not 256 entries";
    case Kind::kMaxPool:
    case Kind::kAveragePool: {
      if (std::string why = check_window(l); !why.empty()) return why;
      if (x.shape[0] != y.shape[0] || x.shape[3] != y.shape[3]) return mismatch;
      // One more than the floor where the last window may hang over (ceil_mode).
      for (int a = 0; a < 2; ++a) {
        const int64_t floor = window_out(l, a, x.shape[static_cast<size_t>(a) + 1]),
                      is = y.shape[static_cast<size_t>(a) + 1];
        if (is != floor && is != floor + 1) return mismatch;
      }
      if (l.kind == Kind::kMaxPool) return x.type == y.type ? "" : "a maximum keeps its type";
      const auto taps = static_cast<size_t>(l.kernel[0] * l.kernel[1]);
      if (l.m.size() > 65535) return "its window has more taps than the machine has multipliers, 65534";
      return l.m.size() == 1 || l.m.size() == taps + 1 ? "" : "it has another number of multipliers";
    }
    case Kind::kResize:
      if (x.shape[0] != y.shape[0] || x.shape[3] != y.shape[3] || l.m.size() != 1) return mismatch;
      for (size_t a = 0; a < 2; ++a) {
        const ResizeAxis& r = l.resize[a];
        const auto n = static_cast<size_t>(y.shape[a + 1] * r.taps);
        if (r.taps == 0 ? x.shape[a + 1] != y.shape[a + 1] : r.places.size() != n || r.weights.size() != n)
          return mismatch;
        if (r.taps > 255) return "one result reads more than 255 rows or columns";
        for (const int32_t p : r.places) {
          if (p < 0 || p >= x.shape[a + 1]) return "a place lies outside of its input";
        }
      }
      return "";
    case Kind::kSoftmax:
      if (!same_shape) return mismatch;
      if (x.type == kI16) return "tables of 16 bits have no unit";
      return l.exp_table.size() == 256 && l.m.size() == 1 ? "" : "its table has not 256 entries";
    case Kind::kConcat: {
      if (l.axis < 1 || l.axis > 3) return "it joins images of a batch: join each image's own, or split the batch";
      int64_t sum = 0;
      for (const int i : l.inputs) {
        const GraphTensor& t = g.tensors[static_cast<size_t>(i)];
        if (t.type != y.type) return "its inputs and its result differ in type";
        for (int a = 0; a < 4; ++a) {
          const auto s = static_cast<size_t>(a);
          if (a == l.axis ? (sum += t.shape[s], false) : t.shape[s] != y.shape[s]) return mismatch;
        }
      }
      return sum == y.shape[static_cast<size_t>(l.axis)] ? "" : mismatch;
    }
    case Kind::kSlice:
      if (x.type != y.type) return "a slice keeps its type";
      if (l.begin[0] != 0 || l.step[0] != 1 || x.shape[0] != y.shape[0])
        return "it takes some images of a batch: split the batch";
      for (size_t a = 1; a < 4; ++a) {
        if (l.step[a] < 1 || l.step[a] > 255) return "its steps must be 1 to 255";
        if (l.begin[a] < -16383 || l.begin[a] > 65535) return "it begins out of the machine's reach";
      }
      return "";
    case Kind::kReshape:
      return x.bytes() == y.bytes() && x.type == y.type ? "" : mismatch;
    case Kind::kTranspose: {
      bool seen[4] = {};
      for (size_t a = 0; a < 4; ++a) {
        const int p = l.perm[a];
        if (p < 0 || p > 3 || seen[p] || x.shape[static_cast<size_t>(p)] != y.shape[a]) return mismatch;
        seen[p] = true;
      }
      return x.type == y.type ? "" : "a transposition keeps its type";
    }
  }
  return "";
}

}  // namespace vireo::npu
