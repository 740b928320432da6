#include "quant/schemes/matrix_codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "sdk/base/half.h"
#include "sdk/ops/quantize/quantize.h"

namespace vireo::quant {
namespace {

// What codes of a type may be.
struct Range {
  DType type;
  int32_t low, high;
};
constexpr Range kFourBits = {DType::kI4, -8, 7}, kEightBits = {DType::kI8, -127, 127};

// Weights that share a scale, side by side: they are gone through many times.
struct Run {
  const float* data;
  int64_t count;
  float at(int64_t i) const { return data[i]; }
};

int32_t nearest(float w, float scale, const Range& range) {
  const float q = std::nearbyint(w / scale);
  return q <= static_cast<float>(range.low)    ? range.low
         : q >= static_cast<float>(range.high) ? range.high
                                               : static_cast<int32_t>(q);
}

float largest(const Run& run) {
  float most = 0;
  for (int64_t i = 0; i < run.count; ++i) most = std::max(most, std::fabs(run.at(i)));
  return most;
}

double squared_error(const Run& run, float scale, const Range& range) {
  double sum = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const double d = static_cast<double>(run.at(i)) -
                     static_cast<double>(scale * static_cast<float>(nearest(run.at(i), scale, range)));
    sum += d * d;
  }
  return sum;
}

// The scale of the codes that `scale` gives which fits them best.
float corrected(const Run& run, float scale) {
  double up = 0, down = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const double q = nearest(run.at(i), scale, kFourBits);
    up += q * static_cast<double>(run.at(i));
    down += q * q;
  }
  const float best = down > 0 ? static_cast<float>(up / down) : scale;
  return std::isnormal(best) ? best : scale;
}

bool has_scale(float most) { return std::isnormal(most / 16); }  // else zeros, or next to nothing

float stored(float scale, bool half) { return half ? f16_to_f32(f32_to_f16(scale)) : scale; }

