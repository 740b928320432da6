#include "vireo/trust.h"

#include "c_api/src/handles.h"
#include "sdk/base/config.h"

extern "C" {

vireo_status vireo_runtime_set_trust(vireo_runtime* runtime, const vireo_trust* trust, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(runtime, error);
  vireo::Error e;
  vireo_trust given;
  const vireo::Status status = vireo::read_sized(trust, &given, {"trust", "VIREO_TRUST_INIT"}, &e);
  if (!vireo::ok(status)) return vireo::report(status, e, error);
#if VIREO_TRUST
  if (given.require != 0 && given.public_key == nullptr)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "trust: a signature is required, and no public_key is there");
  runtime->trust = given;
  return VIREO_OK;
#else
  runtime->takes_signed = trust == nullptr ? 1 : 0;
  if (trust == nullptr) return VIREO_OK;
  return vireo::refuse(error, VIREO_UNSUPPORTED, "this build is without signatures and ciphers (VIREO_TRUST)");
#endif
}

vireo_status vireo_model_signature(const vireo_model* model, vireo_signature* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
#if VIREO_TRUST
  return vireo::give(model->signature, out, {"out", "VIREO_SIGNATURE_INIT"}, error);
#else
  return vireo::refuse(error, VIREO_UNSUPPORTED, "this build is without signatures and ciphers (VIREO_TRUST)");
#endif
}

}  // extern "C"
