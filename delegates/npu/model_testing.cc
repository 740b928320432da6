// A tool for developers: which nodes of a .vireo file the machine takes, what they cost there, and whether they give
// the bits of the reference kernels. Until the driver speaks to the runtime, this is how whole models are tried.
//
//   npu_model MODEL.vireo [--inputs FILE.f32] [--cases N] [--sram KIB] [--json | --listing | --layers]
//
// The input is N cases of float32 numbers; without a file they are random between 0 and 1. Nodes that do not compute on
// codes run on the reference kernels, and what they hand over is an input of the machine. Exit status 1 when a bit
// differs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "delegates/npu/compiler/report.h"
#include "delegates/npu/testing.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/int_resize/int_resize_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::npu {
namespace {

[[noreturn]] void stop(const std::string& message) {
  std::fprintf(stderr, "npu_model: %s\n", message.c_str());
  std::exit(2);
}

// The model with composites' bodies in their places: values are numbered through.
struct Node {
  const fb::Node* node;
  std::vector<int> inputs, outputs;
};
struct Model {
  std::vector<uint8_t> bytes;
  const fb::Model* root = nullptr;
  std::vector<TestTensor> values;  // with bytes where constant
  std::vector<bool> constant;
  std::vector<Node> nodes;
  std::vector<int> inputs, outputs;

  explicit Model(const char* path) {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
    FileHeader header;
    Error error;
    if (read_header({bytes.data(), bytes.size()}, bytes.size(), &header, &error) != vireo::Status::kOk)
      stop("not a .vireo file");
    root = flatbuffers::GetRoot<fb::Model>(bytes.data() + header.model_offset);
    const std::vector<int> all = enter(0, {});
    for (const unsigned i : *root->subgraphs()->Get(0)->inputs()) inputs.push_back(all[i]);
    for (const unsigned i : *root->subgraphs()->Get(0)->outputs()) outputs.push_back(all[i]);
  }

  std::vector<int> enter(unsigned index, const std::map<unsigned, int>& bound) {
    const fb::Subgraph& g = *root->subgraphs()->Get(index);
    std::vector<int> all;
    for (unsigned i = 0; i < g.tensors()->size(); ++i) {
      if (const auto at = bound.find(i); at != bound.end()) {
        all.push_back(at->second);
        continue;
      }
      const fb::Tensor& t = *g.tensors()->Get(i);
      TestTensor value;
      value.type.dtype = static_cast<DType>(t.dtype());
      for (unsigned d = 0; t.dims() != nullptr && d < t.dims()->size(); ++d) {
        if (t.dims()->Get(d) < 0) stop("an open dimension: convert with --shape");
        value.type.shape.dims[value.type.shape.rank++] = t.dims()->Get(d);
      }
      if (t.segment() >= 0) {
        const auto* const from =
            bytes.data() + root->segments()->Get(static_cast<unsigned>(t.segment()))->offset() + t.offset();
        value.bytes.assign(from, from + t.size());
      }
      all.push_back(static_cast<int>(values.size()));
      values.push_back(value);
      constant.push_back(t.segment() >= 0);
    }
    for (const fb::Node* n : *g.nodes()) {
      Node node{n, {}, {}};
      for (const int i : *n->inputs()) node.inputs.push_back(i < 0 ? -1 : all[static_cast<size_t>(i)]);
      for (const int i : *n->outputs()) node.outputs.push_back(i < 0 ? -1 : all[static_cast<size_t>(i)]);
      if (static_cast<vireo::Op>(n->op()) == vireo::Op::kComposite) {
        const unsigned body = n->subgraphs()->Get(0);
        const fb::Subgraph& b = *root->subgraphs()->Get(body);
        std::map<unsigned, int> inner;
        for (unsigned i = 0; i < b.inputs()->size(); ++i) inner[b.inputs()->Get(i)] = node.inputs[i];
        for (unsigned i = 0; i < b.outputs()->size(); ++i) inner[b.outputs()->Get(i)] = node.outputs[i];
        enter(body, inner);
      } else {
        nodes.push_back(node);
      }
    }
    return all;
  }
};

// How a value lies in the machine's memory: as it is, or channels innermost where the model has them second.
struct Placed {
  int tensor = -1;
  bool planes = false;  // the model's dimensions are N C H W, the tensor's n h w c
};

class Importer {
 public:
  explicit Importer(const Model& model) : m_(model) {}

