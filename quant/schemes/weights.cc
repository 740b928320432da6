// Before   x -> Gemm | MatMul (weights, bias) -> y, float32
// After    x -> the same (DequantizeLinear of weights in codes, bias) -> y
// Fires    the weights are one constant, finite matrix; Gemm with x as it lies and a bias of one value a column.
//          Idempotent: what has its DequantizeLinear is left.
// Numerics x, sums, bias and what follows are float32 as before; each weight is off by at most half a step of its
//          scale, or by what was cut off. int8-weights: steps of a 127th of the column's largest weight. int4: codes of
//          -8..7 for 32 weights of a column each, whose scale makes the sum of squared errors small: the largest weight
//          over 7 .. 10.3, each corrected to the best scale for its codes (least squares). What that costs is
//          measured: the signal to noise of each tensor, 10 log10(sum w^2 / sum (w - w')^2), stands in the report.
// Source   Frantar et al. 2022, arXiv:2210.17323, section 4 (blocks of weights); the search is plain.
//
// Spelled in standard operators, the file means the same to a runtime that knows nothing of this; the converter's
// fuse_epilogue makes one node of the codes, the product and what follows it.
#include "quant/schemes/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "quant/schemes/products16.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/quantize/quantize.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/view.h"

namespace vireo::quant {
namespace {

constexpr int64_t kBlock = 32;

// A product of the kinds above; `reason` says why it is left.
bool is_for_it(const ir::Node& n, std::string* reason) {
  if (n.op == Op::kConv || n.op == Op::kConvTranspose) {
    const ir::Value* w = n.in(1);
    if (w != nullptr && w->constant != nullptr && w->type.dtype == DType::kF32)
      *reason = "weights of a convolution stay float32";
    return false;
  }
  if ((n.op != Op::kGemm && n.op != Op::kMatMul) || n.outputs.size() != 1) return false;
  const ir::Value *x = n.in(0), *w = n.in(1);
  if (x == nullptr || w == nullptr || n.out()->type.dtype != DType::kF32 || w->type.dtype != DType::kF32) return false;
  if (w->producer != nullptr && w->producer->op == Op::kDequantizeLinear) return false;  // has its codes
  if (w->constant == nullptr) {
    *reason = "weights that are computed stay float32";
    return false;
  }
  if (w->type.shape.rank != 2 || x->type.shape.rank < 2 || element_count(w->constant->tensor.type.shape) == 0) {
    *reason = "weights other than one matrix stay float32";
    return false;
  }
  return n.op == Op::kMatMul || is_gemm_by_rows(n, reason);
}

struct Coded {
  ir::Value *codes = nullptr, *scales = nullptr;
  bool finite = false;
};

// Weights that share a scale, side by side: they are gone through many times.
struct Run {
  const float* data;
  int64_t count;
  float at(int64_t i) const { return data[i]; }
};

int32_t nearest(float w, float scale, int32_t low, int32_t high) {
  const float q = std::nearbyint(w / scale);
  return q <= static_cast<float>(low) ? low : q >= static_cast<float>(high) ? high : static_cast<int32_t>(q);
}

float largest(const Run& run) {
  float most = 0;
  for (int64_t i = 0; i < run.count; ++i) most = std::max(most, std::fabs(run.at(i)));
  return most;
}

double squared_error(const Run& run, float scale, int32_t low, int32_t high) {
  double sum = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const double d = static_cast<double>(run.at(i)) -
                     static_cast<double>(scale * static_cast<float>(nearest(run.at(i), scale, low, high)));
    sum += d * d;
  }
  return sum;
}

// The scale of the codes that `scale` gives which fits them best.
float corrected(const Run& run, float scale) {
  double up = 0, down = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const double q = nearest(run.at(i), scale, -8, 7);
    up += q * static_cast<double>(run.at(i));
    down += q * q;
  }
  const float best = down > 0 ? static_cast<float>(up / down) : scale;
  return best > 0 && std::isnormal(best) ? best : scale;
}

