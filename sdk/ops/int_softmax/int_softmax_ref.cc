#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status run_int_softmax(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntSoftmax>();
  const Shape& s = ctx.in(0)->shape;
  const int at = a.axis() < 0 ? a.axis() + s.rank : a.axis();
  const int64_t axis = s[at], inner = product(s, at + 1, s.rank), outer = product(s, 0, at);
  const ByteOperand x(*ctx.in(0), nullptr);
  const int32_t* table = ctx.in(1)->as<const int32_t>();
  const Codes codes(a);
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  ctx.parallel.for_range(outer * inner, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t base = line / inner * axis * inner + line % inner;
      int32_t top = -128;
      for (int64_t k = 0; k < axis; ++k) {
        const int32_t v = x.value(x.data[base + k * inner]);
        top = v > top ? v : top;
      }
      // Unsigned, because a file may hold any table: sums then wrap around the same way everywhere.
      uint64_t sum = 0;
      for (int64_t k = 0; k < axis; ++k) {
        sum += static_cast<uint64_t>(static_cast<int64_t>(table[top - x.value(x.data[base + k * inner])]));
      }
      const float q = a.multiplier() / static_cast<float>(static_cast<int64_t>(sum));
      for (int64_t k = 0; k < axis; ++k) {
        const int32_t e = table[top - x.value(x.data[base + k * inner])];
        y[base + k * inner] = codes.of_real(static_cast<float>(e) * q);
      }
    }
  });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntSoftmaxRef;
const RefKernel kIntSoftmaxRef = {run_int_softmax, nullptr};

}  // namespace vireo
