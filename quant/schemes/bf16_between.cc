// Before   product in bfloat16 -> v, float32 -> product in bfloat16 (as its x, or as what it adds)
// After    product -> Cast to bfloat16 inside -> v, bfloat16 -> Cast to float32 inside -> product
// Fires    v is made by such a product, attention or a normalisation of rows that products alone multiply, and read by
//          products and attention alone, through any number of nodes that only move
//          values, take the largest or average of them or scale channels, and of depthwise convolutions channels last,
//          whose weights become bfloat16 with it; no output of the model.        Idempotent: what is bfloat16 is not
//          float32.
// Numerics each v is rounded once by at most u = 2^-8 of itself, in place of the rounding where a product read it as x:
//          for values that products alone multiply, and for all of attention, nothing changes. Its queries stay
//          float32: their Cast is the first node of its body, as fuse_attention explains. New are the roundings of what
//          is added (a residual's share of a result moves by u of itself at most), of what depthwise convolutions read,
//          make and multiply by (2 u + u^2 of sum |w x|, as for a product), of averages and of channels' factors and
//          what they make.
// Source   Kalamkar et al. 2019, "A Study of BFLOAT16 for Deep Learning Training", arXiv:1905.12322.
//
// It runs when nodes are fused, because what lies between nodes is known then alone: a residual that was rounded inside
// an epilogue would be rounded for nothing. Bodies stay standard operators, whose Casts a device's kernels know.
#include "quant/schemes/bf16_between.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "converter/ir/shown.h"
#include "sdk/base/half.h"
#include "sdk/composites/attention/attention.h"
#include "sdk/composites/composites.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/view.h"

