#include "converter/firmware/read_moves.h"

#include <algorithm>

#include "converter/firmware/kernel_numbers.h"
#include "converter/firmware/read_rows.h"
#include "delegates/mcu/kernels/moves.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::firmware {
namespace {

bool is_present(const NodeView& q, uint32_t i) { return i < q.input_count && q.inputs[i].type.dtype != DType::kNone; }
bool is_known(const NodeView& q, uint32_t i) { return !is_present(q, i) || q.inputs[i].constant != nullptr; }
int64_t number(const NodeView& q, uint32_t i, int64_t at) {
  return read_integer(q.inputs[i].type.dtype, q.inputs[i].constant, at);
}
int64_t count_of(const NodeView& q, uint32_t i) {
  return product(q.inputs[i].type.shape, 0, q.inputs[i].type.shape.rank);
}

std::string put_move(const NodeView& q, uint32_t output, const Shape& y, const StridedView& from,
                     std::vector<Call>* calls) {
  return make_move(input(q, 0), q.node.outputs[output], q.inputs[0].type.dtype, y, from, calls);
}

std::string read_transpose(const NodeView& q, std::vector<Call>* calls) {
  const auto* const perm = q.attrs<attrs::Transpose>().perm();
  const Shape& x = q.inputs[0].type.shape;
  const StridedView dense = dense_view(x);
  StridedView from = dense;
  for (int i = 0; i < x.rank; ++i)
    from.strides[i] = dense.strides[perm != nullptr ? perm->Get(static_cast<uint32_t>(i)) : x.rank - 1 - i];
  return put_move(q, 0, q.outputs[0].type.shape, from, calls);
}

std::string read_slice(const NodeView& q, std::vector<Call>* calls) {
  if (!is_present(q, 1) || !is_known(q, 1) || !is_known(q, 3) || !is_known(q, 4)) return "its bounds are not constant";
  const Shape &x = q.inputs[0].type.shape, &y = q.outputs[0].type.shape;
  StridedView from = dense_view(x);
  for (int64_t i = 0; i < count_of(q, 1); ++i) {
    const int axis = normalize_axis(is_present(q, 3) ? number(q, 3, i) : i, x.rank);
    const int64_t d = x[axis], step = is_present(q, 4) ? number(q, 4, i) : 1;
    int64_t start = number(q, 1, i);
    if (start < 0) start += d;
    start = std::clamp<int64_t>(start, 0, step > 0 ? d : d - 1);
    from.offset += start * from.strides[axis];
    from.strides[axis] *= y[axis] > 1 ? step : 1;
  }
  return put_move(q, 0, y, from, calls);
}

std::string read_split(const NodeView& q, std::vector<Call>* calls) {
  const auto& a = q.attrs<attrs::Split>();
  if (!is_known(q, 1)) return "its sizes are not constant";
  const Shape& x = q.inputs[0].type.shape;
  const int axis = normalize_axis(a.axis(), x.rank);
  const StridedView dense = dense_view(x);
  int64_t begin = 0;
  for (uint32_t o = 0; o < q.output_count; ++o) {
    const Shape& y = q.outputs[o].type.shape;
    if (q.node.outputs[o] < 0 || q.outputs[o].type.dtype == DType::kNone) return "one of its outputs is not wanted";
    StridedView from = dense;
    from.offset = begin * dense.strides[axis];
    std::string reason = put_move(q, o, y, from, calls);
    if (!reason.empty()) return reason;
    begin += y[axis];
  }
  return "";
}

// One index, which is constant: a part of x.
std::string read_gather(const NodeView& q, std::vector<Call>* calls) {
  if (!is_known(q, 1) || count_of(q, 1) != 1) return kUnknownNode;  // by a table
  const Shape& x = q.inputs[0].type.shape;
  const int axis = normalize_axis(q.attrs<attrs::Gather>().axis(), x.rank);
  int64_t index = number(q, 1, 0);
  if (index < 0) index += x[axis];
  if (index < 0 || index >= x[axis]) return "its index is outside";
  StridedView from = dense_view(x);
  from.offset = index * from.strides[axis];
  Shape y = x;
  y[axis] = 1;
  return put_move(q, 0, y, from, calls);
}

std::string read_concat(const NodeView& q, std::vector<Call>* calls) {
  const Shape& y = q.outputs[0].type.shape;
  const int axis = normalize_axis(q.attrs<attrs::Concat>().axis(), y.rank);
  if (q.input_count > VIREO_MCU_JOINED) return "kernels for microcontrollers join six operands at most";
  const int64_t size = dtype_bits(q.inputs[0].type.dtype) / 8;
  vireo_mcu_join j = {};
  j.rows = small(product(y, 0, axis));
  j.count = static_cast<int32_t>(q.input_count);
  Call call;
  for (uint32_t i = 0; i < q.input_count; ++i) {
    const Shape& x = q.inputs[i].type.shape;
    j.bytes[i] = small(product(x, axis, x.rank) * size);
    call.operands.push_back(input(q, i));
    call.inputs.push_back(input(q, i));
  }
  call.operands.resize(VIREO_MCU_JOINED, kNothing);
  call.operands.push_back(q.node.outputs[0]);
  call.kernel = k_join;
  call.parameters = bytes_of(j);
  call.outputs = {q.node.outputs[0]};
  calls->push_back(std::move(call));
  return "";
}

}  // namespace

