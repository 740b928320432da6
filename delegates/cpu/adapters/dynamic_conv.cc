// The composite "dynamic_conv": ConvInteger, its sums as float32 times a scale, a bias and an activation. A channel's
// sums are scaled, biased and activated in one visit, in the memory of the result; the numbers are those of the body.
#include <new>

#include "delegates/cpu/activate_of.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/intgemm/intgemm.h"
#include "delegates/cpu/kernels/quantize/quantize.h"
#include "sdk/composites/operand.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"

namespace vireo {
namespace {

using cpu::ConvI8;

constexpr uint32_t kMostNodes = 6;  // product, cast, two Muls, Add, activation

// Inputs of the composite; -1: absent.
struct State {
  const uint8_t* attrs = nullptr;
  size_t attrs_size = 0;
  bool varies = false;  // extents change between runs
  int32_t x = -1, w = -1, x_zero = -1, w_zero = -1;
  int32_t scale = -1, other_scale = -1;  // multiplied with each other first
  int32_t bias = -1, slope = -1;
  cpu::Activate act;

  const attrs::ConvInteger& conv() const { return *::flatbuffers::GetRoot<attrs::ConvInteger>(attrs); }
};

// Reads the body, which is to be product -> Cast -> Mul -> Add -> activation, with the Mul of two scales anywhere.
class Reader {
 public:
  Reader(const CpuQuery& q, State* out) : q_(q), body_(q.body()), out_(*out) {}

  bool read() {
    out_.varies = !q_.is_static();
    const uint32_t count = body_.node_count();
    if (count > kMostNodes || q_.output_count != 1 || body_.output_count() != 1) return false;
    for (uint32_t n = 0; n < count; ++n) {
      vireo_graph_node node;
      if (!body_.read_node(n, &node) || node.output_count != 1 || !step(node)) return false;
    }
    return at_ == body_.output(0) && out_.scale >= 0;
  }

 private:
  bool step(const vireo_graph_node& n) {
    switch (static_cast<Op>(n.op)) {
      case Op::kConvInteger:
        if (out_.attrs != nullptr) return false;
        out_.attrs = n.attrs;
        out_.attrs_size = n.attrs_size;
        out_.x = input(n, 0);
        out_.w = input(n, 1);
        out_.x_zero = input(n, 2);
        out_.w_zero = input(n, 3);
        if (out_.x < 0 || out_.w < 0 || (n.input_count > 2 && n.inputs[2] >= 0 && out_.x_zero < 0)) return false;
        if (n.input_count > 3 && n.inputs[3] >= 0 && out_.w_zero < 0) return false;
        return is_of_y(n.outputs[0]) && follow(n);
      case Op::kCast:
        return out_.attrs != nullptr && !cast_ && n.inputs[0] == at_ && (cast_ = true) && follow(n);
      case Op::kMul: {
        if (n.inputs[0] != at_ && n.inputs[1] != at_) {  // of the two scales
          const int32_t a = input(n, 0), b = input(n, 1);
          if (pair_ >= 0 || !one_a_channel(a) || !one_a_channel(b)) return false;
          // Where it is the first node, y may lie on an operand of as many bytes; sums would overwrite that.
          if (out_.attrs == nullptr && (is_as_large(a) || is_as_large(b))) return false;
          pair_ = n.outputs[0];
          pair_inputs_[0] = a;
          pair_inputs_[1] = b;
          return true;
        }
        const uint32_t other = n.inputs[0] == at_ ? 1 : 0;
        if (!cast_ || out_.scale >= 0 || tail()) return false;
        if (pair_ >= 0 && n.inputs[other] == pair_) {
          out_.scale = pair_inputs_[0];
          out_.other_scale = pair_inputs_[1];
        } else {
          out_.scale = input(n, other);
        }
        return one_a_channel(out_.scale) && follow(n);
      }
      case Op::kAdd: {
        if (n.inputs[0] != at_ && n.inputs[1] != at_) return false;
        if (out_.scale < 0 || tail()) return false;
        out_.bias = input(n, n.inputs[0] == at_ ? 1 : 0);
        return one_a_channel(out_.bias) && follow(n);
      }
      case Op::kPRelu:
        if (n.inputs[0] != at_ || out_.scale < 0 || active()) return false;
        out_.slope = input(n, 1);
        return one_a_channel(out_.slope) && follow(n);
      default:
        return out_.scale >= 0 && !active() && n.inputs[0] == at_ && cpu::read_activation(body_, n, &out_.act) &&
               follow(n);
    }
  }

