#include "delegates/cpu/depth_first/by_row.h"

#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/traits.h"

namespace vireo::cpu {
namespace {

bool is_given(const GraphValue& v) { return v.type.dtype != DType::kNone; }

// The window along the height, where each row of y has rows of x in it.
template <class Attrs>
bool read_rows(const CpuQuery& q, const Attrs& a, int64_t kernel, RowForm* out) {
  if (static_cast<Layout>(a.layout()) != Layout::kNhwc || a.auto_pad() != 0) return false;
  const Window w = read_window(4, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  out->window = 0;
  out->stride = w.stride[0];
  out->taps = w.dilation[0] * (kernel - 1) + 1;
  out->pad = w.pad_begin[0];
  if (out->pad >= out->taps || w.pad_end[0] >= out->taps) return false;
  out->attrs = q.node.attrs;
  out->attrs_size = q.node.attrs_size;
  if (a.pads() != nullptr && a.pads()->size() == 4)
    out->pads_at = static_cast<size_t>(reinterpret_cast<const uint8_t*>(a.pads()->data()) - q.node.attrs);
  return out->pads_at != 0 || (w.pad_begin[0] == 0 && w.pad_end[0] == 0);
}

template <class Attrs>
bool read_pool(const CpuQuery& q, const Attrs& a, RowForm* out) {
  if (a.kernel_shape() == nullptr || a.kernel_shape()->size() != 2 || a.ceil_mode() || a.count_include_pad())
    return false;
  return q.input_count == 1 && read_rows(q, a, a.kernel_shape()->Get(0), out);
}

template <class Attrs>
bool read_conv(const CpuQuery& q, const Attrs& a, RowForm* out) {
  const Shape& filters = q.inputs[1].type.shape;
  if (filters.rank != 4 || !read_rows(q, a, filters[2], out)) return false;
  out->products = filters[1] * filters[2] * filters[3];
  // Winograd's kernels multiply tiles of many rows at once: in strips they take longer than the values' way.
  const bool winograd = a.group() == 1 && filters[2] == 3 && filters[3] == 3 && out->stride == 1 && out->taps == 3;
  return !winograd;
}

// Row r of the result comes from row r of the others, or from what has one row.
bool is_by_place(const CpuQuery& q) {
  const int64_t rows = q.outputs[0].type.shape[1];
  for (uint32_t i = 0; i < q.input_count; ++i) {
    const GraphValue& x = q.inputs[i];
    if (!is_given(x)) continue;
    const Shape& s = x.type.shape;
    const bool one_row = s.rank < 3 || s[s.rank - 3] == 1;
    if (!one_row && (x.constant != nullptr || s.rank != 4 || s[1] != rows)) return false;
  }
  return true;
}

bool joins_channels(const CpuQuery& q) {
  const int32_t axis = q.attrs<attrs::Concat>().axis();
  return axis == 3 || axis == -1;
}

bool has_form(const CpuQuery& q, RowForm* out) {
  const GraphValue& y = q.outputs[0];
  if (q.output_count != 1 || !has_rows(y) || !q.is_static() || !has_rows(q.inputs[0])) return false;
  switch (q.op) {
    case Op::kConv:
      return read_conv(q, q.attrs<attrs::Conv>(), out);
    case Op::kIntConv:
      return read_conv(q, q.attrs<attrs::IntConv>(), out);
    case Op::kMaxPool:
    case Op::kAveragePool:
      return read_pool(q, q.attrs<attrs::Pool>(), out);
    case Op::kIntAveragePool:
      return read_pool(q, q.attrs<attrs::IntAveragePool>(), out);
    case Op::kConcat:
      return joins_channels(q) && is_by_place(q);
    case Op::kIntTable:
      return true;
    default:
      return is_elementwise(q.op) && is_by_place(q);
  }
}

// One window at most, which reads a value that nothing else of the body reads.
bool has_body_form(const CpuQuery& q, RowForm* out) {
  const GraphReader body = q.body();
  int32_t x = -1;
  for (uint32_t n = 0; n < body.node_count(); ++n) {
    CpuQuery inner;
    if (!view_node(*q.host, q.node.body, n, &inner) || inner.op == Op::kComposite) return false;
    for (uint32_t i = 0; i < inner.input_count; ++i) {
      const int32_t from = body.input_of(inner.node.inputs[i], q.input_count);
      if (from >= 0) inner.inputs[i].constant = q.inputs[from].constant;
    }
    RowForm form;
    if (!has_form(inner, &form)) return false;
    if (form.window < 0) continue;
    if (x >= 0) return false;
    x = body.input_of(inner.node.inputs[0], q.input_count);
    if (x < 0) return false;
    form.window = x;
    form.inner = static_cast<int32_t>(n);
    form.inner_x = inner.node.inputs[0];
    *out = form;
  }
  if (x < 0) return true;
  uint32_t readings = 0;
  for (uint32_t n = 0; n < body.node_count(); ++n) {
    const vireo_graph_node inner = body.node(n);
    for (uint32_t i = 0; i < inner.input_count; ++i) readings += inner.inputs[i] == out->inner_x ? 1 : 0;
  }
  return readings == 1;
}

}  // namespace

bool runs_by_row(const CpuQuery& q, RowForm* out) {
  *out = RowForm();
  if (q.node.input_count > kMaxNodeArgs || q.node.output_count != 1 || !has_rows(q.outputs[0]) || !q.is_static())
    return false;
  if (!(q.op == Op::kComposite ? has_body_form(q, out) : has_form(q, out))) return false;
  // A value that is read by windows and at its place would have rows of two kinds.
  for (uint32_t i = 0; out->window >= 0 && i < q.node.input_count; ++i) {
    if (static_cast<int32_t>(i) != out->window && q.node.inputs[i] == q.node.inputs[out->window]) return false;
  }
  for (uint32_t i = 0; i < q.input_count; ++i) {
    if (static_cast<int32_t>(i) == out->window || !has_rows(q.inputs[i])) continue;
    if (q.inputs[i].type.shape[1] != q.outputs[0].type.shape[1]) return false;
  }
  return true;
}

}  // namespace vireo::cpu
