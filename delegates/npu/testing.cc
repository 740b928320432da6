#include "delegates/npu/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "delegates/npu/compiler/hazards.h"
#include "sdk/base/requantize.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/int_resize/int_resize_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/int_table/int_table_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/view.h"

namespace vireo::npu {
namespace {

std::vector<int64_t> dims(const GraphTensor& t) { return {t.shape.begin(), t.shape.end()}; }
std::vector<int32_t> ints(const std::array<int64_t, 2>& v) {
  return {static_cast<int32_t>(v[0]), static_cast<int32_t>(v[1])};
}
DType dtype(Type t) { return t == kF32 ? DType::kF32 : t == kU8 ? DType::kU8 : t == kI8 ? DType::kI8 : DType::kI16; }

TestTensor test_tensor(const GraphTensor& t, const Bytes& bytes) {
  TestTensor out;
  out.type = {dtype(t.type), make_shape(dims(t))};
  out.bytes = bytes;
  return out;
}

template <class A>
void set_codes(A* a, const Layer& l, Type y) {
  a->y_zero = l.y_zero;
  a->low = l.low;
  a->high = l.high;
  a->output_dtype = static_cast<uint8_t>(dtype(y));
}
template <class A>
void set_window(A* a, const Layer& l) {
  a->strides = ints(l.stride);
  a->dilations = ints(l.dilation);
  a->pads = {static_cast<int32_t>(l.pad_begin[0]), static_cast<int32_t>(l.pad_begin[1]),
             static_cast<int32_t>(l.pad_end[0]), static_cast<int32_t>(l.pad_end[1])};
  a->layout = 1;
}

template <class T>
std::vector<T> per_channel(const std::vector<T>& v, const std::vector<T>& like, T otherwise) {
  return v.empty() ? std::vector<T>(like.size(), otherwise) : v;
}

int32_t code(const Bytes& bytes, Type type, int64_t i) {
  const auto at = static_cast<size_t>(i);
  if (type == kI8) return static_cast<int8_t>(bytes[at]);
  if (type == kU8) return bytes[at];
  return static_cast<int16_t>(bytes[2 * at] | (bytes[2 * at + 1] << 8));
}
void put_code(Bytes* bytes, Type type, int64_t i, int32_t v) {
  const auto at = static_cast<size_t>(i) * bytes_of(type);
  (*bytes)[at] = static_cast<uint8_t>(v);
  if (type == kI16) (*bytes)[at + 1] = static_cast<uint8_t>(v >> 8);
}

// 16-bit codes have no operator in the SDK: the formulas of INTEGER.md, written out.
Bytes run_wide(const Graph& g, const Layer& l, const std::vector<Bytes>& all) {
  const GraphTensor& x = g.tensors[static_cast<size_t>(l.inputs[0])];
  const GraphTensor& y = g.tensors[static_cast<size_t>(l.output)];
  Bytes out(static_cast<size_t>(y.bytes()));
  const Bytes& xb = all[static_cast<size_t>(l.inputs[0])];
  const auto [n, h, w, c] = y.shape;
  const auto at = [](const GraphTensor& t, int64_t b, int64_t r, int64_t q, int64_t k) {
    const auto& s = t.shape;
    return (((s[0] == 1 ? 0 : b) * s[1] + (s[1] == 1 ? 0 : r)) * s[2] + (s[2] == 1 ? 0 : q)) * s[3] +
           (s[3] == 1 ? 0 : k);
  };
  for (int64_t b = 0; b < n; ++b) {
    for (int64_t r = 0; r < h; ++r) {
      for (int64_t q = 0; q < w; ++q) {
        for (int64_t k = 0; k < c; ++k) {
          const size_t channel = l.m.size() == 1 ? 0 : static_cast<size_t>(k);
          int32_t v = 0;
          if (l.kind == Kind::kConv) {
            const int64_t in = x.shape[3] / l.groups;
            int32_t acc = l.bias.empty() ? 0 : l.bias[static_cast<size_t>(k)];
            for (int64_t i = 0; i < l.kernel[0]; ++i) {
              for (int64_t j = 0; j < l.kernel[1]; ++j) {
                const int64_t row = r * l.stride[0] - l.pad_begin[0] + i * l.dilation[0];
                const int64_t col = q * l.stride[1] - l.pad_begin[1] + j * l.dilation[1];
                if (row < 0 || row >= x.shape[1] || col < 0 || col >= x.shape[2]) continue;
                for (int64_t e = 0; e < in; ++e) {
                  const int64_t from =
                      ((b * x.shape[1] + row) * x.shape[2] + col) * x.shape[3] + k / (c / l.groups) * in + e;
                  const int32_t weight =
                      l.weights[static_cast<size_t>(((k * l.kernel[0] + i) * l.kernel[1] + j) * in + e)];
                  const int32_t wz = l.w_zero.empty() ? 0 : l.w_zero[l.w_zero.size() == 1 ? 0 : static_cast<size_t>(k)];
                  acc += (code(xb, x.type, from) - l.a_zero) * (weight - wz);
                }
              }
            }
            v = requantize(acc, l.m[channel], l.y_zero, l.low, l.high);
          } else if (l.kind == Kind::kMaxPool || l.kind == Kind::kAveragePool) {
            int32_t acc = 0, top = -32768;
            size_t taps = 0;
            for (int64_t i = 0; i < l.kernel[0]; ++i) {
              for (int64_t j = 0; j < l.kernel[1]; ++j) {
                const int64_t row = r * l.stride[0] - l.pad_begin[0] + i * l.dilation[0];
                const int64_t col = q * l.stride[1] - l.pad_begin[1] + j * l.dilation[1];
                if (row < 0 || row >= x.shape[1] || col < 0 || col >= x.shape[2]) continue;
                const int32_t e = code(xb, x.type, ((b * x.shape[1] + row) * x.shape[2] + col) * c + k);
                acc += e - l.a_zero;
                top = std::max(top, e);
                ++taps;
              }
            }
            v = l.kind == Kind::kMaxPool ? top : requantize(acc, l.m[taps], l.y_zero, l.low, l.high);
          } else if (l.kind == Kind::kAffine) {
            const size_t f = l.factor.size() == 1 ? 0 : static_cast<size_t>(k);
            const int32_t d = code(xb, x.type, at(x, b, r, q, k)) - l.a_zero;
            const float product = static_cast<float>(d) * (d < 0 && !l.below.empty() ? l.below[f] : l.factor[f]);
            v = round_and_clamp(product + (l.offset.empty() ? 0.f : l.offset[f]), l.y_zero, l.low, l.high);
          } else if (l.kind == Kind::kResize) {
            uint32_t acc = 0;
            const ResizeAxis &rows = l.resize[0], &cols = l.resize[1];
            for (int64_t i = 0; i < rows.taps; ++i) {
              for (int64_t j = 0; j < cols.taps; ++j) {
                const auto ri = static_cast<size_t>(r * rows.taps + i), ci = static_cast<size_t>(q * cols.taps + j);
                const int32_t e =
                    code(xb, x.type, ((b * x.shape[1] + rows.places[ri]) * x.shape[2] + cols.places[ci]) * c + k);
                acc += static_cast<uint32_t>(rows.weights[ri]) * static_cast<uint32_t>(cols.weights[ci]) *
                       static_cast<uint32_t>(e - l.a_zero);
              }
            }
            v = requantize(static_cast<int32_t>(acc), l.m[0], l.y_zero, l.low, l.high);
          } else {
            const GraphTensor& b2 = g.tensors[static_cast<size_t>(l.inputs[1])];
            const int32_t va = code(xb, x.type, at(x, b, r, q, k)) - l.a_zero;
            const int32_t vb = code(all[static_cast<size_t>(l.inputs[1])], b2.type, at(b2, b, r, q, k)) - l.b_zero;
            if (l.kind == Kind::kMul) {
              v = requantize(va * vb, l.m[0], l.y_zero, l.low, l.high);
            } else {
              const float pa = static_cast<float>(va) * l.m[0], pb = static_cast<float>(vb) * l.m[1];
              v = round_and_clamp(pa + pb, l.y_zero, l.low, l.high);
            }
          }
          put_code(&out, y.type, ((b * h + r) * w + q) * c + k, v);
        }
      }
    }
  }
  return out;
}

Bytes run_slice(const GraphTensor& x, const GraphTensor& y, const Layer& l, const Bytes& from) {
  Bytes out(static_cast<size_t>(y.bytes()));
  int64_t to = 0;
  for (int64_t n = 0; n < y.shape[0]; ++n) {
    for (int64_t h = 0; h < y.shape[1]; ++h) {
      for (int64_t w = 0; w < y.shape[2]; ++w) {
        for (int64_t c = 0; c < y.shape[3]; ++c) {
          const int64_t r = l.begin[1] + h * l.step[1], q = l.begin[2] + w * l.step[2], k = l.begin[3] + c * l.step[3];
          const bool inside = r >= 0 && r < x.shape[1] && q >= 0 && q < x.shape[2] && k >= 0 && k < x.shape[3];
          const int64_t at = ((n * x.shape[1] + r) * x.shape[2] + q) * x.shape[3] + k;
          put_code(&out, y.type, to++, inside ? code(from, x.type, at) : l.fill);
        }
      }
    }
  }
  return out;
}

Bytes run_layer(const Graph& g, const Layer& l, const std::vector<Bytes>& all) {
  const GraphTensor& x = g.tensors[static_cast<size_t>(l.inputs[0])];
  const GraphTensor& y = g.tensors[static_cast<size_t>(l.output)];
  const Bytes& xb = all[static_cast<size_t>(l.inputs[0])];
  const auto in = [&](size_t i) {
    return test_tensor(g.tensors[static_cast<size_t>(l.inputs[i])], all[static_cast<size_t>(l.inputs[i])]);
  };
  const bool moves =
      l.kind == Kind::kConcat || l.kind == Kind::kSlice || l.kind == Kind::kReshape || l.kind == Kind::kTranspose;
  if ((x.type == kI16 || y.type == kI16) && !moves) return run_wide(g, l, all);
  const auto finish = [&](OpTest test) {
    EXPECT_EQ(test.run(), vireo::Status::kOk) << l.name << ": " << test.message();
    EXPECT_EQ(test.y().type, (TensorType{dtype(y.type), make_shape(dims(y))})) << l.name;
    return test.y().bytes;
  };
  switch (l.kind) {
    case Kind::kQuantize:
    case Kind::kDequantize: {
      const bool to_codes = l.kind == Kind::kQuantize;
      attrs::QuantizeLinearT q;
      q.axis = 3;
      attrs::DequantizeLinearT d;
      d.axis = 3;
      OpTest t(to_codes ? vireo::Op::kQuantizeLinear : vireo::Op::kDequantizeLinear,
               to_codes ? pack<attrs::QuantizeLinear>(q) : pack<attrs::DequantizeLinear>(d));
      const bool one = l.factor.size() == 1;
      const std::vector<int64_t> shape = one ? std::vector<int64_t>{} : std::vector<int64_t>{y.shape[3]};
      t.input(in(0)).input<float>(shape, l.factor);
      TestTensor zeros;
      zeros.type = {dtype(to_codes ? y.type : x.type), make_shape(shape)};
      for (size_t i = 0; i < l.factor.size(); ++i)
        zeros.bytes.push_back(static_cast<uint8_t>(l.zero.empty() ? 0 : l.zero[i]));
      t.input(zeros);
      return finish(t);
    }
    case Kind::kConv: {
      attrs::IntConvT a;
      set_codes(&a, l, y.type);
      set_window(&a, l);
      a.group = static_cast<int32_t>(l.groups);
      a.x_zero = l.a_zero;
      OpTest t(vireo::Op::kIntConv, pack<attrs::IntConv>(a));
      t.input(in(0));
      const int64_t per = x.shape[3] / l.groups, taps = l.kernel[0] * l.kernel[1];
      std::vector<int8_t> w(l.weights.size());  // [o, i, h, w] from [o, h, w, i]
      for (int64_t o = 0; o < y.shape[3]; ++o) {
        for (int64_t i = 0; i < per; ++i) {
          for (int64_t k = 0; k < taps; ++k)
            w[static_cast<size_t>((o * per + i) * taps + k)] = l.weights[static_cast<size_t>((o * taps + k) * per + i)];
        }
      }
      t.input<int8_t>({y.shape[3], per, l.kernel[0], l.kernel[1]}, w);
      t.input<float>({static_cast<int64_t>(l.m.size())}, l.m);
      if (l.bias.empty()) {
        t.absent();
      } else {
        t.input<int32_t>({y.shape[3]}, l.bias);
      }
      if (!l.w_zero.empty()) {
        std::vector<int8_t> zeros(l.w_zero.begin(), l.w_zero.end());
        t.input<int8_t>({static_cast<int64_t>(zeros.size())}, zeros);
      }
      return finish(t);
    }
    case Kind::kAdd: {
      if (y.type == kF32) {
        OpTest t(l.m[1] < 0 ? vireo::Op::kSub : vireo::Op::kAdd, pack<attrs::Binary>(attrs::BinaryT()));
        t.input(in(0)).input(in(1));
        return finish(t);
      }
      attrs::IntAddT a;
      set_codes(&a, l, y.type);
      a.a_zero = l.a_zero;
      a.b_zero = l.b_zero;
      a.a_multiplier = l.m[0];
      a.b_multiplier = l.m[1];
      OpTest t(vireo::Op::kIntAdd, pack<attrs::IntAdd>(a));
      t.input(in(0)).input(in(1));
      return finish(t);
    }
    case Kind::kMul: {
      if (y.type == kF32) {
        OpTest t(vireo::Op::kMul, pack<attrs::Binary>(attrs::BinaryT()));
        t.input(in(0)).input(in(1));
        return finish(t);
      }
      attrs::IntMulT a;
      set_codes(&a, l, y.type);
      a.a_zero = l.a_zero;
      a.b_zero = l.b_zero;
      a.multiplier = l.m[0];
      OpTest t(vireo::Op::kIntMul, pack<attrs::IntMul>(a));
      t.input(in(0)).input(in(1));
      return finish(t);
    }
    case Kind::kAffine: {
      attrs::IntAffineT a;
      set_codes(&a, l, y.type);
      a.x_zero = l.a_zero;
      OpTest t(vireo::Op::kIntAffine, pack<attrs::IntAffine>(a));
      const auto n = static_cast<int64_t>(l.factor.size());
      t.input(in(0)).input<float>({n}, l.factor);
      t.input<float>({n}, l.below.empty() ? l.factor : l.below);
      t.input<float>({n}, per_channel(l.offset, l.factor, 0.f));
      return finish(t);
    }
    case Kind::kTable: {
      OpTest t(vireo::Op::kIntTable, pack<attrs::IntTable>(attrs::IntTableT()));
      t.input(in(0));
      TestTensor table;
      table.type = {dtype(y.type), make_shape({256})};
      table.bytes = l.table;
      t.input(table);
      return finish(t);
    }
    case Kind::kMaxPool: {
      attrs::PoolT a;
      set_window(&a, l);
      a.kernel_shape = ints(l.kernel);
      const auto extent = [&](size_t i) {
        return x.shape[i + 1] + l.pad_begin[i] + l.pad_end[i] - (l.kernel[i] - 1) * l.dilation[i] - 1;
      };
      a.ceil_mode = extent(0) / l.stride[0] + 1 != y.shape[1] || extent(1) / l.stride[1] + 1 != y.shape[2];
      OpTest t(vireo::Op::kMaxPool, pack<attrs::Pool>(a));
      t.input(in(0));
      return finish(t);
    }
    case Kind::kAveragePool: {
      attrs::IntAveragePoolT a;
      set_codes(&a, l, y.type);
      set_window(&a, l);
      a.kernel_shape = ints(l.kernel);
      a.x_zero = l.a_zero;
      a.count_include_pad = l.count_padding;
      const auto extent = [&](size_t i) {
        return x.shape[i + 1] + l.pad_begin[i] + l.pad_end[i] - (l.kernel[i] - 1) * l.dilation[i] - 1;
      };
      a.ceil_mode = extent(0) / l.stride[0] + 1 != y.shape[1] || extent(1) / l.stride[1] + 1 != y.shape[2];
      OpTest t(vireo::Op::kIntAveragePool, pack<attrs::IntAveragePool>(a));
      t.input(in(0)).input<float>({static_cast<int64_t>(l.m.size())}, l.m);
      return finish(t);
    }
    case Kind::kResize: {
      attrs::IntResizeT a;
      set_codes(&a, l, y.type);
      a.x_zero = l.a_zero;
      a.multiplier = l.m[0];
      for (int i = 0; i < 2; ++i) {
        if (l.resize[i].taps != 0) a.axes.push_back(i + 1);
      }
      OpTest t(vireo::Op::kIntResize, pack<attrs::IntResize>(a));
      t.input(in(0));
      for (size_t i = 0; i < 2; ++i) {
        const ResizeAxis& r = l.resize[i];
        if (r.taps == 0) continue;
        t.input<int32_t>({y.shape[i + 1], r.taps}, r.places).input<int32_t>({y.shape[i + 1], r.taps}, r.weights);
      }
      return finish(t);
    }
    case Kind::kSoftmax: {
      attrs::IntSoftmaxT a;
      set_codes(&a, l, y.type);
      a.axis = 3;
      a.multiplier = l.m[0];
      OpTest t(vireo::Op::kIntSoftmax, pack<attrs::IntSoftmax>(a));
      t.input(in(0)).input<int32_t>({256}, l.exp_table);
      return finish(t);
    }
    case Kind::kConcat: {
      attrs::ConcatT a;
      a.axis = l.axis;
      OpTest t(vireo::Op::kConcat, pack<attrs::Concat>(a));
      for (size_t i = 0; i < l.inputs.size(); ++i) t.input(in(i));
      return finish(t);
    }
    case Kind::kSlice:
      return run_slice(x, y, l, xb);
    case Kind::kReshape:
      return xb;
    case Kind::kTranspose: {
      attrs::TransposeT a;
      a.perm.assign(l.perm.begin(), l.perm.end());
      OpTest t(vireo::Op::kTranspose, pack<attrs::Transpose>(a));
      t.input(in(0));
      return finish(t);
    }
  }
  return {};
}

}  // namespace

uint32_t Random::next() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return static_cast<uint32_t>(state_ >> 32);
}
float Random::factor(float least, float most) {
  return least + (most - least) * static_cast<float>(next() >> 8) / static_cast<float>(1 << 24);
}

