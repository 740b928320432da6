// Before   x -> Gemm | MatMul | Conv (weights, bias) -> y, float32
// After    x -> DynamicQuantizeLinear -> MatMulInteger | ConvInteger (weights in int8) -> Cast to float32
//          -> Mul(x's scale times the weights') -> Add(bias) -> y
// Fires    the weights are one constant, finite tensor (of a product: a matrix); Gemm with x as it lies, alpha 1 and a
//          bias of one value a column; sums stay in int32. What several products read is quantized once. Idempotent:
//          what it makes are other operators.
// Numerics codes of w: -127..127, a 127th of the output channel's largest; of x: uint8 from its least to its largest
//          value and 0, of the whole tensor in each run. |dy| <= sum |w| sx / 2 + sum (|x| + sx / 2) sw / 2.
// Source   ONNX opset 11 "DynamicQuantizeLinear"; Jacob et al. 2018, arXiv:1712.05877, section 2.
//
// fuse_dynamic_quantization makes one node of each product, as of strangers' files of this form.
#include "quant/schemes/dynamic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/infer.h"
#include "quant/schemes/products16.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/view.h"

namespace vireo::quant {
namespace {

constexpr int64_t kLongestSum = 66311;  // 2^31 / (255 * 127)

const ir::Constant* weights_of(const ir::Node& n) {
  const ir::Value* w = n.in(1);
  return w == nullptr ? nullptr : w->constant.get();
}

// Whether it is a product that can be dynamic; `reason` says why one is left, and stays empty for other nodes.
bool is_dynamic(const ir::Node& n, std::string* reason) {
  const bool product = n.op == Op::kGemm || n.op == Op::kMatMul || n.op == Op::kConv;
  const bool other = n.op == Op::kConvTranspose || n.op == Op::kLSTM || n.op == Op::kGRU || n.op == Op::kRNN;
  if ((!product && !other) || n.in(0) == nullptr || n.in(0)->type.dtype != DType::kF32) return false;
  const ir::Constant* w = weights_of(n);
  if (other) {
    if (w != nullptr) *reason = "there is no integer form of it whose values are quantized in the run: stays float32";
    return false;
  }
  if (n.outputs.size() != 1 || n.in(1) == nullptr || n.in(1)->type.dtype != DType::kF32) return false;
  if (w == nullptr) {
    if (n.in(1)->producer == nullptr || n.in(1)->producer->op != Op::kDequantizeLinear)
      *reason = "weights that are computed stay float32";
    return false;
  }
  const Shape& shape = w->tensor.type.shape;
  if (w->tensor.count() == 0) {
    *reason = "empty weights stay float32";
    return false;
  }
  if (n.op == Op::kConv) {
    if (n.in(2) == nullptr || n.in(2)->constant != nullptr) return true;
    *reason = "a bias that is computed: stays float32";
    return false;
  }
  if (shape.rank != 2 || n.in(0)->type.shape.rank < 2) {
    *reason = "weights other than one matrix stay float32";
    return false;
  }
  if (n.op == Op::kMatMul) return true;
  if (!is_gemm_by_rows(n, reason)) return false;
  if (n.attributes<attrs::Gemm>().alpha() == 1) return true;
  *reason = "its alpha is not 1: stays float32";
  return false;
}

// Weights in int8 with a scale for each output channel, as the integer operator has them: filters, or [K, N].
struct ChannelCodes {
  Shape shape;
  std::vector<int8_t> codes;
  std::vector<float> scales;
  double signal = 0, noise = 0;
  bool finite = true;
  int64_t per_channel = 0;
};

ChannelCodes code_channels(const ir::Constant& w, int channel_axis, bool turned) {
  ChannelCodes out;
  out.shape = w.tensor.type.shape;
  const int64_t count = w.tensor.count(), channels = out.shape[channel_axis];
  out.per_channel = count / channels;
  int64_t inner = 1;
  for (int i = channel_axis + 1; i < out.shape.rank; ++i) inner *= out.shape[i];
  const auto channel = [&](int64_t i) { return static_cast<size_t>(i / inner % channels); };
  const auto at = [&](int64_t i) { return static_cast<float>(read_real(DType::kF32, w.tensor.bytes.data(), i)); };
  out.scales.assign(static_cast<size_t>(channels), 0);
  for (int64_t i = 0; i < count; ++i) {
    out.finite = out.finite && std::isfinite(at(i));
    out.scales[channel(i)] = std::max(out.scales[channel(i)], std::fabs(at(i)) / 127);
  }
  for (float& s : out.scales) s = std::isnormal(s) ? s : 1.0f / 127;  // nothing but zeros
  out.codes.resize(static_cast<size_t>(count));
  for (int64_t i = 0; out.finite && i < count; ++i) {
    const float s = out.scales[channel(i)];
    const float code = std::clamp(std::nearbyint(at(i) / s), -127.0f, 127.0f);
    // [N, K] becomes [K, N].
    const int64_t to = turned ? i % out.shape[1] * out.shape[0] + i / out.shape[1] : i;
    out.codes[static_cast<size_t>(to)] = static_cast<int8_t>(code);
    const double x = static_cast<double>(at(i)), d = x - static_cast<double>(code * s);
    out.signal += x * x;
    out.noise += d * d;
  }
  if (turned) std::swap(out.shape[0], out.shape[1]);
  return out;
}

class Dynamic {
 public:
  Dynamic(ir::Graph& g, PassLog& log) : g_(g), log_(log) {}

