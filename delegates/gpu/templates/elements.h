// Elements of tensors as lanes see them: float32 for floats of 16 and 32 bits, 32 bits for narrower integers, 64 for
// wide ones. Floats of 8 bits and less are seen as their codes: only a cast knows what they mean.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_ELEMENTS_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_ELEMENTS_H_

#include <vector>

#include "delegates/gpu/ir/builder.h"
#include "delegates/gpu/schedule/target.h"
#include "sdk/base/dtype.h"

namespace vireo::gpu {

// What a lane holds; kNone where it holds none. 64 bits need target.int64.
Type lane_type(DType dtype, const Target& target);
// A float whose lanes hold its code.
bool is_narrow_float(DType dtype);
// The number of a code; exact.
Value narrow_to_f32(DType dtype, Value code);
// The code of a number, to nearest even. Out of range: the largest number with `saturate`, else infinity or NaN.
Value f32_to_narrow(DType dtype, Value number, bool saturate);

// The bits of an element of 2 to 32 bits, in a kU32 of which the others are 0, and the lane's number.
Value decode(DType dtype, Value bits);
Value encode(DType dtype, Value number);  // floats to nearest even; of integers the low bits
// The number that is left after it was stored and read again.
Value rounded(DType dtype, Value number);

// False for types of 16 bits and less whose elements the target cannot write by themselves.
bool can_store(DType dtype, const Target& target);

struct Tensor {
  DType dtype = DType::kF32;
  uint32_t binding = 0;
};

class Elements {
 public:
  // Also says to the builder how halves are converted: PTX says how its instructions round, Vulkan does not, and where
  // products may be of halves it does not matter.
  Elements(Builder& builder, const Target& target) : b_(builder), target_(target) {
    builder.converts_halves = target.ptx != 0 || target.hip != 0 || target.half_products;
  }

  Value load(const Tensor& t, Value index);
  // The numbers of 16 bytes of floats of 16 or 32 bits.
  std::vector<Value> of_quad(DType dtype, Value quad) const;
  void store(const Tensor& t, Value index, Value number);
  // One word of narrow neighbours from `index` on: two of 16 bits, four of 8, eight of 4, sixteen of 2.
  void store_word(const Tensor& t, Value index, const Value* numbers);

 private:
  Builder& b_;
  const Target& target_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_ELEMENTS_H_