int GraphBuilder::tensor(const std::array<int64_t, 4>& shape, Type type, const char* name) {
  GraphTensor t;
  t.name = name + std::to_string(graph.tensors.size());
  t.shape = shape;
  t.type = type;
  graph.tensors.push_back(t);
  return static_cast<int>(graph.tensors.size()) - 1;
}
int GraphBuilder::input(const std::array<int64_t, 4>& shape, Type type) {
  graph.inputs.push_back(tensor(shape, type, "input"));
  return graph.inputs.back();
}
int GraphBuilder::constant(const std::array<int64_t, 4>& shape, Type type) {
  const int t = tensor(shape, type, "constant");
  graph.tensors[static_cast<size_t>(t)].data = random_bytes(at(t), &random);
  return t;
}
int32_t GraphBuilder::zero(Type type) {
  return static_cast<int32_t>(type == kU8 ? random.between(0, 255) : random.between(-128, 127));
}
Layer* GraphBuilder::add(Layer l, const std::array<int64_t, 4>& shape, Type type) {
  l.output = tensor(shape, type, "t");
  l.name = std::string(kind_name(l.kind)) + "/" + std::to_string(graph.layers.size());
  const int32_t least = type == kU8   ? 0
                        : type == kI8 ? -128
                                      : -32768,
                most = type == kU8   ? 255
                       : type == kI8 ? 127
                                     : 32767;
  l.low = random.between(0, 3) == 0 ? least + 20 : least;
  l.high = random.between(0, 3) == 0 ? most - 30 : most;
  l.y_zero = zero(type);
  graph.layers.push_back(l);
  return &graph.layers.back();
}

