#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/broadcast.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

constexpr int32_t kNone = -129;  // below every code

Status run_int_softmax(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntSoftmax>();
  const Shape& s = ctx.in(0)->shape;
  const int at = a.axis() < 0 ? a.axis() + s.rank : a.axis();
  const int64_t axis = s[at], inner = product(s, at + 1, s.rank), outer = product(s, 0, at);
  const ByteOperand x(*ctx.in(0), nullptr);
  const int32_t* table = ctx.in(1)->as<const int32_t>();
  const Codes codes(a);
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  const Tensor* const kept = ctx.in(2);
  const Shape* const shapes[] = {kept != nullptr ? &kept->shape : &s};
  const Broadcast walk(s, shapes, 1);
  // Element `i` of x.
  const auto keeps = [&](int64_t i) {
    return kept == nullptr ||
           kept->as<const uint8_t>()[walk.offset(0, i / walk.row()) + i % walk.row() * walk.step(0)] != 0;
  };
  ctx.parallel.for_range(outer * inner, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t base = line / inner * axis * inner + line % inner;
      int32_t top = kNone;
      for (int64_t k = 0; k < axis; ++k) {
        const int32_t v = x.value(x.data[base + k * inner]);
        top = keeps(base + k * inner) && v > top ? v : top;
      }
      const auto e = [&](int64_t i) {
        if (top == kNone) return table[0];
        return keeps(i) ? table[top - x.value(x.data[i])] : 0;
      };
      // Unsigned, because a file may hold any table: sums then wrap around the same way everywhere.
      uint64_t sum = 0;
      for (int64_t k = 0; k < axis; ++k) sum += static_cast<uint64_t>(static_cast<int64_t>(e(base + k * inner)));
      const float q = a.multiplier() / static_cast<float>(static_cast<int64_t>(sum));
      for (int64_t k = 0; k < axis; ++k) {
        const int64_t i = base + k * inner;
        const int32_t number = e(i);  // before its place is overwritten: y may be x
        y[i] = codes.of_real(static_cast<float>(number) * q);
      }
    }
  });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntSoftmaxRef;
const RefKernel kIntSoftmaxRef = {run_int_softmax, nullptr};

}  // namespace vireo
