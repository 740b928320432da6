#include <math.h>

#include "sdk/base/checked.h"
#include "sdk/base/sizes.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/linear_attention/linear_attention_generated.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

using attrs::LinearAttentionRule;

// A thread's state [Dk, Dv] and what an update adds to it [Dv].
int64_t slot_bytes(int64_t key_size, int64_t value_size) {
  return static_cast<int64_t>(align_up(static_cast<uint64_t>((key_size + 1) * value_size) * sizeof(float), 64));
}

void store_state(const float* s, int64_t begin, int64_t n, Tensor* present) {
  if (present == nullptr) return;
  (void)dispatch_float(present->dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < n; ++i) present->as<T>()[begin + i] = T(static_cast<compute_t<T>>(s[i]));
    return Status::kOk;
  });
}

template <class T>
Status attend(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::LinearAttention>();
  const Tensor &q = *ctx.in(0), &k = *ctx.in(1), &v = *ctx.in(2);
  const Tensor *past = ctx.in(3), *decay = ctx.in(4), *beta = ctx.in(5);
  const int64_t steps = q.shape[1], heads = a.kv_heads(), group = a.q_heads() / heads;
  const int64_t dk = k.shape[2] / heads, dv = v.shape[2] / heads;
  const bool gated = a.rule() == LinearAttentionRule::Gated || a.rule() == LinearAttentionRule::GatedDelta;
  const bool delta = a.rule() == LinearAttentionRule::Delta || a.rule() == LinearAttentionRule::GatedDelta;
  const float scale = a.scale() != 0 ? a.scale() : static_cast<float>(1 / sqrt(static_cast<double>(dk)));
  ctx.parallel.for_range(q.shape[0] * heads, 1, [&](int64_t begin, int64_t end, int32_t slot) {
    float* s = reinterpret_cast<float*>(ctx.scratch.data() + slot * slot_bytes(dk, dv));
    float* added = s + dk * dv;
    for (int64_t bh = begin; bh < end; ++bh) {
      const int64_t b = bh / heads, h = bh % heads;
      for (int64_t i = 0; i < dk * dv; ++i) {
        s[i] = past == nullptr ? 0 : static_cast<float>(read_real(past->dtype, past->data, bh * dk * dv + i));
      }
      for (int64_t t = 0; t < steps; ++t) {
        const int64_t step = b * steps + t;
        const T *kt = k.as<const T>() + (step * heads + h) * dk, *vt = v.as<const T>() + (step * heads + h) * dv;
        for (int64_t i = 0; gated && i < dk; ++i) {
          // One decay for each element of the key, or one for the head.
          const bool each = decay->shape[2] == heads * dk;
          const float keep = static_cast<float>(
              exp(static_cast<float>(decay->as<const T>()[each ? (step * heads + h) * dk + i : step * heads + h])));
          for (int64_t c = 0; c < dv; ++c) s[i * dv + c] *= keep;
        }
        for (int64_t c = 0; c < dv; ++c) added[c] = static_cast<float>(vt[c]);
        if (delta) {
          const float rate = static_cast<float>(beta->as<const T>()[beta->shape[2] == heads ? step * heads + h : step]);
          for (int64_t i = 0; i < dk; ++i) {
            for (int64_t c = 0; c < dv; ++c) added[c] -= s[i * dv + c] * static_cast<float>(kt[i]);
          }
          for (int64_t c = 0; c < dv; ++c) added[c] *= rate;
        }
        for (int64_t i = 0; i < dk; ++i) {
          for (int64_t c = 0; c < dv; ++c) s[i * dv + c] += static_cast<float>(kt[i]) * added[c];
        }
        for (int64_t g = 0; g < group && ctx.out(0) != nullptr; ++g) {
          const int64_t head = step * a.q_heads() + h * group + g;
          const T* qt = q.as<const T>() + head * dk;
          for (int64_t c = 0; c < dv; ++c) {
            float sum = 0;
            for (int64_t i = 0; i < dk; ++i) sum += static_cast<float>(qt[i]) * s[i * dv + c];
            ctx.out(0)->as<T>()[head * dv + c] = T(scale * sum);
          }
        }
      }
      store_state(s, bh * dk * dv, dk * dv, ctx.out(1));
    }
  });
  return Status::kOk;
}

Status run_linear_attention(const KernelContext& ctx) {
  switch (ctx.in(0)->dtype) {
    case DType::kF32:
      return attend<float>(ctx);
    case DType::kF16:
      return attend<F16>(ctx);
    case DType::kBF16:
      return attend<BF16>(ctx);
    default:
      return Status::kUnsupported;
  }
}

int64_t scratch(const KernelQuery& query) {
  const auto heads = static_cast<int64_t>(query.attrs<attrs::LinearAttention>().kv_heads());
  if (heads < 1) return -1;  // asked before inference has looked at the node
  const int64_t key_size = query.inputs[1].shape[2] / heads, value_size = query.inputs[2].shape[2] / heads;
  if (size_product(size_product(size_sum(key_size, 1), value_size), int64_t{64} * query.slots) < 0) return -1;
  return query.slots * slot_bytes(key_size, value_size);
}

}  // namespace

extern const RefKernel kLinearAttentionRef;
const RefKernel kLinearAttentionRef = {run_linear_attention, scratch};

}  // namespace vireo
