// A .vireo file taken apart into what its schema has, and written anew with hashes that fit.
#ifndef VIREO_TESTS_FUZZ_APART_H_
#define VIREO_TESTS_FUZZ_APART_H_

#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "tests/fuzz/harness.h"

namespace vireo::fuzz {

// The model, and the bytes of all segments, whose offsets then count from the first of them. False: it cannot be read,
// or is encrypted.
bool take_apart(const uint8_t* data, size_t size, FileHeader* header, fb::ModelT* model, Bytes* segments);
// With such offsets, which it leaves as they are. Nothing else is looked at: the model may mean harm. Not signed.
Bytes put_together(const FileHeader& old, fb::ModelT* model, const Bytes& segments);

}  // namespace vireo::fuzz

#endif  // VIREO_TESTS_FUZZ_APART_H_
