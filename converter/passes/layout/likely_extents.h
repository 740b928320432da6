// Numbers for open extents, to weigh forms of a graph by: what is chosen must pay at the sizes that models mostly run
// at.
#ifndef VIREO_CONVERTER_PASSES_LAYOUT_LIKELY_EXTENTS_H_
#define VIREO_CONVERTER_PASSES_LAYOUT_LIKELY_EXTENTS_H_

#include <cstdint>
#include <map>

#include "converter/ir/graph.h"

namespace vireo::passes {

// An open extent of an input counts as one batch, an image's edge or a sequence's length, as its axis says; one with a
// bound as its bound, up to four times that. Expressions over such extents have the value that follows. The graph
// outlives it.
class LikelyExtents {
 public:
  explicit LikelyExtents(const ir::Graph& g);

  double operator()(Dim d) const;   // at least 1 where it is open
  bool is_expression(Dim d) const;  // over symbols: more than one of them by itself

 private:
  double value(Dim d) const;
  double of_atom(uint32_t atom) const;

  const ir::DimTable& dims_;
  std::map<uint32_t, double> symbols_;   // atom -> extent
  mutable std::map<Dim, double> known_;  // expressions share parts
};

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_LAYOUT_LIKELY_EXTENTS_H_
