// What a node cannot do with less of: operations and bytes, for a roofline.
#ifndef VIREO_RUNTIME_PLACE_WORK_H_
#define VIREO_RUNTIME_PLACE_WORK_H_

#include <stdint.h>

#include "sdk/base/shape.h"
#include "sdk/ops/op.h"
#include "vireo/delegate.h"

namespace vireo {

// In what most of a node's products are computed, by their first operand.
enum class WorkKind : uint8_t { kFull, kHalf, kByte };  // float32 and all else; float16, bfloat16; bytes

struct NodeWork {
  uint64_t operations = 0;  // multiplications and additions of products and convolutions, 0 for other operators
  uint64_t bytes = 0;       // of all that is read and written, constants of a composite's body too
  WorkKind kind = WorkKind::kFull;
};

// Of node `index` at the bounds of its values: what a claim is asked with, before there is a session.
NodeWork node_work(const vireo_host& host, const vireo_graph* graph, uint32_t index);

// Where the second operand of a product stands: quantized ones have scale and zero point between.
inline uint32_t second_operand(Op op) { return op == Op::kQLinearConv || op == Op::kQLinearMatMul ? 3 : 1; }

// Terms of one result's sum, from the operands' shapes; 0 for what is neither product nor convolution. Symbolic extents
// stand for 1.
inline uint64_t product_terms(Op op, const Shape& a, const Shape& b) {
  const auto extent = [](const Shape& s, int axis) {
    const int at = axis < 0 ? s.rank + axis : axis;
    return at < 0 || at >= s.rank || s[at] < 1 ? uint64_t{1} : static_cast<uint64_t>(s[at]);
  };
  switch (op) {
    case Op::kConv:
    case Op::kConvInteger:
    case Op::kQLinearConv:
    case Op::kIntConv: {  // weights [O, C / groups, window...]
      uint64_t n = 1;
      for (int i = 1; i < b.rank; ++i) n *= extent(b, i);
      return n;
    }
    case Op::kGemm:  // either operand may be transposed; A mostly is not
      return extent(a, 1) == extent(b, 0) || extent(a, 1) == extent(b, 1) ? extent(a, 1) : extent(a, 0);
    case Op::kMatMul:
    case Op::kMatMulInteger:
    case Op::kQLinearMatMul:
    case Op::kIntGemm:
      return extent(a, -1);
    default:
      return 0;
  }
}

}  // namespace vireo

#endif  // VIREO_RUNTIME_PLACE_WORK_H_
