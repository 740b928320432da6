#include "sdk/base/sizes.h"
#include "sdk/base/string.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/sort.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/unique/unique_generated.h"

namespace vireo {
namespace {

// x as [outer, n, inner]: slice k holds x[o, k, i] for all o and i. A complex number is compared as two: `parts`.
struct Slices {
  const Tensor* x;
  int64_t outer, n, inner, parts;
};

Slices slices_of(const Tensor& x, const attrs::Unique& a) {
  const int64_t parts = x.dtype == DType::kC64 || x.dtype == DType::kC128 ? 2 : 1;
  if (a.flat()) return {&x, 1, x.count(), 1, parts};
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const int64_t inner = product(x.shape, axis + 1, x.shape.rank);
  return {&x, inner == 0 ? 0 : product(x.shape, 0, axis), x.shape[axis], inner, parts};
}

// -1, 0, 1
template <class T>
int compare(const Slices& s, int64_t a, int64_t b) {
  for (int64_t o = 0; o < s.outer; ++o) {
    const int64_t count = s.inner * s.parts;
    const T* p = s.x->as<const T>() + (o * s.n + a) * count;
    const T* q = s.x->as<const T>() + (o * s.n + b) * count;
    for (int64_t i = 0; i < count; ++i) {
      if (total_less(p[i], q[i])) return -1;
      if (total_less(q[i], p[i])) return 1;
    }
  }
  return 0;
}

using Compare = int (*)(const Slices&, int64_t, int64_t);

Status find_compare(DType t, Compare* out) {
  if (t == DType::kString) {
    *out = compare<StringRef>;
    return Status::kOk;
  }
  if (t == DType::kBool) {
    *out = compare<uint8_t>;
    return Status::kOk;
  }
  if (t == DType::kC64 || t == DType::kC128) t = t == DType::kC64 ? DType::kF32 : DType::kF64;
  return dispatch_number(t, [&](auto tag) {
    *out = compare<decltype(tag)>;
    return Status::kOk;
  });
}

Status run_unique(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const auto& a = ctx.attrs<attrs::Unique>();
  const Slices s = slices_of(x, a);
  Compare cmp = nullptr;
  if (!ok(find_compare(x.dtype, &cmp))) return ctx.fail(Status::kUnsupported, "Unique of {}", dtype_name(x.dtype));

  int64_t* order = reinterpret_cast<int64_t*>(ctx.scratch.data());  // slices, equal ones side by side
  int64_t* group = order + s.n;                                     // of each slice
  int64_t* first = group + s.n;                                     // slice of each group
  int64_t* rank = first + s.n;                                      // in the output, of each group
  for (int64_t k = 0; k < s.n; ++k) order[k] = k;
  heap_sort(order, s.n, [&](int64_t p, int64_t q) {
    const int c = cmp(s, p, q);
    return c != 0 ? c < 0 : p < q;
  });
  int64_t groups = 0;
  for (int64_t k = 0; k < s.n; ++k) {
    if (k == 0 || cmp(s, order[k - 1], order[k]) != 0) {
      rank[groups] = groups;
      first[groups++] = order[k];
    }
    group[order[k]] = groups - 1;
  }
  if (!a.sorted()) {
    for (int64_t k = 0, next = 0; k < s.n; ++k) {
      if (first[group[k]] == k) rank[group[k]] = next++;
    }
  }

  Tensor& y = *ctx.out(0);
  y.shape = x.shape;
  if (a.flat()) y.shape.rank = 1;
  y.shape[a.flat() ? 0 : normalize_axis(a.axis(), x.shape.rank)] = groups;
  for (const size_t o : {size_t{1}, size_t{3}}) {
    if (ctx.out(o) != nullptr) ctx.out(o)->shape[0] = groups;
  }
  Shape box;
  box.rank = 2;
  box[0] = s.outer;
  box[1] = s.inner;
  StridedView from, to;
  from.strides[0] = s.n * s.inner;
  to.strides[0] = groups * s.inner;
  from.strides[1] = to.strides[1] = 1;
  for (int64_t g = 0; g < groups; ++g) {
    from.offset = first[g] * s.inner;
    to.offset = rank[g] * s.inner;
    copy_strided(x.dtype, box, x.data, from, y.data, to);
    if (ctx.out(1) != nullptr) ctx.out(1)->as<int64_t>()[rank[g]] = first[g];
    if (ctx.out(3) != nullptr) ctx.out(3)->as<int64_t>()[rank[g]] = 0;
  }
  for (int64_t k = 0; k < s.n; ++k) {
    const int64_t r = rank[group[k]];
    if (ctx.out(2) != nullptr) ctx.out(2)->as<int64_t>()[k] = r;
    if (ctx.out(3) != nullptr) ++ctx.out(3)->as<int64_t>()[r];
  }
  return Status::kOk;
}

int64_t scratch_bytes(const KernelQuery& query) {
  const auto& a = query.attrs<attrs::Unique>();
  const Shape& x = query.inputs[0].shape;
  const int axis = a.flat() ? 0 : normalize_axis(a.axis(), x.rank);
  if (axis < 0) return -1;
  return size_product(a.flat() ? element_count(x) : x[axis], 4 * sizeof(int64_t));
}

}  // namespace

extern const RefKernel kUniqueRef;
const RefKernel kUniqueRef = {run_unique, scratch_bytes};

}  // namespace vireo
