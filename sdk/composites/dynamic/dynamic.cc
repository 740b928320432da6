#include "sdk/composites/dynamic/dynamic.h"

namespace vireo::composites {
namespace {

constexpr uint32_t kMostNodes = 6;  // product, cast, two Muls, Add, and an activation or one more Mul

class Reader {
 public:
  Reader(const NodeView& node, FusedDynamic* out)
      : node_(node), body_(node.body()), conv_(has_conv(body_)), out_(*out) {}

  bool read() {
    out_.varies = !node_.is_static();
    const uint32_t count = body_.node_count();
    if (count > kMostNodes || node_.output_count != 1 || body_.output_count() != 1) return false;
    for (uint32_t n = 0; n < count; ++n) {
      vireo_graph_node inner;
      if (!body_.read_node(n, &inner) || inner.output_count != 1 || !step(inner)) return false;
    }
    return at_ == body_.output(0) && out_.scale >= 0 && !(conv_ && overwritten_);
  }

 private:
  bool step(const vireo_graph_node& n) {
    switch (static_cast<Op>(n.op)) {
      case Op::kConvInteger:
      case Op::kMatMulInteger:
        return product(n);
      case Op::kCast:
        return out_.attrs != nullptr && !cast_ && n.inputs[0] == at_ && (cast_ = true) && follow(n);
      case Op::kMul:
        return n.inputs[0] != at_ && n.inputs[1] != at_ ? pair(n) : scale(n);
      case Op::kAdd:
        if (n.inputs[0] != at_ && n.inputs[1] != at_) return false;
        if (out_.scale < 0 || tail()) return false;
        out_.bias = input(n, n.inputs[0] == at_ ? 1 : 0);
        return one_a_channel(out_.bias) && follow(n);
      case Op::kPRelu:
        if (n.inputs[0] != at_ || out_.scale < 0 || active() || !conv_) return false;
        out_.slope = input(n, 1);
        return one_a_channel(out_.slope) && follow(n);
      default:
        return out_.scale >= 0 && !active() && conv_ && n.inputs[0] == at_ && read_function(body_, n, &out_.function) &&
               follow(n);
    }
  }

  bool product(const vireo_graph_node& n) {
    if (out_.attrs != nullptr) return false;
    out_.core = static_cast<Op>(n.op);
    out_.attrs = n.attrs;
    out_.attrs_size = n.attrs_size;
    out_.x = input(n, 0);
    out_.w = input(n, 1);
    out_.x_zero = input(n, 2);
    out_.w_zero = input(n, 3);
    if (out_.x < 0 || out_.w < 0 || (n.input_count > 2 && n.inputs[2] >= 0 && out_.x_zero < 0)) return false;
    if (n.input_count > 3 && n.inputs[3] >= 0 && out_.w_zero < 0) return false;
    return is_of_y(n.outputs[0]) && follow(n);
  }
  // The Mul of two scales.
  bool pair(const vireo_graph_node& n) {
    const int32_t a = input(n, 0), b = input(n, 1);
    if (pair_ >= 0 || !one_a_channel(a) || !one_a_channel(b)) return false;
    // Where it is the first node, y may lie on an operand of as many bytes; a convolution's sums would overwrite that.
    overwritten_ = out_.attrs == nullptr && (is_as_large(a) || is_as_large(b));
    pair_ = n.outputs[0];
    pair_inputs_[0] = a;
    pair_inputs_[1] = b;
    return true;
  }
  bool scale(const vireo_graph_node& n) {
    const uint32_t other = n.inputs[0] == at_ ? 1 : 0;
    if (!cast_ || tail()) return false;
    if (out_.scale >= 0) {
      if (conv_ || out_.later_scale >= 0) return false;
      out_.later_scale = input(n, other);
      return one_a_channel(out_.later_scale) && follow(n);
    }
    if (pair_ >= 0 && n.inputs[other] == pair_) {
      out_.scale = pair_inputs_[0];
      out_.other_scale = pair_inputs_[1];
    } else {
      out_.scale = input(n, other);
    }
    return one_a_channel(out_.scale) && follow(n);
  }

  bool active() const { return out_.slope >= 0 || out_.function.given(); }
  bool tail() const { return out_.bias >= 0 || active(); }
  bool follow(const vireo_graph_node& n) {
    at_ = n.outputs[0];
    return true;
  }
  int32_t input(const vireo_graph_node& n, uint32_t i) const {
    return i < n.input_count ? body_.input_of(n.inputs[i], node_.input_count) : -1;
  }
  bool is_as_large(int32_t i) const {
    return tensor_bytes(node_.inputs[i].type) == tensor_bytes(node_.outputs[0].type);
  }
  // The sums are not broadcast to y.
  bool is_of_y(int32_t number) const { return type_at(body_, number).shape == node_.outputs[0].type.shape; }
  // A float32 number, or one for each of the result's channels.
  bool one_a_channel(int32_t i) const {
    if (i < 0) return false;
    const GraphValue& v = node_.inputs[i];
    const Shape &s = v.type.shape, &y = node_.outputs[0].type.shape;
    if (!v.is_static || v.type.dtype != DType::kF32 || s.rank > y.rank) return false;
    const int axis = conv_ ? 1 : y.rank - 1;
    for (int d = 0; d < s.rank; ++d) {
      if (s[d] != 1 && (d + y.rank - s.rank != axis || s[d] != y[axis])) return false;
    }
    return true;
  }
  static bool has_conv(const GraphReader& body) {
    vireo_graph_node inner;
    for (uint32_t n = 0; n < body.node_count(); ++n) {
      if (body.read_node(n, &inner) && static_cast<Op>(inner.op) == Op::kConvInteger) return true;
    }
    return false;
  }

  const NodeView& node_;
  const GraphReader body_;
  const bool conv_;  // the channel's axis is known before the product is read
  FusedDynamic& out_;
  int32_t at_ = -1, pair_ = -1, pair_inputs_[2] = {-1, -1};
  bool cast_ = false, overwritten_ = false;
};

}  // namespace

bool match_dynamic(const NodeView& node, FusedDynamic* out) {
  return node.op == Op::kComposite && node.node.body != nullptr && Reader(node, out).read();
}

bool fits(const KernelContext& ctx, const FusedDynamic& f) {
  if (!f.varies) return true;
  const int32_t operands[] = {f.x, f.w, f.x_zero, f.w_zero};
  TensorType inputs[4];
  for (int i = 0; i < 4; ++i) {
    if (operands[i] >= 0) inputs[i] = ctx.required(static_cast<size_t>(operands[i]));
  }
  return has_shape_of_output(ctx, f.core, {f.attrs, f.attrs_size}, inputs, 4);
}

}  // namespace vireo::composites
