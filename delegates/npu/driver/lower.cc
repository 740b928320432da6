// What an operator of the model means in layers of the machine.
#include "delegates/npu/driver/read.h"

#include <algorithm>
#include <cstring>

#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/int_resize/int_resize_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "vireo/ops.h"

namespace vireo::npu {
namespace {

constexpr const char* kChanges = "its shapes change from run to run (vireo convert --shape fixes them)";

// Bytes of an element; 0: of a type whose constants no layer reads.
uint32_t size_of(vireo_dtype dtype) {
  switch (dtype) {
    case VIREO_INT8:
    case VIREO_UINT8:
      return 1;
    case VIREO_FLOAT32:
    case VIREO_INT32:
      return 4;
    case VIREO_INT64:
      return 8;
    default:
      return 0;
  }
}

}  // namespace

bool is_real_sum(uint16_t op) { return op == VIREO_OP_ADD || op == VIREO_OP_SUB || op == VIREO_OP_MUL; }

class Lowered::Reader {
 public:
  explicit Reader(Lowered* to) : to_(*to), read_(to->read_), graph_(to->graph) {}

  // Types and shapes that no layer takes; "" for all others.
  const char* check(const ReadNode& n, int v, bool real) const {
    if (value(v).dtype == VIREO_NONE) return kChanges;
    if (real ? value(v).dtype != VIREO_FLOAT32 : value(v).dtype != VIREO_INT8 && value(v).dtype != VIREO_UINT8)
      return is_real_sum(n.op) ? "the machine computes on 8-bit codes, and in float32 only on the way to them"
                               : "the machine computes on 8-bit codes";
    if (value(v).rank > 4) return "more than four dimensions";
    if (value(v).count() == 0) return "an empty tensor";
    return kTaken;
  }
  // What the loops below may rely on. Nobody else has looked at the shapes yet.
  const char* check_extents(int v) const {
    const Value& x = value(v);
    for (int i = 0; i < x.rank; ++i) {
      const int64_t d = x.dims[static_cast<size_t>(i)];
      if (d < 0 || d > 65535) return "an extent above the machine's 65535";
    }
    if (x.count() > UINT32_MAX) return "a tensor above the 4 GiB that the machine addresses";
    const uint32_t size = size_of(x.dtype);
    if (x.constant != nullptr && size != 0 && x.constant_size != static_cast<uint64_t>(x.count()) * size)
      return "a constant of another size than its shape says";
    return kTaken;
  }

  const char* take(const ReadNode& n) {
    for (const int o : n.outputs) {
      if (o < 0) return "one of its outputs is left out";
      if (value(o).dtype == VIREO_NONE) return kChanges;
    }
    if (n.inputs.empty() || n.inputs[0] < 0) return "no input";
    if (n.outputs.empty()) return "no output";
    const bool from_real = n.op == VIREO_OP_QUANTIZE_LINEAR || is_real_sum(n.op);
    const bool to_real = n.op == VIREO_OP_DEQUANTIZE_LINEAR || is_real_sum(n.op);
    if (const char* why = check(n, n.inputs[0], from_real); why[0] != 0) return why;
    if (const char* why = check(n, n.outputs[0], to_real); why[0] != 0) return why;
    for (const int i : n.inputs) {
      if (i >= 0 && value(i).dtype == VIREO_NONE) return kChanges;
    }
    for (const std::vector<int>* list : {&n.inputs, &n.outputs}) {
      for (const int v : *list) {
        if (const char* why = v < 0 ? kTaken : check_extents(v); why[0] != 0) return why;
      }
    }
    if (n.outputs.size() != 1) return "more than one output";
    Layer l;
    switch (n.op) {
      case VIREO_OP_INT_CONV:
        return conv(n, &l);
      case VIREO_OP_INT_GEMM:
        return gemm(n, &l);
      case VIREO_OP_INT_ADD:
      case VIREO_OP_INT_MUL:
        return binary(n, &l);
      case VIREO_OP_QUANTIZE_LINEAR:
        return quantize(n, &l);
      case VIREO_OP_DEQUANTIZE_LINEAR:
        return dequantize(n, &l);
      case VIREO_OP_ADD:
      case VIREO_OP_SUB:
      case VIREO_OP_MUL:
        return real_sum(n, &l);
      case VIREO_OP_INT_TABLE: {
        l.kind = Kind::kTable;
        l.table = contents<uint8_t>(n, 1);
        if (l.table.size() != 256) return "the table is not constant";
        return follow(n, &l);
      }
      case VIREO_OP_INT_AFFINE:
        return affine(n, &l);
      case VIREO_OP_MAX_POOL:
      case VIREO_OP_INT_AVERAGE_POOL:
        return pool(n, &l);
      case VIREO_OP_INT_SOFTMAX:
        return softmax(n, &l);
      case VIREO_OP_RESIZE:
        return nearest(n, &l);
      case VIREO_OP_INT_RESIZE:
        return resize(n, &l);
      case VIREO_OP_CONCAT:
        return concat(n, &l);
      case VIREO_OP_TRANSPOSE:
        return transpose(n, &l);
      case VIREO_OP_SLICE:
        return slice(n, &l);
      case VIREO_OP_DEPTH_TO_SPACE: {
        const auto& a = attrs_of<attrs::DepthToSpace>(n);
        return shuffle(n, &l, a.blocksize(), a.mode() == attrs::DepthToSpaceMode::crd, true);
      }
      case VIREO_OP_SPACE_TO_DEPTH: {
        const auto& a = attrs_of<attrs::SpaceToDepth>(n);
        return shuffle(n, &l, a.blocksize(), a.mode() == attrs::DepthToSpaceMode::crd, false);
      }
      case VIREO_OP_FLATTEN:
      case VIREO_OP_RESHAPE: {
        const Placed p = place(n.inputs[0]);
        const auto s = dims(n.inputs[0]);
        l.kind = Kind::kReshape;
        l.inputs = {p.planes && s[2] == 1 && s[3] == 1 ? p.tensor : plain(n.inputs[0])};
        return finish(n, l, false);
      }
      default:
        return "no layer of the machine does this";
    }
  }

