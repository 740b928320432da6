#include "quant/repair/rounding.h"

#include <algorithm>
#include <cmath>

#include "quant/shared/nearest.h"
#include "quant/shared/widest.h"
#include "sdk/base/half.h"
#include "sdk/ops/conv/conv_generated.h"

namespace vireo::quant {
namespace {

constexpr int kSweeps = 4;
constexpr double kDamping = 0.01;
constexpr int64_t kRowsAtOnce = 64;  // of windows, in float64
constexpr int64_t kTogether = 8;     // channels whose errors are multiplied together: each reads the whole matrix

// A convolution's window over NCHW.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, begins, extents, outputs;
  std::vector<int64_t> ahead;    // [taps, dimensions]: how far a tap is from the window's first
  std::vector<int64_t> offsets;  // [taps]: the same in elements of a channel
  int64_t channels = 0, taps = 1, positions = 1, plane = 1;
};

int64_t or_one(const ::flatbuffers::Vector<int32_t>* list, size_t i) {
  return list == nullptr || list->size() == 0 ? 1 : list->Get(static_cast<unsigned>(i));
}

Window window_of(const Layer& layer, const TensorView& x) {
  const auto& a = layer.node->attributes<attrs::Conv>();
  const Shape& w = layer.node->in(1)->type.shape;
  Window out;
  out.channels = x.dims[1];
  for (int d = 2; d < w.rank; ++d) {
    const auto i = static_cast<size_t>(d - 2), spatial = static_cast<size_t>(w.rank - 2);
    const auto pad = [&](size_t at) {
      return a.pads() == nullptr || a.pads()->size() == 0 ? 0 : a.pads()->Get(static_cast<unsigned>(at));
    };
    out.kernel.push_back(w[d]);
    out.strides.push_back(or_one(a.strides(), i));
    out.dilations.push_back(or_one(a.dilations(), i));
    out.begins.push_back(pad(i));
    out.extents.push_back(x.dims[static_cast<size_t>(d)]);
    const int64_t reach = (w[d] - 1) * out.dilations[i] + 1;
    out.outputs.push_back((out.extents[i] + pad(i) + pad(spatial + i) - reach) / out.strides[i] + 1);
    out.taps *= w[d];
    out.positions *= std::max<int64_t>(out.outputs[i], 0);
    out.plane *= out.extents[i];
  }
  const size_t dims = out.kernel.size();
  out.ahead.resize(static_cast<size_t>(out.taps) * dims);
  out.offsets.resize(static_cast<size_t>(out.taps));
  for (size_t t = 0; t < out.offsets.size(); ++t) {
    auto rest = static_cast<int64_t>(t);
    int64_t stride = 1;
    for (size_t d = dims; d-- > 0; rest /= out.kernel[d]) {
      out.ahead[t * dims + d] = rest % out.kernel[d] * out.dilations[d];
      out.offsets[t] += out.ahead[t * dims + d] * stride;
      stride *= out.extents[d];
    }
  }
  return out;
}

// The window at `position` of one image, [channels, taps]; what lies outside is 0.
void extract(const Window& w, const float* image, int64_t position, float* out) {
  const size_t dims = w.kernel.size();
  int64_t at[kMaxRank], first = 0, stride = 1;
  for (size_t d = dims; d-- > 0; position /= w.outputs[d]) {
    at[d] = position % w.outputs[d] * w.strides[d] - w.begins[d];
    first += at[d] * stride;
    stride *= w.extents[d];
  }
  for (int64_t t = 0; t < w.taps; ++t) {
    const int64_t* const ahead = w.ahead.data() + static_cast<size_t>(t) * dims;
    bool inside = true;
    for (size_t d = 0; d < dims; ++d) inside = inside && at[d] + ahead[d] >= 0 && at[d] + ahead[d] < w.extents[d];
    const int64_t offset = first + w.offsets[static_cast<size_t>(t)];
    for (int64_t c = 0; c < w.channels; ++c) out[c * w.taps + t] = inside ? image[c * w.plane + offset] : 0;
  }
}

// lines[j] += sum over rows of a[row] x[row, j], row by row; x [rows, size], a a column of it.
VIREO_WIDEST void add_rows(const double* a, const double* x, int64_t rows, int64_t size, int64_t from, double* line) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const double *const x0 = x + r * size, *const x1 = x0 + size, *const x2 = x1 + size, *const x3 = x2 + size;
    const double a0 = a[r * size], a1 = a[(r + 1) * size], a2 = a[(r + 2) * size], a3 = a[(r + 3) * size];
    for (int64_t j = from; j < size; ++j) line[j] = line[j] + a0 * x0[j] + a1 * x1[j] + a2 * x2[j] + a3 * x3[j];
  }
  for (; r < rows; ++r) {
    for (int64_t j = from; j < size; ++j) line[j] += a[r * size] * x[r * size + j];
  }
}

