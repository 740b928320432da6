/* Keys, and a policy of trust: signed and encrypted models.
 *
 * A signature (Ed25519) says who made a .vireo file and which revision of it this is; with a policy, files without one
 * that holds are refused. An encrypted file (XChaCha20-Poly1305, in chunks of 64 KiB) is deciphered into memory of the
 * runtime's allocator, chunk by chunk as sessions come to need it; a chunk that was changed, or moved from another
 * place or file, is refused. Both are checked when a chunk is first used, so a load reads no more of the file than
 * without.
 *
 * The rules of vireo.h hold. Keys come by callback and are not kept longer than a call (public ones) or than the model
 * (secret ones, which are wiped then). VIREO_UNSUPPORTED in a build without VIREO_TRUST, which can check nothing: it
 * refuses encrypted files, and signed ones unless vireo_runtime_set_trust(runtime, NULL) said that no
 * signature is needed.
 */
#ifndef VIREO_TRUST_H_
#define VIREO_TRUST_H_

#include "vireo/vireo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a key's id: the first bytes of its SHA-256. */
#define VIREO_KEY_ID_BYTES 8
/* Bytes of a key, public or secret. */
#define VIREO_KEY_BYTES 32

/* The signature of a model's file, and whether the file is encrypted. */
typedef struct vireo_signature {
  uint32_t struct_size;
  uint32_t verified;               /* 1: by a key that the trust knows */
  uint8_t key[VIREO_KEY_ID_BYTES]; /* which one signed: the first bytes of its SHA-256 */
  uint64_t revision;
  uint32_t present; /* 0: the file is not signed */
  uint32_t encrypted;
} vireo_signature;
#define VIREO_SIGNATURE_INIT VIREO_INIT_(vireo_signature)

/* The caller's keys and policy. */
typedef struct vireo_trust {
  uint32_t struct_size;
  uint32_t require; /* 1: a model without a verified signature is refused */
  void* context;
  /* The public key (Ed25519) of this id: VIREO_OK, or another status where it is not known. NULL: none is. A signature
   * by a known key that does not hold refuses the model, whatever `require` says. */
  vireo_status (*public_key)(void* context, const uint8_t* id, uint8_t* out_key);
  /* Whether a model with this verified signature may be loaded: VIREO_OK, or the status that the load ends with. NULL:
   * any may. Here older revisions are refused. */
  vireo_status (*accept)(void* context, const vireo_signature* signature);
  /* The secret key of an encrypted file. NULL: there is none. */
  vireo_status (*secret_key)(void* context, const uint8_t* id, uint8_t* out_key);
} vireo_trust;
#define VIREO_TRUST_INIT VIREO_INIT_(vireo_trust)

/* Sets the policy for models that are loaded from now on. `trust` is copied, and its context must outlive the runtime.
 * NULL: no key is trusted and no signature required. A build without VIREO_TRUST takes only NULL, and then loads signed
 * files unchecked. Call it before models are loaded; no other call may run on the runtime at the same time. */
VIREO_API vireo_status vireo_runtime_set_trust(vireo_runtime* runtime, const vireo_trust* trust, vireo_error* error);
/* Reports the signature of a model, also of one that is not signed (`present` 0). */
VIREO_API vireo_status vireo_model_signature(const vireo_model* model, vireo_signature* out, vireo_error* error);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_TRUST_H_ */
