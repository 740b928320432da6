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
constexpr int kSweeps = 3;  // of coordinate descent; few codes change after the second
constexpr Range kFourBits = {DType::kI4, -8, 7}, kEightBits = {DType::kI8, -127, 127};

// Weights that share a scale, side by side: they are gone through many times.
struct Run {
  const float* data;
  int64_t count;
  float at(int64_t i) const { return data[i]; }
};

// The sum has no room for halves: it rounds to the nearest, to even where two are as near, and no function is called.
constexpr float kNoHalves = 0x1.8p23f;

float nearest_of(float w, float scale, float low, float high) {
  return std::min(std::max(w / scale, low), high) + kNoHalves - kNoHalves;
}

int32_t nearest(float w, float scale, const Range& range) {
  return static_cast<int32_t>(nearest_of(w, scale, static_cast<float>(range.low), static_cast<float>(range.high)));
}

float largest(const Run& run) {
  float most = 0;
  for (int64_t i = 0; i < run.count; ++i) most = std::max(most, std::fabs(run.at(i)));
  return most;
}

// How much a weight's error counts.
struct Evenly {
  double operator()(int64_t) const { return 1; }
};
struct By {
  const double* weights;
  double operator()(int64_t i) const { return weights[i]; }
};

template <class Weight>
double squared_error(const Run& run, float scale, const Range& range, const Weight& weight) {
  const auto low = static_cast<float>(range.low), high = static_cast<float>(range.high);
  double sum = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const double d =
        static_cast<double>(run.at(i)) - static_cast<double>(scale * nearest_of(run.at(i), scale, low, high));
    sum += weight(i) * d * d;
  }
  return sum;
}

// The scale of the codes that `scale` gives which fits them best.
template <class Weight>
float corrected(const Run& run, float scale, const Weight& weight) {
  double up = 0, down = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const double q = nearest(run.at(i), scale, kFourBits);
    up += weight(i) * q * static_cast<double>(run.at(i));
    down += weight(i) * q * q;
  }
  const float best = down > 0 ? static_cast<float>(up / down) : scale;
  return std::isnormal(best) ? best : scale;
}

// Else zeros, or next to nothing.
bool has_scale(float most, bool half) { return half ? std::fabs(most) >= 0x1p-20f : std::isnormal(most / 16); }

float stored(float scale, bool half) { return half ? f16_to_f32(f32_to_f16(scale)) : scale; }