// line += factor * row
VIREO_WIDEST void add_row(double factor, const double* row, int64_t size, double* line) {
  for (int64_t j = 0; j < size; ++j) line[j] += factor * row[j];
}

// The nearest code of each weight of a row.
VIREO_WIDEST void find_plain(const double* weights, double scale, int64_t size, double* plain) {
  for (int64_t i = 0; i < size; ++i) plain[i] = nearest_whole(weights[i] / scale);
}

// The best code of weight w given what it should be off by (`best`), at most one beside its nearest (`plain`).
inline int8_t code_near(double w, double best, double plain, double scale, double most) {
  const double wanted = std::clamp(nearest_whole((w - best) / scale), plain - 1, plain + 1);
  return static_cast<int8_t>(std::clamp(wanted, -most, most));
}

// One row of weights: its codes, what they are off by, and how the objective changes with that.
struct Row {
  const double *weights, *plain, *h;  // h [size, size], symmetric
  int64_t size;
  double scale, most;
  int8_t* codes;
  double *error, *slope;
};

// The best code of each weight in turn, given the others. Whether one changed.
VIREO_WIDEST bool sweep(const Row& row) {
  bool changed = false;
  for (int64_t i = 0; i < row.size; ++i) {
    const double w = row.weights[i], of_itself = row.h[i * row.size + i];
    // What this weight should be off by, given the others, and the code nearest to that.
    const double best = row.error[i] - row.slope[i] / of_itself;
    const int8_t code = code_near(w, best, row.plain[i], row.scale, row.most);
    if (code == row.codes[i]) continue;
    const double moved = w - row.scale * code - row.error[i];
    // Exact: only a step down is taken.
    if (moved * (2 * row.slope[i] + moved * of_itself) >= 0) continue;
    row.codes[i] = code;
    row.error[i] += moved;
    const double* const h = row.h + i * row.size;
    for (int64_t j = 0; j < row.size; ++j) row.slope[j] += moved * h[j];
    changed = true;
  }
  return changed;
}

// The sum of the products of a column and v, in lanes that are added by halves: one after another would take longer
// than the products of a short column.
VIREO_WIDEST double product_of(const float* column, const float* v, int64_t rows) {
  constexpr int64_t kLanes = 64, kLast = 8;
  float sums[kLanes] = {};
  int64_t r = 0;
  for (; r + kLanes <= rows; r += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) sums[k] += column[r + k] * v[r + k];
  }
  for (int64_t k = 0; r < rows; ++r, ++k) sums[k] += column[r] * v[r];
  for (int64_t half = kLanes / 2; half >= kLast; half /= 2) {
    for (int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  }
  double sum = 0;
  for (int64_t k = 0; k < kLast; ++k) sum += static_cast<double>(sums[k]);
  return sum;
}

// v += factor * column
VIREO_WIDEST void add_column(float factor, const float* column, int64_t rows, float* v) {
  for (int64_t r = 0; r < rows; ++r) v[r] += factor * column[r];
}

template <class T>
double squares_of(const std::vector<T>& v) {
  double sum = 0;
  for (const T x : v) sum += static_cast<double>(x) * static_cast<double>(x);
  return sum;
}

// What the codes of `count` channels from `first` on are off by.
void find_errors(const WeightRows& weights, const WeightCodes& codes, int64_t first, int64_t count,
                 std::vector<std::vector<double>>* errors) {
  for (int64_t k = 0; k < count; ++k) {
    const double *const w = weights.row(first + k), s = static_cast<double>(codes.scale(first + k));
    const int8_t* const q = codes.codes.data() + (first + k) * weights.per_channel;
    double* const error = (*errors)[static_cast<size_t>(k)].data();
    for (int64_t i = 0; i < weights.per_channel; ++i) error[i] = w[i] - s * q[i];
  }
}

