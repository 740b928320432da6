// Products of one row as problems of the gemv template, with what makes their row and what is made of their columns.
#ifndef VIREO_DELEGATES_GPU_LOWER_GEMV_H_
#define VIREO_DELEGATES_GPU_LOWER_GEMV_H_

#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// Behind fuse() and fold(). Takes products of one row with constant weights that lie along the depth.
//
// A product whose columns go to several chains, each of which reads some of them, becomes a product for each chain that
// computes what the chain wants: one column a place, or several (a gate and what it multiplies, a rotation's halves).
// Then a norm, or anything else that is one row, is made by each product again where nobody else reads it.
void make_gemvs(Lowering* lowering);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_GEMV_H_
