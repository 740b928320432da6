// A program as C++ that runs on the host: the lanes of a workgroup are loops between barriers. Tests compile it, so
// that templates are proven where there is no GPU.
//
// Operations are rows of a table with a column a dialect (dialect/), host C++ and HIP.
#ifndef VIREO_DELEGATES_GPU_HOST_PRINT_H_
#define VIREO_DELEGATES_GPU_HOST_PRINT_H_

#include <string>

#include "delegates/gpu/ir/program.h"

namespace vireo::gpu {

// What a text begins with, once a file.
std::string host_prelude();

// extern "C" int symbol(void* const* bindings, const uint64_t* bytes, const uint32_t* push, const uint32_t* groups,
//                       int backwards)
// runs every workgroup, lanes from the last to the first where `backwards`. Returns 0, or what the program did wrong:
// 1 touched memory outside a binding (it is not done), 2 lanes came to a barrier by different ways, 3 lanes and
// matrices met in shared memory without a barrier.
// To be compiled with wrapping integers and without contraction (-fwrapv -ffp-contract=off).
std::string print_host(const Program& program, const std::string& symbol);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_HOST_PRINT_H_