float scale_of_block(const Run& run) {
  const float most = largest(run);
  if (!std::isnormal(most / 16)) return 1;  // zeros, or next to nothing
  float best = most / 7;
  double least = squared_error(run, best, -8, 7);
  for (int i = 0; i < 12; ++i) {
    const float scale = corrected(run, most / (7 + 0.3f * static_cast<float>(i)));
    const double error = squared_error(run, scale, -8, 7);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

float scale_of_column(const Run& run) {
  const float most = largest(run);
  return std::isnormal(most / 127) ? most / 127 : 1;
}

// Codes of [N, K] (transposed) or [K, N].
Coded coded(ir::Graph& g, const ir::Value& w, bool transposed, int bits, PassLog& log) {
  const ir::Constant& c = *w.constant;
  const Shape shape = c.tensor.type.shape;
  std::vector<float> data(static_cast<size_t>(element_count(shape)));
  std::memcpy(data.data(), c.tensor.bytes.data(), data.size() * sizeof(float));
  Coded out;
  out.finite = std::all_of(data.begin(), data.end(), [](float v) { return std::isfinite(v); });
  if (!out.finite) return out;
  const int64_t n = shape[transposed ? 0 : 1], k = shape[transposed ? 1 : 0];
  const int64_t block = bits == 4 ? std::min(kBlock, k) : k, blocks = (k + block - 1) / block;
  const int64_t n_step = transposed ? k : 1, k_step = transposed ? 1 : n;
  const int32_t low = bits == 4 ? -8 : -127, high = bits == 4 ? 7 : 127;
  const DType type = bits == 4 ? DType::kI4 : DType::kI8;
  std::vector<uint8_t> codes((data.size() * static_cast<size_t>(bits) + 7) / 8);
  std::vector<float> scales(static_cast<size_t>(n * blocks));
  std::vector<float> local(static_cast<size_t>(block));
  double signal = 0, noise = 0;
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = column * n_step + b * block * k_step;
      const Run run = {local.data(), std::min(block, k - b * block)};
      for (int64_t i = 0; i < run.count; ++i)
        local[static_cast<size_t>(i)] = data[static_cast<size_t>(first + i * k_step)];
      const float scale = bits == 4 ? scale_of_block(run) : scale_of_column(run);
      scales[static_cast<size_t>(transposed ? column * blocks + b : b * n + column)] = scale;
      for (int64_t i = 0; i < run.count; ++i) {
        const int32_t q = nearest(run.at(i), scale, low, high);
        write_code(type, codes.data(), first + i * k_step, static_cast<unsigned>(q));
        signal += static_cast<double>(run.at(i)) * static_cast<double>(run.at(i));
      }
      noise += squared_error(run, scale, low, high);
    }
  }
  out.codes = g.add_constant(w.name, ir::make_constant({type, shape}, std::move(codes)));
  Shape scale_shape;
  scale_shape.rank = bits == 4 ? 2 : 1;
  scale_shape[0] = bits == 4 && !transposed ? blocks : n;
  if (bits == 4) scale_shape[1] = transposed ? blocks : n;
  out.scales = g.add_constant(w.name + "_scale", ir::make_constant_of<float>(DType::kF32, scale_shape, scales));
  log.errors.push_back({w.name, noise > 0 ? 10 * std::log10(signal / noise) : INFINITY});
  return out;
}

void run_bits(ir::Graph& g, int bits, PassLog& log) {
  std::vector<ir::Node*> products;
  for (ir::Node& n : g.nodes()) {
    std::string reason;
    if (is_for_it(n, &reason)) {
      products.push_back(&n);
    } else if (!reason.empty()) {
      log.reject(n, reason);
    }
  }
  const auto bytes_of = [](const ir::Node& n) { return static_cast<double>(n.in(1)->constant->tensor.bytes.size()); };
  double all = 0, behind = 0;
  for (const ir::Node* n : products) all += bytes_of(*n);
  std::map<std::pair<const ir::Constant*, bool>, Coded> done;  // weights that several products share stay shared
  for (ir::Node* n : products) {
    const bool transposed = n->op == Op::kGemm && n->attributes<attrs::Gemm>().trans_b();
    const ir::Value& w = *n->in(1);
    const auto key = std::make_pair(static_cast<const ir::Constant*>(w.constant.get()), transposed);
    if (log.progress) log.progress(w.name, behind / all);
    behind += bytes_of(*n);
    if (done.find(key) == done.end()) done[key] = coded(g, w, transposed, bits, log);
    const Coded& c = done[key];
    if (!c.finite) {
      log.reject(*n, "a weight is not finite: stays float32");
      continue;
    }
    attrs::DequantizeLinearT a;
    const int32_t k_axis = transposed ? 1 : 0;
    a.axis = bits == 4 ? k_axis : 1 - k_axis;
    if (bits == 4) a.block_size = static_cast<int32_t>(std::min<int64_t>(kBlock, w.type.shape[k_axis]));
    ir::Node* wide = g.add_node(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), {c.codes, c.scales}, 1, n);
    wide->name = n->name;
    wide->out()->name = w.name + "_wide";
    wide->out()->type = w.type;
    g.set_input(n, 1, wide->out());
    ++log.changes;
  }
  g.drop_unused_values();
}

void run_int4(ir::Graph& g, PassLog& log) { run_bits(g, 4, log); }
void run_int8(ir::Graph& g, PassLog& log) { run_bits(g, 8, log); }

}  // namespace

const Scheme kInt4 = {"int4", "weights of Gemm and MatMul in 4 bits, a scale for each 32: a sixth of the size",
                      run_int4, 0.5};
const Scheme kInt8Weights = {
    "int8-weights", "weights of Gemm and MatMul in 8 bits, a scale a column: a quarter of the size", run_int8, 0.05};

}  // namespace vireo::quant
