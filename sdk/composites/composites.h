// The list of composites (composites.def), as constants: what passes name, and what a hint in a file is looked up in.
#ifndef VIREO_SDK_COMPOSITES_COMPOSITES_H_
#define VIREO_SDK_COMPOSITES_COMPOSITES_H_

#include <stdint.h>

#include "sdk/base/span.h"
#include "sdk/ops/op.h"

namespace vireo::composites {

enum class Form : uint8_t { kEpilogue, kCodes, kDynamic, kAttention, kCodesAttention, kNorm, kRecurrent, kChain };
enum class Stored : uint8_t { kPlain, kBf16, kF16, kCodes, kCached };
enum class ResultOn : uint8_t { kApart, kConstants, kFirst, kQuery };

struct Composite {
  const char* hint;
  Form form;
  Op op;
  Stored stored;
  ResultOn result;
};

#define VIREO_COMPOSITE(id, hint, form, op, stored, result) \
  inline constexpr Composite k##id = {hint, Form::k##form, Op::k##op, Stored::k##stored, ResultOn::k##result};
#include "sdk/composites/composites.def"
#undef VIREO_COMPOSITE

inline constexpr const Composite* kAll[] = {
#define VIREO_COMPOSITE(id, hint, form, op, stored, result) &k##id,
#include "sdk/composites/composites.def"
#undef VIREO_COMPOSITE
};

// The row with this hint; null: a file of another converter may have one that is not in the list.
const Composite* find_composite(const char* hint);
// The row of this form for an operator with operands that are stored so; null if no row fits.
const Composite* find_composite(Form form, Op op, Stored stored);

}  // namespace vireo::composites

#endif  // VIREO_SDK_COMPOSITES_COMPOSITES_H_
