#include "delegates/xnnpack/rules.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::xnnpack {

const char* define_transpose(Writer& w, const Step& s) {
  const Value& x = *s.node->in(0);
  const auto* given = s.node->read<attrs::Transpose>().perm();
  Dims in, out;
  if (!dims_of(x.type.shape, &in) || !dims_of(s.out->type.shape, &out)) return "more dimensions than XNNPACK has";
  size_t perm[XNN_MAX_TENSOR_DIMS] = {};
  const bool listed = given != nullptr && given->size() == in.count;
  for (size_t i = 0; i < in.count; ++i)
    perm[i] = listed ? static_cast<size_t>(given->Get(static_cast<uint32_t>(i))) : in.count - 1 - i;
  const uint32_t from = w.in(x, in), to = w.out(*s.out, out);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_static_transpose(w.graph(), in.count, perm, from, to, 0));
}

const char* define_concat(Writer& w, const Step& s) {
  const Node& n = *s.node;
  if (n.input_count < 2 || n.input_count > 5) return "XNNPACK joins two to five tensors";
  const int axis = normalize_axis(n.read<attrs::Concat>().axis(), s.out->type.shape.rank);
  // An arena puts such inputs into the output. XNNPACK (2024-11-08) then skips the copy, but does not count its bytes:
  // what comes behind it is written to where it lies already (setup_concatenate_operator_helper).
  if (product(s.out->type.shape, 0, axis) == 1) return "inputs may lie in the output, which XNNPACK gets wrong";
  uint32_t x[5] = {};
  // Before and behind the axis, extents count as one.
  const auto around = [&](const Value& v) {
    const Shape& shape = v.type.shape;
    return Dims{product(shape, 0, axis), shape[axis], product(shape, axis + 1, shape.rank)};
  };
  for (uint32_t i = 0; i < n.input_count; ++i) x[i] = w.in(*n.inputs[i], around(*n.inputs[i]));
  const uint32_t y = w.out(*s.out, around(*s.out));
  if (w.asks()) return nullptr;
  switch (n.input_count) {
    case 2:
      return w.done(xnn_define_concatenate2(w.graph(), 1, x[0], x[1], y, 0));
    case 3:
      return w.done(xnn_define_concatenate3(w.graph(), 1, x[0], x[1], x[2], y, 0));
    case 4:
      return w.done(xnn_define_concatenate4(w.graph(), 1, x[0], x[1], x[2], x[3], y, 0));
    default:
      return w.done(xnn_define_concatenate5(w.graph(), 1, x[0], x[1], x[2], x[3], x[4], y, 0));
  }
}

const char* define_reduce_mean(Writer& w, const Step& s) {
  const Value &x = *s.node->in(0), *axes = s.node->in(1);
  if (const char* reason = half_sums(x, kernels().half_mean)) return reason;
  const int rank = x.type.shape.rank;
  Dims in, out;
  if (!dims_of(x.type.shape, &in) || !dims_of(s.out->type.shape, &out)) return "more dimensions than XNNPACK has";
  if (axes == nullptr || axes->constant == nullptr || element_count(axes->type.shape) == 0)
    return "its axes are not listed";
  size_t list[XNN_MAX_TENSOR_DIMS] = {}, count = 0;
  bool reduced[kMaxRank] = {};
  for (int64_t i = 0; i < element_count(axes->type.shape); ++i) {
    const int axis = normalize_axis(read_integer(axes->type.dtype, axes->constant, i), rank);
    if (axis < 0) return "its axes are not listed";
    reduced[axis] = true;
  }
  Dims kept;  // with extents of 1 where it reduces, whether or not the node keeps them
  for (int i = 0; i < rank; ++i) {
    kept.dims[kept.count++] = reduced[i] ? 1 : in.dims[i];
    if (reduced[i]) list[count++] = static_cast<size_t>(i);
  }
  const uint32_t from = w.in(x, in), to = w.out(*s.out, kept);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_static_reduce(w.graph(), xnn_reduce_mean, count, list, from, to, XNN_FLAG_KEEP_DIMS));
}

}  // namespace vireo::xnnpack
