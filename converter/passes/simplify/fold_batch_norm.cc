// Before   x -> Conv(w, b) -> BatchNormalization(gamma, beta, mean, var, eps) -> y        also ConvTranspose and Gemm
// After    x -> Conv(w * s, (b - mean) * s + beta) -> y         s = gamma / sqrt(var + eps) in f64, per output channel
// Fires    Conv has one consumer; all parameters constant; s finite, and w * s in the range of its type; for Gemm, C
//          absent or one value a column.
// Numerics rounds each w * s once: |dy| <= u * sum |w s x|, u = 2^-24, besides the usual accumulation error.
// Idempotent.
// Source   Jacob et al. 2018, arXiv:1712.05877, section 3.2.
#include "converter/passes/simplify/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "converter/passes/shared/match.h"
#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"

namespace vireo::passes {
namespace {

bool is_core(const ir::Node& n) { return n.op == Op::kConv || n.op == Op::kGemm || n.op == Op::kConvTranspose; }

// Index of the output channel that element `i` of the weights feeds.
struct ChannelOf {
  int64_t channels;      // of the output
  int64_t outer, inner;  // weights are [outer, own, inner]; channel = group * own + position in own
  int64_t own;           // extent of the channel's own axis
  int64_t groups;        // ConvTranspose: outer is split into this many groups
  int64_t operator()(int64_t i) const {
    const int64_t position = i / inner % own;
    return groups > 1 ? i / inner / own / (outer / groups) * own + position : position;
  }
};

bool channel_of(const ir::Node& core, const Shape& w, ChannelOf* out) {
  if (core.op == Op::kConv) {
    *out = {w[0], 1, product(w, 1, w.rank), w[0], 1};
  } else if (core.op == Op::kGemm) {
    const bool transposed = core.attributes<attrs::Gemm>().trans_b();
    *out = transposed ? ChannelOf{w[0], 1, w[1], w[0], 1} : ChannelOf{w[1], w[0], 1, w[1], 1};
  } else {  // ConvTranspose: [C, O / group, kernel...]
    const Dim o = core.out()->type.shape[1];
    if (is_symbolic(o) || w[1] == 0 || o % w[1] != 0) return false;
    *out = {o, w[0], product(w, 2, w.rank), w[1], o / w[1]};
  }
  return out->channels > 0 && out->inner > 0 && out->outer % out->groups == 0;
}

// Whether rounding to its type made no number infinite and, where `digits` count, the largest not so small that it lost
// them. (Single small ones do so where a channel is all but switched off.)
bool survives(const std::vector<double>& exact, const ir::Constant& rounded, bool digits) {
  const std::vector<double> kept = reals(rounded);
  double top = 0, top_kept = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(exact[i])) continue;
    if (!std::isfinite(kept[i])) return false;
    top = std::max(top, std::fabs(exact[i]));
    top_kept = std::max(top_kept, std::fabs(kept[i]));
  }
  return !digits || std::fabs(top_kept - top) <= top / 128;
}

// Null when it fits, else the reason.
const char* fold(ir::Graph& g, ir::Node& bn, ir::Node& core) {
  const auto& a = bn.attributes<attrs::BatchNormalization>();
  if (a.training_mode()) return "training mode";
  if (only_user(core.out()) != &bn) return core.out()->uses.size() > 1 ? "2 consumers" : "its result is an output";
  if (bn.outputs.size() > 1) {
    for (size_t i = 1; i < bn.outputs.size(); ++i) {
      if (bn.outputs[i] != nullptr && !bn.outputs[i]->unused()) return "running statistics are used";
    }
  }
  ir::Value* w = core.in(1);
  ir::Value* b = core.in(2);
  if (w == nullptr || w->constant == nullptr || (b != nullptr && b->constant == nullptr))
    return "weights are not constant";
  for (size_t i = 1; i < 5; ++i) {
    if (bn.in(i) == nullptr || bn.in(i)->constant == nullptr) return "parameters are not constant";
    if (bn.in(i)->type.shape.rank != 1) return "one parameter an activation";
  }
  const DType dtype = w->type.dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kF16 && dtype != DType::kBF16)
    return "not floating point";
  if (core.op == Op::kConv && core.attributes<attrs::Conv>().layout() != a.layout()) return "layouts differ";
  if (core.op == Op::kGemm &&
      (core.attributes<attrs::Gemm>().alpha() != 1 || core.attributes<attrs::Gemm>().beta() != 1)) {
    return "alpha or beta is not 1";
  }
  ChannelOf channel{};
  if (!channel_of(core, w->type.shape, &channel)) return "its channels are not known";
  const size_t channels = static_cast<size_t>(channel.channels);
  const std::vector<double> gamma = reals(*bn.in(1)->constant), beta = reals(*bn.in(2)->constant),
                            mean = reals(*bn.in(3)->constant), var = reals(*bn.in(4)->constant);
  if (gamma.size() != channels || beta.size() != channels || mean.size() != channels || var.size() != channels) {
    return "parameters do not fit its channels";
  }
  std::vector<double> bias(channels, 0.0);
  if (b != nullptr) {
    const std::vector<double> given = reals(*b->constant);
    if (given.size() != channels || b->type.shape.rank < 1 ||
        b->type.shape[b->type.shape.rank - 1] != channel.channels) {
      return "its bias is not one value a channel";
    }
    bias = given;
  }
  std::vector<double> scale(channels);
  for (size_t k = 0; k < channels; ++k) {
    scale[k] = gamma[k] / std::sqrt(var[k] + static_cast<double>(a.epsilon()));
    bias[k] = (bias[k] - mean[k]) * scale[k] + beta[k];
    if (!std::isfinite(scale[k]) || !std::isfinite(bias[k])) return "a scale is not finite";
  }
  std::vector<double> weights = reals(*w->constant);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] *= scale[static_cast<size_t>(channel(static_cast<int64_t>(i)))];

  Shape vector;
  vector.rank = 1;
  vector[0] = channel.channels;
  const ir::ConstantPtr folded = from_reals(dtype, w->type.shape, weights), shift = from_reals(dtype, vector, bias);
  if (!survives(weights, *folded, true) || !survives(bias, *shift, false))
    return "a weight leaves the range of its type";
  g.set_input(&core, 1, g.add_constant(w->name + "'", folded));
  ir::Value* new_bias = g.add_constant((b == nullptr ? w->name + ".bias" : b->name) + "'", shift);
  if (core.inputs.size() < 3) {
    g.add_operand(&core, new_bias);
  } else {
    g.set_input(&core, 2, new_bias);
  }
  std::swap(core.out()->name, bn.out()->name);  // it computes what the normalisation did
  core.out()->type = bn.out()->type;
  g.replace_uses(bn.out(), core.out());
  g.remove(&bn);
  return nullptr;
}

void run_fold_batch_norm(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it++;
    if (n.op != Op::kBatchNormalization || n.in(0)->producer == nullptr || !is_core(*n.in(0)->producer)) continue;
    ir::Node& core = *n.in(0)->producer;
    const char* reason = fold(g, n, core);
    if (reason == nullptr) {
      log.changed();
    } else {
      log.reject(core, reason);
    }
  }
}

}  // namespace

const Pass kFoldBatchNorm = {"fold_batch_norm", run_fold_batch_norm};

}  // namespace vireo::passes
