#include <string>

#include "converter/firmware/emit.h"
#include "converter/firmware/sources.h"

namespace vireo::firmware {
namespace {

// Other files of a folder, headers of C that a search in model/ would hide, and targets of its own that CMake has.
constexpr const char* kTaken[] = {
    "arduino", "linked",   "models",   "one",    "plan_features", "arm_acle",   "arm_mve", "assert",      "complex",
    "ctype",   "errno",    "fenv",     "float",  "inttypes",      "iso646",     "limits",  "locale",      "math",
    "memory",  "rounding", "selftest", "setjmp", "signal",        "stdalign",   "stdarg",  "stdbool",     "stddef",
    "stdint",  "stdio",    "stdlib",   "string", "strings",       "strip_rows", "startup", "semihosting", "tgmath",
    "time",    "unistd",   "wchar",    "wctype", "board",         "all",        "clean",   "edit_cache",  "help",
    "install", "package",  "test",     "main",   "budget"};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_taken(const std::string& name) {
  for (const char* taken : kTaken) {
    if (name == taken) return true;
  }
  for (const char* folder : {"delegates/mcu/kernels/", "delegates/mcu/plan/", "delegates/mcu/update/"}) {
    for (const char* end : {".c", ".h"}) {
      if (source_text((folder + name + end).c_str()) != nullptr) return true;
    }
  }
  return ends_with(name, "_arena") || ends_with(name, "_tests");  // of another model
}

}  // namespace

std::string model_name(const std::string& text) {
  std::string name = identifier(text);
  return is_taken(name) ? name + "_model" : name;
}

}  // namespace vireo::firmware
