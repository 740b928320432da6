// Files signed and encrypted with keys that the fuzzers know: those of keys/, with which the build seals seeds.
#ifndef VIREO_TESTS_FUZZ_SEALED_H_
#define VIREO_TESTS_FUZZ_SEALED_H_

#include "tests/fuzz/harness.h"
#include "vireo/vireo.h"

namespace vireo::fuzz {

// The runtime knows both keys and requires neither. Nothing, in a build without VIREO_TRUST.
void trust_test_keys(vireo_runtime* runtime);

enum class Seal : uint8_t { kSigned, kEncrypted, kBoth };
// A file that is neither yet, and whose header can be read. As it is, in a build without VIREO_TRUST.
Bytes sealed(const Bytes& file, Seal how);

}  // namespace vireo::fuzz

#endif  // VIREO_TESTS_FUZZ_SEALED_H_
