// The functions of expressions as statements.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_FUNCTIONS_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_FUNCTIONS_H_

#include <string>

#include "delegates/gpu/ir/builder.h"
#include "delegates/gpu/schedule/target.h"
#include "delegates/gpu/templates/expression.h"

namespace vireo::gpu {

int operand_count(Function f);  // the most; kClip and kQuantize may have less
const char* name_of(Function f);

// "" or why `step` cannot be computed: operands outside the values before it, types without arithmetic.
// `operands`: the types of a, b, c, as far as they are there.
std::string refuse(const Step& step, const DType operands[3], const Target& target);

// The step's result, as a lane sees it after it was rounded to the step's type. Operands that are not there are not
// valid.
Value apply(const Step& step, const DType operands[3], const Value values[3], Builder& b, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_FUNCTIONS_H_
