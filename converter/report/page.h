// A report as one page: the data, and what shows them, in one file that makes no network requests.
#ifndef VIREO_CONVERTER_REPORT_PAGE_H_
#define VIREO_CONVERTER_REPORT_PAGE_H_

#include <string>

#include "converter/report/side.h"

namespace vireo::report {

// `data`: as SCHEMA.md says. The page's policy lets nothing run but its own script, by hash, and nothing load.
std::string page_of(const Json& data, const std::string& title);

}  // namespace vireo::report

#endif  // VIREO_CONVERTER_REPORT_PAGE_H_