std::string make_move(int32_t x, int32_t to, DType type, const Shape& y, const StridedView& from,
                      std::vector<Call>* calls) {
  // Elements of 8 bytes are two of 4.
  const int bytes = dtype_bits(type) / 8, words = bytes == 8 ? 2 : 1;
  vireo_mcu_move m = {};
  std::fill(std::begin(m.dims), std::end(m.dims), 1);
  int64_t dims[kMaxRank + 1], steps[kMaxRank + 1];
  int rank = 0;
  const auto add = [&](int64_t d, int64_t step) {
    if (d == 1) return;
    if (rank > 0 && steps[rank - 1] == step * d) {
      dims[rank - 1] *= d;
      steps[rank - 1] = step;
    } else {
      dims[rank] = d;
      steps[rank++] = step;
    }
  };
  for (int i = 0; i < y.rank; ++i) add(y[i], from.strides[i] * words);
  add(words, 1);
  if (rank > VIREO_MCU_MOVE_AXES) return "kernels for microcontrollers move along six axes at most";
  for (int i = 0; i < rank; ++i) {
    m.dims[VIREO_MCU_MOVE_AXES - rank + i] = small(dims[i]);
    m.step[VIREO_MCU_MOVE_AXES - rank + i] = small(steps[i]);
  }
  m.first = small(from.offset * words);
  m.element_bytes = bytes / words;
  Call call;
  call.kernel = k_move;
  call.parameters = bytes_of(m);
  call.operands = {x, to};
  call.inputs = {x};
  call.outputs = {to};
  calls->push_back(std::move(call));
  return "";
}

std::string read_moves(const NodeView& q, std::vector<Call>* calls) {
  if (q.op != Op::kTranspose && q.op != Op::kSlice && q.op != Op::kSplit && q.op != Op::kConcat && q.op != Op::kGather)
    return kUnknownNode;
  const int bits = dtype_bits(q.inputs[0].type.dtype);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return "kernels for microcontrollers move elements of 1, 2, 4 or 8 bytes";
  if (!mcu::serves_sizes(q)) return kSizes;
  switch (q.op) {
    case Op::kTranspose:
      return read_transpose(q, calls);
    case Op::kSlice:
      return read_slice(q, calls);
    case Op::kSplit:
      return read_split(q, calls);
    case Op::kGather:
      return read_gather(q, calls);
    default:
      return read_concat(q, calls);
  }
}

}  // namespace vireo::firmware
