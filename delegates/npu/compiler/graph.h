// What the compiler takes: layers on 8- or 16-bit codes, and float32 on its way to codes and from them. Tensors are n x
// h x w x c, channels innermost; fewer dimensions stand at the end with 1 in front. Layers come in an order in which
// every tensor is made before it is read.
#ifndef VIREO_DELEGATES_NPU_COMPILER_GRAPH_H_
#define VIREO_DELEGATES_NPU_COMPILER_GRAPH_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "delegates/npu/machine/isa.h"

namespace vireo::npu {

struct GraphTensor {
  std::string name;
  std::array<int64_t, 4> shape{1, 1, 1, 1};
  Type type = kI8;
  std::vector<uint8_t> data;  // of a constant; else empty

  int64_t count() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  int64_t bytes() const { return count() * bytes_of(type); }
};

enum class Kind {
  kConv,    // a group of channels each; weights [o, kh, kw, i]
  kAdd,     // a * m[0] + b * m[1]; of codes or of float32
  kMul,     // a * b * m[0]; the same
  kAffine,  // x * (x below its zero point ? below : factor)[c] + offset[c]
  kTable,   // table[byte of x]
  kMaxPool,
  kAveragePool,  // multipliers as IntAveragePool's
  kResize,       // along h and w, places and weights of each result
  kSoftmax,      // along c
  kConcat,       // along `axis`
  kSlice,        // from `begin` on, every `step`-th; begin < 0 or more than there is: padding with `fill`
  kReshape,      // the same bytes
  kTranspose,    // y's axis i is x's axis perm[i]
  kQuantize,     // float32 to codes: rne(x / factor[c]) + zero[c]
  kDequantize,   // codes to float32: (x - zero[c]) * factor[c]
};
const char* kind_name(Kind kind);

// One axis of kResize; taps 0: not resampled.
struct ResizeAxis {
  int64_t taps = 0;
  std::vector<int32_t> places, weights;  // [results, taps]
};

// Zero points are codes: 0 to 255 of uint8. Unused members keep their defaults.
struct Layer {
  Kind kind = Kind::kConv;
  std::string name;
  int node = -1;            // of the model that it comes from, for reports
  std::vector<int> inputs;  // tensors
  int output = -1;

  int32_t a_zero = 0, b_zero = 0, y_zero = 0, low = -128, high = 127;
  std::vector<float> m;  // conv: one or one a channel; average pool: one or one for each count of taps; else see Kind
  // Windows: h, w.
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1}, pad_begin{0, 0}, pad_end{0, 0};
  int64_t groups = 1;
  std::vector<int8_t> weights;  // uint8 weights less 128
  std::vector<int32_t> w_zero;  // none, one or one a channel; less 128 as well
  std::vector<int32_t> bias;    // none, or one a channel
  bool count_padding = false;
  std::vector<float> factor, below, offset;  // one or one a channel; below, offset: may be empty
  std::vector<int32_t> zero;                 // kQuantize, kDequantize: as many as factors, or none; codes
  std::vector<uint8_t> table;                // 256 codes by byte of x
  std::vector<int32_t> exp_table;            // kSoftmax: 256
  ResizeAxis resize[2];                      // h, w
  int axis = 3;
  std::array<int64_t, 4> begin{0, 0, 0, 0}, step{1, 1, 1, 1};
  int32_t fill = 0;
  std::array<int, 4> perm{0, 1, 2, 3};
};

struct Graph {
  std::vector<GraphTensor> tensors;
  std::vector<Layer> layers;
  std::vector<int> inputs, outputs;
};

// Why layer `i` cannot run on the machine; empty: it can. A graph whose layers all can be compiled, but for memory.
std::string refusal(const Graph& graph, size_t i);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_COMPILER_GRAPH_H_
