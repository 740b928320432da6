#include "sdk/ops/einsum/einsum.h"

#include "sdk/ops/einsum/einsum_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

// The loops: extents of all labels, and how far each input moves when one of them goes up by one.
struct Loops {
  Einsum e;
  int64_t extent[kMaxEinsumLabels];
  int64_t step[kMaxEinsumTerms][kMaxEinsumLabels];
};

template <class T, class A>
void einsum(const KernelContext& ctx, const Loops& loops) {
  const Einsum& e = loops.e;
  T* y = ctx.out(0)->as<T>();
  int64_t sums = 1;
  for (int l = e.output_rank; l < e.labels; ++l) sums *= loops.extent[l];
  ctx.parallel.for_range(ctx.out(0)->count(), 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t at[kMaxEinsumTerms] = {};
      int64_t rest = i;
      for (int l = e.output_rank - 1; l >= 0; --l) {
        const int64_t k = rest % loops.extent[l];
        rest /= loops.extent[l];
        for (int t = 0; t < e.terms; ++t) at[t] += k * loops.step[t][l];
      }
      int64_t index[kMaxEinsumLabels] = {};
      A sum = 0;
      for (int64_t s = 0; s < sums; ++s) {
        A factor = 1;
        for (int t = 0; t < e.terms; ++t)
          factor = static_cast<A>(factor * to_sum<A>(ctx.in(static_cast<size_t>(t))->as<const T>()[at[t]]));
        sum = static_cast<A>(sum + factor);
        for (int l = e.labels - 1; l >= e.output_rank; --l) {
          const bool wraps = ++index[l] == loops.extent[l];
          const int64_t moves = wraps ? 1 - loops.extent[l] : 1;
          for (int t = 0; t < e.terms; ++t) at[t] += moves * loops.step[t][l];
          if (!wraps) break;
          index[l] = 0;
        }
      }
      y[i] = from_sum<T>(sum);
    }
  });
}

Status run_einsum(const KernelContext& ctx) {
  Loops loops{};
  const int n = static_cast<int>(ctx.inputs.size());
  int ranks[kMaxEinsumTerms];
  for (int i = 0; i < n; ++i) ranks[i] = ctx.in(static_cast<size_t>(i))->shape.rank;
  if (parse_einsum(ctx.attrs<attrs::Einsum>().equation()->c_str(), ranks, n, &loops.e) != nullptr) {
    return ctx.fail(Status::kInvalidModel, "the equation does not suit the inputs");
  }
  for (int64_t& d : loops.extent) d = 1;
  for (int i = 0; i < n; ++i) {
    const Shape& s = ctx.in(static_cast<size_t>(i))->shape;
    for (int d = 0; d < s.rank; ++d) {
      if (s[d] == 1) continue;
      loops.extent[loops.e.label[i][d]] = s[d];
      loops.step[i][loops.e.label[i][d]] += product(s, d + 1, s.rank);  // a repeated label: the diagonal
    }
  }
  switch (ctx.in(0)->dtype) {
    case DType::kI8:
    case DType::kU8:
      einsum<uint8_t, uint64_t>(ctx, loops);
      return Status::kOk;
    case DType::kI16:
    case DType::kU16:
      einsum<uint16_t, uint64_t>(ctx, loops);
      return Status::kOk;
    case DType::kI32:
    case DType::kU32:
      einsum<uint32_t, uint64_t>(ctx, loops);
      return Status::kOk;
    case DType::kI64:
    case DType::kU64:
      einsum<uint64_t, uint64_t>(ctx, loops);
      return Status::kOk;
    default:
      return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
        einsum<decltype(tag), accumulate_t<decltype(tag)>>(ctx, loops);
        return Status::kOk;
      });
  }
}

}  // namespace

extern const RefKernel kEinsumRef;
const RefKernel kEinsumRef = {run_einsum, nullptr};

}  // namespace vireo
