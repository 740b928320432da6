// What spells out a rotary embedding: two forms of the sum, two ways to pair a head's elements.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_ROTARY_MATCH_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_ROTARY_MATCH_H_

#include <vector>

#include "converter/passes/pass.h"

namespace vireo::passes {

struct RotaryMatch {
  ir::Value* x = nullptr;
  ir::Value *cosines = nullptr, *sines = nullptr;
  bool whole = false;        // tables name each angle twice, as long as x; else once
  bool interleaved = false;  // pairs are neighbours, else half of x apart
  std::vector<ir::Node*> inside;
  const char* refused = nullptr;
};

// The embedding that ends in `end`. Without an `x`: there is none.
RotaryMatch match_rotary(ir::Node& end);

// v is x from element `begin` on, every `step`th, along the last axis: x, else null.
ir::Value* part_of(const ir::Value* v, int64_t* begin, int64_t* step);

// The elements of `v` along its last axis are those of one half of it, each twice: neighbours, or half of it apart.
bool names_twice(const ir::Value* v, bool interleaved);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_ROTARY_MATCH_H_
