// The greatest or least elements of each line.
#include "delegates/gpu/templates/top.h"

#include <algorithm>

#include "delegates/gpu/lower/work.h"
#include "sdk/ops/top_k/top_k_generated.h"

namespace vireo::gpu {

std::string lower_top(Lowering& l) {
  if (!l.has(0)) return "no input";
  const auto& a = l.node().attrs<attrs::TopK>();
  const Datum& x = l.in(0);
  const size_t axis = axis_of(a.axis(), x.rank());
  // The axis as the last one.
  const auto moved = [axis](Extents list) {
    const auto at = list.begin() + static_cast<std::ptrdiff_t>(axis);
    std::rotate(at, at + 1, list.end());
    return list;
  };
  const Laid from = l.laid(l.node().inputs[0]);
  TopProblem p;
  p.shape = moved(x.dims);
  p.largest = a.largest();
  p.dtype = x.dtype;
  p.x = view_of({from.memory, from.offset, moved(from.strides)});
  std::vector<int> writes;
  for (size_t o = 0; o < 2; ++o) {
    if (l.node().output(o) < 0) continue;
    const Laid to = l.make(l.node().outputs[o]);
    p.count = l.out(o).dims[axis];
    (o == 0 ? p.values : p.indices) = view_of({to.memory, to.offset, moved(to.strides)});
    writes.push_back(to.memory);
  }
  Work& w = l.push(std::move(p));
  w.operands = {from.memory};
  w.writes = std::move(writes);
  return "";
}

}  // namespace vireo::gpu
