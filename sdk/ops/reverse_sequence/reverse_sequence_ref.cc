#include "sdk/ops/kernel.h"
#include "sdk/ops/reverse_sequence/reverse_sequence_generated.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

Status run_reverse_sequence(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::ReverseSequence>();
  const Tensor& x = *ctx.in(0);
  const Tensor& lens = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  const int64_t steps = x.shape[a.time_axis()];
  for (int64_t b = 0; b < lens.count(); ++b) {
    const int64_t n = read_integer(lens.dtype, lens.data, b);
    if (n < 0 || n > steps) {
      return ctx.fail(Status::kInvalidArgument, "ReverseSequence: length {} (entry {}) is outside [0,{}]", n, b, steps);
    }
  }
  Shape box = x.shape;
  box[a.batch_axis()] = 1;
  StridedView from = dense_view(x.shape), to = from;
  const int64_t time_stride = from.strides[a.time_axis()];
  for (int64_t b = 0; b < lens.count(); ++b) {
    const int64_t n = read_integer(lens.dtype, lens.data, b), start = b * to.strides[a.batch_axis()];
    box[a.time_axis()] = n;
    from.offset = start + (n - 1) * time_stride;
    from.strides[a.time_axis()] = -time_stride;
    to.offset = start;
    copy_strided(x.dtype, box, x.data, from, y.data, to);
    box[a.time_axis()] = steps - n;
    from.offset = to.offset = start + n * time_stride;
    from.strides[a.time_axis()] = time_stride;
    copy_strided(x.dtype, box, x.data, from, y.data, to);
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kReverseSequenceRef;
const RefKernel kReverseSequenceRef = {run_reverse_sequence, nullptr};

}  // namespace vireo