// descend() where rows stand for the matrix: v = columns^T error is kept instead of H error. In float32: what it loses
// is a millionth of a step, and half the bytes are half the time.
std::pair<double, double> descend_by_rows(const WeightRows& weights, const Covariance& h, WeightCodes* codes) {
  const double most = most_code(codes->bits);
  std::vector<std::vector<double>> errors(kTogether, std::vector<double>(static_cast<size_t>(h.size)));
  std::vector<std::vector<float>> products(kTogether, std::vector<float>(static_cast<size_t>(h.rows)));
  std::vector<double> plain(static_cast<size_t>(h.size));
  double before = 0, after = 0;
  for (int64_t c = 0; c < weights.channels; ++c) {
    if (c % kTogether == 0) {
      const int64_t count = std::min(kTogether, weights.channels - c);
      find_errors(weights, *codes, c, count, &errors);
      for (std::vector<float>& v : products) std::fill(v.begin(), v.end(), 0.0f);
      for (int64_t i = 0; i < h.size; ++i) {
        for (size_t k = 0; k < static_cast<size_t>(count); ++k)
          add_column(static_cast<float>(errors[k][static_cast<size_t>(i)]), h.columns.data() + i * h.rows, h.rows,
                     products[k].data());
      }
    }
    std::vector<double>& error = errors[static_cast<size_t>(c % kTogether)];
    std::vector<float>& v = products[static_cast<size_t>(c % kTogether)];
    const double* const w = weights.row(c);
    int8_t* const q = codes->codes.data() + c * h.size;
    const double s = static_cast<double>(codes->scale(c));
    find_plain(w, s, h.size, plain.data());
    before += squares_of(v) + h.damping * squares_of(error);
    bool changed = true;
    for (int sweep_number = 0; sweep_number < kSweeps && changed; ++sweep_number) {
      changed = false;
      for (int64_t i = 0; i < h.size; ++i) {
        const float* const column = h.columns.data() + i * h.rows;
        double& off = error[static_cast<size_t>(i)];
        const double slope = product_of(column, v.data(), h.rows) + h.damping * off;
        const double of_itself = h.diagonal[static_cast<size_t>(i)];
        const int8_t code = code_near(w[i], off - slope / of_itself, plain[static_cast<size_t>(i)], s, most);
        const double moved = w[i] - s * code - off;
        if (code == q[i] || moved * (2 * slope + moved * of_itself) >= 0) continue;
        q[i] = code;
        off += moved;
        add_column(static_cast<float>(moved), column, h.rows, v.data());
        changed = true;
      }
    }
    after += squares_of(v) + h.damping * squares_of(error);
  }
  return {before, after};
}

double damping_of(const double* diagonal, int64_t size) {
  double trace = 0;
  for (int64_t i = 0; i < size; ++i) trace += diagonal[i];
  return trace > 0 ? kDamping * trace / static_cast<double>(size) : 1;
}

// The matrix of one group is not made.
void keep_rows(const std::vector<const std::vector<uint16_t>*>& all, bool centred, Covariance* h) {
  h->rows = static_cast<int64_t>(all.size());
  h->columns.resize(static_cast<size_t>(h->size) * all.size());
  for (size_t i = 0; i < static_cast<size_t>(h->size); ++i) {
    float* const column = h->columns.data() + i * all.size();
    double sum = 0;
    for (size_t r = 0; r < all.size(); ++r) {
      column[r] = static_cast<float>(static_cast<double>(bf16_to_f32((*all[r])[i])) - (centred ? h->means[i] : 0));
      sum += static_cast<double>(column[r]) * static_cast<double>(column[r]);
    }
    h->diagonal[i] = sum;
  }
  h->damping = damping_of(h->diagonal.data(), h->size);
  for (double& d : h->diagonal) d += h->damping;
}

}  // namespace

int64_t groups_of(const Layer& layer) {
  return layer.node->op == Op::kConv ? layer.node->attributes<attrs::Conv>().group() : 1;
}

bool has_windows(const Layer& layer) {
  return layer.node->op != Op::kConv || layer.node->attributes<attrs::Conv>().auto_pad() == 0;
}

size_t most_windows(const Layer& layer, int64_t weights_of_row) {
  constexpr int64_t kForEachWeight = 8, kLeast = RowsObserver::kMost, kElements = 128 * 2 * kLeast;
  if (groups_of(layer) != 1)
    return static_cast<size_t>(std::clamp<int64_t>(kForEachWeight * weights_of_row, 64, kLeast));
  return static_cast<size_t>(std::clamp<int64_t>(kElements / std::max<int64_t>(weights_of_row, 1), kLeast, 2 * kLeast));
}

void add_windows(const Layer& layer, uint64_t sample, const TensorView& x, RowsObserver* rows) {
  const auto* data = reinterpret_cast<const float*>(x.bytes.data());
  const auto count = static_cast<int64_t>(x.bytes.size() / sizeof(float));
  if (count == 0) return;
  if (layer.node->op != Op::kConv) {
    const int64_t size = x.dims.back();
    rows->add(sample, {data, count / size, size, 1});
    return;
  }
  const Window w = window_of(layer, x);
  const int64_t images = x.dims[0], size = w.channels * w.taps;
  rows->add_made(sample, images * w.positions, static_cast<size_t>(size), [&](int64_t row, float* out) {
    extract(w, data + row / w.positions * (count / images), row % w.positions, out);
  });
}

