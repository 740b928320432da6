// A chain in the making whose values' places are computed.
#ifndef VIREO_DELEGATES_GPU_LOWER_INDEXED_CHAIN_H_
#define VIREO_DELEGATES_GPU_LOWER_INDEXED_CHAIN_H_

#include <utility>
#include <vector>

#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// An integer of as many bits: a value that is only moved keeps them.
DType moved_as(DType t);

class IndexedChain {
 public:
  IndexedChain(Lowering& l, Extents shape) : b(&problem_.expression), l_(l) { problem_.shape = std::move(shape); }

  // Inputs come before functions. `v`: a value of the network.
  int input(int v, View view);
  // An input whose elements are read by their index in its memory, from `at` on.
  int indexed(const Laid& at, DType type);

  // An int32 that belongs to the problem.
  int number(int64_t n);
  // sum + v * step; -1 stands for 0.
  int add(int sum, int v, int64_t step);
  // v as a place on an axis of `extent`; others are errors of the run.
  int index(int v, int64_t extent);
  // The same of v of `type`, where what is below 0 is an error as well.
  int count(int v, DType type, int64_t extent);
  // Element `at` of an indexed input; -1: the first.
  int element(int input, int at, DType type);

  void push(std::vector<int> writes);

 private:
  ChainProblem problem_;

 public:
  ExpressionBuilder b;

 private:
  Lowering& l_;
  std::vector<int> reads_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_INDEXED_CHAIN_H_