  int plain(int v) {
    const Placed p = place(v);
    return p.planes ? turn(p.tensor, {0, 3, 1, 2}) : p.tensor;
  }

  // Finds the values whose readers in the end want channels innermost where the model has them second. Turning a value
  // while it is loaded costs nothing more than loading it, turning it later a way out and back. Readers stand behind
  // what they read.
  void find_wishes() const {
    to_.wants_pixels_.assign(read_.values.size(), false);
    for (auto n = read_.nodes.rbegin(); n != read_.nodes.rend(); ++n) {
      bool wants = false;
      switch (n->op) {
        case VIREO_OP_INT_CONV: {
          const auto& a = attrs_of<attrs::IntConv>(*n);
          wants = a.layout() == decltype(a.layout())(0);
          break;
        }
        case VIREO_OP_QUANTIZE_LINEAR:
        case VIREO_OP_ADD:
        case VIREO_OP_SUB:
        case VIREO_OP_MUL:
        case VIREO_OP_INT_ADD:
        case VIREO_OP_INT_MUL:
        case VIREO_OP_INT_TABLE:
          wants = n->outputs.size() == 1 && n->outputs[0] >= 0 && wants_pixels(n->outputs[0]);
          break;
        default:
          break;
      }
      for (const int v : n->inputs) {
        if (wants && v >= 0 && value(v).rank == 4) to_.wants_pixels_[static_cast<size_t>(v)] = true;
      }
    }
  }

 private:
  const Value& value(int v) const { return read_.values[static_cast<size_t>(v)]; }
  Type type(int v) const { return value(v).dtype == VIREO_FLOAT32 ? kF32 : value(v).dtype == VIREO_UINT8 ? kU8 : kI8; }
  std::array<int64_t, 4> dims(int v) const {
    std::array<int64_t, 4> d{1, 1, 1, 1};
    const int rank = value(v).rank;
    for (int i = 0; i < rank; ++i) {
      const int at = 4 - rank + i;
      d[static_cast<size_t>(at)] = value(v).dims[static_cast<size_t>(i)];
    }
    return d;
  }

  int tensor(const std::array<int64_t, 4>& shape, Type type, const std::string& name) {
    GraphTensor t;
    t.name = name;
    t.shape = shape;
    t.type = type;
    graph_.tensors.push_back(t);
    return static_cast<int>(graph_.tensors.size()) - 1;
  }

