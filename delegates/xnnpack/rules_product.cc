#include "delegates/xnnpack/codes.h"
#include "delegates/xnnpack/rules.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"

namespace vireo::xnnpack {
namespace {

// A sum over an extent that may be 0 at a run.
constexpr const char* kVaries = "its extents change between runs";

// y [rows, n] = x [rows, k] * filter + bias; the filter is [k, n], or [n, k] when `transposed` says so.
const char* fully_connected(Writer& w, const Step& s, const Value& filter, bool transposed, const Value* bias,
                            int64_t rows, int64_t k, int64_t n) {
  if (filter.constant != nullptr && bias != nullptr && bias->constant == nullptr) return "its bias is not constant";
  const Dims filter_dims = transposed ? Dims{n, k} : Dims{k, n};
  const uint32_t x = w.in(*s.node->in(0), {rows, k});
  const uint32_t f = filter.constant != nullptr ? w.fixed(filter, filter_dims) : w.in(filter, filter_dims);
  uint32_t b = XNN_INVALID_VALUE_ID;
  if (bias != nullptr) b = bias->constant != nullptr ? w.fixed(*bias, {n}) : w.in(*bias, {n});
  const uint32_t y = w.out(*s.out, {rows, n});
  if (w.asks()) return nullptr;
  return w.done(
      xnn_define_fully_connected(w.graph(), s.low, s.high, x, f, b, y, transposed ? 0 : XNN_FLAG_TRANSPOSE_WEIGHTS));
}

}  // namespace

const char* define_gemm(Writer& w, const Step& s) {
  const Node& node = *s.node;
  const auto& a = node.read<attrs::Gemm>();
  const Value *x = node.in(0), *filter = node.in(1), *bias = node.in(2) != nullptr ? node.in(2) : s.bias;
  if (const char* reason = half_sums(*x, kernels().half_dense)) return reason;
  if (x->type.dtype == DType::kF16 && filter->constant == nullptr) return "its weights are not constant";
  if (filter->constant == nullptr && s.codes == nullptr && !(x->is_static && filter->is_static)) return kVaries;
  if (a.trans_a() || a.alpha() != 1 || (bias != nullptr && a.beta() != 1)) return "XNNPACK has no alpha, beta, transA";
  const int64_t rows = x->type.shape[0], k = x->type.shape[1], n = s.out->type.shape[1];
  if (bias != nullptr) {
    const Shape& c = bias->type.shape;
    if (element_count(c) != n || c.rank < 1 || c[c.rank - 1] != n) return "its bias is not one value a column";
  }
  if (s.codes != nullptr) return define_coded_product(w, s, a.trans_b(), bias, rows);
  return fully_connected(w, s, *filter, a.trans_b(), bias, rows, k, n);
}

const char* define_matmul(Writer& w, const Step& s) {
  const Value &a = *s.node->in(0), &b = *s.node->in(1);
  const Shape &as = a.type.shape, &bs = b.type.shape, &ys = s.out->type.shape;
  if (const char* reason = half_sums(a, kernels().half_dense)) return reason;
  if (as.rank < 2 || bs.rank < 2) return "an operand is a vector";
  if (element_count(as) == 0 || element_count(bs) == 0) return "it has no elements";
  if (b.constant == nullptr && s.codes == nullptr && !(a.is_static && b.is_static)) return kVaries;
  const int64_t k = as[as.rank - 1], n = bs[bs.rank - 1], m = as[as.rank - 2];
  const bool half_matrix = b.type.dtype == DType::kF16 && b.constant == nullptr;  // its packing knows no float16
  if (element_count(bs) == k * n && !half_matrix) {                               // one matrix for all rows
    if (s.codes != nullptr) return define_coded_product(w, s, false, s.bias, element_count(as) / k);
    // XNNPACK packs a matrix that is not constant at each run, for which a few rows do not pay; it is right all the
    // same.
    return fully_connected(w, s, b, false, s.bias, element_count(as) / k, k, n);
  }
  if (s.codes != nullptr) return "XNNPACK's batched product has no codes";
  if (s.bias != nullptr || s.low != -INFINITY || s.high != INFINITY)
    return "XNNPACK's batched product has no bias and no bounds";
  Dims ad, bd, yd;
  if (!dims_of(as, &ad) || !dims_of(bs, &bd) || !dims_of(ys, &yd)) return "more dimensions than XNNPACK has";
  if (ad.count < 3) ad = {1, m, k};
  if (bd.count < 3) bd = {1, k, n};
  const uint32_t left = w.in(a, ad), right = w.in(b, bd), out = w.out(*s.out, yd);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_batch_matrix_multiply(w.graph(), left, right, out, 0));
}

const char* define_int_gemm(Writer& w, const Step& s) {
  const auto& a = s.node->read<attrs::IntGemm>();
  CodesProduct p;
  if (const char* reason = read_codes_product(s, false, a.a_zero(), a.y_zero(), a.low(), a.high(), &p)) return reason;
  const Shape &xs = p.x->type.shape, &bs = p.w->type.shape;
  if (xs.rank < 1 || bs.rank < 2) return "an operand is a vector";
  const int64_t k = bs[bs.rank - 2], n = bs[bs.rank - 1];
  if (element_count(bs) != k * n) return "XNNPACK's batched product has no codes";
  if (k == 0 || n == 0) return "it has no elements";
  const int64_t rows = element_count(xs) / k;
  const uint32_t x = w.in(*p.x, {rows, k}, p.in);
  const float* const m = w.per_channel(*p.multiplier, n);
  const uint32_t f = w.fixed(*p.w, {k, n}, p.filter(m, 1));
  const uint32_t b = p.bias == nullptr ? XNN_INVALID_VALUE_ID : w.fixed(*p.bias, {n}, p.sums(m));
  const uint32_t y = w.out(*s.out, {rows, n}, p.out);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_fully_connected(w.graph(), p.low, p.high, x, f, b, y, XNN_FLAG_TRANSPOSE_WEIGHTS));
}

}  // namespace vireo::xnnpack
