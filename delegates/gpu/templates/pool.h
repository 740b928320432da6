// pool and depthwise: windows over single channels. One lane makes one element of the output.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_POOL_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_POOL_H_

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"
#include "delegates/gpu/templates/window.h"

namespace vireo::gpu {

enum class Pool : uint8_t {
  kMax,         // NaN wins; a window without an element inside gives the lowest number
  kAverage,     // over the elements inside
  kAverageAll,  // over all taps that lie in the input or its padding (count_include_pad)
};

struct PoolProblem {
  Pool pool = Pool::kMax;
  int64_t images = 1, channels = 1;
  Window window;
  std::array<int64_t, 3> pad_end{0, 0, 0};  // kAverageAll: what lies beyond does not count (ceil_mode)
  DType x_dtype = DType::kF32;
  ImageView x;
  Expression
      epilogue;  // input 0 is given: the pooled value, of x's type. Its space is [images, out0, out1, out2, channels]
};

// y[i, c M + j, p] = epilogue(sum over taps t of x[i, c, place(p, t)] w[c M + j, t]), M = multiplier.
struct DepthwiseProblem {
  int64_t images = 1, channels = 1, multiplier = 1;
  Window window;
  DType x_dtype = DType::kF32, w_dtype = DType::kF32;
  ImageView x;
  ImageView w;  // image is not used; channel: the stride of output channels
  DType sum = DType::kF32;
  int32_t x_zero = 0, w_zero = 0;
  Expression epilogue;  // input 0 is given: the sum. Its space is [images, out0, out1, out2, channels * multiplier]
};

struct WindowTiling {
  uint32_t lanes = 64;
  bool channels_last = true;  // neighbouring lanes take neighbouring channels; else places
};

WindowTiling choose_pool(const PoolProblem& problem, const Target& target);
Dispatch make_pool(const PoolProblem& problem, const WindowTiling& tiling, const Target& target);
WindowTiling choose_depthwise(const DepthwiseProblem& problem, const Target& target);
Dispatch make_depthwise(const DepthwiseProblem& problem, const WindowTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_POOL_H_
