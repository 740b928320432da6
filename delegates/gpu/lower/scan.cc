// Running sums and products.
#include <algorithm>

#include "delegates/gpu/lower/work.h"
#include "sdk/ops/cumulative/cumulative_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {

std::string lower_scan(Lowering& l) {
  const auto& a = l.node().attrs<attrs::Cumulative>();
  const Datum& x = l.in(0);
  Extents given;
  if (!l.integers(1, &given) || given.size() != 1) return "its axis is not constant";
  const int64_t at = given[0] < 0 ? given[0] + x.rank() : given[0];
  if (at < 0 || at >= x.rank()) return "an axis that its input does not have";
  const Laid from = l.laid(l.node().inputs[0]), to = l.make(l.node().outputs[0]);
  // The axis as the last one.
  const auto moved = [at](Extents list) {
    const auto axis = list.begin() + static_cast<std::ptrdiff_t>(at);
    std::rotate(axis, axis + 1, list.end());
    return list;
  };
  ScanProblem p;
  p.shape = moved(x.dims);
  p.dtype = x.dtype;
  p.x = view_of({from.memory, from.offset, moved(from.strides)});
  p.y = view_of({to.memory, to.offset, moved(to.strides)});
  p.product = l.node().op == VIREO_OP_CUM_PROD;
  p.exclusive = a.exclusive();
  p.reverse = a.reverse();
  Work& w = l.push(std::move(p));
  w.operands = {from.memory};
  w.writes = {to.memory};
  return "";
}

}  // namespace vireo::gpu
