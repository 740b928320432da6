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
  kRealProducts,      // of a tile, 16 of them
  kRealTiles,         // by four channels, stored from registers
  kRealSomeTiles,     // others: parts of tiles, and of four channels
  kRealLines,         // products of one position by four channels
  kRealBounded,       // outputs with bounds other than 0
  kRealElements,      // gathered to tiles, windows of one element
  kRealTaps,          // of other windows
  kRealTapRows,       // and their rows
  kRealPositions,     // and windows
  kRealRows,          // of the left matrix
  kRealPacked,        // of the right one
  kRealDepthwise,     // pairs of outputs of 3 x 3 at stride 1
  kRealDepthwise1,    // outputs of a last column
  kRealColumns,       // columns, or pairs of them
  kRealWindowTaps,    // of other windows over one plane
  kRealWindowRows,    // and their rows
  kRealWindowThrees,  // rows of three neighbours
  kRealWindows,
  kRealBand,  // elements copied, or four of them
  kRealBandRows,
  kRealBandZeros,
  kRealFilters,
  kRealPoolTaps,
  kRealPoolFours,  // neighbours
  kRealMaxTaps,
  kRealMaxFours,
  kRealPoolRows,
  kRealPoolOutputs,
  kRealBinary,
  kRealClip,
  kRealOther,     // other functions without exp
  kRealFunction,  // with it
  kRealSoftmax,
  kWideProducts,     // of a tile, 8 of them
  kWideTiles,        // by pairs of channels
  kWideBlocks,       // of products of a tile, where their total has 64 bits
  kWideTails,        // tiles of sums whose products are no multiple of 8, by vectors
  kWideOutputs,      // of sums of 32 bits
  kWideLongOutputs,  // of sums of 64
  kWideWeights,      // widened in the order of the file
  kWideOddWeights,   // one by one
  kWidePairs,        // of channels, once a block of positions
  kWidePoints,       // elements of x, windows of one element
  kWideElements,     // of other windows, one by one
  kWideRows,         // of such windows
  kWideWindows,      // and the windows
  kWideMatrix,       // elements of a
  kWide3x3,          // outputs of filters over one plane
  kWideSlides,       // products of other such filters
  kWideSlideRows,    // rows of their windows
  kWideSlideOutputs,
  kWideFilters,
  kWideBand,
  kWideBandRows,
  kWideAverage,
  kWideBinary,
  kWideQuantize,
  kWideDequantize,
  kMoves,
  kMoved,  // elements
  kMovedLines,
  kJoinedBytes,
  kJoinedRows,  // of all operands
  kPicks,
  kPickedRows,
  kPickedBytes,
  kChosen,  // bytes
  kChosenHalves,
  kChosenWords,
  kIntegers,         // of bytes
  kIntegersOfHalf,   // of 16 bits
  kIntegersOfWord,   // of 32
  kIntegersDivided,  // what takes more than a sum does
  kIntegersChosen,   // the lesser, the greater
  kIntegersShifted,
  kIntegersCompared,
  kIntegerParts,
  kCast,        // integers to 8 bits
  kCastToHalf,  // to 16
  kCastToWord,  // to 32
  kCastToLong,  // to 64
  kCastToBool,
  kCastRealBool,
  kCastNarrowReal,    // from 16 bits and less to float32
  kCastWordReal,      // from 32
  kCastUnsignedReal,  // from 32 without a sign
  kCastLongReal,      // from 64
  kCastReal,          // from float32 to integers
  kCastRealLong,      // to 64 bits
  kGreatest,          // elements of 16 bits and less
  kGreatestWords,     // others
  kGreatestLines,
  kRealPairs,
  kRealPowers,
  kRealLog,
  kRealSine,
  kRealErf,
  kRealGelu,
  kRealGeluTanh,
  kRealSoftplus,
  kRealMish,
  kRealScaledElu,
  kRealRounded,  // to whole numbers
  kRealSigns,
  kRealShrunk,
  kRealReduced,  // elements
  kRealReducedResults,
  kRealNormed,  // elements
  kRealNormLines,
  kRealNormSpans,  // elements with one scale
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