  Graph graph;
  std::map<int, Placed> placed;              // values on the machine
  std::vector<int> given;                    // values that are inputs of the graph, in their order
  std::vector<const Node*> left;             // nodes that stay outside
  std::vector<std::pair<int, int>> results;  // value, tensor: as the model has it

  void run() {
    std::set<int> needed(m_.outputs.begin(), m_.outputs.end());
    for (const Node& n : m_.nodes) {
      if (take(n)) continue;
      left.push_back(&n);
      for (const int i : n.inputs) needed.insert(i);
    }
    for (const int v : needed) {
      if (placed.count(v) == 0 || m_.constant[static_cast<size_t>(v)] || is_given(v)) continue;
      const int t = plain(v);
      graph.outputs.push_back(t);
      results.emplace_back(v, t);
    }
  }

 private:
  const Shape& shape(int v) const { return m_.values[static_cast<size_t>(v)].type.shape; }
  Type type(int v) const { return m_.values[static_cast<size_t>(v)].type.dtype == DType::kU8 ? kU8 : kI8; }
  bool codes(int v) const {
    const DType t = m_.values[static_cast<size_t>(v)].type.dtype;
    return (t == DType::kU8 || t == DType::kI8) && shape(v).rank <= 4;
  }
  bool is_given(int v) const {
    for (const int g : given) {
      if (g == v) return true;
    }
    return false;
  }
  std::array<int64_t, 4> dims(int v) const {
    std::array<int64_t, 4> d{1, 1, 1, 1};
    const Shape& s = shape(v);
    for (int i = 0; i < s.rank; ++i) d[static_cast<size_t>(4 - s.rank + i)] = s.dims[i];
    return d;
  }

  int tensor(const std::array<int64_t, 4>& shape, Type type, const std::string& name) {
    GraphTensor t;
    t.name = name;
    t.shape = shape;
    t.type = type;
    graph.tensors.push_back(t);
    return static_cast<int>(graph.tensors.size()) - 1;
  }

  Placed place(int v) {
    if (const auto at = placed.find(v); at != placed.end()) return at->second;
    Placed p;
    p.tensor = tensor(dims(v), type(v), "value" + std::to_string(v));
    if (m_.constant[static_cast<size_t>(v)]) {
      graph.tensors.back().data = m_.values[static_cast<size_t>(v)].bytes;
    } else {
      graph.inputs.push_back(p.tensor);
      given.push_back(v);
    }
    return placed[v] = p;
  }
  int turn(int t, const std::array<int, 4>& perm) {
    const auto [at, fresh] = turned_.try_emplace({t, perm}, 0);
    if (!fresh) return at->second;
    Layer l;
    l.kind = Kind::kTranspose;
    l.name = "layout of " + graph.tensors[static_cast<size_t>(t)].name;
    l.inputs = {t};
    l.perm = perm;
    std::array<int64_t, 4> s;
    for (size_t i = 0; i < 4; ++i) s[i] = graph.tensors[static_cast<size_t>(t)].shape[static_cast<size_t>(perm[i])];
    l.output = tensor(s, graph.tensors[static_cast<size_t>(t)].type, l.name);
    graph.layers.push_back(l);
    return at->second = l.output;
  }
  int plain(int v) {
    const Placed p = place(v);
    return p.planes ? turn(p.tensor, {0, 3, 1, 2}) : p.tensor;
  }
  int pixels(int v) {  // of N C H W, channels innermost
    const Placed p = place(v);
    return p.planes ? p.tensor : turn(p.tensor, {0, 2, 3, 1});
  }
  int in(int v, bool planes) { return planes ? pixels(v) : plain(v); }

