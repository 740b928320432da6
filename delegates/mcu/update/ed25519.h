/* Signatures as RFC 8032 has them: Ed25519, verification alone, for updates of models (vireo_mcu_update.h).
 *
 * Small rather than fast: 4 KB of code with SHA-512, and 1.4 KB of stack. Nothing here is secret, so the time that it
 * takes may depend on what it reads. */
#ifndef VIREO_DELEGATES_MCU_UPDATE_ED25519_H_
#define VIREO_DELEGATES_MCU_UPDATE_ED25519_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint64_t state[8];
  uint32_t count; /* of bytes so far */
  uint8_t block[128];
} vireo_sha512;
void vireo_sha512_begin(vireo_sha512* s);
void vireo_sha512_add(vireo_sha512* s, const uint8_t* bytes, uint32_t count);
void vireo_sha512_end(vireo_sha512* s, uint8_t digest[64]);

/* 1: `signature` is one of the message by this key. A key or a number that is not the least of its kind is none. */
int vireo_ed25519_verify(const uint8_t signature[64], const uint8_t key[32], const uint8_t* message, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_UPDATE_ED25519_H_ */
