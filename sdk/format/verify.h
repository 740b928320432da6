// Verification of a model's FlatBuffer by a description of its tables. It answers as the code that flatc generates
// (fb::VerifyModelBuffer) does, in an eighth of the bytes: that code is a function a table and a loop a list of tables.
#ifndef VIREO_SDK_FORMAT_VERIFY_H_
#define VIREO_SDK_FORMAT_VERIFY_H_

#include "sdk/format/model_generated.h"

namespace vireo {

// All offsets, lengths and alignments in the buffer of `verifier`, as far as the schema knows them. `bytes`: its begin
// and its size, at least 8. `listed` gets the bytes of all lists and texts, each as often as something refers to it:
// where nothing is referred to twice, they are no more than the buffer's. The writer shares lists as far as that holds.
bool verify_model(::flatbuffers::Verifier& verifier, const uint8_t* bytes, uint64_t* listed);

}  // namespace vireo

#endif  // VIREO_SDK_FORMAT_VERIFY_H_
