#include "sdk/composites/epilogue/epilogue.h"

#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::composites {
namespace {

bool is_product(Op op) { return op == Op::kConv || op == Op::kConvTranspose || op == Op::kGemm || op == Op::kMatMul; }

// Where channels are in the product's result: there a bias lies. Negative from the end.
int channel_axis(const FusedProduct& f) {
  const auto at = [](uint8_t layout) { return static_cast<Layout>(layout) == Layout::kNhwc ? -1 : 1; };
  if (f.core == Op::kConv) return at(f.core_attrs<attrs::Conv>().layout());
  return f.core == Op::kConvTranspose ? at(f.core_attrs<attrs::ConvTranspose>().layout()) : -1;
}

bool is_bias(const Operand& b, const FusedProduct& f) {
  return b.type.dtype == f.core_type.dtype && is_one_a_channel(b.type.shape, f.core_type.shape, channel_axis(f));
}

// The body of a composite, read once from its first node to its last.
class Matcher {
 public:
  Matcher(const NodeView& node, FusedProduct* out) : node_(node), body_(body_of(node)), f_(*out) {}

  bool match() {
    if (node_.op != Op::kComposite) return read_core(node_.node) && all_given(node_.node);
    count_ = body_.node_count();
    vireo_graph_node first;
    if (count_ == 0 || !body_.read_node(0, &first)) return false;
    vireo_graph_node core = first;
    if (!is_product(static_cast<Op>(first.op)) && !read_stored(first, &core)) return false;
    return read_core(core) && (f_.stored == Stored::kPlain || read_weights(first, core)) && all_given(core) &&
           read_tail(core);
  }

 private:
  Operand operand(int32_t number) const { return operand_of(node_, number); }
  DType dtype(int32_t number) const { return type_at(body_, number).dtype; }

  // What stands in front of a product whose weights are stored otherwise: `first`, and the Casts of x.
  bool read_stored(const vireo_graph_node& first, vireo_graph_node* core) {
    if (first.input_count < 1 || first.output_count != 1 || count_ < 2) return false;
    at_ = 1;
    int32_t weights = first.outputs[0];
    if (static_cast<Op>(first.op) == Op::kDequantizeLinear || are_half_scales(first)) {
      f_.stored = Stored::kCodes;
      if (!read_wide(first, &weights)) return false;
    } else if (!is_cast(body_, first, first.inputs[0], DType::kF32)) {
      return false;
    } else {
      f_.stored = dtype(first.inputs[0]) == DType::kF16 ? Stored::kF16 : Stored::kBf16;
    }
    if (f_.stored == Stored::kBf16 && !read_casts_of_x()) return false;
    *core = body_.node(at_++);
    return is_product(static_cast<Op>(core->op)) && core->input_count >= 2 && core->inputs[1] == weights &&
           (f_.stored != Stored::kBf16 || core->inputs[0] == wide_x_);
  }

  // A Cast in front of a DequantizeLinear's scales.
  bool are_half_scales(const vireo_graph_node& first) const {
    const vireo_graph_node next = body_.node(1);
    return static_cast<Op>(next.op) == Op::kDequantizeLinear && next.input_count >= 2 && first.output_count == 1 &&
           next.inputs[1] == first.outputs[0] && is_cast(body_, first, first.inputs[0], DType::kF32) &&
           dtype(first.inputs[0]) == DType::kF16;
  }

  // The DequantizeLinear, behind the Cast of its scales, and the Transpose behind it.
  bool read_wide(const vireo_graph_node& first, int32_t* weights) {
    wide_ = first;
    if (static_cast<Op>(first.op) == Op::kCast) {
      half_scales_ = first.inputs[0];
      wide_ = body_.node(at_++);
    }
    if (wide_.output_count != 1) return false;
    *weights = wide_.outputs[0];
    if (at_ >= count_) return false;
    const vireo_graph_node next = body_.node(at_);
    if (static_cast<Op>(next.op) != Op::kTranspose) return true;
    const auto* const perm = ::flatbuffers::GetRoot<attrs::Transpose>(next.attrs)->perm();
    f_.turned = true;
    ++at_;
    if (next.inputs[0] != *weights || next.output_count != 1) return false;
    *weights = next.outputs[0];
    return type_at(body_, *weights).shape.rank == 2 && (perm == nullptr || perm->Get(0) == 1);
  }

