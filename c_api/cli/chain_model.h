// A .vireo file of one operator in a row, made in memory: what `vireo devices --measure` runs.
//
// Weighed: models that the converter makes when Vireo is built, linked in (the build of a board has no converter, and
// sizes would be fixed before the device is known: what takes a watch a second is over on a server before it has
// begun); and the converter's writer (it brings the graph, the planner and the passes along, and this room sees the C
// API alone). This one knows five operators and the places of some twenty fields, and lets the session plan.
#ifndef VIREO_C_API_CLI_CHAIN_MODEL_H_
#define VIREO_C_API_CLI_CHAIN_MODEL_H_

#include <stdint.h>

#include "c_api/cli/handles.h"

namespace vireo::cli {

enum class ChainOp : uint8_t {
  kRelu,     // of x
  kAdd,      // x + y, + y, ...
  kMul,      // x y, y, ...
  kMatMul,   // x w, w, ...: a constant w of [columns, columns], positive, whose columns add up to about 1
  kIntGemm,  // the same of codes
};

// The shape of y, which kAdd and kMul broadcast to x's [rows, columns].
enum class ChainSpread : uint8_t {
  kNone,    // [rows, columns]
  kRow,     // [columns]
  kColumn,  // [rows, 1]
  kScalar,  // []
};

struct Chain {
  ChainOp op = ChainOp::kRelu;
  vireo_dtype dtype = VIREO_FLOAT32;  // float32, float16, bfloat16; of kIntGemm int8
  int64_t rows = 1;
  int64_t columns = 16;  // kMatMul, kIntGemm: up to 4096; in types of fewer than 32 bits a power of two
  int nodes = 1;
  ChainSpread spread = ChainSpread::kNone;
};

// Complete but for the hashes, which stay zero: nobody checks what was made a moment ago in the same memory.
ModelBytes chain_model(const Chain& chain);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_CHAIN_MODEL_H_
