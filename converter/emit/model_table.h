// The FlatBuffer of a .vireo file, packed from the objects of its schema.
#ifndef VIREO_CONVERTER_EMIT_MODEL_TABLE_H_
#define VIREO_CONVERTER_EMIT_MODEL_TABLE_H_

#include <cstdint>
#include <vector>

#include "sdk/format/model_generated.h"

namespace vireo::emit {

// Every list on its own.
std::vector<uint8_t> pack_model(const fb::ModelT& model);

// Equal shapes and equal attributes stand in the buffer once, as far as the loader takes it: all lists, each as often
// as something refers to it, have no more bytes than the buffer (sdk/format/verify.h).
std::vector<uint8_t> pack_model_shared(const fb::ModelT& model);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_MODEL_TABLE_H_
