#include "quant/repair/rounding.h"

#include <algorithm>
#include <cmath>

#include "sdk/ops/conv/conv_generated.h"

namespace vireo::quant {
namespace {

constexpr int kSweeps = 4;
constexpr double kDamping = 0.01;

// A convolution's window over NCHW.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, begins, extents, outputs;
  int64_t channels = 0, taps = 1, positions = 1;
};

int64_t or_one(const ::flatbuffers::Vector<int32_t>* list, size_t i) {
  return list == nullptr || list->size() == 0 ? 1 : list->Get(static_cast<unsigned>(i));
}

Window window_of(const Layer& layer, const HostTensor& x) {
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
  }
  return out;
}

// The window at `position` of one image, [channels, taps]; what lies outside is 0.
void extract(const Window& w, const float* image, int64_t position, float* out) {
  std::vector<int64_t> at(w.kernel.size());
  for (size_t d = w.kernel.size(); d-- > 0; position /= w.outputs[d])
    at[d] = position % w.outputs[d] * w.strides[d] - w.begins[d];
  int64_t plane = 1;
  for (const int64_t e : w.extents) plane *= e;
  for (int64_t t = 0; t < w.taps; ++t) {
    int64_t rest = t, offset = 0, stride = 1;
    bool inside = true;
    for (size_t d = w.kernel.size(); d-- > 0; rest /= w.kernel[d]) {
      const int64_t i = at[d] + rest % w.kernel[d] * w.dilations[d];
      inside = inside && i >= 0 && i < w.extents[d];
      offset += i * stride;
      stride *= w.extents[d];
    }
    for (int64_t c = 0; c < w.channels; ++c) out[c * w.taps + t] = inside ? image[c * plane + offset] : 0;
  }
}

}  // namespace

int64_t groups_of(const Layer& layer) {
  return layer.node->op == Op::kConv ? layer.node->attributes<attrs::Conv>().group() : 1;
}

bool has_windows(const Layer& layer) {
  return layer.node->op != Op::kConv || layer.node->attributes<attrs::Conv>().auto_pad() == 0;
}

size_t most_windows(const Layer& layer, int64_t weights_of_row) {
  constexpr int64_t kForEachWeight = 8;
  if (groups_of(layer) == 1) return RowsObserver::kMost;
  return static_cast<size_t>(std::clamp<int64_t>(kForEachWeight * weights_of_row, 64, RowsObserver::kMost));
}

void add_windows(const Layer& layer, uint64_t sample, const HostTensor& x, RowsObserver* rows) {
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
  const std::vector<const std::vector<float>*> all = rows.rows();
  h.groups = groups;
  if (all.empty()) return h;
  const auto whole = static_cast<int64_t>(all[0]->size());
  h.size = whole / groups;
  h.values.assign(static_cast<size_t>(groups * h.size * h.size), 0);
  h.means.assign(static_cast<size_t>(whole), 0);
  for (const auto* row : all) {
    for (size_t i = 0; i < h.means.size(); ++i)
      h.means[i] += static_cast<double>((*row)[i]) / static_cast<double>(all.size());
  }
  std::vector<double> x(static_cast<size_t>(h.size));
  for (int64_t g = 0; g < groups; ++g) {
    double* matrix = h.values.data() + g * h.size * h.size;
    for (const auto* row : all) {
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t at = static_cast<size_t>(g * h.size) + i;
        x[i] = static_cast<double>((*row)[at]) - (centred ? h.means[at] : 0);
      }
      for (int64_t i = 0; i < h.size; ++i) {
        const double xi = x[static_cast<size_t>(i)];
        if (xi == 0) continue;
        for (int64_t j = 0; j < h.size; ++j) matrix[i * h.size + j] += xi * x[static_cast<size_t>(j)];
      }
    }
    double trace = 0;
    for (int64_t i = 0; i < h.size; ++i) trace += matrix[i * h.size + i];
    const double damping = trace > 0 ? kDamping * trace / static_cast<double>(h.size) : 1;
    for (int64_t i = 0; i < h.size; ++i) matrix[i * h.size + i] += damping;
  }
  return h;
}

std::pair<double, double> descend(const WeightRows& weights, const Covariance& covariance, WeightCodes* codes) {
  const int64_t n = covariance.size;
  std::vector<double> error(static_cast<size_t>(n)), slope(static_cast<size_t>(n));
  const double most = most_code(codes->bits);
  double before = 0, after = 0;
  for (int64_t c = 0; c < weights.channels; ++c) {
    const double* h = covariance.values.data() + c / (weights.channels / covariance.groups) * n * n;
    const double* w = weights.row(c);
    int8_t* q = codes->codes.data() + c * n;
    const double s = static_cast<double>(codes->scale(c));
    for (int64_t i = 0; i < n; ++i) error[static_cast<size_t>(i)] = w[i] - s * q[i];
    const auto objective = [&] {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += error[static_cast<size_t>(i)] * slope[static_cast<size_t>(i)];
      return sum;
    };
    for (int64_t i = 0; i < n; ++i) {
      slope[static_cast<size_t>(i)] = 0;
      for (int64_t j = 0; j < n; ++j) slope[static_cast<size_t>(i)] += h[i * n + j] * error[static_cast<size_t>(j)];
    }
    before += objective();
    bool changed = true;
    for (int sweep = 0; sweep < kSweeps && changed; ++sweep) {
      changed = false;
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(i);
        // What this weight should be off by, given the others, and the code nearest to that.
        const double best = error[at] - slope[at] / h[i * n + i];
        const double plain = std::nearbyint(w[i] / s);
        const double wanted = std::clamp(std::nearbyint((w[i] - best) / s), plain - 1, plain + 1);
        const auto code = static_cast<int8_t>(std::clamp(wanted, -most, most));
        if (code == q[i]) continue;
        const double moved = w[i] - s * code - error[at];
        // Exact: only a step down is taken.
        if (moved * (2 * slope[at] + moved * h[i * n + i]) >= 0) continue;
        q[i] = code;
        error[at] += moved;
        for (int64_t j = 0; j < n; ++j) slope[static_cast<size_t>(j)] += moved * h[j * n + i];
        changed = true;
      }
    }
    after += objective();
  }
  return {before, after};
}

}  // namespace vireo::quant