namespace vireo::quant {
namespace {

ir::Node* add_cast(ir::Graph& g, ir::Value* from, DType to, ir::Node* before) {
  attrs::CastT a;
  a.to = static_cast<uint8_t>(to);
  ir::Node* n = g.add_node(Op::kCast, pack<attrs::Cast>(a), {from}, 1, before);
  n->out()->name = from->name + (to == DType::kBF16 ? "_bf16" : "_wide");
  n->out()->type = {to, from->type.shape};
  return n;
}

bool is_narrowing(const ir::Node& n) { return n.op == Op::kCast && n.out()->type.dtype == DType::kBF16; }

// Whether it is a composite of this form, with one result, whose operands go through bfloat16.
bool is_bf16(const ir::Node& n, composites::Form form) {
  if (n.op != Op::kComposite || n.outputs.size() != 1 || n.bodies.size() != 1) return false;
  const composites::Composite* row = composites::find_composite(n.attributes<attrs::Composite>().hint()->c_str());
  return row != nullptr && row->form == form && row->stored == composites::Stored::kBf16;
}
bool is_product(const ir::Node& n) { return is_bf16(n, composites::Form::kEpilogue); }
bool is_attention(const ir::Node& n) { return is_bf16(n, composites::Form::kAttention); }
// The Cast that attention's result comes from; null: it is bfloat16 already.
ir::Node* widening_end(const ir::Node& n) {
  ir::Node* last = n.bodies[0]->outputs()[0]->producer;
  return last != nullptr && last->op == Op::kCast && last->in(0)->type.dtype == DType::kBF16 &&
                 last->out()->type.dtype == DType::kF32 && last->out()->uses.empty()
             ? last
             : nullptr;
}
// Where the body takes the composite's operand `i` through bfloat16 alone: a product as x.
bool narrows(const ir::Node& n, size_t i) {
  const ir::Value* v = n.bodies[0]->inputs()[i];
  for (const ir::Use& use : v->uses) {
    if (!is_narrowing(*use.node)) return false;
  }
  return v->output_uses == 0;
}
// Whether attention takes the composite's operand `i` as keys or values.
bool attends_to(const ir::Node& n, size_t i) {
  composites::FusedAttention f;
  if (!narrows(n, i) || !match_attention(ir::ShownComposite(n).view(), &f)) return false;
  const auto input = static_cast<int32_t>(i);
  return f.inputs[composites::kK].input == input || f.inputs[composites::kV].input == input;
}

// A layer or RMS normalisation with one factor for each element of its rows.
bool is_norm(const ir::Node& n) {
  if (n.op != Op::kLayerNormalization && n.op != Op::kRMSNormalization) return false;
  const Shape& x = n.in(0)->type.shape;
  const int axis = normalize_axis(n.op == Op::kRMSNormalization ? n.attributes<attrs::RMSNormalization>().axis()
                                                                : n.attributes<attrs::LayerNormalization>().axis(),
                                  x.rank);
  for (size_t o = 1; o < n.outputs.size(); ++o) {
    if (n.outputs[o] != nullptr) return false;
  }
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const ir::Value* p = n.inputs[i];
    if (p == nullptr) continue;
    if (p->type.dtype != DType::kF32 || p->type.shape.rank != x.rank - axis || !p->type.shape.is_static()) return false;
    for (int d = axis; d < x.rank; ++d) {
      if (p->type.shape[d - axis] != x[d]) return false;
    }
  }
  return n.in(0)->type.dtype == DType::kF32 && n.inputs.size() >= 2 && n.in(1) != nullptr;
}

// The convolution of a node that is one, or a composite that begins with it.
const ir::Node* convolution(const ir::Node& n) {
  if (n.op == Op::kConv) return &n;
  if (n.op != Op::kComposite || n.bodies.size() != 1 || n.outputs.size() != 1) return nullptr;
  const ir::Node& first = n.bodies[0]->nodes().front();
  return first.op == Op::kConv ? &first : nullptr;
}

float float_at(const ir::Value& constant, size_t i) {
  float value = 0;
  std::memcpy(&value, constant.constant->tensor.bytes.data() + i * sizeof(value), sizeof(value));
  return value;
}
size_t floats_of(const ir::Value& constant) { return constant.constant->tensor.bytes.size() / sizeof(float); }

// No weight that is finite becomes infinite.
bool fits_bf16(const ir::Value& weights) {
  if (weights.constant == nullptr) return false;
  for (size_t i = 0; i < floats_of(weights); ++i) {
    const float value = float_at(weights, i);
    if (std::isfinite(value) && !std::isfinite(bf16_to_f32(f32_to_bf16(value)))) return false;
  }
  return true;
}

// Channels last, one filter a channel; behind it at most one function that the kernel ends with.
bool is_depthwise(const ir::Node& n) {
  const ir::Node* conv = convolution(n);
  if (conv == nullptr || conv->in(0)->type.dtype != DType::kF32 || conv->in(0)->type.shape.rank != 4) return false;
  const auto& a = conv->attributes<attrs::Conv>();
  const ir::Value *x = conv->in(0), *w = conv->in(1);
  const Dim channels = x->type.shape[3];
  if (static_cast<Layout>(a.layout()) != Layout::kNhwc || a.group() != channels || w->type.shape[0] != channels)
    return false;
  if (n.inputs.size() < 2 || n.in(1) == nullptr || !fits_bf16(*n.in(1))) return false;
  if (n.op == Op::kConv) return true;
  const ir::Graph& body = *n.bodies[0];
  if (body.nodes().size() > 2 || body.inputs()[0] != x || body.inputs()[1] != w) return false;
  const ir::Node& last = body.nodes().back();
  return &last == conv || last.op == Op::kRelu || last.op == Op::kClip || last.op == Op::kHardSwish;
}

// Nodes that have their result's values from their operands, or round a function of them once, in any type.
enum class Moves { kNo, kFirst, kAll };  // which operands are values
bool scales(const ir::Node& n, int x, int scale) {
  const Shape &a = n.in(x)->type.shape, &b = n.in(scale)->type.shape;
  return a.rank == 4 && b.rank == 4 && a == n.out()->type.shape && a[0] == b[0] && b[1] == 1 && b[2] == 1 &&
         a[3] == b[3];
}
Moves moves(const ir::Node& n) {
  switch (n.op) {
    case Op::kIdentity:
    case Op::kReshape:
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kSplit:
      return Moves::kFirst;
    case Op::kConcat:
      return Moves::kAll;
    case Op::kMul:  // by one factor a channel, as squeeze-and-excitation has it
      return scales(n, 0, 1) || scales(n, 1, 0) ? Moves::kAll : Moves::kNo;
    case Op::kMaxPool:
      return n.outputs.size() == 1 && n.attributes<attrs::Pool>().layout() != 0 && n.in(0)->type.shape.rank == 4
                 ? Moves::kFirst
                 : Moves::kNo;
    case Op::kGlobalAveragePool:
      return n.attributes<attrs::GlobalPool>().layout() != 0 ? Moves::kFirst : Moves::kNo;
    default:
      return Moves::kNo;
  }
}

// Where a product's body takes the composite's operand `i`: as x, or as what a whole result has added or multiplied.
bool reads_it(const ir::Node& n, size_t i) {
  const ir::Graph& body = *n.bodies[0];
  const ir::Value* v = body.inputs()[i];
  const Shape& whole = n.out()->type.shape;
  for (const ir::Use& use : v->uses) {
    const bool whole_one = (use.node->op == Op::kAdd || use.node->op == Op::kMul) && v->type.shape == whole;
    if (!whole_one && !is_narrowing(*use.node)) return false;
  }
  return v->output_uses == 0;
}

class Keeper {
 public:
  Keeper(ir::Graph& g, PassLog& log) : g_(g), log_(log) {}