  bool read_casts_of_x() {
    if (count_ < 3) return false;
    vireo_graph_node wide = body_.node(at_++);
    if (wide.input_count != 1) return false;
    x_ = wide.inputs[0];
    if (dtype(x_) != DType::kBF16) {
      const vireo_graph_node narrow = wide;
      wide = body_.node(at_++);
      if (!is_cast(body_, narrow, x_, DType::kBF16) || !is_cast(body_, wide, narrow.outputs[0], DType::kF32))
        return false;
    }
    if (!is_cast(body_, wide, wide.inputs[0], DType::kF32)) return false;
    wide_x_ = wide.outputs[0];
    return true;
  }

  // The operator and its operands.
  bool read_core(const vireo_graph_node& core) {
    f_.core = static_cast<Op>(core.op);
    f_.attrs = core.attrs;
    f_.attrs_size = core.attrs_size;
    if (!is_product(f_.core) || core.input_count > kMaxCoreInputs || core.output_count != 1) return false;
    for (uint32_t i = 0; i < core.input_count; ++i) f_.inputs[i] = operand(core.inputs[i]);
    f_.input_count = core.input_count;
    f_.core_type = node_.op == Op::kComposite ? type_at(body_, core.outputs[0]) : node_.outputs[0].type;
    return true;
  }

  // `first` widens the weights: they are read in front of it, and so is x.
  bool read_weights(const vireo_graph_node& first, const vireo_graph_node& core) {
    Operand& weights = f_.inputs[1];
    weights = operand((f_.stored == Stored::kCodes ? wide_ : first).inputs[0]);
    if (f_.stored == Stored::kBf16) f_.inputs[0] = operand(x_);
    const DType x = f_.inputs[0].type.dtype;
    if (weights.fixed(node_) == nullptr || f_.core_type.dtype != DType::kF32) return false;
    switch (f_.stored) {
      case Stored::kF16:
        return x == DType::kF32 && weights.type.dtype == DType::kF16;
      case Stored::kBf16:
        return (x == DType::kF32 || x == DType::kBF16) && weights.type.dtype == DType::kBF16;
      default:
        return x == DType::kF32 && dtype(core.inputs[1]) == DType::kF32 && read_codes(wide_);
    }
  }

  bool read_codes(const vireo_graph_node& wide) {
    if (wide.input_count < 2) return false;
    const auto& a = *::flatbuffers::GetRoot<attrs::DequantizeLinear>(wide.attrs);
    f_.scale = operand(half_scales_ >= 0 ? half_scales_ : wide.inputs[1]);
    const bool zero = wide.input_count > 2 && wide.inputs[2] >= 0;
    if (zero) f_.zero = operand(wide.inputs[2]);
    f_.axis = a.axis();
    f_.block = a.block_size();
    return f_.scale.fixed(node_) != nullptr && (half_scales_ >= 0 || f_.scale.type.dtype == DType::kF32) &&
           (!zero || f_.zero.fixed(node_) != nullptr);
  }

  bool all_given(const vireo_graph_node& core) const {
    for (uint32_t i = 0; i < core.input_count; ++i) {
      if (core.inputs[i] >= 0 && !f_.inputs[i].given()) return false;
    }
    return true;
  }

  // What follows the product.
  bool read_tail(const vireo_graph_node& core) {
    if (f_.stored == Stored::kPlain) at_ = 1;
    const uint32_t first = at_;
    value_ = core.outputs[0];
    while (at_ < count_) {
      const vireo_graph_node node = body_.node(at_++);
      if (node.output_count != 1 || node.input_count < 1 || !read_step(node)) return false;
    }
    f_.varies = first < count_ && !node_.is_static();
    return body_.output_count() == 1 && body_.output(0) == value_;
  }

  bool active() const { return f_.function.given() || f_.slope.given(); }
  bool follow(const vireo_graph_node& node) {
    value_ = node.outputs[0];
    return true;
  }

  bool read_step(const vireo_graph_node& node) {
    const auto op = static_cast<Op>(node.op);
    if (op == Op::kCast && f_.stored == Stored::kBf16 && node.input_count == 1) return read_half(node);
    if (op == Op::kAdd && node.input_count == 2) return read_sum(node);
    if (op == Op::kMul && node.input_count == 2 && node.inputs[0] != node.inputs[1]) return read_factor(node);
    if (f_.residual_last || f_.residual_times || active() || node.inputs[0] != value_) return false;
    if (op == Op::kPRelu && node.input_count == 2) return read_slope(node);
    if (op == Op::kSigmoid && read_silu(node)) return true;
    return read_function(body_, node, &f_.function) && follow(node);
  }