int GraphBuilder::conv(int x, int64_t channels, Layer l, Type type) {
  const GraphTensor in = at(x);
  l.kind = Kind::kConv;
  l.inputs = {x};
  l.a_zero = zero(in.type);
  const int64_t filter = l.kernel[0] * l.kernel[1] * in.shape[3] / l.groups;
  const int64_t density = random.between(0, 2);
  for (int64_t i = 0; i < filter * channels; ++i) {
    const int64_t wide = random.between(-128, 127), narrow = random.between(-9, 9);
    l.weights.push_back(static_cast<int8_t>(density == 0                ? wide
                                            : density == 1              ? narrow
                                            : random.between(0, 9) == 0 ? wide
                                                                        : 0));
  }
  const bool many = random.between(0, 1) == 1;
  const float typical = (in.type == kI16 ? 0.004f : 1.0f) * (type == kI16 ? 100.0f : 1.0f) /
                        (80.0f * std::sqrt(static_cast<float>(filter)));
  for (int64_t i = 0; i < (many ? channels : 1); ++i) l.m.push_back(random.factor(0.3f, 1.5f) * typical);
  if (random.between(0, 3) != 0) {
    for (int64_t i = 0; i < channels; ++i) l.bias.push_back(static_cast<int32_t>(random.between(-4000, 4000)));
  }
  if (random.between(0, 2) == 0) {
    for (int64_t i = 0; i < (many ? channels : 1); ++i)
      l.w_zero.push_back(static_cast<int32_t>(random.between(-128, 127)));
  }
  std::array<int64_t, 4> shape = in.shape;
  for (size_t a = 0; a < 2; ++a) {
    shape[a + 1] =
        (in.shape[a + 1] + l.pad_begin[a] + l.pad_end[a] - (l.kernel[a] - 1) * l.dilation[a] - 1) / l.stride[a] + 1;
  }
  shape[3] = channels;
  return add(l, shape, type)->output;
}
int GraphBuilder::binary(Kind kind, int a, int b, Type type) {
  Layer l;
  l.kind = kind;
  l.inputs = {a, b};
  l.a_zero = zero(at(a).type);
  l.b_zero = zero(at(b).type);
  const float wide = at(a).type == kI16 ? 0.01f : 1.0f;
  if (kind == Kind::kAdd) {
    l.m = {random.factor(-1, 1) * wide, random.factor(0.2f, 1.2f)};
  } else {
    l.m = {random.factor(0.001f, 0.02f) * wide};
  }
  std::array<int64_t, 4> shape;
  for (size_t i = 0; i < 4; ++i) shape[i] = std::max(at(a).shape[i], at(b).shape[i]);
  return add(l, shape, type)->output;
}
int GraphBuilder::affine(int x) {
  Layer l;
  l.kind = Kind::kAffine;
  l.inputs = {x};
  l.a_zero = zero(at(x).type);
  const int64_t n = random.between(0, 1) ? at(x).shape[3] : 1;
  const bool below = random.between(0, 1) == 1, offset = random.between(0, 1) == 1;
  for (int64_t i = 0; i < n; ++i) {
    l.factor.push_back(random.factor(-1.5f, 1.5f));
    if (below) l.below.push_back(random.factor(-0.5f, 0.5f));
    if (offset) l.offset.push_back(random.factor(-20, 20));
  }
  return add(l, at(x).shape, at(x).type)->output;
}
int GraphBuilder::table(int x, Type type) {
  Layer l;
  l.kind = Kind::kTable;
  l.inputs = {x};
  for (int i = 0; i < 256; ++i) l.table.push_back(static_cast<uint8_t>(random.next()));
  return add(l, at(x).shape, type)->output;
}
int GraphBuilder::pool(Kind kind, int x, Layer l, bool ceil_mode) {
  const GraphTensor in = at(x);
  l.kind = kind;
  l.inputs = {x};
  l.a_zero = zero(in.type);
  std::array<int64_t, 4> shape = in.shape;
  for (size_t a = 0; a < 2; ++a) {
    const int64_t free = in.shape[a + 1] + l.pad_begin[a] + l.pad_end[a] - (l.kernel[a] - 1) * l.dilation[a] - 1;
    shape[a + 1] = free / l.stride[a] + 1;
    // One more where the window still begins inside the input or in front of it.
    if (ceil_mode && free % l.stride[a] != 0 && shape[a + 1] * l.stride[a] < in.shape[a + 1] + l.pad_begin[a])
      ++shape[a + 1];
  }
  const int64_t taps = l.kernel[0] * l.kernel[1];
  if (kind == Kind::kAveragePool) {
    for (int64_t i = 0; i <= taps; ++i) l.m.push_back(random.factor(0.8f, 1.2f) / static_cast<float>(i == 0 ? 1 : i));
  }
  return add(l, shape, in.type)->output;
}
int GraphBuilder::resize(int x, int64_t rows, int64_t cols, int64_t taps) {
  const GraphTensor in = at(x);
  Layer l;
  l.kind = Kind::kResize;
  l.inputs = {x};
  l.a_zero = zero(in.type);
  l.m = {1.0f / static_cast<float>(64 * 64)};
  const int64_t to[2] = {rows, cols};
  for (size_t a = 0; a < 2; ++a) {
    ResizeAxis& r = l.resize[a];
    r.taps = taps;
    for (int64_t i = 0; i < to[a]; ++i) {
      int32_t left = 64;
      for (int64_t t = 0; t < taps; ++t) {
        r.places.push_back(static_cast<int32_t>(std::min(in.shape[a + 1] - 1, i * in.shape[a + 1] / to[a] + t)));
        const auto weight = static_cast<int32_t>(t + 1 == taps ? left : random.between(-4, 40));
        r.weights.push_back(weight);
        left -= weight;
      }
    }
  }
  return add(l, {in.shape[0], rows, cols, in.shape[3]}, in.type)->output;
}
int GraphBuilder::real(int a, int b, float sign) {
  Layer l;
  l.kind = sign == 0 ? Kind::kMul : Kind::kAdd;
  l.inputs = {a, b};
  l.m = {1};
  if (sign != 0) l.m.push_back(sign);
  std::array<int64_t, 4> shape;
  for (size_t i = 0; i < 4; ++i) shape[i] = std::max(at(a).shape[i], at(b).shape[i]);
  return add(l, shape, kF32)->output;
}
int GraphBuilder::quantize(int x, Type type) {
  Layer l;
  l.kind = Kind::kQuantize;
  l.inputs = {x};
  const int64_t n = random.between(0, 1) ? at(x).shape[3] : 1;
  for (int64_t i = 0; i < n; ++i) {
    l.factor.push_back(random.factor(0.001f, 0.1f));
    l.zero.push_back(zero(type));
  }
  return add(l, at(x).shape, type)->output;
}
int GraphBuilder::dequantize(int x) {
  Layer l;
  l.kind = Kind::kDequantize;
  l.inputs = {x};
  const int64_t n = random.between(0, 1) ? at(x).shape[3] : 1;
  for (int64_t i = 0; i < n; ++i) {
    l.factor.push_back(random.factor(-0.1f, 0.1f));
    l.zero.push_back(zero(at(x).type));
  }
  return add(l, at(x).shape, kF32)->output;
}
int GraphBuilder::softmax(int x) {
  Layer l;
  l.kind = Kind::kSoftmax;
  l.inputs = {x};
  l.m = {256.0f};
  for (int i = 0; i < 256; ++i)
    l.exp_table.push_back(static_cast<int32_t>(std::nearbyint(8388608.0 * std::exp(-0.05 * i))));
  return add(l, at(x).shape, kI8)->output;
}
int GraphBuilder::concat(const std::vector<int>& inputs, int axis) {
  Layer l;
  l.kind = Kind::kConcat;
  l.inputs = inputs;
  l.axis = axis;
  std::array<int64_t, 4> shape = at(inputs[0]).shape;
  shape[static_cast<size_t>(axis)] = 0;
  for (const int i : inputs) shape[static_cast<size_t>(axis)] += at(i).shape[static_cast<size_t>(axis)];
  return add(l, shape, at(inputs[0]).type)->output;
}
int GraphBuilder::slice(int x, const std::array<int64_t, 4>& begin, const std::array<int64_t, 4>& step,
                        const std::array<int64_t, 4>& shape) {
  Layer l;
  l.kind = Kind::kSlice;
  l.inputs = {x};
  l.begin = begin;
  l.step = step;
  l.fill = zero(at(x).type);
  return add(l, shape, at(x).type)->output;
}
int GraphBuilder::reshape(int x, const std::array<int64_t, 4>& shape) {
  Layer l;
  l.kind = Kind::kReshape;
  l.inputs = {x};
  return add(l, shape, at(x).type)->output;
}
int GraphBuilder::transpose(int x, const std::array<int, 4>& perm) {
  Layer l;
  l.kind = Kind::kTranspose;
  l.inputs = {x};
  l.perm = perm;
  std::array<int64_t, 4> shape;
  for (size_t a = 0; a < 4; ++a) shape[a] = at(x).shape[static_cast<size_t>(perm[a])];
  return add(l, shape, at(x).type)->output;
}

