#include "sdk/ops/attention/attention.h"

#include <math.h>
#include <string.h>

#include "sdk/base/checked.h"
#include "sdk/base/sizes.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

// Row `j` of the cached keys or values and those of this call, as if they were joined.
struct Cache {
  const Tensor *past, *now;
  int64_t size;  // of a head

  const uint8_t* row(const AttentionExtents& e, int64_t b, int64_t h, int64_t j) const {
    const int64_t bytes = dtype_bits(now->dtype) / 8;
    if (j < e.past) return past->as<const uint8_t>() + ((b * e.kv_heads + h) * e.past + j) * size * bytes;
    return now->as<const uint8_t>() + e.row(b, h, j - e.past, e.kv_heads, e.keys, size) * bytes;
  }
};

void write_present(const AttentionExtents& e, const Cache& cache, Tensor* present) {
  if (present == nullptr) return;
  const auto bytes = static_cast<size_t>(cache.size * (dtype_bits(cache.now->dtype) / 8));
  uint8_t* to = present->as<uint8_t>();
  if (bytes == 0) return;
  for (int64_t b = 0; b < e.batch; ++b) {
    for (int64_t h = 0; h < e.kv_heads; ++h) {
      for (int64_t j = 0; j < e.total(); ++j, to += bytes) memcpy(to, cache.row(e, b, h, j), bytes);
    }
  }
}

// The number that is added to a score; -inf: the key is not attended.
class Bias {
 public:
  Bias(const KernelContext& ctx, const AttentionExtents& e)
      : attrs_(ctx.attrs<attrs::Attention>()), e_(e), mask_(ctx.in(kMask)), lengths_(ctx.in(kLengths)) {
    if (mask_ == nullptr) return;
    int64_t stride = 1;
    for (int d = 3, m = mask_->shape.rank - 1; d >= 0; --d, --m) {
      const int64_t extent = m < 0 ? 1 : mask_->shape[m];
      const bool shared = m < 0 || (extent == 1 && d < 3);
      stride_[d] = shared ? 0 : stride;
      stride *= extent;
    }
    // A last axis of 1 is a mask that ends after one key; only a scalar is one value for all keys.
    covered_ = mask_->shape.rank == 0 ? e.total() : mask_->shape[mask_->shape.rank - 1];
  }

  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    int64_t offset = e_.past;
    if (lengths_ != nullptr) {
      const int64_t length = lengths_->as<const int64_t>()[b];
      if (j >= length) return -INFINITY;
      offset = length - e_.queries;
    }
    const int64_t p = offset + i;
    if (attrs_.causal() && j > p) return -INFINITY;
    if (attrs_.left_window() >= 0 && p - j > attrs_.left_window()) return -INFINITY;
    if (attrs_.right_window() >= 0 && j - p > attrs_.right_window()) return -INFINITY;
    if (mask_ == nullptr) return 0;
    if (j >= covered_) return -INFINITY;
    const int64_t at = b * stride_[0] + h * stride_[1] + i * stride_[2] + j * stride_[3];
    if (mask_->dtype == DType::kBool) return mask_->as<const uint8_t>()[at] != 0 ? 0 : -INFINITY;
    return read_real(mask_->dtype, mask_->data, at);
  }

 private:
  const attrs::Attention& attrs_;
  const AttentionExtents& e_;
  const Tensor *mask_, *lengths_;
  int64_t stride_[4] = {0, 0, 0, 0};
  int64_t covered_ = 0;
};

template <class T, class C>
C dot(const C* a, const T* b, int64_t n) {
  constexpr int kSums = 8;  // a single sum would wait for each of its additions
  C sums[kSums] = {}, sum = 0;
  int64_t k = 0;
  for (; k + kSums <= n; k += kSums) {
    for (int u = 0; u < kSums; ++u) sums[u] += a[k + u] * static_cast<C>(b[k + u]);
  }
  for (int u = 0; k < n; ++k, ++u) sums[u] += a[k] * static_cast<C>(b[k]);
  for (C s : sums) sum += s;
  return sum;
}

// sum += weight * row
template <class C>
void add_row(DType t, const uint8_t* row, int64_t n, C weight, C* sum) {
  (void)dispatch_float(t, [&](auto tag) {
    using V = decltype(tag);
    const V* v = reinterpret_cast<const V*>(row);
    for (int64_t k = 0; k < n; ++k) sum[k] += weight * static_cast<C>(v[k]);
    return Status::kOk;
  });
}

// Softmax over s in place; 0 where nothing is attended.
template <class C>
void normalise(C* s, int64_t n) {
  C top = static_cast<C>(-INFINITY), sum = 0;
  for (int64_t j = 0; j < n; ++j) top = s[j] > top ? s[j] : top;
  for (int64_t j = 0; j < n; ++j) {
    s[j] = s[j] == static_cast<C>(-INFINITY) ? C(0) : static_cast<C>(exp(s[j] - top));
    sum += s[j];
  }
  for (int64_t j = 0; j < n && sum != 0; ++j) s[j] /= sum;
}

