// Manual pages for man(1), made of what verbs say of themselves, so that they cannot fall behind it.
#ifndef VIREO_C_API_CLI_MANUAL_H_
#define VIREO_C_API_CLI_MANUAL_H_

#include <string>

#include "c_api/cli/command.h"

namespace vireo::cli {

// The page of `verb` in the man macros of troff (man(7)); that of the program where `verb` is `app`.
std::string manual_page(const Command& app, const Command& verb);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_MANUAL_H_