Bytes random_bytes(const GraphTensor& t, Random* random) {
  Bytes out(static_cast<size_t>(t.bytes()));
  for (uint8_t& b : out) b = static_cast<uint8_t>(random->next());
  // Half of the numbers of the size that models have, the others of any size; none that is not finite, for the bits of
  // what is not a number are nobody's promise.
  for (size_t i = 0; t.type == kF32 && i < out.size(); i += 4) {
    uint32_t v = random->next();
    if (v % 2 == 0 || (v & 0x7f800000u) == 0x7f800000u) v = (v & 0x80ffffffu) | 0x3e000000u;
    std::memcpy(out.data() + i, &v, 4);
  }
  return out;
}

std::vector<Bytes> run_reference(const Graph& g, const std::vector<Bytes>& inputs) {
  std::vector<Bytes> all(g.tensors.size());
  for (size_t i = 0; i < g.tensors.size(); ++i) all[i] = g.tensors[i].data;
  for (size_t i = 0; i < inputs.size(); ++i) all[static_cast<size_t>(g.inputs[i])] = inputs[i];
  for (const Layer& l : g.layers) all[static_cast<size_t>(l.output)] = run_layer(g, l, all);
  return all;
}

Ran run_machine(const Graph& g, const Compiled& c, const MachineConfig& config, const std::vector<Bytes>& inputs,
                const Faults& faults) {
  Ran ran;
  Stream stream;
  ran.status = verify_stream(config, c.stream.data(), c.stream.size() * 4, &stream, &ran.fault);
  if (ran.status != Status::kOk) return ran;
  Bytes sram(Machine::memory_bytes(config), 0x5a), tensors(static_cast<size_t>(c.tensor_bytes), 0x5a);
  Bytes values[kMostRegions];
  uint8_t* bases[kMostRegions] = {};
  for (uint32_t k = 0; k < stream.header->value_count; ++k) {
    values[k].assign(stream.header->value_bytes[k], 0x5a);
    bases[k] = values[k].data();
  }
  const auto place = [&](int t) {
    const Region region = c.region[static_cast<size_t>(t)];
    return (region == kTensors ? tensors.data() : bases[region - kValues]) + c.address[static_cast<size_t>(t)];
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (c.address[static_cast<size_t>(g.inputs[i])] >= 0)
      std::memcpy(place(g.inputs[i]), inputs[i].data(), inputs[i].size());
  }
  Machine machine(config, sram.data());
  machine.faults = faults;
  ran.status = machine.run(stream, c.constants.data(), tensors.data(), &ran.counters, nullptr, 0, &ran.fault, bases);
  if (ran.status != Status::kOk) return ran;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (c.region[static_cast<size_t>(g.inputs[i])] == kTensors) continue;
    EXPECT_EQ(std::memcmp(place(g.inputs[i]), inputs[i].data(), inputs[i].size()), 0) << "an input was written to";
  }
  for (const int t : g.outputs) {
    const uint8_t* const at = place(t);
    ran.outputs.emplace_back(at, at + g.tensors[static_cast<size_t>(t)].bytes());
  }
  return ran;
}