// A thread's query, scores and row of y.
template <class C>
int64_t slot_bytes(const AttentionExtents& e) {
  return static_cast<int64_t>(align_up(static_cast<uint64_t>(e.head + e.total() + e.value_head) * sizeof(C), 64));
}

template <class T>
Status attend(const KernelContext& ctx, const AttentionExtents& e) {
  using C = compute_t<T>;
  const auto& a = ctx.attrs<attrs::Attention>();
  const Tensor& q = *ctx.in(kQ);
  const Cache keys = {ctx.in(kPastKey), ctx.in(kK), e.head}, values = {ctx.in(kPastValue), ctx.in(kV), e.value_head};
  const Bias bias(ctx, e);
  const C scale = isnan(a.scale()) ? static_cast<C>(1 / sqrt(static_cast<double>(e.head))) : static_cast<C>(a.scale());
  const C cap = static_cast<C>(a.softcap());
  Tensor* told = ctx.out(3);
  ctx.parallel.for_range(e.batch * e.q_heads * e.queries, 1, [&](int64_t begin, int64_t end, int32_t slot) {
    C* query = reinterpret_cast<C*>(ctx.scratch.data() + slot * slot_bytes<C>(e));
    C *score = query + e.head, *sum = score + e.total();
    for (int64_t r = begin; r < end; ++r) {
      const int64_t i = r % e.queries, h = r / e.queries % e.q_heads, b = r / e.queries / e.q_heads;
      const int64_t kv = h / (e.q_heads / e.kv_heads);
      const T* from = q.as<const T>() + e.row(b, h, i, e.q_heads, e.queries, e.head);
      for (int64_t k = 0; k < e.head; ++k) query[k] = static_cast<C>(from[k]) * scale;
      const auto tell = [&](attrs::AttentionScores when, int64_t j, C value) {
        if (told != nullptr && a.scores() == when) told->as<T>()[r * e.total() + j] = T(value);
      };
      for (int64_t j = 0; j < e.total(); ++j) {
        C s = dot(query, reinterpret_cast<const T*>(keys.row(e, b, kv, j)), e.head);
        tell(attrs::AttentionScores::Raw, j, s);
        if (cap > 0) s = cap * static_cast<C>(tanh(s / cap));
        tell(attrs::AttentionScores::Capped, j, s);
        // Chosen, not added: a NaN behind the mask stays behind it.
        const C added = static_cast<C>(bias(b, h, i, j));
        score[j] = added == static_cast<C>(-INFINITY) ? added : s + added;
        tell(attrs::AttentionScores::Biased, j, score[j]);
      }
      normalise(score, e.total());
      for (int64_t k = 0; k < e.value_head; ++k) sum[k] = 0;
      for (int64_t j = 0; j < e.total(); ++j) {
        tell(attrs::AttentionScores::Probabilities, j, score[j]);
        if (score[j] != 0) add_row(ctx.in(kV)->dtype, values.row(e, b, kv, j), e.value_head, score[j], sum);
      }
      T* y = ctx.out(0)->as<T>() + e.row(b, h, i, e.q_heads, e.queries, e.value_head);
      for (int64_t k = 0; k < e.value_head; ++k) y[k] = T(sum[k]);
    }
  });
  write_present(e, keys, ctx.out(1));
  write_present(e, values, ctx.out(2));
  return Status::kOk;
}

Status run_attention(const KernelContext& ctx) {
  const Tensor* past = ctx.in(kPastKey);
  const AttentionExtents e(ctx.attrs<attrs::Attention>(), ctx.in(kQ)->shape, ctx.in(kK)->shape, ctx.in(kV)->shape,
                           past == nullptr ? Shape{} : past->shape);
  return dispatch_float(ctx.in(kQ)->dtype, [&](auto tag) { return attend<decltype(tag)>(ctx, e); });
}

int64_t scratch(const KernelQuery& query) {
  const Span<const TensorType> in = query.inputs;
  const auto& a = query.attrs<attrs::Attention>();
  // Asked before inference has looked at the node.
  if (in[kQ].shape.rank == 3 && (a.q_heads() < 1 || a.kv_heads() < 1)) return -1;
  const AttentionExtents e(a, in[kQ].shape, in[kK].shape, in[kV].shape,
                           in.size() > kPastKey ? in[kPastKey].shape : Shape{});
  const int64_t words = size_sum(size_sum(e.head, e.value_head), size_sum(e.past, e.keys));
  if (size_product(words, int64_t{64} * query.slots) < 0) return -1;
  return query.slots * (in[kQ].dtype == DType::kF64 ? slot_bytes<double>(e) : slot_bytes<float>(e));
}

}  // namespace

extern const RefKernel kAttentionRef;
const RefKernel kAttentionRef = {run_attention, scratch};

}  // namespace vireo