  Placed place(int v) {
    if (const auto at = to_.placed_.find(v); at != to_.placed_.end()) return at->second;
    Placed p;
    p.tensor = tensor(dims(v), type(v), value(v).name);
    if (value(v).constant != nullptr) {
      graph_.tensors.back().data.assign(value(v).constant, value(v).constant + value(v).constant_size);
    } else {
      graph_.inputs.push_back(p.tensor);
      to_.given.push_back(v);
    }
    return to_.placed_[v] = p;
  }
  int turn(int t, const std::array<int, 4>& perm) {
    const auto [at, fresh] = to_.turned_.try_emplace({t, perm}, 0);
    if (!fresh) return at->second;
    if (!graph_.tensors[static_cast<size_t>(t)].data.empty()) return at->second = turned_constant(t, perm);
    Layer l;
    l.kind = Kind::kTranspose;
    l.name = "layout of " + graph_.tensors[static_cast<size_t>(t)].name;
    l.inputs = {t};
    l.perm = perm;
    std::array<int64_t, 4> s{};
    for (size_t i = 0; i < 4; ++i) s[i] = graph_.tensors[static_cast<size_t>(t)].shape[static_cast<size_t>(perm[i])];
    l.output = tensor(s, graph_.tensors[static_cast<size_t>(t)].type, l.name);
    graph_.layers.push_back(l);
    return at->second = l.output;
  }
  int turned_constant(int t, const std::array<int, 4>& perm) {
    const GraphTensor from = graph_.tensors[static_cast<size_t>(t)];
    const auto size = static_cast<int64_t>(bytes_of(from.type));
    std::array<int64_t, 4> s{}, of{};  // extents of the result, and bytes from one of its elements to the next
    for (size_t i = 0; i < 4; ++i) {
      const auto p = static_cast<size_t>(perm[i]);
      s[i] = from.shape[p];
      of[i] = size;
      for (size_t k = p + 1; k < 4; ++k) of[i] *= from.shape[k];
    }
    GraphTensor to = from;
    to.shape = s;
    int64_t at = 0;
    for (int64_t n = 0; n < s[0]; ++n) {
      for (int64_t h = 0; h < s[1]; ++h) {
        for (int64_t w = 0; w < s[2]; ++w) {
          for (int64_t c = 0; c < s[3]; ++c, at += size)
            std::memcpy(to.data.data() + at, from.data.data() + n * of[0] + h * of[1] + w * of[2] + c * of[3],
                        static_cast<size_t>(size));
        }
      }
    }
    graph_.tensors.push_back(to);
    return static_cast<int>(graph_.tensors.size()) - 1;
  }
  int pixels(int v) {  // of N C H W, channels innermost
    const Placed p = place(v);
    return p.planes ? p.tensor : turn(p.tensor, {0, 2, 3, 1});
  }
  int in(int v, bool planes) { return planes ? pixels(v) : plain(v); }

  const char* finish(const ReadNode& n, Layer l, bool planes) {
    const int v = n.outputs[0];
    std::array<int64_t, 4> s = dims(v);
    if (planes) s = {s[0], s[2], s[3], s[1]};
    l.name = n.name[0] == 0 ? kind_name(l.kind) : n.name;
    l.output = tensor(s, type(v), value(v).name);
    graph_.layers.push_back(l);
    if (const std::string why = refusal(graph_, graph_.layers.size() - 1); !why.empty()) {
      graph_.layers.pop_back();
      graph_.tensors.pop_back();
      refusal_ = why;
      return refusal_.c_str();
    }
    to_.placed_[v] = {l.output, planes};
    return kTaken;
  }
  // What leaves its input's layout as it is.
  const char* follow(const ReadNode& n, Layer* l) {
    const bool planes = place(n.inputs[0]).planes;
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  bool fixed(const ReadNode& n, size_t i) const {
    return i < n.inputs.size() && n.inputs[i] >= 0 && value(n.inputs[i]).constant != nullptr;
  }
  template <class T>
  std::vector<T> contents(const ReadNode& n, size_t i) const {
    if (!fixed(n, i)) return {};
    const Value& v = value(n.inputs[i]);
    std::vector<T> out(v.constant_size / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), v.constant, out.size() * sizeof(T));
    return out;
  }
  // An operand that the layer has only as a constant, where the node has it at all.
  bool constant_or_absent(const ReadNode& n, size_t i) const {
    return i >= n.inputs.size() || n.inputs[i] < 0 || fixed(n, i);
  }

