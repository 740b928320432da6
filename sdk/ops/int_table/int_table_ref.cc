#include "sdk/ops/kernel.h"

namespace vireo {
namespace {

Status run_int_table(const KernelContext& ctx) {
  const uint8_t *x = ctx.in(0)->as<const uint8_t>(), *table = ctx.in(1)->as<const uint8_t>();
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  constexpr int64_t kBytesGrain = 16384;  // bytes a thread is woken for
  ctx.parallel.for_range(ctx.in(0)->count(), kBytesGrain, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
  });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntTableRef;
const RefKernel kIntTableRef = {run_int_table, nullptr};

}  // namespace vireo
