// Operators that only move bytes along: the outputs of Slice, Split and Gather can be runs of their input's bytes, the
// inputs of Concat are runs of its output's. Where such a part lies in its whole is known before any data: a plan may
// then put the part inside the whole, and the kernel finds nothing left to copy (copy_strided).
#ifndef VIREO_SDK_OPS_SHARED_PARTS_H_
#define VIREO_SDK_OPS_SHARED_PARTS_H_

#include <stdint.h>

#include "sdk/base/shape.h"
#include "sdk/base/span.h"
#include "sdk/ops/op.h"

namespace vireo {

// One node, as its file or graph declares it. Dimensions may be handles.
class PartQuery {
 public:
  virtual TensorType input(size_t i) const = 0;      // {kNone} when absent, also past the end
  virtual TensorType output(size_t o) const = 0;     // {kNone} when not wanted
  virtual const void* constant(size_t i) const = 0;  // the bytes of an input that is a constant, else null
  virtual Span<const uint8_t> attr_bytes() const = 0;

  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(attr_bytes().data());
  }
  // Integers of a constant list of `count` numbers; false when the input is not one.
  bool integers(size_t i, int64_t count, int64_t* out) const;

 protected:
  ~PartQuery() = default;
};

// Bytes from the first of the whole to the first of each part (outputs, or inputs with OpDef::kInputsInside), at every
// run; -1: not one run of bytes, or not known before the data. True when there is one that is not -1. Of inputs all are
// known or none: what an operator writes around those that lie in place must be known as well.
bool part_offsets(const OpDef& def, const PartQuery& query, Span<int64_t> at);

// For the operators' own functions: product of dims[begin, end), -1 when one is symbolic or it overflows.
int64_t known_count(const Shape& s, int begin, int end);
// Are all dims[0, end) the number 1?
bool ones_before(const Shape& s, int end);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_PARTS_H_