// `half`: among float16's numbers. Codes reach further below zero than above: a scale's sign turns that side to the
// largest weight.
template <class Weight = Evenly>
float scale_of_block(const Run& run, bool half, const Weight& weight = {}) {
  const float* const far =
      std::max_element(run.data, run.data + run.count, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  const float most = -*far;
  if (!has_scale(most, half)) return 1;
  float best = stored(most / 7, half);
  double least = squared_error(run, best, kFourBits, weight);
  for (int i = 0; i < 12; ++i) {
    const float scale = stored(corrected(run, most / (7 + 0.3f * static_cast<float>(i)), weight), half);
    const double error = squared_error(run, scale, kFourBits, weight);
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
  // The constant outlives it.
  Columns(const ir::Constant& c, bool by_rows, int64_t most)
      : data_(reinterpret_cast<const float*>(c.tensor.bytes.data()),
              static_cast<size_t>(element_count(c.tensor.type.shape))),
        by_rows_(by_rows) {
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
  // As if the weights were multiplied so.
  std::vector<float> multiplied(const std::vector<float>& factors) const {
    std::vector<float> out(data_.begin(), data_.end());
    for (size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      out[i] *= factors[static_cast<size_t>(by_rows_ ? at % k : at / n)];
    }
    return out;
  }
  float at(int64_t i) const { return data_[static_cast<size_t>(i)]; }
  // Where weight `i` of block `b` of a column lies, and that block's scale.
  int64_t weight_at(int64_t column, int64_t b, int64_t i) const {
    return by_rows_ ? column * k + b * block + i : (b * block + i) * n + column;
  }
  int64_t scale_at(int64_t column, int64_t b) const { return by_rows_ ? column * blocks + b : b * n + column; }

  // Until the next call.
  Run run(int64_t column, int64_t b) {
    const Run out = {local_.data(), std::min(block, k - b * block)};
    for (int64_t i = 0; i < out.count; ++i) local_[static_cast<size_t>(i)] = at(weight_at(column, b, i));
    return out;
  }
  // The same of weights whose rows k are multiplied by factors[k].
  Run run(int64_t column, int64_t b, const std::vector<float>& factors) {
    const Run out = run(column, b);
    for (int64_t i = 0; i < out.count; ++i)
      local_[static_cast<size_t>(i)] *= factors[static_cast<size_t>(b * block + i)];
    return out;
  }

  int64_t n = 0, k = 0, block = 0, blocks = 0;

 private:
  const Span<const float> data_;
  std::vector<float> local_;
  const bool by_rows_;
};

// Whether float16 holds the scales of all blocks to a 32nd at least, which is finer than codes are.
bool fits_half(Columns& m) {
  for (int64_t column = 0; column < m.n; ++column) {
    for (int64_t b = 0; b < m.blocks; ++b) {
      const float most = largest(m.run(column, b));
      if (has_scale(most, false) && (most / 10.3f < 0x1p-20f || most / 5 > 65504.0f)) return false;
    }
  }
  return true;
}

// A matrix and the codes that are made of it.
class Coding {
 public:
  Coding(const ir::Constant& w, bool by_rows, int bits)
      : m_(w, by_rows, bits == 4 ? kCodesBlock : INT32_MAX), range_(bits == 4 ? kFourBits : kEightBits) {
    out_.shape = w.tensor.type.shape;
    out_.by_rows = by_rows;
    out_.bits = bits;
    out_.block = m_.block;
    out_.finite = m_.finite();
    if (!out_.finite) return;
    out_.half = bits == 4 && fits_half(m_);
    out_.codes.resize(static_cast<size_t>((m_.count() * bits + 7) / 8));
    out_.scales.resize(static_cast<size_t>(m_.n * m_.blocks));
  }

  CodedMatrix nearest_codes() {
    for (int64_t column = 0; column < m_.n && out_.finite; ++column) {
      for (int64_t b = 0; b < m_.blocks; ++b) {
        const Run run = m_.run(column, b);
        const float scale = scale_of(run, nullptr);
        set_scale(column, b, scale);
        for (int64_t i = 0; i < run.count; ++i) set_code(column, b, i, nearest(run.at(i), scale, range_));
        count(run, squared_error(run, scale, range_, Evenly()));
      }
    }
    return finished();
  }

  CodedMatrix fed_back_codes(const RoundingTarget& target, RoundingLoss* sums) {
    Column nearest_ones(m_.k, m_.blocks), fed_back(m_.k, m_.blocks);
    std::vector<double> wanted(static_cast<size_t>(m_.k));
    for (int64_t column = 0; column < m_.n && out_.finite; ++column) {
      for (int64_t k = 0; k < m_.k; ++k) wanted[static_cast<size_t>(k)] = at(column, k);
      if (target.wanted) target.wanted(&wanted);
      fill(wanted, nullptr, &nearest_ones);
      fill(wanted, target.moment, &fed_back);
      const double plain = loss(wanted, nearest_ones, *target.moment), fed = loss(wanted, fed_back, *target.moment);
      Column& best = fed < plain ? fed_back : nearest_ones;
      const double won = refine(wanted, *target.moment, &best);
      sums->energy += target.moment->of(wanted.data());
      sums->nearest += plain;
      sums->taken += std::min(plain, fed) - won;
      take(column, best);
    }
    return finished();
  }

 private:
  // A column's codes while they are chosen.
  struct Column {
    Column(int64_t k, int64_t blocks) : codes(static_cast<size_t>(k)), scales(static_cast<size_t>(blocks)) {}
    std::vector<int32_t> codes;
    std::vector<float> scales;
  };

  double at(int64_t column, int64_t k) const {
    return static_cast<double>(m_.at(m_.weight_at(column, k / m_.block, k % m_.block)));
  }

  double meant(const Column& c, int64_t k) const {
    const auto i = static_cast<size_t>(k);
    return static_cast<double>(c.scales[i / static_cast<size_t>(m_.block)]) * c.codes[i];
  }

  // Errors count by `weights`, where there are any.
  float scale_of(const Run& run, const double* weights) const {
    if (out_.bits != 4) return scale_of_column(run);
    return weights == nullptr ? scale_of_block(run, out_.half) : scale_of_block(run, out_.half, By{weights});
  }

  // With feedback where there is a moment: later weights take back what the earlier ones are off by. A block's scale is
  // that of its weights as they are by then.
  void fill(std::vector<double> w, const Moment* moment, Column* out) const {
    std::vector<float> local(static_cast<size_t>(m_.block));
    for (int64_t b = 0; b < m_.blocks; ++b) {
      const int64_t first = b * m_.block, last = std::min(first + m_.block, m_.k);
      for (int64_t k = first; k < last; ++k)
        local[static_cast<size_t>(k - first)] = static_cast<float>(w[static_cast<size_t>(k)]);
      const Run run = {local.data(), last - first};
      const float scale = scale_of(run, moment == nullptr ? nullptr : moment->diagonal() + first);
      out->scales[static_cast<size_t>(b)] = scale;
      for (int64_t k = first; k < last; ++k) {
        const auto i = static_cast<size_t>(k);
        out->codes[i] = nearest(static_cast<float>(w[i]), scale, range_);
        if (moment == nullptr) continue;
        const double* const u = moment->feedback(k);
        const double off = (w[i] - meant(*out, k)) / u[k];
        for (int64_t j = k + 1; j < m_.k; ++j) w[static_cast<size_t>(j)] -= off * u[j];
      }
    }
  }

  // Coordinate descent from the codes that there are: each block's scale becomes the best one for its codes, each code
  // the best one beside all others. What is lost never rises. Returns what it fell by.
  double refine(const std::vector<double>& wanted, const Moment& moment, Column* c) const {
    const auto size = static_cast<size_t>(m_.k);
    std::vector<double> slope(size, 0), turned(size);  // H (wanted - w'), H q of a block's codes
    for (size_t i = 0; i < size; ++i) {
      const auto k = static_cast<int64_t>(i);
      moment.add_row(k, wanted[i] - meant(*c, k), slope.data());
    }
    double won = 0;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const double before = won;
      for (int64_t b = 0; b < m_.blocks; ++b) {
        const int64_t first = b * m_.block, last = std::min(first + m_.block, m_.k);
        won += refine_scale(moment, first, last, &c->scales[static_cast<size_t>(b)], *c, &slope, &turned);
        won += refine_codes(moment, first, last, c->scales[static_cast<size_t>(b)], c, &slope);
      }
      if (won == before) break;
    }
    return won;
  }

  double refine_scale(const Moment& moment, int64_t first, int64_t last, float* scale, const Column& c,
                      std::vector<double>* slope, std::vector<double>* turned) const {
    std::fill(turned->begin(), turned->end(), 0.0);
    double along = 0, square = 0;  // q^T H e, q^T H q
    for (int64_t k = first; k < last; ++k) {
      const auto i = static_cast<size_t>(k);
      along += c.codes[i] * (*slope)[i];
      if (c.codes[i] != 0) moment.add_row(k, c.codes[i], turned->data());
    }
    for (int64_t k = first; k < last; ++k)
      square += c.codes[static_cast<size_t>(k)] * (*turned)[static_cast<size_t>(k)];
    if (!(square > 0)) return 0;
    const float now = stored(static_cast<float>(static_cast<double>(*scale) + along / square), out_.half);
    const double step = static_cast<double>(now) - static_cast<double>(*scale),
                 won = step * (2 * along - step * square);
    if (!(won > 0) || (out_.half ? std::fabs(now) < 0x1p-20f : !std::isnormal(now))) return 0;
    *scale = now;
    for (size_t i = 0; i < slope->size(); ++i) (*slope)[i] -= step * (*turned)[i];
    return won;
  }

  double refine_codes(const Moment& moment, int64_t first, int64_t last, float scale, Column* c,
                      std::vector<double>* slope) const {
    double won = 0;
    for (int64_t k = first; k < last; ++k) {
      const auto i = static_cast<size_t>(k);
      const double square = moment.diagonal()[k], step_to = (*slope)[i] / square;
      const int32_t was = c->codes[i];
      const int32_t now = nearest(static_cast<float>(static_cast<double>(scale) * was + step_to), scale, range_);
      const double step = static_cast<double>(scale) * (now - was), less = step * (2 * (*slope)[i] - step * square);
      if (now == was || !(less > 0)) continue;
      c->codes[i] = now;
      won += less;
      moment.add_row(k, -step, slope->data());
    }
    return won;
  }

  double loss(const std::vector<double>& wanted, const Column& c, const Moment& moment) const {
    std::vector<double> error(wanted.size());
    for (int64_t k = 0; k < m_.k; ++k) error[static_cast<size_t>(k)] = wanted[static_cast<size_t>(k)] - meant(c, k);
    return moment.of(error.data());
  }

  void take(int64_t column, const Column& c) {
    for (int64_t b = 0; b < m_.blocks; ++b) {
      const Run run = m_.run(column, b);
      set_scale(column, b, c.scales[static_cast<size_t>(b)]);
      double noise = 0;
      for (int64_t i = 0; i < run.count; ++i) {
        const int64_t k = b * m_.block + i;
        set_code(column, b, i, c.codes[static_cast<size_t>(k)]);
        const double d = static_cast<double>(run.at(i)) - meant(c, k);
        noise += d * d;
      }
      count(run, noise);
    }
  }

  void set_scale(int64_t column, int64_t b, float scale) {
    out_.scales[static_cast<size_t>(m_.scale_at(column, b))] = scale;
  }
  void set_code(int64_t column, int64_t b, int64_t i, int32_t code) {
    write_code(range_.type, out_.codes.data(), m_.weight_at(column, b, i), static_cast<unsigned>(code));
  }
  void count(const Run& run, double noise) {
    for (int64_t i = 0; i < run.count; ++i) signal_ += static_cast<double>(run.at(i)) * static_cast<double>(run.at(i));
    noise_ += noise;
  }

  CodedMatrix finished() {
    out_.sqnr_db = noise_ > 0 ? 10 * std::log10(signal_ / noise_) : INFINITY;
    return std::move(out_);
  }

  Columns m_;
  const Range& range_;
  CodedMatrix out_;
  double signal_ = 0, noise_ = 0;
};

ir::Value* scales_of(ir::Graph& g, const std::string& name, const CodedMatrix& m) {
  const int64_t n = m.shape[m.by_rows ? 0 : 1], blocks = static_cast<int64_t>(m.scales.size()) / n;
  Shape shape;
  shape.rank = 2;
  shape[0] = m.by_rows ? n : blocks;
  shape[1] = m.by_rows ? blocks : n;
  if (!m.half) return g.add_constant(name, ir::make_constant_of<float>(DType::kF32, shape, m.scales));
  std::vector<uint16_t> bits;
  bits.reserve(m.scales.size());
  for (const float s : m.scales) bits.push_back(f32_to_f16(s));
  return g.add_constant(name, ir::make_constant_of<uint16_t>(DType::kF16, shape, bits));
}

}  // namespace

CodedMatrix code_matrix(const ir::Constant& w, bool by_rows, int bits) {
  return Coding(w, by_rows, bits).nearest_codes();
}

CodedMatrix code_matrix(const ir::Constant& w, bool by_rows, int bits, const RoundingTarget& target,
                        RoundingLoss* loss) {
  return Coding(w, by_rows, bits).fed_back_codes(target, loss);
}

ir::ConstantPtr decoded(const CodedMatrix& m) {
  const int64_t n = m.shape[m.by_rows ? 0 : 1], k = m.shape[m.by_rows ? 1 : 0], blocks = (k + m.block - 1) / m.block;
  const DType type = m.bits == 4 ? DType::kI4 : DType::kI8;
  std::vector<float> out(static_cast<size_t>(n * k));
  for (int64_t i = 0; i < n * k; ++i) {
    const int64_t column = m.by_rows ? i / k : i % n, b = (m.by_rows ? i % k : i / n) / m.block;
    const int32_t code = read_small_integer(type, m.codes.data(), i);
    out[static_cast<size_t>(i)] =
        m.scales[static_cast<size_t>(m.by_rows ? column * blocks + b : b * n + column)] * static_cast<float>(code);
  }
  return ir::make_constant_of(DType::kF32, m.shape, std::move(out));
}

MatrixCodes add_codes(ir::Graph& g, const std::string& name, CodedMatrix matrix, PassLog& log) {
  MatrixCodes out;
  out.finite = matrix.finite;
  if (!out.finite) return out;
  out.block = static_cast<int32_t>(matrix.block);
  out.bits = matrix.bits;
  const DType type = matrix.bits == 4 ? DType::kI4 : DType::kI8;
  out.codes = g.add_constant(name, ir::make_constant({type, matrix.shape}, std::move(matrix.codes)));
  out.scales = scales_of(g, name + "_scale", matrix);
  log.errors.push_back({name, matrix.sqnr_db});
  return out;
}

double loss_of_codes(const ir::Constant& w, bool by_rows, const std::vector<float>& factors,
                     const std::vector<float>& importance) {
  Columns m(w, by_rows, kCodesBlock);
  double sum = 0;
  for (int64_t column = 0; column < m.n; ++column) {
    for (int64_t b = 0; b < m.blocks; ++b) {
      const Run run = m.run(column, b, factors);
      const float scale = scale_of_block(run, false);
      for (int64_t i = 0; i < run.count; ++i) {
        const auto at = static_cast<size_t>(b * m.block + i);
        const float d = run.at(i) - scale * static_cast<float>(nearest(run.at(i), scale, kFourBits));
        const auto lost = static_cast<double>(d / factors[at] * importance[at]);
        sum += lost * lost;
      }
    }
  }
  return sum;
}

ir::ConstantPtr multiply_rows(const ir::Constant& w, bool by_rows, const std::vector<float>& factors) {
  return ir::make_constant_of(DType::kF32, w.tensor.type.shape, Columns(w, by_rows, kCodesBlock).multiplied(factors));
}

}  // namespace vireo::quant
