#include "sdk/ops/kernel.h"
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

Status run_rotary_embedding(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::RotaryEmbedding>();
  const Tensor &x = *ctx.in(0), &cosines = *ctx.in(1), &sines = *ctx.in(2);
  const Tensor* ids = ctx.in(3);
  const bool packed = x.shape.rank == 3;
  const int64_t batch = x.shape[0], heads = packed ? a.heads() : x.shape[1], tokens = x.shape[packed ? 1 : 2];
  const int64_t head = packed ? x.shape[2] / heads : x.shape[3], half = cosines.shape[cosines.shape.rank - 1];
  for (int64_t i = 0; ids != nullptr && i < batch * tokens; ++i) {
    const int64_t p = ids->as<const int64_t>()[i];
    if (p < 0 || p >= cosines.shape[0]) {
      return ctx.fail(Status::kInvalidArgument, "position_ids[{}] is {}, but the tables hold {} positions", i, p,
                      cosines.shape[0]);
    }
  }
  return dispatch_float(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    using C = compute_t<T>;
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < tokens; ++t) {
        const int64_t position = ids == nullptr ? b * tokens + t : ids->as<const int64_t>()[b * tokens + t];
        const T *c = cosines.as<const T>() + position * half, *s = sines.as<const T>() + position * half;
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t at = (packed ? (b * tokens + t) * heads + h : (b * heads + h) * tokens + t) * head;
          const T* from = x.as<const T>() + at;
          T* to = ctx.out(0)->as<T>() + at;
          for (int64_t k = 0; k < half; ++k) {
            const int64_t first = a.interleaved() ? 2 * k : k, second = a.interleaved() ? 2 * k + 1 : k + half;
            const C x1 = static_cast<C>(from[first]), x2 = static_cast<C>(from[second]);
            const C cosine = static_cast<C>(c[k]), sine = static_cast<C>(s[k]);
            to[first] = T(cosine * x1 - sine * x2);
            to[second] = T(sine * x1 + cosine * x2);
          }
          for (int64_t k = 2 * half; k < head; ++k) to[k] = from[k];
        }
      }
    }
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kRotaryEmbeddingRef;
const RefKernel kRotaryEmbeddingRef = {run_rotary_embedding, nullptr};

}  // namespace vireo
