// How operations are spelled: one row an operation, one column a dialect.
#ifndef VIREO_DELEGATES_GPU_HOST_DIALECT_H_
#define VIREO_DELEGATES_GPU_HOST_DIALECT_H_

#include "delegates/gpu/ir/program.h"

namespace vireo::gpu {

enum class Dialect : uint8_t { kHost };

const char* spell(Dialect dialect, Type type);

// A pattern: $0, $1, $2 are operands, $3 the one that `bits` names, $b the bits, $t the type of the result. Null: not
// an operation on numbers.
const char* spell(Dialect dialect, Op op);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_HOST_DIALECT_H_