  // A Cast that widens what is added, or narrows the result.
  bool read_half(const vireo_graph_node& node) {
    const DType from = dtype(node.inputs[0]), to = dtype(node.outputs[0]);
    if (node.inputs[0] == value_) {
      if (at_ != count_ || to != DType::kBF16) return false;
      f_.half = true;
      return follow(node);
    }
    if (widened_ >= 0 || from != DType::kBF16 || to != DType::kF32) return false;
    widened_ = node.outputs[0];
    narrow_ = node.inputs[0];
    return true;
  }

  // The operand beside the running value of an Add or Mul. `whole`: of the result's type, or widened to it.
  bool read_other(const vireo_graph_node& node, Operand* other, bool* whole) const {
    const bool left = node.inputs[0] == value_;
    if (!left && node.inputs[1] != value_) return false;
    const int32_t number = node.inputs[left ? 1 : 0];
    const bool cast = number >= 0 && number == widened_;
    *other = operand(cast ? narrow_ : number);
    *whole = other->type == f_.core_type || (cast && other->type == TensorType{DType::kBF16, f_.core_type.shape});
    return other->given();
  }

  bool read_sum(const vireo_graph_node& node) {
    Operand other;
    bool whole = false;
    if (!read_other(node, &other, &whole)) return false;
    const bool own_bias = f_.input_count > 2 && f_.inputs[2].given();
    const bool plain = !active() && !f_.residual.given();
    if (plain && !own_bias && !f_.bias.given() && other.is_static(node_) && is_bias(other, f_)) {
      f_.bias = other;
    } else if (!f_.residual.given() && whole) {
      f_.residual = other;
      f_.residual_last = active();
    } else {
      return false;
    }
    return follow(node);
  }

  bool read_factor(const vireo_graph_node& node) {
    Operand other;
    bool whole = false;
    if (!read_other(node, &other, &whole) || !whole || f_.residual.given()) return false;
    f_.residual = other;
    f_.residual_times = true;
    return follow(node);
  }

  bool read_slope(const vireo_graph_node& node) {
    float slope = 0;
    if (read_number(body_, node, 1, 0, &slope)) {
      f_.function = {Op::kLeakyRelu, slope};
      return follow(node);
    }
    f_.slope = operand(node.inputs[1]);
    return f_.slope.given() && f_.slope.is_static(node_) && is_bias(f_.slope, f_) && follow(node);
  }

  // x * sigmoid(x), in two nodes.
  bool read_silu(const vireo_graph_node& sigmoid) {
    if (at_ >= count_) return false;
    const vireo_graph_node next = body_.node(at_);
    const int32_t s = sigmoid.outputs[0];
    if (static_cast<Op>(next.op) != Op::kMul || next.input_count != 2 || next.output_count != 1) return false;
    if (!(next.inputs[0] == value_ && next.inputs[1] == s) && !(next.inputs[0] == s && next.inputs[1] == value_))
      return false;
    f_.function = {Op::kSwish, 1};
    ++at_;
    return follow(next);
  }

  const NodeView& node_;
  const GraphReader body_;
  FusedProduct& f_;
  uint32_t count_ = 0;                  // nodes of the body
  uint32_t at_ = 0;                     // the next one
  int32_t value_ = -1;                  // what the tail has made so far
  int32_t x_ = -1, wide_x_ = -1;        // in front of its Casts and behind them
  vireo_graph_node wide_ = {};          // the DequantizeLinear
  int32_t half_scales_ = -1;            // in front of their Cast
  int32_t widened_ = -1, narrow_ = -1;  // of the last Cast of an operand: what it made, and of what
};

}  // namespace

bool match_product(const NodeView& node, FusedProduct* out) { return Matcher(node, out).match(); }

bool fits(const KernelContext& ctx, const FusedProduct& f) {
  const Shape& y = ctx.out(0)->shape;
  if (f.residual.given() && f.residual.input >= 0 && !(f.residual.shape(ctx) == y)) return false;
  if (!f.varies) return true;
  TensorType inputs[kMaxCoreInputs];
  for (uint32_t i = 0; i < f.input_count; ++i) {
    // Without the Casts in front of it.
    if (f.inputs[i].given()) inputs[i] = {f.core_type.dtype, f.inputs[i].shape(ctx)};
  }
  if (f.turned) {
    const Shape was = inputs[1].shape;
    inputs[1].shape[0] = was[1];
    inputs[1].shape[1] = was[0];
  }
  return has_shape_of_output(ctx, f.core, {f.attrs, f.attrs_size}, inputs, f.input_count);
}

}  // namespace vireo::composites