  int finish(const Node& n, Layer l, bool planes) {
    const int v = n.outputs[0];
    std::array<int64_t, 4> s = dims(v);
    if (planes) s = {s[0], s[2], s[3], s[1]};
    l.name = n.node->name() != nullptr ? n.node->name()->str() : kind_name(l.kind);
    l.output = tensor(s, type(v), l.name);
    graph.layers.push_back(l);
    if (std::string why = refusal(graph, graph.layers.size() - 1); !why.empty()) {
      std::fprintf(stderr, "npu_model: %s \"%s\" stays outside: %s\n", kind_name(l.kind), l.name.c_str(), why.c_str());
      graph.layers.pop_back();
      graph.tensors.pop_back();
      return 0;
    }
    placed[v] = {l.output, planes};
    return 1;
  }

  template <class T>
  std::vector<T> contents(const Node& n, size_t i) const {
    if (i >= n.inputs.size() || n.inputs[i] < 0) return {};
    return m_.values[static_cast<size_t>(n.inputs[i])].template as<T>();
  }
  bool fixed(const Node& n, size_t i) const {
    return n.inputs[i] >= 0 && m_.constant[static_cast<size_t>(n.inputs[i])];
  }

  template <class A>
  void set_codes(Layer* l, const A& a) {
    l->y_zero = a.y_zero();
    l->low = a.low();
    l->high = a.high();
  }
  template <class A>
  bool set_window(Layer* l, const A& a) {
    if (a.auto_pad() != 0) return false;
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
    const TestTensor& t = m_.values[static_cast<size_t>(v)];
    std::vector<int8_t> out;
    for (const uint8_t b : t.bytes) out.push_back(static_cast<int8_t>(t.type.dtype == DType::kU8 ? b ^ 0x80 : b));
    return out;
  }
  template <class A>
  void set_product(const Node& n, Layer* l, const A&) {
    l->m = contents<float>(n, 2);
    l->bias = contents<int32_t>(n, 3);
    if (n.inputs.size() > 4 && n.inputs[4] >= 0) {
      for (const int8_t z : signed_codes(n.inputs[4])) l->w_zero.push_back(z);
    } else if (type(n.inputs[1]) == kU8) {
      l->w_zero = {-128};
    }
  }