  template <class A>
  static const A& attrs_of(const ReadNode& n) {
    return *flatbuffers::GetRoot<A>(n.attrs);
  }
  template <class A>
  static void set_codes(Layer* l, const A& a) {
    l->y_zero = a.y_zero();
    l->low = a.low();
    l->high = a.high();
  }
  template <class A>
  static bool set_window(Layer* l, const A& a) {
    if (a.auto_pad() != decltype(a.auto_pad())(0)) return false;
    for (unsigned i = 0; i < 2; ++i) {
      if (a.strides() != nullptr && a.strides()->size() == 2) l->stride[i] = a.strides()->Get(i);
      if (a.dilations() != nullptr && a.dilations()->size() == 2) l->dilation[i] = a.dilations()->Get(i);
      if (a.pads() != nullptr && a.pads()->size() == 4) {
        l->pad_begin[i] = a.pads()->Get(i);
        l->pad_end[i] = a.pads()->Get(i + 2);
      }
    }
    return true;
  }
  // int8, uint8 less 128.
  std::vector<int8_t> signed_codes(int v) const {
    std::vector<int8_t> out;
    const uint8_t flip = value(v).dtype == VIREO_UINT8 ? 0x80 : 0;
    for (size_t i = 0; i < value(v).constant_size; ++i) out.push_back(static_cast<int8_t>(value(v).constant[i] ^ flip));
    return out;
  }
  const char* set_product(const ReadNode& n, Layer* l) {
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      if (!constant_or_absent(n, i)) return "weights, multipliers and biases must be constant";
    }
    if (!fixed(n, 1) || !fixed(n, 2) || n.inputs.size() > 5) return "operands that the machine has no place for";
    const vireo_dtype w = value(n.inputs[1]).dtype;
    if (w != VIREO_INT8 && w != VIREO_UINT8) return "weights of fewer than 8 bits";
    if (value(n.inputs[1]).count() == 0) return "empty weights";
    l->m = contents<float>(n, 2);
    l->bias = contents<int32_t>(n, 3);
    if (n.inputs.size() > 4 && n.inputs[4] >= 0) {
      for (const int8_t z : signed_codes(n.inputs[4])) l->w_zero.push_back(z);
    } else if (w == VIREO_UINT8) {
      l->w_zero = {-128};
    }
    return kTaken;
  }

