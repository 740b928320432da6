#include "vireo/trust.h"

#include "c_api/src/handles.h"

extern "C" {

vireo_status vireo_runtime_set_trust(vireo_runtime* runtime, const vireo_trust* trust, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(runtime, error);
  if (trust != nullptr && trust->struct_size < sizeof(*trust))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "trust: set struct_size with VIREO_TRUST_INIT");
#if VIREO_TRUST
  if (trust != nullptr && trust->require != 0 && trust->public_key == nullptr)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "trust: a signature is required, and no public_key is there");
  runtime->trust = trust == nullptr ? vireo_trust VIREO_TRUST_INIT : *trust;
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
  if (out->struct_size < sizeof(*out))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "out: set struct_size with VIREO_SIGNATURE_INIT");
#if VIREO_TRUST
  const uint32_t size = out->struct_size;
  *out = model->signature;
  out->struct_size = size;
  return VIREO_OK;
#else
  return vireo::refuse(error, VIREO_UNSUPPORTED, "this build is without signatures and ciphers (VIREO_TRUST)");
#endif
}

}  // extern "C"
