// Developers' builds: the kernels of a lesser core than this one.
#ifndef VIREO_DELEGATES_CPU_LEVEL_TESTING_H_
#define VIREO_DELEGATES_CPU_LEVEL_TESTING_H_

namespace vireo {

// Reads VIREO_LEVEL from the environment: sse2, avx2, avx3, vnni, bf16 or amx (aarch64: neon or sme), the best
// instruction set that kernels are chosen from; all of them where it is not set. False where this core or this build
// has no such level. Before any kernel runs.
bool mask_level();

}  // namespace vireo

#endif  // VIREO_DELEGATES_CPU_LEVEL_TESTING_H_