Compiled expect_same(const Graph& g, const MachineConfig& config, const CompileOptions& options, uint64_t seed,
                     const std::string& what) {
  Compiled c = compile(g, config, options);
  EXPECT_EQ(c.error, "") << what;
  if (!c.error.empty()) return c;
  Random random(seed);
  std::vector<Bytes> inputs;
  for (const int t : g.inputs) inputs.push_back(random_bytes(g.tensors[static_cast<size_t>(t)], &random));
  const std::vector<Bytes> wanted = run_reference(g, inputs);
  const Ran ran = run_machine(g, c, config, inputs);
  EXPECT_EQ(ran.status, Status::kOk) << what << ": " << ran.fault.command << " " << ran.fault.reason;
  for (size_t i = 0; i < ran.outputs.size(); ++i) {
    const Bytes& w = wanted[static_cast<size_t>(g.outputs[i])];
    size_t differ = 0;
    while (differ < w.size() && w[differ] == ran.outputs[i][differ]) ++differ;
    EXPECT_EQ(differ, w.size()) << what << ": output " << i << " differs";
  }
  const auto* const commands = reinterpret_cast<const Command*>(c.stream.data()) + 1;
  if (c.stream.size() / kCommandWords < 3000) {  // it compares pairs
    EXPECT_EQ(find_race(config, {commands, commands + c.stream.size() / kCommandWords - 1}), "") << what;
  }
  return c;
}

}  // namespace vireo::npu
