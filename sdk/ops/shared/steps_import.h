// The operators that importers of fused forms put together, one function each. Host only.
// An absent operand gives an absent result, so a chain of steps is tested once, at its end: whatever failed first has
// recorded its diagnostic.
#ifndef VIREO_SDK_OPS_SHARED_STEPS_IMPORT_H_
#define VIREO_SDK_OPS_SHARED_STEPS_IMPORT_H_

#include <cstdint>
#include <vector>

#include "sdk/ops/view.h"

namespace vireo {

class Steps {
 public:
  explicit Steps(ImportContext& ctx) : ctx_(ctx) {}

  // One result. Every input must be there.
  Value one(Op op, std::vector<uint8_t> attrs, const std::vector<Value>& inputs);

  Value add(Value a, Value b) { return binary(Op::kAdd, a, b); }
  Value sub(Value a, Value b) { return binary(Op::kSub, a, b); }
  Value mul(Value a, Value b) { return binary(Op::kMul, a, b); }
  Value maximum(Value a, Value b) { return binary(Op::kMax, a, b); }
  Value equal(Value a, Value b) { return binary(Op::kEqual, a, b); }
  Value less(Value a, Value b) { return binary(Op::kLess, a, b); }
  Value where(Value condition, Value yes, Value no);
  Value cast(Value v, DType to);  // `v` itself where it is of that type
  Value matmul(Value a, Value b);

  Value i64(const std::vector<int64_t>& values) { return ctx_.add_i64(values); }
  Value scalar(DType type, double value);
  Value shape(Value v, int64_t begin, int64_t end);  // extents [begin, end), i64
  Value range(Value count);                          // 0, 1... i64; `count`: i64 of one element

  Value reshape(Value v, const std::vector<int64_t>& extents) {
    return reshape_to(v, i64(extents));
  }  // 0 keeps, -1 rest
  Value reshape_to(Value v, Value extents);
  Value unsqueeze(Value v, const std::vector<int64_t>& axes);
  Value squeeze(Value v, const std::vector<int64_t>& axes);
  Value transpose(Value v, const std::vector<int32_t>& perm);
  Value concat(const std::vector<Value>& parts, int32_t axis);
  Value slice(Value v, int64_t axis, Value begin, Value end);                          // i64 of one element each
  std::vector<Value> split(Value v, int32_t axis, const std::vector<int64_t>& sizes);  // absent values on failure
  Value gather(Value table, Value rows, int32_t axis = 0);
  Value expand(Value v, Value extents);
  Value reduce_sum(Value v, int64_t axis, bool keep);

 private:
  Value binary(Op op, Value a, Value b);

  ImportContext& ctx_;
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_STEPS_IMPORT_H_