  void run() {
    std::vector<ir::Node*> products;
    for (ir::Node& n : g_.nodes()) {
      std::string reason;
      if (is_dynamic(n, &reason)) {
        products.push_back(&n);
      } else if (!reason.empty()) {
        log_.reject(n, reason);
      }
    }
    for (size_t i = 0; i < products.size(); ++i) {
      if (log_.progress)
        log_.progress(products[i]->in(1)->name, static_cast<double>(i) / static_cast<double>(products.size()));
      change(*products[i]);
    }
    g_.drop_unused_values();
  }

 private:
  ir::Node* add(Op op, std::vector<uint8_t> attributes, std::vector<ir::Value*> inputs, const ir::Node& like,
                const std::string& name, size_t outputs = 1) {
    ir::Node* n = g_.add_node(op, std::move(attributes), std::move(inputs), outputs, before_);
    n->name = like.name;
    for (size_t i = 0; i < outputs; ++i) n->out(i)->name = name + (i == 0 ? "" : i == 1 ? "_scale" : "_zero");
    std::string message;
    (void)ir::infer_node(g_, n, nullptr, &message);
    return n;
  }

  // In front of the first product that reads `x`.
  ir::Node* quantized(ir::Value* x, const ir::Node& like) {
    ir::Node*& known = quantized_[x];
    if (known == nullptr)
      known = add(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}), {x},
                  like, x->name + "_codes", 3);
    return known;
  }

  void change(ir::Node& n) {
    const bool conv = n.op == Op::kConv;
    const bool turned = n.op == Op::kGemm && n.attributes<attrs::Gemm>().trans_b();
    const ChannelCodes codes = code_channels(*weights_of(n), conv || turned ? 0 : 1, turned);
    if (!codes.finite) return log_.reject(n, "a weight is not finite: stays float32");
    if (codes.per_channel > kLongestSum)
      return log_.reject(n, "its sums are so long that they may leave int32: stays float32");
    before_ = &n;
    const std::string y = n.out()->name;
    ir::Node* q = quantized(n.in(0), n);
    ir::Value* w = g_.add_constant(n.in(1)->name, ir::make_constant_of<int8_t>(DType::kI8, codes.shape, codes.codes));
    ir::Node* sums = nullptr;
    if (conv) {
      const auto from = std::unique_ptr<attrs::ConvT>(n.attributes<attrs::Conv>().UnPack());
      attrs::ConvIntegerT a;
      a.strides = from->strides;
      a.dilations = from->dilations;
      a.pads = from->pads;
      a.auto_pad = from->auto_pad;
      a.layout = from->layout;
      a.group = from->group;
      sums = add(Op::kConvInteger, pack<attrs::ConvInteger>(a), {q->out(), w, q->out(2)}, n, y + "_sums");
    } else {
      sums = add(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}), {q->out(), w, q->out(2)}, n,
                 y + "_sums");
    }
    attrs::CastT cast;
    cast.to = static_cast<uint8_t>(DType::kF32);
    ir::Value* real = add(Op::kCast, pack<attrs::Cast>(cast), {sums->out()}, n, y + "_real")->out();
    const std::vector<uint8_t> binary = pack<attrs::Binary>(attrs::BinaryT{});
    const int rank = conv ? n.out()->type.shape.rank : 1;
    ir::Value* scale =
        g_.add_constant(n.in(1)->name + "_scale",
                        ir::make_constant_of<float>(
                            DType::kF32, channels(static_cast<int64_t>(codes.scales.size()), rank), codes.scales));
    ir::Value* both = add(Op::kMul, binary, {q->out(1), scale}, n, y + "_scale")->out();
    ir::Value* result = add(Op::kMul, binary, {real, both}, n, y + "_scaled")->out();
    if (n.in(2) != nullptr) {
      const int64_t count = element_count(n.in(2)->type.shape);
      ir::Value* bias = n.in(2);
      if (conv) bias = g_.add_constant(bias->name, ir::with_shape(bias->constant, channels(count, rank)));
      result = add(Op::kAdd, binary, {result, bias}, n, y)->out();
    }
    result->name = y;
    g_.replace_uses(n.out(), result);
    g_.remove(&n);
    log_.errors.push_back({w->name, codes.noise > 0 ? 10 * std::log10(codes.signal / codes.noise) : INFINITY});
    log_.changed();
  }

  // [N], or [1, C, 1, ...] beside a result of `rank`.
  static Shape channels(int64_t count, int rank) {
    Shape s;
    s.rank = rank;
    for (int i = 0; i < rank; ++i) s[i] = 1;
    s[rank == 1 ? 0 : 1] = count;
    return s;
  }

  ir::Graph& g_;
  PassLog& log_;
  ir::Node* before_ = nullptr;
  std::map<const ir::Value*, ir::Node*> quantized_;
};

void run_dynamic(ir::Graph& g, PassLog& log) { Dynamic(g, log).run(); }

}  // namespace

const Scheme kInt8Dynamic = {
    "int8-dynamic",
    "products and convolutions in 8 bits, their values quantized in each run: a quarter of the size, no sample data",
    run_dynamic,
    0.1,
    nullptr,
    StagePlace::kBeforeQuantized};

}  // namespace vireo::quant
