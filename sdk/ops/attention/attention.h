// Scaled dot product attention.  B batches, Hq query heads in groups over Hkv key heads, Sq queries, S keys of this
// call after P cached ones, T = P + S, head sizes D and Dv.
//   0 q        [B, Hq, Sq, D] or [B, Sq, Hq D]
//   1 k, 2 v   [B, Hkv, S, D], [B, Hkv, S, Dv] or [B, S, Hkv D], [B, S, Hkv Dv]
//   3 mask     broadcasts to [B, Hq, Sq, T], optional: bool (may attend) or a number that is added. A shorter last
//   axis: keys
//              behind it are not attended
//   4, 5 past  [B, Hkv, P, D], [B, Hkv, P, Dv], optional, together
//   6 lengths  [B] i64, optional, not with past: valid keys of each batch
//   y [B, Hq, Sq, Dv] or [B, Sq, Hq Dv]; present [B, Hkv, T, D], [B, Hkv, T, Dv]; scores [B, Hq, Sq, T]
// Query i stands at position p = offset + i, offset = P, or lengths[b] - Sq, else 0. It sees key j when j < lengths[b],
// j <= p (causal) and p - left <= j <= p + right.
//   s = scale q k^T;  c = softcap tanh(s / softcap);  a = softmax(c + mask);  y = a v.   A query that sees nothing: a =
//   0. dtype  f32, f64, f16, bf16; v may have another of them than q and k. Computed in f32 (f64): at least as fine as
//   any
//          softmax_precision but float64, whose difference is below float32's own rounding of the result
//   alias  none;  scratch a query, a row of scores and a row of y a thread
// Source: ONNX opset 25 "Attention" (23 and 24 are its cases without windows; 23 without lengths).
#ifndef VIREO_SDK_OPS_ATTENTION_ATTENTION_H_
#define VIREO_SDK_OPS_ATTENTION_ATTENTION_H_

#include "sdk/base/shape.h"
#include "sdk/ops/attention/attention_generated.h"

namespace vireo {

// Extents of a call, from shapes in numbers. An absent past has rank 0.
struct AttentionExtents {
  int64_t batch, q_heads, kv_heads, queries, keys, past, head, value_head;
  bool packed;  // rank 3: heads lie within the last axis

  AttentionExtents(const attrs::Attention& a, const Shape& q, const Shape& k, const Shape& v, const Shape& past_key) {
    packed = q.rank == 3;
    batch = q[0];
    q_heads = packed ? a.q_heads() : q[1];
    kv_heads = packed ? a.kv_heads() : k[1];
    queries = q[packed ? 1 : 2];
    keys = k[packed ? 1 : 2];
    past = past_key.rank == 4 ? past_key[2] : 0;
    head = packed ? q[2] / q_heads : q[3];
    value_head = packed ? v[2] / kv_heads : v[3];
  }
  int64_t total() const { return past + keys; }
  // Element of row `s` of head `h` in a tensor of `heads` heads, `rows` rows and heads of size `size`.
  int64_t row(int64_t b, int64_t h, int64_t s, int64_t heads, int64_t rows, int64_t size) const {
    return packed ? ((b * rows + s) * heads + h) * size : ((b * heads + h) * rows + s) * size;
  }
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_ATTENTION_ATTENTION_H_