  int take(const Node& n) {
    for (const int o : n.outputs) {
      if (o < 0 || !codes(o)) return 0;
    }
    if (n.inputs.empty() || n.inputs[0] < 0 || !codes(n.inputs[0])) return 0;
    const uint8_t* const raw = n.node->attrs()->data();
    Layer l;
    switch (static_cast<vireo::Op>(n.node->op())) {
      case vireo::Op::kIntConv: {
        const auto& a = *flatbuffers::GetRoot<attrs::IntConv>(raw);
        if (shape(n.inputs[0]).rank != 4 || !fixed(n, 1) || !set_window(&l, a)) return 0;
        set_codes(&l, a);
        set_product(n, &l, a);
        l.groups = a.group();
        l.a_zero = a.x_zero();
        const Shape& w = shape(n.inputs[1]);
        l.kernel = {w.dims[2], w.dims[3]};
        const std::vector<int8_t> from = signed_codes(n.inputs[1]);
        const int64_t taps = w.dims[2] * w.dims[3];
        l.weights.resize(from.size());
        for (int64_t o = 0; o < w.dims[0]; ++o) {
          for (int64_t i = 0; i < w.dims[1]; ++i) {
            for (int64_t t = 0; t < taps; ++t)
              l.weights[static_cast<size_t>((o * taps + t) * w.dims[1] + i)] =
                  from[static_cast<size_t>((o * w.dims[1] + i) * taps + t)];
          }
        }
        const bool planes = a.layout() == 0;
        l.inputs = {in(n.inputs[0], planes)};
        return finish(n, l, planes);
      }
      case vireo::Op::kIntGemm: {
        const auto& a = *flatbuffers::GetRoot<attrs::IntGemm>(raw);
        const Shape& w = shape(n.inputs[1]);
        if (!fixed(n, 1) || w.rank != 2) return 0;
        set_codes(&l, a);
        set_product(n, &l, a);
        l.a_zero = a.a_zero();
        const std::vector<int8_t> from = signed_codes(n.inputs[1]);
        l.weights.resize(from.size());
        for (int64_t k = 0; k < w.dims[0]; ++k) {
          for (int64_t o = 0; o < w.dims[1]; ++o)
            l.weights[static_cast<size_t>(o * w.dims[0] + k)] = from[static_cast<size_t>(k * w.dims[1] + o)];
        }
        l.inputs = {plain(n.inputs[0])};
        return finish(n, l, false);
      }
      case vireo::Op::kIntAdd:
      case vireo::Op::kIntMul: {
        const bool sum = static_cast<vireo::Op>(n.node->op()) == vireo::Op::kIntAdd;
        if (sum) {
          const auto& a = *flatbuffers::GetRoot<attrs::IntAdd>(raw);
          set_codes(&l, a);
          l.a_zero = a.a_zero();
          l.b_zero = a.b_zero();
          l.m = {a.a_multiplier(), a.b_multiplier()};
        } else {
          const auto& a = *flatbuffers::GetRoot<attrs::IntMul>(raw);
          set_codes(&l, a);
          l.a_zero = a.a_zero();
          l.b_zero = a.b_zero();
          l.m = {a.multiplier()};
        }
        l.kind = sum ? Kind::kAdd : Kind::kMul;
        const bool planes = shape(n.outputs[0]).rank == 4 && (place(n.inputs[0]).planes || place(n.inputs[1]).planes);
        l.inputs = {in(n.inputs[0], planes), in(n.inputs[1], planes)};
        return finish(n, l, planes);
      }
      case vireo::Op::kIntTable: {
        l.kind = Kind::kTable;
        l.table = contents<uint8_t>(n, 1);
        const bool planes = place(n.inputs[0]).planes;
        l.inputs = {in(n.inputs[0], planes)};
        return finish(n, l, planes);
      }
      case vireo::Op::kIntAffine: {
        const auto& a = *flatbuffers::GetRoot<attrs::IntAffine>(raw);
        const bool planes = place(n.inputs[0]).planes;
        // One factor, or one along the axis that is innermost.
        const Shape& f = shape(n.inputs[1]);
        const int64_t count =
            m_.values[static_cast<size_t>(n.inputs[1])].type.shape.rank == 0 ? 1 : product(f, 0, f.rank);
        const int axis = planes ? 1 : shape(n.inputs[0]).rank - 1, at = f.rank - (shape(n.inputs[0]).rank - axis);
        if (count != 1 && (at < 0 || f.dims[at] != count)) return 0;
        set_codes(&l, a);
        l.kind = Kind::kAffine;
        l.a_zero = a.x_zero();
        l.factor = contents<float>(n, 1);
        l.below = contents<float>(n, 2);
        l.offset = contents<float>(n, 3);
        l.inputs = {in(n.inputs[0], planes)};
        return finish(n, l, planes);
      }
      case vireo::Op::kMaxPool:
      case vireo::Op::kIntAveragePool: {
        if (shape(n.inputs[0]).rank != 4 || n.outputs.size() != 1) return 0;
        bool planes = true;
        if (static_cast<vireo::Op>(n.node->op()) == vireo::Op::kMaxPool) {
          const auto& a = *flatbuffers::GetRoot<attrs::Pool>(raw);
          if (!set_window(&l, a)) return 0;
          l.kind = Kind::kMaxPool;
          for (unsigned i = 0; i < 2; ++i) l.kernel[i] = a.kernel_shape()->Get(i);
          planes = a.layout() == 0;
        } else {
          const auto& a = *flatbuffers::GetRoot<attrs::IntAveragePool>(raw);
          if (!set_window(&l, a)) return 0;
          l.kind = Kind::kAveragePool;
          set_codes(&l, a);
          l.a_zero = a.x_zero();
          l.count_padding = a.count_include_pad();
          l.m = contents<float>(n, 1);
          for (unsigned i = 0; i < 2; ++i) l.kernel[i] = a.kernel_shape()->Get(i);
          planes = a.layout() == 0;
        }
        l.inputs = {in(n.inputs[0], planes)};
        return finish(n, l, planes);
      }
      case vireo::Op::kIntSoftmax: {
        const auto& a = *flatbuffers::GetRoot<attrs::IntSoftmax>(raw);
        const int rank = shape(n.inputs[0]).rank, axis = a.axis() < 0 ? a.axis() + rank : a.axis();
        const bool planes = place(n.inputs[0]).planes;
        if (axis != (planes ? 1 : rank - 1)) return 0;
        set_codes(&l, a);
        l.kind = Kind::kSoftmax;
        l.m = {a.multiplier()};
        l.exp_table = contents<int32_t>(n, 1);
        l.inputs = {in(n.inputs[0], planes)};
        return finish(n, l, planes);
      }
      case vireo::Op::kResize: {  // to the nearest, by a whole number
        const auto x = dims(n.inputs[0]), y = dims(n.outputs[0]);
        if (shape(n.inputs[0]).rank != 4 || y[2] % x[2] != 0 || y[3] % x[3] != 0 || y[1] != x[1]) return 0;
        l.kind = Kind::kResize;
        l.m = {1};
        const bool byte = type(n.inputs[0]) == kU8;
        l.a_zero = l.y_zero = 0;
        l.low = byte ? 0 : -128;
        l.high = byte ? 255 : 127;
        for (size_t i = 0; i < 2; ++i) {
          l.resize[i].taps = 1;
          for (int64_t o = 0; o < y[i + 2]; ++o) {
            l.resize[i].places.push_back(static_cast<int32_t>(o / (y[i + 2] / x[i + 2])));
            l.resize[i].weights.push_back(1);
          }
        }
        l.inputs = {pixels(n.inputs[0])};
        return finish(n, l, true);
      }
      case vireo::Op::kConcat: {
        const auto& a = *flatbuffers::GetRoot<attrs::Concat>(raw);
        const int rank = shape(n.outputs[0]).rank, axis = (a.axis() < 0 ? a.axis() + rank : a.axis()) + 4 - rank;
        bool planes = rank == 4;
        for (const int i : n.inputs) planes = planes && (place(i).planes || rank == 4);
        bool any = false;
        for (const int i : n.inputs) any = any || place(i).planes;
        planes = planes && any;
        constexpr int kAxes[4] = {0, 3, 1, 2};
        l.kind = Kind::kConcat;
        l.axis = planes ? kAxes[axis] : axis;
        for (const int i : n.inputs) l.inputs.push_back(in(i, planes));
        return finish(n, l, planes);
      }
      case vireo::Op::kTranspose: {
        const auto& a = *flatbuffers::GetRoot<attrs::Transpose>(raw);
        const int rank = shape(n.inputs[0]).rank;
        std::array<int, 4> perm{0, 1, 2, 3};
        for (int i = 0; i < rank; ++i) {
          const int p = a.perm() != nullptr ? a.perm()->Get(static_cast<unsigned>(i)) : rank - 1 - i;
          perm[static_cast<size_t>(4 - rank + i)] = p + 4 - rank;
        }
        const Placed p = place(n.inputs[0]);
        if (p.planes && perm == std::array<int, 4>{0, 2, 3, 1}) {
          placed[n.outputs[0]] = {p.tensor, false};
          return 1;
        }
        if (!p.planes && rank == 4 && perm == std::array<int, 4>{0, 3, 1, 2}) {
          placed[n.outputs[0]] = {p.tensor, true};
          return 1;
        }
        l.kind = Kind::kTranspose;
        l.perm = perm;
        l.inputs = {plain(n.inputs[0])};
        return finish(n, l, false);
      }
      case vireo::Op::kIntResize: {
        const auto& a = *flatbuffers::GetRoot<attrs::IntResize>(raw);
        if (shape(n.inputs[0]).rank != 4) return 0;
        const bool planes = a.axes()->Get(a.axes()->size() - 1) == 3 || place(n.inputs[0]).planes;
        set_codes(&l, a);
        l.kind = Kind::kResize;
        l.a_zero = a.x_zero();
        l.m = {a.multiplier()};
        for (unsigned k = 0; k < a.axes()->size(); ++k) {
          const int axis = a.axes()->Get(k) - (planes ? 2 : 1);
          if (axis < 0 || axis > 1) return 0;
          l.resize[axis].taps = shape(n.inputs[1 + 2 * k]).dims[1];
          l.resize[axis].places = contents<int32_t>(n, 1 + 2 * k);
          l.resize[axis].weights = contents<int32_t>(n, 2 + 2 * k);
        }
        l.inputs = {in(n.inputs[0], planes)};
        return finish(n, l, planes);
      }
      case vireo::Op::kSlice: {  // starts, ends, axes, steps: the results' extents say where it ends
        const int rank = shape(n.inputs[0]).rank;
        for (size_t i = 1; i < n.inputs.size(); ++i) {
          if (n.inputs[i] >= 0 && !fixed(n, i)) return 0;
        }
        const auto numbers = [&](size_t i) {
          std::vector<int64_t> v;
          if (i >= n.inputs.size() || n.inputs[i] < 0) return v;
          if (m_.values[static_cast<size_t>(n.inputs[i])].type.dtype == DType::kI64) return contents<int64_t>(n, i);
          for (const int32_t e : contents<int32_t>(n, i)) v.push_back(e);
          return v;
        };
        const std::vector<int64_t> starts = numbers(1), axes = numbers(3), steps = numbers(4);
        const bool planes = place(n.inputs[0]).planes;
        constexpr int kAxes[4] = {0, 3, 1, 2};
        l.kind = Kind::kSlice;
        for (size_t i = 0; i < starts.size(); ++i) {
          const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i] < 0 ? axes[i] + rank : axes[i];
          const int64_t extent = shape(n.inputs[0]).dims[axis], step = steps.empty() ? 1 : steps[i];
          if (step < 1) return 0;
          const auto at = static_cast<size_t>(planes ? kAxes[axis] : axis + 4 - rank);
          l.begin[at] = std::min(extent, std::max<int64_t>(0, starts[i] < 0 ? starts[i] + extent : starts[i]));
          l.step[at] = step;
        }
        l.inputs = {in(n.inputs[0], planes)};
        return finish(n, l, planes);
      }
      case vireo::Op::kFlatten:
      case vireo::Op::kReshape: {
        const Placed p = place(n.inputs[0]);
        const auto s = dims(n.inputs[0]);
        l.kind = Kind::kReshape;
        l.inputs = {p.planes && s[2] == 1 && s[3] == 1 ? p.tensor : plain(n.inputs[0])};
        return finish(n, l, false);
      }
      default:
        return 0;
    }
  }