Covariance covariance_of(const RowsObserver& rows, int64_t groups, bool centred) {
  Covariance h;
  const std::vector<const std::vector<uint16_t>*> all = rows.rows();
  h.groups = groups;
  if (all.empty()) return h;
  const auto whole = static_cast<int64_t>(all[0]->size());
  h.size = whole / groups;
  h.means.assign(static_cast<size_t>(whole), 0);
  h.diagonal.assign(static_cast<size_t>(whole), 0);
  for (const auto* row : all) {
    for (size_t i = 0; i < h.means.size(); ++i)
      h.means[i] += static_cast<double>(bf16_to_f32((*row)[i])) / static_cast<double>(all.size());
  }
  if (groups == 1 && h.size > static_cast<int64_t>(all.size())) {
    keep_rows(all, centred, &h);
    return h;
  }
  h.values.assign(static_cast<size_t>(groups * h.size * h.size), 0);
  const int64_t most = std::min(static_cast<int64_t>(all.size()), kRowsAtOnce);
  std::vector<double> x(static_cast<size_t>(most * h.size));
  for (int64_t g = 0; g < groups; ++g) {
    double* matrix = h.values.data() + g * h.size * h.size;
    for (size_t first = 0; first < all.size(); first += static_cast<size_t>(most)) {
      const size_t count = std::min(static_cast<size_t>(most), all.size() - first);
      double* to = x.data();
      for (size_t r = first; r < first + count; ++r) {
        for (size_t at = static_cast<size_t>(g * h.size); at < static_cast<size_t>((g + 1) * h.size); ++at)
          *to++ = static_cast<double>(bf16_to_f32((*all[r])[at])) - (centred ? h.means[at] : 0);
      }
      for (int64_t i = 0; i < h.size; ++i)
        add_rows(x.data() + i, x.data(), static_cast<int64_t>(count), h.size, i, matrix + i * h.size);
    }
    for (int64_t i = 0; i < h.size; ++i) {
      for (int64_t j = 0; j < i; ++j) matrix[i * h.size + j] = matrix[j * h.size + i];
    }
    double* const diagonal = h.diagonal.data() + g * h.size;
    for (int64_t i = 0; i < h.size; ++i) diagonal[i] = matrix[i * h.size + i];
    const double damping = damping_of(diagonal, h.size);
    for (int64_t i = 0; i < h.size; ++i) diagonal[i] = matrix[i * h.size + i] += damping;
  }
  return h;
}

std::pair<double, double> descend(const WeightRows& weights, const Covariance& covariance, WeightCodes* codes) {
  if (!covariance.columns.empty()) return descend_by_rows(weights, covariance, codes);
  const int64_t n = covariance.size;
  const int64_t channels_of_group = std::max<int64_t>(weights.channels / covariance.groups, 1);
  std::vector<std::vector<double>> errors(kTogether, std::vector<double>(static_cast<size_t>(n))), slopes = errors;
  std::vector<double> plain(static_cast<size_t>(n));
  const double most = most_code(codes->bits);
  double before = 0, after = 0;
  int64_t first = 0, count = 0;  // of the channels whose errors and slopes are there
  for (int64_t c = 0; c < weights.channels; ++c) {
    const double* h = covariance.values.data() + c / channels_of_group * n * n;
    if (c == first + count) {
      first = c;
      count = std::min(kTogether, channels_of_group - c % channels_of_group);
      find_errors(weights, *codes, c, count, &errors);
      for (std::vector<double>& slope : slopes) std::fill(slope.begin(), slope.end(), 0);
      for (int64_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < static_cast<size_t>(count); ++k)
          add_row(errors[k][static_cast<size_t>(i)], h + i * n, n, slopes[k].data());
      }
    }
    std::vector<double>&error = errors[static_cast<size_t>(c - first)], &slope = slopes[static_cast<size_t>(c - first)];
    const double* w = weights.row(c);
    int8_t* q = codes->codes.data() + c * n;
    const double s = static_cast<double>(codes->scale(c));
    const auto objective = [&] {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += error[static_cast<size_t>(i)] * slope[static_cast<size_t>(i)];
      return sum;
    };
    before += objective();
    find_plain(w, s, n, plain.data());
    const Row row = {w, plain.data(), h, n, s, most, q, error.data(), slope.data()};
    for (int i = 0; i < kSweeps && sweep(row); ++i) {
    }
    after += objective();
  }
  return {before, after};
}

}  // namespace vireo::quant
