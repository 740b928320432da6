#include "sdk/ops/kernel.h"

namespace vireo {

const RefKernel* find_ref(Op op) {
  for (const RefRow& row : ref_rows()) {
    if (row.op == op) return row.kernel;
  }
  return nullptr;
}

}  // namespace vireo