  bool active() const { return out_.slope >= 0 || out_.act.kind != cpu::Activation::kNone; }
  bool tail() const { return out_.bias >= 0 || active(); }
  bool follow(const vireo_graph_node& n) {
    at_ = n.outputs[0];
    return true;
  }
  int32_t input(const vireo_graph_node& n, uint32_t i) const {
    return i < n.input_count ? body_.input_of(n.inputs[i], q_.input_count) : -1;
  }
  bool is_as_large(int32_t i) const { return tensor_bytes(q_.inputs[i].type) == tensor_bytes(q_.outputs[0].type); }
  // The sums are not broadcast to y.
  bool is_of_y(int32_t number) const { return type_at(body_, number).shape == q_.outputs[0].type.shape; }
  // A float32 number, or one for each of the result's channels.
  bool one_a_channel(int32_t i) const {
    if (i < 0) return false;
    const GraphValue& v = q_.inputs[i];
    const Shape &s = v.type.shape, &y = q_.outputs[0].type.shape;
    if (!v.is_static || v.type.dtype != DType::kF32 || s.rank > y.rank) return false;
    for (int d = 0; d < s.rank; ++d) {
      if (s[d] != 1 && (d + y.rank - s.rank != 1 || s[d] != y[1])) return false;
    }
    return true;
  }

  const CpuQuery& q_;
  const GraphReader body_;
  State& out_;
  int32_t at_ = -1, pair_ = -1, pair_inputs_[2] = {-1, -1};
  bool cast_ = false;
};

ConvI8 conv_of(const State& s, const Shape& x, const Shape& w, const Shape& y) {
  ConvI8 c;
  c.shape = cpu::conv_shape(conv_geometry(s.conv(), x, w, y), s.conv().group());
  return c;
}

int64_t scratch_bytes(const CpuQuery& q) {
  State s;
  if (!Reader(q, &s).read()) return 0;
  return static_cast<int64_t>(cpu::conv_i8_scratch_bytes(
      conv_of(s, q.inputs[s.x].type.shape, q.inputs[s.w].type.shape, q.outputs[0].type.shape), false, q.slots));
}

void prepare(const CpuQuery& q, void* state) { (void)Reader(q, new (state) State()).read(); }

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  const auto given = [&](int32_t i) { return i < 0 ? nullptr : &ctx.required(static_cast<size_t>(i)); };
  const Tensor &x = *given(s.x), &w = *given(s.w);
  Tensor& y = *ctx.out(0);
  if (s.varies) {
    TensorType inputs[4] = {x, w};
    if (s.x_zero >= 0) inputs[2] = *given(s.x_zero);
    if (s.w_zero >= 0) inputs[3] = *given(s.w_zero);
    if (!composites::has_shape_of_output(ctx, Op::kConvInteger, {s.attrs, s.attrs_size}, inputs, 4))
      return ctx.fail(Status::kInvalidModel, "the sums have another shape than the result");
  }
  if (y.count() == 0) return Status::kOk;
  ConvI8 c = conv_of(s, x.shape, w.shape, y.shape);
  c.x_signed = x.dtype == DType::kI8;
  c.w_signed = w.dtype == DType::kI8;
  if (s.x_zero >= 0) c.x_zero = given(s.x_zero)->data;
  if (s.w_zero >= 0) c.w_zero = given(s.w_zero)->data;
  c.w_zero_per_channel = s.w_zero >= 0 && given(s.w_zero)->count() != 1;
  cpu::conv_i8(c, x.data, w.data, y.data, ctx.parallel, ctx.scratch.data());  // sums lie where the result will

  const int64_t channels = y.shape[1], area = product(y.shape, 2, y.shape.rank);
  // Element `channel` of what is one a channel or one for all.
  const auto at = [](const Tensor* t, int64_t channel) {
    return t->as<const float>() + (t->count() == 1 ? 0 : channel);
  };
  const Tensor *scale = given(s.scale), *other = given(s.other_scale), *bias = given(s.bias), *slope = given(s.slope);
  ctx.parallel.for_range(y.shape[0] * channels, 16384 / area + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t channel = plane % channels;
      const float factor = *at(scale, channel) * (other == nullptr ? 1 : *at(other, channel));
      float* const row = y.as<float>() + plane * area;
      cpu::Codes codes;
      codes.inner = area;
      codes.code = cpu::Code::kI32;
      codes.scale = &factor;
      cpu::dequantize_f32(codes, row, row, Parallel{});
      cpu::RowFinish finish;
      finish.row_bias = bias == nullptr ? 0 : *at(bias, channel);
      finish.f = cpu::activation_of_row(s.act, slope == nullptr ? nullptr : at(slope, channel));
      cpu::finish_row_f32(row, area, finish);
    }
  });
  return Status::kOk;
}

constexpr CpuKernel kKernel = {"dynamic_conv_f32_nchw", sizeof(State), scratch_bytes, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  State s;
  *reason = "its body is not an integer convolution, a scale, a bias and an activation";
  if (q.node.body == nullptr || !Reader(q, &s).read()) return nullptr;
  *reason = "tuned for NCHW alone";
  const TensorType& y = q.outputs[0].type;
  if (s.conv().layout() != 0 || y.dtype != DType::kF32 || y.shape.rank < 3 || y.shape.rank > 5) return nullptr;
  *reason = "";
  return &kKernel;
}

}  // namespace

extern const CpuOp kCpuOp_dynamic_conv;
const CpuOp kCpuOp_dynamic_conv = {"dynamic_conv", choose};

}  // namespace vireo
