// The operators' attribute schemas as text, built in: what reads and prints attributes by name works from them.
#ifndef VIREO_CONVERTER_IR_SCHEMA_TEXTS_H_
#define VIREO_CONVERTER_IR_SCHEMA_TEXTS_H_

#include "sdk/base/span.h"

namespace vireo::ir {

struct SchemaText {
  const char* op;    // "Conv"
  const char* text;  // its folder's .fbs; families share one
};
Span<const SchemaText> schema_texts();  // generated from ops.def

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_SCHEMA_TEXTS_H_
