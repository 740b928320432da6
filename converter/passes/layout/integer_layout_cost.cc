#include "converter/passes/layout/integer_layout_cost.h"

#include <algorithm>

#include "sdk/ops/int_conv/int_conv_generated.h"

namespace vireo::passes {
namespace {

using target::KernelCosts;

// Columns in whole vectors; what a few of these do not hold makes a panel.
double up(const KernelCosts& costs, double columns) {
  const auto n = static_cast<int64_t>(columns), panel = static_cast<int64_t>(costs.code_panel);
  const auto vector = static_cast<int64_t>(costs.code_vector), most = static_cast<int64_t>(costs.code_most_vectors);
  const int64_t rest = n % panel;
  return static_cast<double>(n - rest + (rest > most ? panel : (rest + vector - 1) / vector * vector));
}

bool at_stride_one(const attrs::IntConv& a) {
  return a.strides() == nullptr ||
         std::all_of(a.strides()->begin(), a.strides()->end(), [](int32_t s) { return s == 1; });
}

}  // namespace

LayoutCost integer_conv_cost(const ir::Node& n, const LayoutRates& costs) {
  const auto& a = n.attributes<attrs::IntConv>();
  const Shape &x = n.in(0)->type.shape, &w = n.in(1)->type.shape, &y = n.out()->type.shape;
  const double taps = costs.elements(w, 2), images = costs.extent(y[0]), area = costs.elements(y, 2),
               out = costs.extent(y[1]);
  const double sums = images * area * out;
  LayoutCost c;
  if (a.group() > 1) {
    const double tap_first = at_stride_one(a) ? costs.code_tap_first : costs.code_tap_first_strided;
    c.first = static_cast<int64_t>(sums * taps * tap_first + images * out * costs.code_plane);
    const double window = costs.code_shared_window;
    const bool columns = costs.extent(w[2]) == window && costs.extent(w[3]) == window && at_stride_one(a);
    const double tap = columns ? costs.code_tap_last : costs.code_tap_last_any;
    c.last = static_cast<int64_t>(images * area * up(costs, out) * taps * tap + out * taps * costs.code_filter_last);
    return c;
  }
  const double k = costs.extent(w[1]) * taps, width = costs.extent(y[y.rank - 1]);
  if (taps == 1 && is_view_of_channels(x) && x[1] != 1) return c;  // one pixel: the same product
  const bool in_place = taps == 1 && at_stride_one(a);
  const double ends = sums * costs.code_end;
  const double first_patches =
      k * images * area * costs.code_element_first + (in_place ? 0 : k * images * area / width * costs.code_run_first);
  const double row = costs.extent(w[w.rank - 1]);  // taps of a run
  const double run = row * costs.extent(w[1]) <= costs.code_short_run ? costs.code_short_run_last : costs.code_run_last;
  const double last_patches = in_place ? 0 : images * area * (k * costs.code_element_last + taps / row * run);
  c.first = static_cast<int64_t>(images * out * up(costs, area) * k * costs.code_mac + ends + first_patches);
  c.last = static_cast<int64_t>(images * area * up(costs, out) * k * costs.code_mac + ends + last_patches);
  return c;
}

}  // namespace vireo::passes
