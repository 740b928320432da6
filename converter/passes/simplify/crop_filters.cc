// Outer taps of filters that lie in the padding wherever the window stands.
// Before   Conv(x, w[O, I, 7, 7]) {pads:[3,3,3,3]} of an x with one row
// After    Conv(x, w[O, I, 1, 7]) {pads:[0,3,0,3]}
// Fires    filters are constant and finite, for NaN * 0 is no zero; extents of spatial axes are numbers; pads are
//          given. Small images under wide windows have such taps, and those of late stages under dilated ones.
// Numerics none: sums in which zeros are left out.
// Bound    a node stays one, and takes less.        Idempotent.
#include "converter/passes/simplify/crop_filters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "converter/passes/shared/match.h"
#include "sdk/ops/conv/conv_generated.h"

namespace vireo::passes {
namespace {

// A window along one axis.
struct Line {
  int64_t in, out, taps, stride, dilation, pad;

  // Whether tap `i` ever lies in x: at the first place that is not in front of it.
  bool sees(int64_t i) const {
    const int64_t at = i * dilation - pad;
    const int64_t o = at >= 0 ? 0 : (-at + stride - 1) / stride;
    return o < out && o * stride + at < in;
  }
};

// What stays of an axis.
struct Part {
  int64_t first = 0, count = 0, pad = 0, pad_end = 0;
};

bool crop(const Line& l, Part* part) {
  int64_t last = l.taps - 1;
  while (part->first < l.taps && !l.sees(part->first)) ++part->first;
  if (part->first == l.taps) return false;  // all padding: left as it is
  while (!l.sees(last)) --last;
  part->count = last + 1 - part->first;
  part->pad = l.pad - part->first * l.dilation;
  const int64_t reach = (l.out - 1) * l.stride + (part->count - 1) * l.dilation + 1;
  part->pad_end = std::max<int64_t>(0, reach - l.in - part->pad);
  return part->pad >= 0 &&
         (l.in + part->pad + part->pad_end - (part->count - 1) * l.dilation - 1) / l.stride + 1 == l.out;
}

// Rows of `w` along one axis, [first, first + count) of each.
std::vector<uint8_t> rows_of(const std::vector<uint8_t>& w, size_t outer, size_t rows, size_t row, const Part& part) {
  std::vector<uint8_t> out(outer * static_cast<size_t>(part.count) * row);
  const size_t bytes = static_cast<size_t>(part.count) * row;
  for (size_t o = 0; o < outer; ++o)
    std::memcpy(out.data() + o * bytes, w.data() + (o * rows + static_cast<size_t>(part.first)) * row, bytes);
  return out;
}

bool is_finite(const ir::Constant& c) {
  const std::vector<double> all = reals(c);
  return std::all_of(all.begin(), all.end(), [](double v) { return std::isfinite(v); });
}

void crop_filters(ir::Graph& g, ir::Node& n, PassLog& log) {
  attrs::ConvT a;
  n.attributes<attrs::Conv>().UnPackTo(&a);
  const ir::Value* w = n.in(1);
  const Shape &x = n.in(0)->type.shape, &y = n.out()->type.shape;
  const int spatial = x.rank - 2, first = a.layout == 1 ? 1 : 2;
  if (w->constant == nullptr || dtype_bits(w->type.dtype) < 8 || !dtype_is_float(w->type.dtype) || a.auto_pad != 0)
    return;
  if (spatial < 1 || a.pads.size() != 2 * static_cast<size_t>(spatial)) return;
  std::vector<Part> parts;
  bool less = false;
  for (int k = 0; k < spatial; ++k) {
    const auto i = static_cast<size_t>(k);
    const Dim in = x[first + k], out = y[first + k];
    Part part;
    part.count = w->type.shape[2 + k];
    part.pad = a.pads[i];
    part.pad_end = a.pads[i + static_cast<size_t>(spatial)];
    if (!is_symbolic(in) && !is_symbolic(out) && in > 0 && out > 0) {
      Part cropped;
      const Line line = {
          in,      out, part.count, a.strides.empty() ? 1 : a.strides[i], a.dilations.empty() ? 1 : a.dilations[i],
          part.pad};
      if (crop(line, &cropped) && cropped.count < part.count) {
        part = cropped;
        less = true;
      }
    }
    parts.push_back(part);
  }
  if (!less) return;
  if (!is_finite(*w->constant)) return log.reject(n, "a weight is not finite");
  Shape shape = w->type.shape;
  std::vector<uint8_t> bytes(w->constant->tensor.bytes.begin(), w->constant->tensor.bytes.end());
  for (int k = 0; k < spatial; ++k) {
    const Part& part = parts[static_cast<size_t>(k)];
    size_t outer = 1, row = static_cast<size_t>(dtype_bits(w->type.dtype) / 8);
    for (int i = 0; i < 2 + k; ++i) outer *= static_cast<size_t>(shape[i]);
    for (int i = 3 + k; i < shape.rank; ++i) row *= static_cast<size_t>(shape[i]);
    bytes = rows_of(bytes, outer, static_cast<size_t>(shape[2 + k]), row, part);
    shape[2 + k] = part.count;
    a.pads[static_cast<size_t>(k)] = static_cast<int32_t>(part.pad);
    a.pads[static_cast<size_t>(k + spatial)] = static_cast<int32_t>(part.pad_end);
  }
  std::vector<ir::Value*> inputs = n.inputs;
  inputs[1] = g.add_constant(w->name, ir::make_constant({w->type.dtype, shape}, std::move(bytes)));
  ir::Node* one = add_node(g, Op::kConv, pack<attrs::Conv>(a), std::move(inputs), n, &n);
  if (one == nullptr || one->out()->type != n.out()->type) return log.reject(n, "the shapes do not fit");
  one->out()->name = n.out()->name;
  g.replace_uses(n.out(), one->out());
  log.changed();
}

void run_crop_filters(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it++;
    if (n.op != Op::kConv || n.outputs.size() != 1) continue;
    crop_filters(g, n, log);
    if (n.out()->unused()) g.remove(&n);
  }
}

}  // namespace

const Pass kCropFilters = {"crop_filters", run_crop_filters};

}  // namespace vireo::passes