  void run() {
    for (ir::Node& n : g_.nodes()) {
      for (ir::Value* v : n.outputs) {
        if (v != nullptr && is_candidate(*v)) kept_.insert(v);
      }
    }
    while (drop_broken_units()) {
    }
    if (kept_.empty()) return;
    std::vector<ir::Node*> nodes;
    for (ir::Node& n : g_.nodes()) nodes.push_back(&n);
    for (ir::Node* n : nodes) {
      if (is_product(*n) || is_attention(*n)) {
        change_body(*n);
      } else if (is_depthwise(*n) && kept(n->out())) {
        change_depthwise(*n);
      } else if (is_norm(*n) && kept(n->out())) {
        change_norm(*n);
      }
    }
    for (ir::Value* v : kept_) v->type.dtype = DType::kBF16;
    log_.changes += kept_.size();
    g_.drop_unused_values();
  }

 private:
  bool kept(const ir::Value* v) const { return kept_.count(const_cast<ir::Value*>(v)) != 0; }

  // What one node says of it; whole nodes are looked at afterwards.
  bool is_candidate(const ir::Value& v) {
    if (v.type.dtype != DType::kF32 || v.output_uses != 0 || v.uses.empty()) return false;
    const ir::Node& made = *v.producer;
    const bool attention = is_attention(made) && widening_end(made) != nullptr;
    const bool norm = is_norm(made);
    if (!is_product(made) && !attention && !norm && !is_depthwise(made) && moves(made) == Moves::kNo) return false;
    const ir::Node* other = nullptr;
    for (const ir::Use& use : v.uses) {
      const ir::Node& n = *use.node;
      const bool takes = norm              ? is_product(n) && narrows(n, use.input)
                         : is_product(n)   ? reads_it(n, use.input)
                         : is_attention(n) ? attends_to(n, use.input)
                         : is_depthwise(n) ? use.input == 0
                                           : moves(n) == Moves::kAll || (moves(n) == Moves::kFirst && use.input == 0);
      if (!takes) other = &n;
    }
    if (other == nullptr) return true;
    if (is_product(made)) {
      const bool composite = other->op == Op::kComposite;
      log_.declined.emplace_back(
          made.name, std::string("read in float32 by ") +
                         (composite ? other->attributes<attrs::Composite>().hint()->str() : op_name(other->op)));
    }
    return false;
  }

  // Nodes whose operands and results are all of one type. True: another look.
  bool drop_broken_units() {
    bool dropped = false;
    for (ir::Node& n : g_.nodes()) {
      const Moves how = moves(n);
      if (how == Moves::kNo && !is_depthwise(n)) continue;
      std::vector<ir::Value*> values;
      for (size_t i = 0; i < (how == Moves::kAll ? n.inputs.size() : 1); ++i) values.push_back(n.inputs[i]);
      for (ir::Value* v : n.outputs) {
        if (v != nullptr) values.push_back(v);
      }
      const auto in =
          static_cast<size_t>(std::count_if(values.begin(), values.end(), [&](const ir::Value* v) { return kept(v); }));
      if (in == 0 || in == values.size()) continue;
      for (ir::Value* v : values) kept_.erase(v);
      dropped = true;
    }
    return dropped;
  }

