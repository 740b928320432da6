// Linear models and support vector machines: sums over the features in vectors, finished as the reference does.
#include "sdk/ops/ml_linear/finish.h"

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/row_sums/row_sums.h"
#include "sdk/base/sizes.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// A slot's doubles: rows of x, and of sums.
int64_t slot_doubles(const MlVectors& v) { return cpu::kRowsAtOnce * (v.features + v.doubles()); }

int64_t scratch_bytes(const CpuQuery& q) {
  const int64_t slot = slot_doubles(ml_vectors(q.op, {q.node.attrs, q.node.attrs_size}));
  return slot * static_cast<int64_t>(sizeof(double)) * q.slots;
}

template <Op kOp, MlFinish kFinish>
Status run(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  const MlVectors v = ml_vectors(kOp, ctx.attr_bytes);
  const int64_t rows = x.shape.rank == 2 ? x.shape[0] : 1, groups = (rows + cpu::kRowsAtOnce - 1) / cpu::kRowsAtOnce;
  const int64_t work = cpu::kRowsAtOnce * (v.features + 16) * (v.count + 1);
  ctx.parallel.for_range(groups, (1 << 16) / work + 1, [&](int64_t begin, int64_t end, int32_t slot) {
    double* const wide = reinterpret_cast<double*>(ctx.scratch.data()) + slot * slot_doubles(v);
    double* const sums = wide + cpu::kRowsAtOnce * v.features;
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g * cpu::kRowsAtOnce;
      const int64_t count = rows - first < cpu::kRowsAtOnce ? rows - first : cpu::kRowsAtOnce;
      const int64_t from = first * v.features;
      if (x.dtype == DType::kF32) {
        const float* const row = x.as<const float>() + from;
        for (int64_t i = 0; i < count * v.features; ++i) wide[i] = static_cast<double>(row[i]);
      } else {
        for (int64_t i = 0; i < count * v.features; ++i) wide[i] = read_real(x.dtype, x.data, from + i);
      }
      cpu::row_sums_f64({count, v.count, v.features, v.doubles(), v.squared}, wide, v.data, sums);
      for (int64_t r = 0; r < count; ++r) kFinish(ctx, first + r, sums + r * v.doubles());
    }
  });
  return Status::kOk;
}

template <Op kOp, MlFinish kFinish>
constexpr CpuKernel kKernel = {"row_sums_f64", 0, scratch_bytes, nullptr, run<kOp, kFinish>};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "";
  switch (q.op) {
    case Op::kLinearClassifier:
      return &kKernel<Op::kLinearClassifier, finish_linear_classifier>;
    case Op::kLinearRegressor:
      return &kKernel<Op::kLinearRegressor, finish_linear_regressor>;
    case Op::kSVMClassifier:
      return &kKernel<Op::kSVMClassifier, finish_svm_classifier>;
    default:
      return &kKernel<Op::kSVMRegressor, finish_svm_regressor>;
  }
}

}  // namespace

extern const CpuOp kCpuOp_ml_linear;
const CpuOp kCpuOp_ml_linear = {"ml_linear", choose};

}  // namespace vireo
