#ifndef VIREO_DELEGATES_CPU_FEATURES_H_
#define VIREO_DELEGATES_CPU_FEATURES_H_

namespace vireo {

// What the CPU can do, for people: "x86-64 AVX-512 VNNI". Static text; the detection behind it is idempotent.
const char* cpu_features_text();

}  // namespace vireo

#endif  // VIREO_DELEGATES_CPU_FEATURES_H_