  void narrow_result(ir::Node& n) {
    ir::Graph& body = *n.bodies[0];
    if (ir::Node* wide = is_attention(n) ? widening_end(n) : nullptr; wide != nullptr) {
      body.set_output(0, wide->in(0));
      body.remove(wide);
      return;
    }
    body.set_output(0, add_cast(body, body.outputs()[0], DType::kBF16, nullptr)->out());
  }

  void change_body(ir::Node& n) {
    ir::Graph& body = *n.bodies[0];
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (!kept(n.in(i))) continue;
      ir::Value* v = body.inputs()[i];
      v->type.dtype = DType::kBF16;
      const std::vector<ir::Use> uses = v->uses;
      for (const ir::Use& use : uses) {
        if (is_narrowing(*use.node)) {
          ir::Node* narrow = use.node;
          body.replace_uses(narrow->out(), v);
          body.remove(narrow);
        } else {
          body.set_input(use.node, use.input, add_cast(body, v, DType::kF32, use.node)->out());
        }
      }
    }
    if (kept(n.out())) narrow_result(n);
  }

  void change_norm(ir::Node& plain) {
    ir::Node& n = wrapped(plain);
    attrs::CompositeT a;
    a.hint = composites::kNormBf16.hint;
    n.attrs = pack<attrs::Composite>(a);
    narrow_result(n);
  }

  // Weights first, as composites.def has it of a product.
  void change_depthwise(ir::Node& plain) {
    ir::Node& n = plain.op == Op::kConv ? wrapped(plain) : plain;
    ir::Graph& body = *n.bodies[0];
    attrs::CompositeT a;
    a.hint = composites::kConvBf16.hint;
    n.attrs = pack<attrs::Composite>(a);
    ir::Node& conv = body.nodes().front();
    ir::Value *x = body.inputs()[0], *w = body.inputs()[1];
    g_.set_input(&n, 1, narrow_weights(n.in(1)));
    x->type.dtype = w->type.dtype = DType::kBF16;
    body.set_input(&conv, 1, add_cast(body, w, DType::kF32, &conv)->out());
    body.set_input(&conv, 0, add_cast(body, x, DType::kF32, &conv)->out());
    narrow_result(n);
  }

  ir::Value* narrow_weights(const ir::Value* w) {
    ir::Value*& narrow = weights_[w->constant.get()];
    if (narrow != nullptr) return narrow;
    std::vector<uint8_t> bytes(floats_of(*w) * sizeof(uint16_t));
    for (size_t i = 0; i < floats_of(*w); ++i) {
      const uint16_t bits = f32_to_bf16(float_at(*w, i));
      std::memcpy(bytes.data() + i * sizeof(bits), &bits, sizeof(bits));
    }
    return narrow = g_.add_constant(w->name, ir::make_constant({DType::kBF16, w->type.shape}, std::move(bytes)));
  }

  // A composite of the one node.
  ir::Node& wrapped(ir::Node& plain) {
    auto body = std::make_unique<ir::Graph>(g_.shared_dims());
    body->name = plain.name;
    std::vector<ir::Value*> inside, outside;
    for (ir::Value* v : plain.inputs) {
      if (v == nullptr) continue;
      outside.push_back(v);
      inside.push_back(body->add_input(v->name, v->type));
    }
    ir::Node* copy = body->add_node(plain.op, plain.attrs, inside, 1);
    copy->name = plain.name;
    copy->version = plain.version;
    copy->out()->name = plain.out()->name;
    copy->out()->type = plain.out()->type;
    body->add_output(copy->out(), plain.out()->name);
    ir::Node* one = g_.add_node(Op::kComposite, {}, outside, 1, &plain);
    one->name = plain.name;
    one->bodies.push_back(std::move(body));
    one->out()->name = plain.out()->name;
    one->out()->type = plain.out()->type;
    kept_.erase(plain.out());
    kept_.insert(one->out());
    g_.replace_uses(plain.out(), one->out());
    g_.remove(&plain);
    return *one;
  }

  ir::Graph& g_;
  PassLog& log_;
  std::set<ir::Value*> kept_;
  std::map<const ir::Constant*, ir::Value*> weights_;
};

}  // namespace

void keep_bf16_between(ir::Graph& graph, PassLog& log) { Keeper(graph, log).run(); }

}  // namespace vireo::quant
