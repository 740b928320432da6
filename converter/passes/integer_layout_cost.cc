#include "converter/passes/integer_layout_cost.h"

#include <algorithm>

#include "sdk/ops/int_conv/int_conv_generated.h"

namespace vireo::passes {
namespace {

// One thread of a core with AVX-512 VNNI, delegates/cpu/kernels/conv_nhwc_i8/conv_nhwc_i8_bench.cc; what counts is the
// ratio of the two layouts. In ns. One file serves all cores, and depthwise convolution is where they differ: its
// figures are means of that core's and of one with AVX2 alone, whose kernels are those of Arm too, each against the
// core's own product. Nodes of mobilenet_v2 and mobilenet_v3_small took there (AMD family 23), ns a tap channels first
// and last: 0.14 to 0.18 and 0.13 to 0.21 of 3 x 3 at stride 1, 0.18 and 0.19 of 5 x 5 on 14 x 14, 0.31 to 0.48 and
// 0.14 to 0.21 of 3 x 3 at stride 2.
constexpr double kMac = 1.0 / 430;
constexpr double kEnd = 0.083;   // a sum becomes a code
constexpr double kRunFirst = 6;  // channels first: a row of the output in the patch matrix, for each of its k
constexpr double kElementFirst = 0.05;
constexpr double kRunLast = 5;       // channels last: a run of neighbouring taps of a pixel,
constexpr double kShortRunLast = 1;  // and one of up to 256 bytes
constexpr double kElementLast = 0.025;
constexpr double kTapFirst = 0.0127;  // depthwise: a multiplication,
constexpr double kTapFirstStrided = 0.0156;
constexpr double kPlane = 26;        // and a plane, copied with its border
constexpr double kTapLast = 0.0146;  // 3 x 3 at stride 1, whose columns of x serve three outputs
constexpr double kTapLastAny = 0.0215;
constexpr double kFilterLast = 1;  // a weight, brought into the order of vectors

// An open extent counts as 1: it multiplies all costs alike where it is the batch, as it nearly always is.
double extent(Dim d) { return is_symbolic(d) ? 1 : static_cast<double>(d); }
double elements(const Shape& s, int from = 0) {
  double out = 1;
  for (int i = from; i < s.rank; ++i) out *= extent(s[i]);
  return out;
}

// Columns in whole vectors of 16; more than 48 make a panel of 64.
double up(double columns) {
  const auto n = static_cast<int64_t>(columns);
  const int64_t rest = n % 64;
  return static_cast<double>(n - rest + (rest > 48 ? 64 : (rest + 15) / 16 * 16));
}

bool at_stride_one(const attrs::IntConv& a) {
  return a.strides() == nullptr ||
         std::all_of(a.strides()->begin(), a.strides()->end(), [](int32_t s) { return s == 1; });
}

}  // namespace

LayoutCost integer_conv_cost(const ir::Node& n) {
  const auto& a = n.attributes<attrs::IntConv>();
  const Shape &x = n.in(0)->type.shape, &w = n.in(1)->type.shape, &y = n.out()->type.shape;
  const double taps = elements(w, 2), images = extent(y[0]), area = elements(y, 2), out = extent(y[1]);
  const double sums = images * area * out;
  LayoutCost c;
  if (a.group() > 1) {
    const double tap_first = at_stride_one(a) ? kTapFirst : kTapFirstStrided;
    c.first = static_cast<int64_t>(sums * taps * tap_first + images * out * kPlane);
    const bool columns = w[2] == 3 && w[3] == 3 && at_stride_one(a);
    const double tap = columns ? kTapLast : kTapLastAny;
    c.last = static_cast<int64_t>(images * area * up(out) * taps * tap + out * taps * kFilterLast);
    return c;
  }
  const double k = extent(w[1]) * taps, width = extent(y[y.rank - 1]);
  if (taps == 1 && is_view_of_channels(x) && x[1] != 1) return c;  // one pixel: the same product
  const bool in_place = taps == 1 && at_stride_one(a);
  const double ends = sums * kEnd;
  const double first_patches =
      k * images * area * kElementFirst + (in_place ? 0 : k * images * area / width * kRunFirst);
  const double row = extent(w[w.rank - 1]);  // taps of a run
  const double run = row * extent(w[1]) <= 256 ? kShortRunLast : kRunLast;
  const double last_patches = in_place ? 0 : images * area * (k * kElementLast + taps / row * run);
  c.first = static_cast<int64_t>(images * out * up(area) * k * kMac + ends + first_patches);
  c.last = static_cast<int64_t>(images * area * up(out) * k * kMac + ends + last_patches);
  return c;
}

}  // namespace vireo::passes
