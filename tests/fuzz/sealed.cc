#include "tests/fuzz/sealed.h"

#include "sdk/base/config.h"

#if VIREO_TRUST
#include "tests/property/sealing.h"
#include "vireo/trust.h"
#endif

namespace vireo::fuzz {

#if VIREO_TRUST
namespace {
sealing::Keys& keys() {
  static auto* const one = new sealing::Keys(1);
  return *one;
}
}  // namespace

void trust_test_keys(vireo_runtime* runtime) {
  const vireo_trust trust = keys().trust(false);
  VIREO_FUZZ_CHECK(vireo_runtime_set_trust(runtime, &trust, nullptr) == VIREO_OK);
}

Bytes sealed(const Bytes& file, Seal how) {
  const Bytes content = how == Seal::kSigned ? file : keys().encrypt(file);
  return how == Seal::kEncrypted ? content : keys().sign(content, 1);
}
#else
void trust_test_keys(vireo_runtime*) {}
Bytes sealed(const Bytes& file, Seal) { return file; }
#endif

}  // namespace vireo::fuzz
