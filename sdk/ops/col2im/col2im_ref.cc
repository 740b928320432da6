#include <string.h>

#include <type_traits>

#include "sdk/ops/col2im/col2im_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

struct Geometry {
  Shape image, block, count;  // count: blocks on each axis
  int64_t dilation[kMaxRank], stride[kMaxRank], pad[kMaxRank];
};

Geometry read_geometry(const attrs::Col2Im& a, const Shape& y, const Tensor& block) {
  Geometry g;
  const int k = y.rank - 2;
  g.image.rank = g.block.rank = g.count.rank = k;
  for (int i = 0; i < k; ++i) {
    const unsigned u = static_cast<unsigned>(i);
    g.image[i] = y[i + 2];
    g.block[i] = read_integer(block.dtype, block.data, i);
    g.dilation[i] = a.dilations() == nullptr ? 1 : a.dilations()->Get(u);
    g.stride[i] = a.strides() == nullptr ? 1 : a.strides()->Get(u);
    g.pad[i] = a.pads() == nullptr ? 0 : a.pads()->Get(u);
    const int64_t after = a.pads() == nullptr ? 0 : a.pads()->Get(u + static_cast<unsigned>(k));
    const int64_t rest = g.image[i] + g.pad[i] + after - g.dilation[i] * (g.block[i] - 1) - 1;
    g.count[i] = rest < 0 ? 0 : rest / g.stride[i] + 1;
  }
  return g;
}

// Adds one element; the walk over the columns is compiled once for all types.
using Add = void (*)(void* sum, const void* v);

template <class T, int kParts>
void add(void* sum, const void* v) {
  for (int p = 0; p < kParts; ++p) {
    T& to = static_cast<T*>(sum)[p];
    to = T(static_cast<compute_t<T>>(to) + static_cast<compute_t<T>>(static_cast<const T*>(v)[p]));
  }
}

void add_bool(void* sum, const void* v) { *static_cast<uint8_t*>(sum) |= *static_cast<const uint8_t*>(v); }

// Null: no such type.
Add find_add(DType t) {
  if (t == DType::kBool) return add_bool;
  if (t == DType::kC64) return add<float, 2>;
  if (t == DType::kC128) return add<double, 2>;
  Add found = nullptr;
  (void)dispatch_number(t, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral<T>::value) {
      found = add<std::make_unsigned_t<T>, 1>;  // wraps around, to the bits that a signed sum has
    } else {
      found = add<T, 1>;
    }
    return Status::kOk;
  });
  return found;
}

// One channel: columns [block, count] into `image`, which is 0; elements of `size` bytes.
void add_columns(const uint8_t* columns, const Geometry& g, int64_t size, Add add_element, uint8_t* image) {
  const StridedView dense = dense_view(g.image);
  if (product(g.count, 0, g.count.rank) == 0) return;
  int64_t in_block[kMaxRank] = {};
  do {
    int64_t at[kMaxRank] = {};
    do {
      int64_t to = 0;
      bool inside = true;
      for (int i = 0; i < g.image.rank; ++i) {
        const int64_t p = at[i] * g.stride[i] - g.pad[i] + in_block[i] * g.dilation[i];
        inside = inside && p >= 0 && p < g.image[i];
        to += p * dense.strides[i];
      }
      if (inside) add_element(image + to * size, columns);
      columns += size;
    } while (next_index(g.count, at));
  } while (next_index(g.block, in_block));
}

Status run_col2im(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const Geometry g = read_geometry(ctx.attrs<attrs::Col2Im>(), y.shape, *ctx.in(2));
  const int64_t planes = y.shape[0] * y.shape[1];
  const int64_t size = product(g.image, 0, g.image.rank);
  const int64_t columns = product(g.block, 0, g.block.rank) * product(g.count, 0, g.count.rank);
  const Add add_element = find_add(y.dtype);
  if (add_element == nullptr) return ctx.fail(Status::kUnsupported, "Col2Im of {}", dtype_name(y.dtype));
  const int64_t bytes = dtype_bits(y.dtype) / 8;
  if (y.count() > 0) memset(y.data, 0, static_cast<size_t>(y.count() * bytes));
  for (int64_t p = 0; p < planes; ++p) {
    add_columns(x.as<const uint8_t>() + p * columns * bytes, g, bytes, add_element, y.as<uint8_t>() + p * size * bytes);
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kCol2ImRef;
const RefKernel kCol2ImRef = {run_col2im, nullptr};

}  // namespace vireo