  const Model& m_;
  std::map<std::pair<int, std::array<int, 4>>, int> turned_;
};

// Every node on the reference kernels.
void run_nodes(Model* m) {
  for (const Node& n : m->nodes) {
    OpTest t(static_cast<vireo::Op>(n.node->op()), {n.node->attrs()->begin(), n.node->attrs()->end()});
    for (const int i : n.inputs) {
      if (i < 0) {
        t.absent();
      } else {
        t.input(m->values[static_cast<size_t>(i)]);
      }
    }
    t.outputs(static_cast<int>(n.outputs.size()));
    if (t.run() != vireo::Status::kOk) stop(std::string(n.node->name()->c_str()) + ": " + t.message());
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (n.outputs[o] >= 0) m->values[static_cast<size_t>(n.outputs[o])] = t.y(static_cast<int>(o));
    }
  }
}

int run(int argc, char** argv) {
  MachineConfig config;
  CompileOptions options;
  std::string inputs, mode = "--summary";
  int cases = 1;
  if (argc < 2)
    stop(
        "wanted: MODEL.vireo [--inputs FILE.f32] [--cases N] [--sram KIB] [--no-cascade] [--json | --listing | "
        "--layers]");
  for (int i = 2; i < argc; ++i) {
    const std::string a = argv[i];
    const bool more = i + 1 < argc;
    if (a == "--inputs" && more) {
      inputs = argv[++i];
    } else if (a == "--cases" && more) {
      cases = std::atoi(argv[++i]);
    } else if (a == "--sram" && more) {
      config.sram_bytes = static_cast<uint32_t>(std::atoi(argv[++i])) * 1024;
    } else if (a == "--no-cascade") {
      options.cascade = false;
    } else if (a == "--json" || a == "--listing" || a == "--layers") {
      mode = a;
    } else {
      stop("unknown flag " + a);
    }
  }
  Model m(argv[1]);
  Importer importer(m);
  importer.run();
  const auto start = std::chrono::steady_clock::now();
  const Compiled c = compile(importer.graph, config, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!c.error.empty()) stop(c.error);
  if (mode == "--json") std::fputs(report_json(importer.graph, c, config).c_str(), stdout);
  if (mode == "--listing") std::fputs(listing(importer.graph, c).c_str(), stdout);
  const std::string text = report_text(importer.graph, c, config);
  if (mode == "--layers") std::fputs(text.c_str(), stdout);
  if (mode == "--summary") std::fputs(text.substr(text.rfind("all ")).c_str(), stdout);
  std::fprintf(stderr, "%zu layers on the machine, %zu of %zu nodes outside; compiled in %.2f s; %zu commands\n",
               importer.graph.layers.size(), importer.left.size(), m.nodes.size(), seconds,
               c.stream.size() / kCommandWords - 1);
  for (const Node* n : importer.left)
    std::fprintf(stderr, "  outside: %s (%d)\n", n->node->name()->c_str(), n->node->op());

  std::ifstream file(inputs, std::ios::binary);
  Random random(1);
  size_t bits = 0;
  for (int k = 0; k < cases; ++k) {
    for (const int i : m.inputs) {
      TestTensor& t = m.values[static_cast<size_t>(i)];
      std::vector<float> v(static_cast<size_t>(product(t.type.shape, 0, t.type.shape.rank)));
      for (float& f : v) f = random.factor(0, 1);
      if (!inputs.empty() && !file.read(reinterpret_cast<char*>(v.data()), static_cast<std::streamsize>(v.size() * 4)))
        stop("the input file ends early");
      t.bytes.resize(v.size() * 4);
      std::memcpy(t.bytes.data(), v.data(), t.bytes.size());
    }
    run_nodes(&m);
    std::vector<Bytes> given;
    for (const int v : importer.given) given.push_back(m.values[static_cast<size_t>(v)].bytes);
    const Ran ran = run_machine(importer.graph, c, config, given);
    if (ran.status != Status::kOk) stop(status_name(ran.status));
    for (size_t i = 0; i < ran.outputs.size(); ++i) {
      const Bytes& wanted = m.values[static_cast<size_t>(importer.results[i].first)].bytes;
      if (wanted.size() != ran.outputs[i].size()) stop("a result has another size");
      for (size_t b = 0; b < wanted.size(); ++b) bits += wanted[b] != ran.outputs[i][b];
    }
  }
  std::fprintf(stderr, "%d cases, %zu results: %zu bytes differ from the reference kernels\n", cases,
               importer.results.size(), bits);
  return bits == 0 ? 0 : 1;
}

}  // namespace
}  // namespace vireo::npu

int main(int argc, char** argv) { return vireo::npu::run(argc, argv); }