  const char* conv(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::IntConv>(n);
    if (value(n.inputs[0]).rank != 4) return "a convolution that is not two-dimensional";
    if (!set_window(l, a)) return "padding that follows from the shape";
    if (const char* why = set_product(n, l); why[0] != 0) return why;
    const Value& w = value(n.inputs[1]);
    if (w.rank != 4) return "weights that are not two-dimensional";
    set_codes(l, a);
    l->groups = a.group();
    l->a_zero = a.x_zero();
    l->kernel = {w.dims[2], w.dims[3]};
    const std::vector<int8_t> from = signed_codes(n.inputs[1]);
    const int64_t taps = w.dims[2] * w.dims[3];
    l->weights.resize(from.size());
    for (int64_t o = 0; o < w.dims[0]; ++o) {
      for (int64_t i = 0; i < w.dims[1]; ++i) {
        for (int64_t t = 0; t < taps; ++t)
          l->weights[static_cast<size_t>((o * taps + t) * w.dims[1] + i)] =
              from[static_cast<size_t>((o * w.dims[1] + i) * taps + t)];
      }
    }
    const bool planes = a.layout() == decltype(a.layout())(0);
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  const char* gemm(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::IntGemm>(n);
    if (const char* why = set_product(n, l); why[0] != 0) return why;
    const Value& w = value(n.inputs[1]);
    if (w.rank != 2) return "a batch of right operands";
    set_codes(l, a);
    l->a_zero = a.a_zero();
    const std::vector<int8_t> from = signed_codes(n.inputs[1]);
    l->weights.resize(from.size());
    for (int64_t k = 0; k < w.dims[0]; ++k) {
      for (int64_t o = 0; o < w.dims[1]; ++o)
        l->weights[static_cast<size_t>(o * w.dims[0] + k)] = from[static_cast<size_t>(k * w.dims[1] + o)];
    }
    l->inputs = {plain(n.inputs[0])};
    return finish(n, *l, false);
  }

  const char* binary(const ReadNode& n, Layer* l) {
    if (n.inputs.size() != 2 || n.inputs[1] < 0) return "more than two operands";
    for (const int v : n.inputs) {
      if (value(v).dtype != VIREO_INT8 && value(v).dtype != VIREO_UINT8) return "the machine computes on 8-bit codes";
      if (value(v).rank > 4 || value(v).count() == 0) return "an operand of more than four dimensions, or an empty one";
    }
    const bool sum = n.op == VIREO_OP_INT_ADD;
    if (sum) {
      const auto& a = attrs_of<attrs::IntAdd>(n);
      set_codes(l, a);
      l->a_zero = a.a_zero();
      l->b_zero = a.b_zero();
      l->m = {a.a_multiplier(), a.b_multiplier()};
    } else {
      const auto& a = attrs_of<attrs::IntMul>(n);
      set_codes(l, a);
      l->a_zero = a.a_zero();
      l->b_zero = a.b_zero();
      l->m = {a.multiplier()};
    }
    l->kind = sum ? Kind::kAdd : Kind::kMul;
    const bool planes = value(n.outputs[0]).rank == 4 && (place(n.inputs[0]).planes || place(n.inputs[1]).planes);
    l->inputs = {in(n.inputs[0], planes), in(n.inputs[1], planes)};
    return finish(n, *l, planes);
  }

  bool wants_pixels(int v) const { return to_.wants_pixels_[static_cast<size_t>(v)]; }

  const char* real_sum(const ReadNode& n, Layer* l) {
    if (n.inputs.size() != 2 || n.inputs[1] < 0) return "more than two operands";
    if (const char* why = check(n, n.inputs[1], true); why[0] != 0) return why;
    l->kind = n.op == VIREO_OP_MUL ? Kind::kMul : Kind::kAdd;
    l->m = {1};
    if (l->kind == Kind::kAdd) l->m.push_back(n.op == VIREO_OP_SUB ? -1.0f : 1.0f);
    const bool planes = value(n.outputs[0]).rank == 4 &&
                        (place(n.inputs[0]).planes || place(n.inputs[1]).planes || wants_pixels(n.outputs[0]));
    l->inputs = {in(n.inputs[0], planes), in(n.inputs[1], planes)};
    return finish(n, *l, planes);
  }

  // Scales and zero points of a node between codes and float32, and whether it runs with channels innermost.
  const char* set_scales(const ReadNode& n, vireo_dtype code, int64_t axis, int64_t block, Layer* l, bool* planes) {
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      if (!constant_or_absent(n, i)) return "scales and zero points must be constant";
    }
    if (!fixed(n, 1) || value(n.inputs[1]).dtype != VIREO_FLOAT32) return "a scale that is not float32";
    if (block != 0) return "a scale for each block";
    l->factor = contents<float>(n, 1);
    if (n.inputs.size() > 2 && n.inputs[2] >= 0) {
      if (value(n.inputs[2]).dtype != code) return "a zero point of another type";
      for (const uint8_t z : contents<uint8_t>(n, 2))
        l->zero.push_back(code == VIREO_UINT8 ? z : static_cast<int32_t>(static_cast<int8_t>(z)));
    }
    if (l->factor.size() == 1) return kTaken;
    const int rank = value(n.inputs[0]).rank;
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (rank == 4 && at == 1) {
      *planes = true;
    } else if (at == rank - 1) {
      *planes = false;
    } else {
      return "scales along an axis that is not innermost";
    }
    return kTaken;
  }

