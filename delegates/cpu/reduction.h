// A reduction operator's attributes in the form that the kernel takes.
#ifndef VIREO_DELEGATES_CPU_REDUCTION_H_
#define VIREO_DELEGATES_CPU_REDUCTION_H_

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/reduce/reduce.h"
#include "sdk/ops/reduce/reduce_generated.h"

namespace vireo::cpu {

struct Reduction {
  Reduce kind = Reduce::kSum;
  bool root = false;        // L2: the square root of the sum of squares
  int first = 0, last = 0;  // axes [first, last)
};

inline bool is_reduction(Op op) {
  return op == Op::kReduceSum || op == Op::kReduceMean || op == Op::kReduceMax || op == Op::kReduceMin ||
         op == Op::kReduceProd || op == Op::kReduceNorm;
}

// A node's second input, axes of int64. Absent: none. False: a run brings them.
inline bool constant_axes(const CpuQuery& q, const int64_t** axes, int64_t* count) {
  *axes = nullptr;
  *count = 0;
  if (q.input_count < 2 || q.inputs[1].type.dtype == DType::kNone) return true;
  const GraphValue& v = q.inputs[1];
  if (v.constant == nullptr || v.type.dtype != DType::kI64) return false;
  *axes = v.as<int64_t>();
  *count = product(v.type.shape, 0, v.type.shape.rank);
  return true;
}

// Which axes. `axes`, constant, `count` of them: none is what an absent input is. False: not one run of neighbouring
// axes.
inline bool read_axes(bool noop, int rank, const int64_t* axes, int64_t count, Reduction* out) {
  uint32_t mask = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int axis = normalize_axis(axes[i], rank);
    if (axis < 0) return false;
    mask |= 1u << axis;
  }
  if (mask == 0) {
    if (noop || rank == 0) return false;
    mask = (1u << rank) - 1;
  }
  out->first = 0;
  while ((mask >> out->first & 1) == 0) ++out->first;
  out->last = out->first;
  while (out->last < rank && (mask >> out->last & 1) != 0) ++out->last;
  return mask >> out->last == 0;
}

// Reads an operator of is_reduction(), `axes` as above. False: not one run of neighbouring axes, or no kernel.
inline bool read_reduction(Op op, const uint8_t* attributes, int rank, const int64_t* axes, int64_t count,
                           Reduction* out) {
  bool noop = false;
  if (op == Op::kReduceNorm) {
    const auto& a = *::flatbuffers::GetRoot<attrs::ReduceNorm>(attributes);
    noop = a.noop_with_empty_axes();
    if (a.norm() == attrs::Norm::L1) {
      out->kind = Reduce::kSumAbs;
    } else if (a.norm() == attrs::Norm::L2 || a.norm() == attrs::Norm::SumSquare) {
      out->kind = Reduce::kSumSquare;
      out->root = a.norm() == attrs::Norm::L2;
    } else {
      return false;
    }
  } else {
    noop = ::flatbuffers::GetRoot<attrs::Reduce>(attributes)->noop_with_empty_axes();
    out->kind = op == Op::kReduceMean   ? Reduce::kMean
                : op == Op::kReduceMax  ? Reduce::kMax
                : op == Op::kReduceMin  ? Reduce::kMin
                : op == Op::kReduceProd ? Reduce::kProduct
                                        : Reduce::kSum;
  }
  return read_axes(noop, rank, axes, count, out);
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_REDUCTION_H_
