#include "sdk/composites/composites.h"

#include <string.h>

namespace vireo::composites {

const Composite* find_composite(const char* hint) {
  for (const Composite* row : kAll) {
    if (strcmp(row->hint, hint) == 0) return row;
  }
  return nullptr;
}

const Composite* find_composite(Form form, Op op, Stored stored) {
  for (const Composite* row : kAll) {
    if (row->form == form && row->op == op && row->stored == stored) return row;
  }
  return nullptr;
}

}  // namespace vireo::composites
