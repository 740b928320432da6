// How operations are spelled in C++: one row an operation, one column a dialect.
//
// Weighed: a printer for each dialect with its own spelling (a new operation is then written twice, and the host lanes
// prove another formula than the card's), and one printer for both. The texts differ in all but the operations: on the
// host lanes are loops and values that cross a barrier become arrays, on a card a lane is the function itself.
#ifndef VIREO_DELEGATES_GPU_DIALECT_DIALECT_H_
#define VIREO_DELEGATES_GPU_DIALECT_DIALECT_H_

#include <functional>
#include <string>

#include "delegates/gpu/ir/program.h"

namespace vireo::gpu {

enum class Dialect : uint8_t { kHost, kHip };

const char* spell(Dialect dialect, Type type);

// A pattern: $0, $1, $2 are operands, $3 the one that `bits` names, $b the bits, $t the type of the result, $u the same
// without a sign. Null: not an operation on numbers.
const char* spell(Dialect dialect, Op op);

// The pattern of a statement's operation with all of it filled in; `value` names an operand.
std::string fill(Dialect dialect, const Statement& s, const std::function<std::string(uint32_t)>& value);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DIALECT_DIALECT_H_
