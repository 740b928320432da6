// Which part of its inputs a layer reads for a part of its result.
#ifndef VIREO_DELEGATES_NPU_COMPILER_SEMANTICS_H_
#define VIREO_DELEGATES_NPU_COMPILER_SEMANTICS_H_

#include "delegates/npu/compiler/graph.h"

namespace vireo::npu {

// Rows, columns and channels [begin, end) of one image.
struct Box {
  int64_t begin[3] = {0, 0, 0}, end[3] = {0, 0, 0};

  int64_t size(int axis) const { return end[axis] - begin[axis]; }
  int64_t count() const { return size(0) * size(1) * size(2); }
  bool empty() const { return size(0) <= 0 || size(1) <= 0 || size(2) <= 0; }
  void cover(const Box& other);  // the least box around both
};
Box whole(const GraphTensor& tensor);

// What layer `i` reads of its input `input` for `result`; empty where it reads nothing of it.
Box needed(const Graph& graph, const Layer& layer, size_t input, const Box& result);

// The first result along `axis` of a concat that comes from `input`.
int64_t concat_offset(const Graph& graph, const Layer& layer, size_t input);

bool is_depthwise(const Graph& graph, const Layer& layer);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_COMPILER_SEMANTICS_H_
