// Functions of one code as one table: merge_tables.cc.
#ifndef VIREO_CONVERTER_PASSES_QUANTIZED_MERGE_TABLES_H_
#define VIREO_CONVERTER_PASSES_QUANTIZED_MERGE_TABLES_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kMergeTables;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_QUANTIZED_MERGE_TABLES_H_