// `half`: among float16's numbers. Codes reach further below zero than above: a scale's sign turns that side to the
// largest weight.
float scale_of_block(const Run& run, bool half) {
  const float* const far =
      std::max_element(run.data, run.data + run.count, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  const float most = -*far;
  if (!has_scale(most)) return 1;
  float best = stored(most / 7, half);
  double least = squared_error(run, best, kFourBits);
  for (int i = 0; i < 12; ++i) {
    const float scale = stored(corrected(run, most / (7 + 0.3f * static_cast<float>(i))), half);
    const double error = squared_error(run, scale, kFourBits);
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

// A matrix, a block of a column at a time; `most` weights are in one.
class Columns {
 public:
  Columns(const ir::Constant& c, bool by_rows, int64_t most)
      : data_(static_cast<size_t>(element_count(c.tensor.type.shape))), by_rows_(by_rows) {
    std::memcpy(data_.data(), c.tensor.bytes.data(), data_.size() * sizeof(float));
    const Shape& s = c.tensor.type.shape;
    n = s[by_rows ? 0 : 1];
    k = s[by_rows ? 1 : 0];
    block = std::min(most, k);
    blocks = (k + block - 1) / block;
    local_.resize(static_cast<size_t>(block));
  }

  bool finite() const {
    return std::all_of(data_.begin(), data_.end(), [](float v) { return std::isfinite(v); });
  }
  int64_t count() const { return static_cast<int64_t>(data_.size()); }
  void multiply(const std::vector<float>& factors) {
    for (size_t i = 0; i < data_.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      data_[i] *= factors[static_cast<size_t>(by_rows_ ? at % k : at / n)];
    }
  }
  const std::vector<float>& data() const { return data_; }
  // Where weight `i` of block `b` of a column lies, and that block's scale.
  int64_t weight_at(int64_t column, int64_t b, int64_t i) const {
    return by_rows_ ? column * k + b * block + i : (b * block + i) * n + column;
  }
  int64_t scale_at(int64_t column, int64_t b) const { return by_rows_ ? column * blocks + b : b * n + column; }

  // Until the next call.
  Run run(int64_t column, int64_t b) {
    const Run out = {local_.data(), std::min(block, k - b * block)};
    for (int64_t i = 0; i < out.count; ++i)
      local_[static_cast<size_t>(i)] = data_[static_cast<size_t>(weight_at(column, b, i))];
    return out;
  }

  int64_t n = 0, k = 0, block = 0, blocks = 0;

 private:
  std::vector<float> data_, local_;
  const bool by_rows_;
};

// Whether float16 holds the scales of all blocks to a 32nd at least, which is finer than codes are.
bool fits_half(Columns& m) {
  for (int64_t column = 0; column < m.n; ++column) {
    for (int64_t b = 0; b < m.blocks; ++b) {
      const float most = largest(m.run(column, b));
      if (has_scale(most) && (most / 10.3f < 0x1p-20f || most / 5 > 65504.0f)) return false;
    }
  }
  return true;
}

ir::Value* scales_of(ir::Graph& g, const std::string& name, const Shape& shape, const std::vector<float>& scales,
                     bool half) {
  if (!half) return g.add_constant(name, ir::make_constant_of<float>(DType::kF32, shape, scales));
  std::vector<uint16_t> bits;
  bits.reserve(scales.size());
  for (const float s : scales) bits.push_back(f32_to_f16(s));
  return g.add_constant(name, ir::make_constant_of<uint16_t>(DType::kF16, shape, bits));
}

}  // namespace

MatrixCodes matrix_codes(ir::Graph& g, const ir::Value& w, bool by_rows, int bits, PassLog& log) {
  const Range& range = bits == 4 ? kFourBits : kEightBits;
  const Shape shape = w.type.shape;
  Columns m(*w.constant, by_rows, bits == 4 ? kCodesBlock : INT32_MAX);
  MatrixCodes out;
  out.finite = m.finite();
  if (!out.finite) return out;
  out.block = static_cast<int32_t>(m.block);
  const bool half = bits == 4 && fits_half(m);
  std::vector<uint8_t> codes(static_cast<size_t>((m.count() * bits + 7) / 8));
  std::vector<float> scales(static_cast<size_t>(m.n * m.blocks));
  double signal = 0, noise = 0;
  for (int64_t column = 0; column < m.n; ++column) {
    for (int64_t b = 0; b < m.blocks; ++b) {
      const Run run = m.run(column, b);
      const float scale = bits == 4 ? scale_of_block(run, half) : scale_of_column(run);
      scales[static_cast<size_t>(m.scale_at(column, b))] = scale;
      for (int64_t i = 0; i < run.count; ++i) {
        write_code(range.type, codes.data(), m.weight_at(column, b, i),
                   static_cast<unsigned>(nearest(run.at(i), scale, range)));
        signal += static_cast<double>(run.at(i)) * static_cast<double>(run.at(i));
      }
      noise += squared_error(run, scale, range);
    }
  }
  out.codes = g.add_constant(w.name, ir::make_constant({range.type, shape}, std::move(codes)));
  Shape scale_shape;
  scale_shape.rank = 2;
  scale_shape[0] = by_rows ? m.n : m.blocks;
  scale_shape[1] = by_rows ? m.blocks : m.n;
  out.scales = scales_of(g, w.name + "_scale", scale_shape, scales, half);
  log.errors.push_back({w.name, noise > 0 ? 10 * std::log10(signal / noise) : INFINITY});
  return out;
}

double loss_of_codes(const ir::Constant& w, bool by_rows, const std::vector<float>& factors,
                     const std::vector<float>& importance) {
  Columns m(w, by_rows, kCodesBlock);
  m.multiply(factors);
  double sum = 0;
  for (int64_t column = 0; column < m.n; ++column) {
    for (int64_t b = 0; b < m.blocks; ++b) {
      const Run run = m.run(column, b);
      const float scale = scale_of_block(run, false);
      for (int64_t i = 0; i < run.count; ++i) {
        const auto at = static_cast<size_t>(b * m.block + i);
        const float d = run.at(i) - scale * static_cast<float>(nearest(run.at(i), scale, kFourBits));
        sum += std::pow(static_cast<double>(d / factors[at] * importance[at]), 2);
      }
    }
  }
  return sum;
}

ir::ConstantPtr multiply_rows(const ir::Constant& w, bool by_rows, const std::vector<float>& factors) {
  Columns m(w, by_rows, kCodesBlock);
  m.multiply(factors);
  return ir::make_constant_of<float>(DType::kF32, w.tensor.type.shape, m.data());
}

}  // namespace vireo::quant
