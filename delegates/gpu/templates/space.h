// Index spaces: fewer axes where neighbours are one, and how a launch covers a number of workgroups.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_SPACE_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_SPACE_H_

#include <vector>

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/evaluate.h"

namespace vireo::gpu {

int64_t count_of(const Extents& shape);

// Drops axes of one place and joins neighbours that every view runs through as one. `parts`: how many axes belong
// together; none is joined with one of another part. Parts that are left without an axis are one place.
// Nothing changes where an expression sees places.
void collapse(Extents* shape, const std::vector<Expression*>& expressions, std::vector<size_t>* parts);

// A problem that computes nothing, as moves of bits: floats become integers of their width, elements of 8 bytes and
// more two words or more along a new last axis. False: it computes, or a view's fill is not the same in each word.
bool as_moves(Extents* shape, Expression* expression);

// Coordinates of `linear`, the last axis fastest.
std::vector<Value> unravel(Value linear, const std::vector<Value>& extents);

// Where a lane's line begins, and how far apart its elements are: along the axis of `view` behind those of `place`.
struct Line {
  Value first, step;
};
Line line_of(Numbers& numbers, const View& view, const std::vector<Value>& place);

// A number for each workgroup of a launch, below `count` rounded up: along x, and along y where that is not enough.
// "" or why it cannot be.
std::string cover(int64_t count, const Target& target, Dispatch* out);
Value group_number(Builder& builder, Numbers& numbers, const Dispatch& dispatch);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_SPACE_H_