  const char* quantize(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::QuantizeLinear>(n);
    if (a.precision() != 0 && a.precision() != VIREO_FLOAT32) return "a quotient that is not float32";
    bool planes = place(n.inputs[0]).planes || wants_pixels(n.outputs[0]);
    const char* why = set_scales(n, value(n.outputs[0]).dtype, a.axis(), a.block_size(), l, &planes);
    if (why[0] != 0) return why;
    l->kind = Kind::kQuantize;
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  // Codes are turned back to the model's layout before they grow to four bytes.
  const char* dequantize(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::DequantizeLinear>(n);
    bool planes = wants_pixels(n.outputs[0]);
    const char* why = set_scales(n, value(n.inputs[0]).dtype, a.axis(), a.block_size(), l, &planes);
    if (why[0] != 0) return why;
    l->kind = Kind::kDequantize;
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  const char* affine(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::IntAffine>(n);
    const bool planes = place(n.inputs[0]).planes;
    // One factor, or one along the axis that is innermost.
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      if (!constant_or_absent(n, i)) return "factors that are not constant";
    }
    if (!fixed(n, 1)) return "no factor";
    const Value& f = value(n.inputs[1]);
    const int axis = planes ? 1 : value(n.inputs[0]).rank - 1, at = f.rank - (value(n.inputs[0]).rank - axis);
    if (f.count() != 1 && (at < 0 || f.dims[static_cast<size_t>(at)] != f.count()))
      return "factors along an axis that is not innermost";
    set_codes(l, a);
    l->kind = Kind::kAffine;
    l->a_zero = a.x_zero();
    l->factor = contents<float>(n, 1);
    l->below = contents<float>(n, 2);
    l->offset = contents<float>(n, 3);
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  const char* pool(const ReadNode& n, Layer* l) {
    if (value(n.inputs[0]).rank != 4) return "a pool that is not two-dimensional";
    bool planes = true;
    if (n.op == VIREO_OP_MAX_POOL) {
      const auto& a = attrs_of<attrs::Pool>(n);
      if (!set_window(l, a) || a.kernel_shape() == nullptr || a.kernel_shape()->size() != 2)
        return "padding that follows from the shape";
      l->kind = Kind::kMaxPool;
      for (unsigned i = 0; i < 2; ++i) l->kernel[i] = a.kernel_shape()->Get(i);
      planes = a.layout() == decltype(a.layout())(0);
    } else {
      const auto& a = attrs_of<attrs::IntAveragePool>(n);
      if (!set_window(l, a) || a.kernel_shape() == nullptr || a.kernel_shape()->size() != 2)
        return "padding that follows from the shape";
      l->kind = Kind::kAveragePool;
      set_codes(l, a);
      l->a_zero = a.x_zero();
      l->count_padding = a.count_include_pad();
      l->m = contents<float>(n, 1);
      if (l->m.empty()) return "multipliers that are not constant";
      for (unsigned i = 0; i < 2; ++i) l->kernel[i] = a.kernel_shape()->Get(i);
      planes = a.layout() == decltype(a.layout())(0);
    }
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  const char* softmax(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::IntSoftmax>(n);
    const int rank = value(n.inputs[0]).rank, axis = a.axis() < 0 ? a.axis() + rank : a.axis();
    const bool planes = rank == 4 && axis == 1;
    if (!planes && axis != rank - 1) return "a softmax along an axis that is neither of channels nor innermost";
    if (n.inputs.size() > 2 && n.inputs[2] >= 0) return "a softmax of some elements of a line";
    set_codes(l, a);
    l->kind = Kind::kSoftmax;
    l->m = {a.multiplier()};
    l->exp_table = contents<int32_t>(n, 1);
    if (l->exp_table.size() != 256) return "the table is not constant";
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  // To the nearest, by a whole number n: of result i the formulas below give element i / n, without a tie to break.
  const char* nearest(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::Resize>(n);
    using C = attrs::ResizeCoordinate;
    using N = attrs::ResizeNearest;
    const bool by_place = a.coordinate() == C::asymmetric && (a.nearest() == N::floor || a.nearest() == N::by_scale);
    const bool by_centre = a.coordinate() == C::half_pixel &&
                           (a.nearest() == N::round_prefer_floor || a.nearest() == N::round_prefer_ceil);
    if (a.mode() != attrs::ResizeMode::nearest || a.policy() != attrs::ResizePolicy::stretch ||
        !(by_place || by_centre))
      return "a resampling that is not integer arithmetic";
    const auto x = dims(n.inputs[0]), y = dims(n.outputs[0]);
    // Rows and columns are axes 2 and 3, or 1 and 2 where channels come last.
    const bool planes = y[1] == x[1];
    const size_t rows = planes ? 2 : 1;
    if (value(n.inputs[0]).rank != 4 || y[0] != x[0] || (!planes && y[3] != x[3]) || y[rows] % x[rows] != 0 ||
        y[rows + 1] % x[rows + 1] != 0)
      return "a resampling by more than whole numbers of rows and columns";
    l->kind = Kind::kResize;
    l->m = {1};
    const bool byte = type(n.inputs[0]) == kU8;
    l->low = byte ? 0 : -128;
    l->high = byte ? 255 : 127;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t to = y[rows + i], from = x[rows + i];
      l->resize[i].taps = 1;
      for (int64_t o = 0; o < to; ++o) {
        l->resize[i].places.push_back(static_cast<int32_t>(o / (to / from)));
        l->resize[i].weights.push_back(1);
      }
    }
    l->inputs = {planes ? pixels(n.inputs[0]) : plain(n.inputs[0])};
    return finish(n, *l, planes);
  }

  const char* resize(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::IntResize>(n);
    if (value(n.inputs[0]).rank != 4) return "a resampling that is not two-dimensional";
    if (a.axes() == nullptr || a.axes()->size() == 0 || n.inputs.size() != 1 + 2 * a.axes()->size())
      return "no axis is resampled";
    const bool planes = a.axes()->Get(a.axes()->size() - 1) == 3 || place(n.inputs[0]).planes;
    set_codes(l, a);
    l->kind = Kind::kResize;
    l->a_zero = a.x_zero();
    l->m = {a.multiplier()};
    for (unsigned k = 0; k < a.axes()->size(); ++k) {
      const int64_t axis = int64_t{a.axes()->Get(k)} - (planes ? 2 : 1);
      if (axis < 0 || axis > 1) return "channels are resampled";
      if (!fixed(n, 1 + 2 * k) || !fixed(n, 2 + 2 * k) || value(n.inputs[1 + 2 * k]).rank != 2)
        return "places that are not constant";
      l->resize[axis].taps = value(n.inputs[1 + 2 * k]).dims[1];
      l->resize[axis].places = contents<int32_t>(n, 1 + 2 * k);
      l->resize[axis].weights = contents<int32_t>(n, 2 + 2 * k);
    }
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  const char* concat(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::Concat>(n);
    const int rank = value(n.outputs[0]).rank;
    const int64_t at = int64_t{a.axis()} + (a.axis() < 0 ? rank : 0);
    if (at < 0 || at >= rank) return "an axis that the operands do not have";
    const int axis = static_cast<int>(at) + 4 - rank;
    bool any = false;
    for (const int i : n.inputs) {
      if (i < 0 || value(i).rank != rank || value(i).dtype != value(n.outputs[0]).dtype || value(i).count() == 0)
        return "operands of several kinds, or an empty one";
      any = any || place(i).planes;
    }
    const bool planes = rank == 4 && any;
    constexpr int kAxes[4] = {0, 3, 1, 2};
    l->kind = Kind::kConcat;
    l->axis = planes ? kAxes[axis] : axis;
    for (const int i : n.inputs) l->inputs.push_back(in(i, planes));
    return finish(n, *l, planes);
  }

  const char* transpose(const ReadNode& n, Layer* l) {
    const auto& a = attrs_of<attrs::Transpose>(n);
    const int rank = value(n.inputs[0]).rank;
    if (a.perm() != nullptr && a.perm()->size() != static_cast<unsigned>(rank)) return "an order of other axes";
    std::array<int, 4> perm{0, 1, 2, 3};
    for (int i = 0; i < rank; ++i) {
      const int p = a.perm() != nullptr ? static_cast<int>(a.perm()->Get(static_cast<unsigned>(i))) : rank - 1 - i;
      if (p < 0 || p >= rank) return "an order of other axes";
      const int at = 4 - rank + i;
      perm[static_cast<size_t>(at)] = p + 4 - rank;
    }
    const Placed p = place(n.inputs[0]);
    if (p.planes && perm == std::array<int, 4>{0, 2, 3, 1}) {
      to_.placed_[n.outputs[0]] = {p.tensor, false};
      return kTaken;
    }
    if (!p.planes && rank == 4 && perm == std::array<int, 4>{0, 3, 1, 2}) {
      to_.placed_[n.outputs[0]] = {p.tensor, true};
      return kTaken;
    }
    l->kind = Kind::kTranspose;
    l->perm = perm;
    l->inputs = {plain(n.inputs[0])};
    return finish(n, *l, false);
  }

  int reshaped(int t, const std::array<int64_t, 4>& shape, const ReadNode& n) {
    Layer l;
    l.kind = Kind::kReshape;
    l.name = n.name;
    l.inputs = {t};
    l.output = tensor(shape, graph_.tensors[static_cast<size_t>(t)].type, n.name);
    graph_.layers.push_back(l);
    return l.output;
  }
  // Blocks of r x r pixels for channels, or back. With channels innermost, and a channel being [block row, block
  // column, depth], the rows of a block change places with the columns of the picture: h, w, i, (j c) and h, i, w, (j
  // c). Where a channel is [depth, block row, block column], depth goes behind first.
  const char* shuffle(const ReadNode& n, Layer* l, int64_t r, bool depth_first, bool to_space) {
    if (value(n.inputs[0]).rank != 4 || value(n.outputs[0]).rank != 4) return "blocks of something else than pixels";
    if (r < 1 || r > 255) return "blocks of 256 pixels along an axis or more, or of none";
    const auto y = dims(n.outputs[0]), x = dims(n.inputs[0]);
    const auto small = to_space ? x : y;  // N C H W
    const int64_t lines = small[0] * small[2], cols = small[3], depth = small[1] / (r * r);
    int t = pixels(n.inputs[0]);
    if (to_space) {
      if (depth_first) t = turn(reshaped(t, {lines, cols, depth, r * r}, n), {0, 1, 3, 2});
      t = turn(reshaped(t, {lines, cols, r, r * depth}, n), {0, 2, 1, 3});
    } else {
      t = turn(reshaped(t, {lines, r, cols, r * depth}, n), {0, 2, 1, 3});
      if (depth_first) t = turn(reshaped(t, {lines, cols, r * r, depth}, n), {0, 1, 3, 2});
    }
    l->kind = Kind::kReshape;
    l->inputs = {t};
    return finish(n, *l, true);
  }

  std::vector<int64_t> numbers(const ReadNode& n, size_t i) const {
    std::vector<int64_t> v;
    if (!fixed(n, i)) return v;
    if (value(n.inputs[i]).dtype == VIREO_INT64) return contents<int64_t>(n, i);
    for (const int32_t e : contents<int32_t>(n, i)) v.push_back(e);
    return v;
  }

  const char* slice(const ReadNode& n, Layer* l) {  // starts, ends, axes, steps: the result's extents say where it ends
    const int rank = value(n.inputs[0]).rank;
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      if (!constant_or_absent(n, i)) return "bounds that are not constant";
    }
    const std::vector<int64_t> starts = numbers(n, 1), axes = numbers(n, 3), steps = numbers(n, 4);
    if ((!axes.empty() && axes.size() != starts.size()) || (!steps.empty() && steps.size() != starts.size()))
      return "bounds that do not fit each other";
    const bool planes = place(n.inputs[0]).planes;
    constexpr int kAxes[4] = {0, 3, 1, 2};
    l->kind = Kind::kSlice;
    for (size_t i = 0; i < starts.size(); ++i) {
      const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i] < 0 ? axes[i] + rank : axes[i];
      if (axis < 0 || axis >= rank) return "an axis that the operand does not have";
      const int64_t extent = value(n.inputs[0]).dims[static_cast<size_t>(axis)], step = steps.empty() ? 1 : steps[i];
      if (step < 1) return "steps backwards";
      const auto at = static_cast<size_t>(planes ? kAxes[axis + 4 - rank] : axis + 4 - rank);
      l->begin[at] = std::min(extent, std::max<int64_t>(0, starts[i] < 0 ? starts[i] + extent : starts[i]));
      l->step[at] = step;
    }
    l->inputs = {in(n.inputs[0], planes)};
    return finish(n, *l, planes);
  }

  Lowered& to_;
  const ReadGraph& read_;
  Graph& graph_;
  std::string refusal_;  // the compiler's, of the node in hand: take() hands it on
};

Lowered::Lowered(const ReadGraph& read) : read_(read) {
  Reader reader(this);
  reader.find_wishes();
  for (const ReadNode& n : read.nodes) {
    const size_t before = graph.layers.size();
    reasons.push_back(reader.take(n));
    // What came along with the node's own layer.
    for (size_t i = before; i < graph.layers.size() && reasons.back().empty(); ++i) {
      if (const std::string why = refusal(graph, i); !why.empty()) reasons.back() = why;
    }
    for (size_t i = before; i < graph.layers.size(); ++i) graph.layers[i].node = static_cast<int>(n.source);
  }
}

int Lowered::output(int value) {
  if (placed_.count(value) == 0) return -1;
  Reader reader(this);
  const int t = reader.plain(value);
  graph.outputs.push_back(t);
  return t;
}

}  // namespace vireo::npu
