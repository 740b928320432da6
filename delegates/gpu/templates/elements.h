// Elements of tensors as lanes see them: float32 for all floats, 32 bits for narrower integers, 64 for wide ones.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_ELEMENTS_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_ELEMENTS_H_

#include "delegates/gpu/ir/builder.h"
#include "delegates/gpu/schedule/target.h"
#include "sdk/base/dtype.h"

namespace vireo::gpu {

// What a lane computes in; kNone where there is no arithmetic for it. 64 bits need target.int64.
Type lane_type(DType dtype, const Target& target);

// The bits of an element of 8 to 32 bits, in a kU32 of which the others are 0, and the lane's number.
Value decode(DType dtype, Value bits);
Value encode(DType dtype, Value number);  // floats to nearest even; of integers the low bits
// The number that is left after it was stored and read again.
Value rounded(DType dtype, Value number);

// False for types of 8 or 16 bits whose elements the target cannot write by themselves.
bool can_store(DType dtype, const Target& target);

struct Tensor {
  DType dtype = DType::kF32;
  uint32_t binding = 0;
};

class Elements {
 public:
  Elements(Builder& builder, const Target& target) : b_(builder), target_(target) {}

  Value load(const Tensor& t, Value index);
  void store(const Tensor& t, Value index, Value number);
  // One word of narrow neighbours from `index` on: four of 8 bits, two of 16.
  void store_word(const Tensor& t, Value index, const Value* numbers);

 private:
  Builder& b_;
  const Target& target_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_ELEMENTS_H_
