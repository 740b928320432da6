#include <string.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/trilu/trilu_generated.h"

namespace vireo {
namespace {

Status run_trilu(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor* diagonal = ctx.in(1);
  Tensor& y = *ctx.out(0);
  const bool upper = ctx.attrs<attrs::Trilu>().upper();
  const int64_t columns = x.shape[x.shape.rank - 1], rows = x.shape[x.shape.rank - 2];
  const int64_t k = diagonal == nullptr ? 0 : read_integer(diagonal->dtype, diagonal->data, 0);
  const size_t size = static_cast<size_t>(dtype_bits(x.dtype) / 8);
  const int64_t lines = product(x.shape, 0, x.shape.rank - 1);
  if (columns == 0) return Status::kOk;
  for (int64_t line = 0; line < lines; ++line) {
    // The first column on (upper) or past (lower) the diagonal.
    const int64_t r = line % rows;
    int64_t split = k < -rows ? 0 : k > columns ? columns : r + k + (upper ? 0 : 1);
    split = split < 0 ? 0 : split > columns ? columns : split;
    const uint8_t* from = x.as<const uint8_t>() + static_cast<size_t>(line * columns) * size;
    uint8_t* to = y.as<uint8_t>() + static_cast<size_t>(line * columns) * size;
    if (from != to) memcpy(to, from, static_cast<size_t>(columns) * size);
    if (upper) {
      memset(to, 0, static_cast<size_t>(split) * size);
    } else {
      memset(to + static_cast<size_t>(split) * size, 0, static_cast<size_t>(columns - split) * size);
    }
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kTriluRef;
const RefKernel kTriluRef = {run_trilu, nullptr};

}  // namespace vireo
