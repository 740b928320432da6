#include "sdk/ops/int_resize/int_resize.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

// How one axis is resampled; an axis that is not has no taps.
struct ResizedAxis {
  int64_t taps = 0;
  const int32_t* places = nullptr;
  const int32_t* weights = nullptr;
};

// A line of x that the line of y under way reads, and its weight.
struct Line {
  int64_t offset;
  uint32_t weight;  // as unsigned, because any file's products wrap around the same way everywhere
};

struct Resampler {
  const Shape& x;
  const Shape& y;
  const ResizedAxis* axes;
  ByteOperand codes;
  int32_t x_zero;

  // The lines of x for the line of y whose number in all is `row`.
  int find_lines(int64_t row, Line* lines) const {
    int count = 1;
    lines[0] = {0, 1};
    int64_t stride = x[x.rank - 1];
    for (int k = x.rank - 2; k >= 0; --k) {
      const int64_t i = row % y[k];
      row /= y[k];
      const ResizedAxis& a = axes[k];
      if (a.taps == 0) {
        for (int l = 0; l < count; ++l) lines[l].offset += i * stride;
      } else {
        for (int64_t j = a.taps - 1; j >= 0; --j) {  // the first tap's lines stay where they are, so it comes last
          const int64_t at = a.places[i * a.taps + j] * stride;
          const auto w = static_cast<uint32_t>(a.weights[i * a.taps + j]);
          for (int l = 0; l < count; ++l) lines[j * count + l] = {lines[l].offset + at, lines[l].weight * w};
        }
        count *= static_cast<int>(a.taps);
      }
      stride *= x[k];
    }
    return count;
  }

  uint32_t real(int64_t at) const { return static_cast<uint32_t>(codes.value(codes.data[at]) - x_zero); }

  uint32_t sum(const Line* lines, int count, int64_t column) const {
    const ResizedAxis& a = axes[x.rank - 1];
    uint32_t acc = 0;
    for (int l = 0; l < count; ++l) {
      if (a.taps == 0) {
        acc += lines[l].weight * real(lines[l].offset + column);
        continue;
      }
      uint32_t line = 0;
      for (int64_t j = column * a.taps; j < (column + 1) * a.taps; ++j) {
        line += static_cast<uint32_t>(a.weights[j]) * real(lines[l].offset + a.places[j]);
      }
      acc += lines[l].weight * line;
    }
    return acc;
  }
};

Status run_int_resize(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntResize>();
  const Tensor& x = ctx.required(0);
  Tensor& y = *ctx.out(0);
  ResizedAxis axes[kMaxRank];
  for (unsigned k = 0; k < a.axes()->size(); ++k) {
    const Tensor &places = ctx.required(1 + 2 * k), &weights = ctx.required(2 + 2 * k);
    const int at = a.axes()->Get(k);
    axes[at] = {places.shape[1], places.as<const int32_t>(), weights.as<const int32_t>()};
    for (int64_t i = 0; i < places.count(); ++i) {
      if (axes[at].places[i] < 0 || axes[at].places[i] >= x.shape[at]) {
        return ctx.fail(Status::kInvalidModel, "place {} of axis {} is {}, outside of {}", i, at, axes[at].places[i],
                        x.shape[at]);
      }
    }
  }
  if (y.count() == 0) return Status::kOk;
  const ByteOperand bytes(x, nullptr);
  const Resampler r{x.shape, y.shape, axes, bytes, bytes.value(static_cast<uint8_t>(a.x_zero()))};
  const Codes codes(a);
  const int64_t columns = y.shape[y.shape.rank - 1];
  uint8_t* out = y.as<uint8_t>();
  ctx.parallel.for_range(y.count() / columns, 1, [&](int64_t begin, int64_t end, int32_t) {
    Line lines[kMaxIntResizeOuter];
    for (int64_t row = begin; row < end; ++row) {
      const int count = r.find_lines(row, lines);
      for (int64_t c = 0; c < columns; ++c) {
        out[row * columns + c] = codes.of_sum(static_cast<int32_t>(r.sum(lines, count, c)), a.multiplier());
      }
    }
  });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntResizeRef;
const RefKernel kIntResizeRef = {run_int_resize, nullptr};

}  // namespace vireo
