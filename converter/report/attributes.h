// What an operator's attribute table holds, field by field, read by the operator's own schema.
#ifndef VIREO_CONVERTER_REPORT_ATTRIBUTES_H_
#define VIREO_CONVERTER_REPORT_ATTRIBUTES_H_

#include <string>
#include <utility>
#include <vector>

#include "sdk/base/span.h"
#include "sdk/ops/op.h"

namespace vireo::report {

// Fields that are written down, in the schema's order: ("strides", "2, 2"). Long lists are cut. Defaults are not
// stored, so they are not told. Reads nothing outside of `table`; what cannot be read is left out.
std::vector<std::pair<std::string, std::string>> attributes_of(Op op, Span<const uint8_t> table);

}  // namespace vireo::report

#endif  // VIREO_CONVERTER_REPORT_ATTRIBUTES_H_
