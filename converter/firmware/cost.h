// Instructions of a flat plan's records, on each core, before anything runs there.
//
// A kernel's loops are counted from its parameters (features). What a turn of each takes is measured on the emulated
// core: tests/smoke/fit_costs.py writes costs.def.
#ifndef VIREO_CONVERTER_FIRMWARE_COST_H_
#define VIREO_CONVERTER_FIRMWARE_COST_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "converter/firmware/flat_plan.h"

namespace vireo::firmware {

// Each is how often something is done in a run of the record.
enum Feature {
  kRecords,
  kConvProducts,     // of a tile: one for all its positions and both channels
  kConvTiles,        // by pairs of channels
  kConvFilters,      // pairs, once a block of positions
  kConvWeights,      // widened in the order of the file
  kConvOddWeights,   // the same, of sums whose products are no multiple of 4
  kWeightsOneByOne,  // in another order, or of 4 bits
  kConvPoints,       // elements of x, windows of one element
  kConvTaps,         // of other windows
  kConvRows,         // of such windows
  kVectorProducts,   // 16 of a tile
  kVectorTiles,
  kVectorTails,  // tiles of sums whose products are no multiple of 16
  kVectorFilters,
  kGemmProducts,
  kGemmTiles,
  kGemmFilters,
  kGemmWeights,
  kGemmElements,  // of a
  kDepthwise3x3,
  kDepthwiseWide3x3,  // by vectors along a line
  kDepthwise3x3By2,
  kDepthwiseTaps,  // of other windows
  kDepthwiseOutputs,
  kDepthwiseFilters,
  kBandRows,
  kBandBytes,
  kBandStrided,
  kAverageElements,
  kAverageRows,
  kAverageOutputs,
  kMaxElements,
  kMaxRows,
  kMaxOutputs,
  kPoolTaps,  // looked at for the window's bounds
  kAdd,
  kMul,
  kBinaryRows,
  kTable,
  kSoftmax,
  kSoftmaxLines,
  kQuantize,
  kDequantize,
  kRealProducts,    // of a tile, 16 of them
  kRealTiles,       // by four channels
  kRealLines,       // products of one position by four channels
  kRealElements,    // gathered to tiles, windows of one element
  kRealTaps,        // of other windows
  kRealRows,        // of the left matrix
  kRealDepthwise,   // outputs of 3 x 3 at stride 1
  kRealWindowTaps,  // of other windows over one plane
  kRealWindowRows,  // and their rows
  kRealBand,        // elements copied
  kRealFilters,
  kRealPoolTaps,
  kRealMaxTaps,
  kRealPoolRows,
  kRealPoolOutputs,
  kRealBinary,
  kRealClip,
  kRealOther,     // other functions without exp
  kRealFunction,  // with it
  kRealSoftmax,
  kWideProducts,  // of a tile, 8 of them
  kWideBlocks,    // of products of a tile
  kWideOutputs,
  kWideWeights,
  kWidePoints,    // elements of x, windows of one element
  kWideElements,  // of other windows
  kWideSlides,    // products of filters over one plane
  kWideFilters,
  kWideBand,
  kWideAverage,
  kWideBinary,
  kWideQuantize,
  kWideDequantize,
  kMoved,  // elements
  kMovedLines,
  kJoinedBytes,
  kJoinedRows,  // of all operands
  kPickedRows,
  kPickedBytes,
  kChosen,
  kIntegers,
  kCast,
  kGreatest,  // elements
  kGreatestLines,
  kRealPairs,
  kRealPowers,
  kRealMore,     // functions that real_functions.c has not
  kRealReduced,  // elements
  kRealReducedResults,
  kRealNormed,  // elements
  kRealNormLines,
  kRealResampled,  // products
  kRealResampledRows,
  kRealGates,     // products of recurrent cells
  kRealGateRows,  // of their matrices
  kRealCells,     // units of a step
  kFeatures
};
using Features = std::array<double, kFeatures>;

// parameters: the kernel's own struct. core: where the record runs.
Features features_of(uint16_t kernel, const void* parameters, const Core& core);

// Instructions. target: a column of costs.def, of its core and whether it has a floating-point unit; unknown: 0.
uint64_t instructions_of(const Features& features, const std::string& target);
// The column for a core and its compiler's flags.
std::string cost_column(const std::string& core, const std::string& flags);
// Of one unit of its work (delegates/mcu/plan/call.h), as a plan keeps it: in 64 instructions, at least 1.
uint16_t unit_cost(uint16_t kernel, const std::vector<uint8_t>& parameters, const Core& core,
                   const std::string& target);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_COST_H_
