#include "converter/firmware/cost.h"

#include <algorithm>
#include <cstring>

#include "converter/firmware/kernel_numbers.h"
#include "delegates/mcu/kernels/codes.h"
#include "delegates/mcu/kernels/integers.h"
#include "delegates/mcu/kernels/moves.h"
#include "delegates/mcu/kernels/parts.h"
#include "delegates/mcu/kernels/picks.h"
#include "delegates/mcu/kernels/pool.h"
#include "delegates/mcu/kernels/pool_rows.h"
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/kernels/wide.h"
#include "delegates/mcu/plan/call.h"
#include "delegates/mcu/plan/parameters.h"
#include "delegates/mcu/plan/plan.h"

namespace vireo::firmware {
namespace {

double up_to(int64_t v, int64_t unit) { return static_cast<double>((v + unit - 1) / unit * unit); }

// The blocks of a product, as delegates/mcu/kernels/product.c makes them.
struct Blocks {
  double tiles, blocks, pairs;
};
Blocks blocks_of(int64_t k, int64_t positions, int64_t channels, const Core& core, bool vectors) {
  constexpr int64_t kBlockBytes = 2048, kMostTiles = 16;
  const int64_t padded = (k + 3) / 4 * 4, tile = core.tile, needed = (positions + tile - 1) / tile;
  int64_t tiles = std::min(needed, std::clamp<int64_t>(kBlockBytes / (2 * tile * padded), 2, kMostTiles));
  if (vectors) {
    const int64_t tile_bytes = tile * ((k + 15) / 16 * 16);
    if (2 * tiles * tile_bytes + 4 * channels <= padded * (2 * tile * tiles + 4)) tiles *= 2;
  }
  return {static_cast<double>(needed), static_cast<double>((needed + tiles - 1) / tiles),
          static_cast<double>((channels + 1) / 2)};
}

void add_conv(const vireo_mcu_conv& c, const Core& core, Features* f) {
  const int64_t taps = int64_t{c.kernel[0]} * c.kernel[1], k = c.in_channels * taps;
  const int64_t positions = int64_t{c.out[0]} * c.out[1];
  const bool point = taps == 1 && c.stride[0] * c.stride[1] == 1 && c.pad[0] + c.pad[1] == 0;
  const bool other_order = c.w_nibbles != 0 || (c.last != 0 && taps > 1 && c.in_channels > 1);
  const bool vectors = core.vectors && !other_order && k >= 16 && positions >= core.tile;
  const Blocks b = blocks_of(k, positions, c.out_channels, core, vectors);
  const double n = double(c.batch) * c.groups, elements = n * b.tiles * core.tile * static_cast<double>(k);
  const double weights = n * b.blocks * b.pairs * 2 * static_cast<double>(k);
  if (vectors) {
    (*f)[kVectorProducts] += n * b.tiles * b.pairs * up_to(k, 16) / 16;
    (*f)[kVectorTiles] += n * b.tiles * b.pairs;
    if (k % 16 != 0) (*f)[kVectorTails] += n * b.tiles * b.pairs;
    (*f)[kVectorFilters] += n * b.blocks * b.pairs;
  } else {
    (*f)[kConvProducts] += n * b.tiles * b.pairs * (core.lanes ? up_to(k, 4) : static_cast<double>(k));
    (*f)[kConvTiles] += n * b.tiles * b.pairs;
    (*f)[kConvFilters] += n * b.blocks * b.pairs;
    if (other_order) {
      (*f)[kWeightsOneByOne] += weights;
    } else if (core.lanes) {
      (*f)[k % 4 == 0 ? kConvWeights : kConvOddWeights] += weights;
    }
  }
  if (point && c.last == 0) {
    (*f)[kConvPoints] += elements;
  } else {
    (*f)[kConvTaps] += elements;
    (*f)[kConvRows] += n * b.tiles * core.tile * (c.last != 0 ? 1 : c.in_channels) * c.kernel[0];
  }
}

void add_gemm(const vireo_mcu_gemm& g, const Core& core, Features* f) {
  const Blocks b = blocks_of(g.k, g.m, g.n, core, false);
  (*f)[kGemmProducts] += b.tiles * b.pairs * (core.lanes ? up_to(g.k, 4) : g.k);
  (*f)[kGemmTiles] += b.tiles * b.pairs;
  (*f)[kGemmFilters] += b.blocks * b.pairs;
  (*f)[g.b_nibbles != 0 ? kWeightsOneByOne : kGemmWeights] += b.blocks * b.pairs * 2 * g.k;
  (*f)[kGemmElements] += b.tiles * core.tile * g.k;
}

void add_depthwise(const vireo_mcu_conv& c, const Core& core, Features* f) {
  constexpr int64_t kMostBand = 2048;
  const auto span = [&](int64_t outputs, int axis) {
    return (outputs - 1) * c.stride[axis] + int64_t{c.kernel[axis] - 1} * c.dilation[axis] + 1;
  };
  const int64_t columns = c.out[1], pitch = (span(columns, 1) + 3) / 4 * 4;
  const int64_t seen = std::max<int64_t>(0, std::min<int64_t>(pitch - c.pad[1], c.in[1]));
  int64_t most = c.out[0];
  while (most > 1 && span(most, 0) * pitch > kMostBand) most = (most + 1) / 2;
  const double planes = double(c.batch) * c.groups, filters = planes * c.out_channels;
  const bool by_one = c.stride[0] == 1 && c.stride[1] == 1;
  const bool is_3x3 = c.kernel[0] == 3 && c.kernel[1] == 3 && c.dilation[0] == 1 && c.dilation[1] == 1;
  for (int64_t row = 0; row < c.out[0]; row += most) {
    const int64_t rows = std::min<int64_t>(most, c.out[0] - row);
    const double outputs = filters * static_cast<double>(rows * columns);
    const double copied = planes * static_cast<double>(span(rows, 0));
    (*f)[kDepthwiseFilters] += filters;
    (*f)[kBandRows] += copied;
    (*f)[c.last != 0 ? kBandStrided : kBandBytes] += copied * static_cast<double>(seen);
    if (is_3x3 && by_one && core.vectors && (pitch == 8 || pitch == 12) && rows >= 4) {
      (*f)[kDepthwise3x3] += filters * up_to(rows, 4) * static_cast<double>(columns);
    } else if (is_3x3 && by_one && core.vectors) {
      (*f)[kDepthwiseWide3x3] += filters * std::min(up_to(rows, 4) * static_cast<double>(columns + 2),
                                                    up_to(columns, 4) * static_cast<double>(rows + 2));
    } else if (is_3x3 && core.lanes && c.stride[1] == 2) {
      (*f)[kDepthwise3x3By2] += filters * up_to(columns, 2) * static_cast<double>(rows);
    } else if (is_3x3 && core.lanes && by_one && columns >= 2) {
      (*f)[kDepthwise3x3] += filters * up_to(columns, 2) * static_cast<double>(rows + 2);
    } else if (is_3x3 && !core.lanes) {
      (*f)[by_one ? kDepthwise3x3 : kDepthwise3x3By2] += outputs;
    } else {
      (*f)[kDepthwiseTaps] += outputs * c.kernel[0] * c.kernel[1];
      (*f)[kDepthwiseOutputs] += outputs;
    }
  }
}

void add_pool(const vireo_mcu_pool& p, bool average, Features* f) {
  // Taps inside x along an axis, summed over its outputs.
  const auto inside = [&](int axis) {
    double count = 0;
    for (int32_t o = 0; o < p.out[axis]; ++o) {
      for (int32_t k = 0; k < p.kernel[axis]; ++k) {
        const int32_t i = o * p.stride[axis] - p.pad[axis] + k * p.dilation[axis];
        count += i >= 0 && i < p.in[axis] ? 1 : 0;
      }
    }
    return count;
  };
  const double outputs = double(p.batch) * p.channels * p.out[0] * p.out[1];
  const bool whole = p.kernel[1] == p.in[1] && p.out[1] == 1 && p.dilation[0] == 1 && p.dilation[1] == 1;
  const double elements = double(p.batch) * p.channels * inside(0) * inside(1);
  (*f)[average ? kAverageElements : kMaxElements] += elements;
  (*f)[average ? kAverageRows : kMaxRows] += whole ? outputs : double(p.batch) * p.channels * inside(0) * p.out[1];
  (*f)[average ? kAverageOutputs : kMaxOutputs] += outputs;
  (*f)[kPoolTaps] += double(p.batch) * p.out[0] * (p.kernel[0] + p.out[1] * p.kernel[1]);
}

double of(int64_t v) { return static_cast<double>(v); }
bool are_bounded(const vireo_mcu_bounds& b) { return mcu_has_bounds(&b) != 0; }

// A product of float32, of `n` groups. in_columns: a tile's positions are neighbours in y.
void add_real_product(double n, int64_t positions, int64_t channels, int64_t k, bool bounded, bool in_columns,
                      Features* f) {
  const int64_t groups = (channels + 3) / 4, whole = positions / 4, tiles = (positions + 3) / 4;
  const int64_t lines = positions % 4 == 1 ? 1 : 0, stored = in_columns ? whole * (channels / 4) : 0;
  (*f)[kRealProducts] += n * of((tiles - lines) * groups * k);
  (*f)[kRealLines] += n * of(lines * groups * k);
  (*f)[kRealTiles] += n * of(stored);
  (*f)[kRealSomeTiles] += n * of(tiles * groups - stored);
  if (bounded) (*f)[kRealBounded] += n * of(positions * channels);
}

void add_real_conv(const vireo_mcu_conv_reals& c, Features* f) {
  const int64_t taps = int64_t{c.kernel[0]} * c.kernel[1], positions = int64_t{c.out[0]} * c.out[1];
  const double n = double(c.batch) * c.groups;
  const bool point = taps == 1 && c.stride[0] * c.stride[1] == 1 && c.pad[0] + c.pad[1] == 0;
  add_real_product(n, positions, c.out_channels, c.in_channels * taps, are_bounded(c.bounds), true, f);
  const int64_t whole = point ? positions / 4 * 4 : 0, windows = positions - whole;
  (*f)[kRealElements] += n * of(whole * c.in_channels);
  (*f)[kRealTaps] += n * of(windows * c.in_channels * taps);
  (*f)[kRealTapRows] += n * of(windows * c.in_channels * c.kernel[0]);
  (*f)[kRealPositions] += n * of(windows);
}

void add_real_depthwise(const vireo_mcu_conv_reals& c, Features* f) {
  constexpr int64_t kMostBand = 1024;
  const auto span = [&](int64_t outputs, int axis) {
    return (outputs - 1) * c.stride[axis] + int64_t{c.kernel[axis] - 1} * c.dilation[axis] + 1;
  };
  const int64_t pitch = span(c.out[1], 1), seen = std::max<int64_t>(0, std::min<int64_t>(pitch - c.pad[1], c.in[1]));
  int64_t most = c.out[0];
  while (most > 1 && span(most, 0) * pitch > kMostBand) most = (most + 1) / 2;
  const double filters = double(c.batch) * c.groups * c.out_channels, outputs = filters * c.out[0] * c.out[1];
  const bool by_3 =
      c.kernel[0] == 3 && c.kernel[1] == 3 && c.stride[0] * c.stride[1] == 1 && c.dilation[0] * c.dilation[1] == 1;
  for (int64_t row = 0; row < c.out[0]; row += most) {
    const int64_t rows = std::min<int64_t>(most, c.out[0] - row), first = row * c.stride[0] - c.pad[0];
    const int64_t copied =
        std::max<int64_t>(0, std::min<int64_t>(first + span(rows, 0), c.in[0]) - std::max<int64_t>(first, 0));
    (*f)[kRealFilters] += filters;
    (*f)[kRealBandRows] += filters * of(copied);
    (*f)[kRealBand] += filters * of(copied * (seen / 4 + seen % 4));
    (*f)[kRealBandZeros] += most < c.out[0] ? filters * of(span(rows, 0) * pitch) : 0;
  }
  (*f)[kRealBandZeros] += of(span(most, 0) * pitch);
  if (by_3) {
    const int64_t odd = c.out[1] % 2, strips = (c.out[0] + most - 1) / most;
    (*f)[kRealDepthwise] += filters * of(c.out[0] * (c.out[1] / 2));
    (*f)[kRealDepthwise1] += filters * of(c.out[0] * odd);
    (*f)[kRealColumns] += filters * of(strips * (c.out[1] / 2 + odd));
    if (are_bounded(c.bounds)) (*f)[kRealBounded] += outputs;
  } else {
    if (c.kernel[1] != 3 || c.dilation[1] != 1) (*f)[kRealWindowTaps] += outputs * c.kernel[0] * c.kernel[1];
    (*f)[c.kernel[1] != 3 || c.dilation[1] != 1 ? kRealWindowRows : kRealWindowThrees] += outputs * c.kernel[0];
    (*f)[kRealWindows] += outputs;
  }
}

void add_real_pool(const vireo_mcu_pool_reals& p, bool average, Features* f) {
  const double outputs = double(p.planes) * p.out[0] * p.out[1];
  const bool whole = p.kernel[1] == p.in[1] && p.pad[1] + p.pad_end[1] == 0 && p.dilation[0] == 1;
  const int64_t columns = whole ? int64_t{p.kernel[0]} * p.kernel[1] : p.kernel[1];
  const int64_t fours = p.dilation[1] == 1 ? columns / 4 : 0;
  const double rows = outputs * (whole ? 1 : p.kernel[0]);
  (*f)[average ? kRealPoolFours : kRealMaxFours] += rows * of(fours);
  (*f)[average ? kRealPoolTaps : kRealMaxTaps] += rows * of(columns - 4 * fours);
  (*f)[kRealPoolRows] += rows;
  (*f)[kRealPoolOutputs] += outputs;
  (*f)[kPoolTaps] += double(p.out[0]) * (p.kernel[0] + p.out[1] * p.kernel[1]);
}

// A product of 16-bit codes, of `n` groups.
void add_wide(double n, int64_t k, int64_t positions, int64_t channels, bool plain, const Core& core, Features* f) {
  const Blocks b = blocks_of(k, positions, channels, core, false);
  const double padded = up_to(k, 4), tiles = n * b.tiles * b.pairs, outputs = n * of(positions * channels);
  const bool narrow = padded <= 256;
  (*f)[kWideProducts] += tiles * padded;
  (*f)[kWideTiles] += tiles;
  if (core.vectors && static_cast<int64_t>(padded) % 8 != 0) (*f)[kWideTails] += tiles;
  if (!narrow) (*f)[kWideBlocks] += tiles * of((static_cast<int64_t>(padded) + 255) / 256);
  (*f)[narrow ? kWideOutputs : kWideLongOutputs] += outputs;
  (*f)[plain && core.lanes && k % 4 == 0 ? kWideWeights : kWideOddWeights] += n * b.blocks * b.pairs * 2 * padded;
  (*f)[kWidePairs] += n * b.blocks * b.pairs;
}

void add_wide_conv(const vireo_mcu_conv_wide& c, const Core& core, Features* f) {
  const int64_t taps = int64_t{c.kernel[0]} * c.kernel[1], k = c.in_channels * taps;
  const int64_t positions = int64_t{c.out[0]} * c.out[1];
  const double planes = double(c.batch) * c.groups;
  const bool by_one = c.stride[0] * c.stride[1] == 1 && c.dilation[0] * c.dilation[1] == 1;
  if (c.in_channels == 1 && c.out_channels == 1 && taps <= 32) {
    const auto span = [&](int64_t outputs, int axis) {
      return (outputs - 1) * c.stride[axis] + int64_t{c.kernel[axis] - 1} * c.dilation[axis] + 1;
    };
    constexpr int64_t kMostBand = 1024;
    const int64_t pitch = span(c.out[1], 1);
    int64_t most = c.out[0];
    while (most > 1 && span(most, 0) * pitch > kMostBand) most = (most + 1) / 2;
    const bool vectors = core.vectors && c.stride[1] == 1 && c.y_type >= VIREO_MCU_I16;
    const double columns = vectors ? up_to(c.out[1], 4) / 4 : c.out[1];
    for (int64_t row = 0; row < c.out[0]; row += most) {
      const int64_t rows = std::min<int64_t>(most, c.out[0] - row);
      (*f)[kWideFilters] += planes;
      (*f)[kWideBandRows] += planes * of(span(rows, 0));
      (*f)[kWideBand] += planes * of(span(rows, 0)) * (core.vectors ? up_to(pitch, 8) / 8 : of(pitch));
      if (by_one && c.kernel[0] == 3 && c.kernel[1] == 3) {
        (*f)[kWide3x3] += planes * columns * of(rows + 1);
      } else {
        (*f)[kWideSlides] += planes * columns * of(rows * taps);
        (*f)[kWideSlideRows] += planes * columns * of(rows * c.kernel[0]);
        (*f)[kWideSlideOutputs] += planes * columns * of(rows);
      }
    }
    return;
  }
  const bool point = taps == 1 && by_one && c.pad[0] + c.pad[1] == 0;
  const bool plain = c.x_zero == (c.x_type == VIREO_MCU_U16 ? 32768 : 0);
  add_wide(planes, k, positions, c.out_channels, plain, core, f);
  const int64_t whole =
      point && core.lanes && k % 4 == 0 && c.x_type == VIREO_MCU_I16 ? positions / core.tile * core.tile : 0;
  const double windows = up_to(positions, core.tile) - of(whole);
  (*f)[kWidePoints] += planes * of(whole * k);
  (*f)[kWideElements] += planes * windows * of(k);
  (*f)[kWideRows] += planes * windows * c.in_channels * c.kernel[0];
  (*f)[kWideWindows] += planes * windows;
}

template <class Struct>
const Struct& as(const void* parameters) {
  return *static_cast<const Struct*>(parameters);
}

struct Row {
  Feature feature;
  double costs[10];
};
constexpr const char* kColumns[] = {"cortex-m0plus", "cortex-m3",       "cortex-m4",  "cortex-m4-nofp", "cortex-m7",
                                    "cortex-m33",    "cortex-m33-nofp", "cortex-m55", "rv32imc",        "rv32imafc"};
constexpr Row kCosts[] = {
#define VIREO_MCU_COST(feature, ...) {feature, {__VA_ARGS__}},
#include "converter/firmware/costs.def"
#undef VIREO_MCU_COST
};

// Kernels of picks.h, integers.h and reals_more.h.
void add_more(uint16_t kernel, const void* parameters, Features* f) {
  switch (kernel) {
    case k_pick: {
      const auto& p = as<vireo_mcu_pick>(parameters);
      (*f)[kPicks] += 1;
      (*f)[kPickedRows] += double(p.outer) * p.count;
      (*f)[kPickedBytes] += p.row_bytes == 4 ? 0 : double(p.outer) * p.count * p.row_bytes;
      break;
    }
    case k_choose: {
      const auto& c = as<vireo_mcu_choose>(parameters);
      (*f)[c.element_bytes == 1   ? kChosen
           : c.element_bytes == 2 ? kChosenHalves
                                  : kChosenWords] += double(c.rows) * c.columns;
      break;
    }
    case k_integers: {
      const auto& i = as<vireo_mcu_integers>(parameters);
      const double count = double(i.rows) * i.columns;
      const bool is_half = i.type == VIREO_MCU_HALF || i.type == VIREO_MCU_SIGNED_HALF;
      const bool is_word = i.type == VIREO_MCU_WORD || i.type == VIREO_MCU_SIGNED_WORD;
      (*f)[is_half ? kIntegersOfHalf : is_word ? kIntegersOfWord : kIntegers] += count;
      if (i.what >= VIREO_MCU_INT_DIV && i.what <= VIREO_MCU_INT_MODULUS) (*f)[kIntegersDivided] += count;
      if (i.what == VIREO_MCU_INT_MIN || i.what == VIREO_MCU_INT_MAX) (*f)[kIntegersChosen] += count;
      if (i.what == VIREO_MCU_INT_LEFT || i.what == VIREO_MCU_INT_RIGHT) (*f)[kIntegersShifted] += count;
      if (i.what >= VIREO_MCU_INT_EQUAL) (*f)[kIntegersCompared] += count;
      (*f)[kIntegerParts] += double(i.rows) * up_to(i.columns, MCU_PART) / MCU_PART;
      break;
    }
    case k_cast: {
      const auto& c = as<vireo_mcu_cast>(parameters);
      static constexpr Feature kInteger[] = {kCast,       kCast,       kCastToHalf, kCastToHalf, kCastToWord,
                                             kCastToWord, kCastToBool, kCastToLong, kCastToWord};
      static constexpr Feature kToReal[] = {kCastNarrowReal,   kCastNarrowReal, kCastNarrowReal, kCastNarrowReal,
                                            kCastUnsignedReal, kCastWordReal,   kCastNarrowReal, kCastLongReal};
      Feature kind = kInteger[c.to];
      if (c.to == VIREO_MCU_REAL && c.from != VIREO_MCU_REAL) kind = kToReal[c.from];
      if (c.from == VIREO_MCU_REAL && c.to != VIREO_MCU_REAL)
        kind = c.to == VIREO_MCU_BOOL ? kCastRealBool : c.to == VIREO_MCU_LONG ? kCastRealLong : kCastReal;
      (*f)[kind] += c.count;
      break;
    }
    case k_greatest: {
      const auto& g = as<vireo_mcu_greatest>(parameters);
      (*f)[kGreatestLines] += double(g.outer) * g.inner;
      const bool is_word = g.type >= VIREO_MCU_WORD && g.type != VIREO_MCU_BOOL;
      (*f)[is_word ? kGreatestWords : kGreatest] += double(g.outer) * g.inner * g.axis;
      break;
    }
    case k_pairs: {
      const auto& p = as<vireo_mcu_binary_reals>(parameters);
      (*f)[p.what == VIREO_MCU_POWER ? kRealPowers : kRealPairs] += double(p.rows) * p.columns;
      break;
    }
    case k_more_function: {
      static constexpr Feature kOf[VIREO_MCU_MORE_FUNCTIONS] = {
          kRealLog,  kRealSine,      kRealSine,    kRealErf,     kRealGelu,    kRealGeluTanh, kRealSoftplus,
          kRealMish, kRealScaledElu, kRealRounded, kRealRounded, kRealRounded, kRealSigns,    kRealShrunk};
      const auto& m = as<vireo_mcu_more_function>(parameters);
      (*f)[kOf[m.what]] += m.count;
      break;
    }
    case k_reduce_reals: {
      const auto& r = as<vireo_mcu_reduce_reals>(parameters);
      const double results = double(r.kept[0]) * r.kept[1] * r.kept[2];
      (*f)[kRealReducedResults] += results;
      (*f)[kRealReduced] += results * r.over[0] * r.over[1] * r.over[2];
      break;
    }
    case k_norm_reals: {
      const auto& n = as<vireo_mcu_norm_reals>(parameters);
      (*f)[kRealNormLines] += n.lines;
      (*f)[kRealNormed] += double(n.lines) * n.count;
      (*f)[kRealNormSpans] += double(n.lines) * n.count / n.span;
      break;
    }
    case k_resample: {
      const auto& r = as<vireo_mcu_resample>(parameters);
      (*f)[kRealResampledRows] += double(r.outer) * r.count * r.taps;
      (*f)[kRealResampled] += double(r.outer) * r.count * r.taps * r.inner;
      break;
    }
    case k_recurrent: {
      const auto& r = as<vireo_mcu_recurrent>(parameters);
      const double steps = vireo_mcu_recurrent_units(&r), rows = double(vireo_mcu_recurrent_gates(&r)) * r.hidden;
      (*f)[kRealGates] += steps * rows * (r.inputs + r.hidden);
      (*f)[kRealGateRows] += steps * rows;
      (*f)[kRealCells] += steps * r.hidden;
      break;
    }
    default:
      break;
  }
}

}  // namespace

Features features_of(uint16_t kernel, const void* parameters, const Core& core) {
  Features f = {};
  f[kRecords] = 1;
  switch (kernel) {
    case k_conv:
      add_conv(as<vireo_mcu_conv>(parameters), core, &f);
      break;
    case k_depthwise:
      add_depthwise(as<vireo_mcu_conv>(parameters), core, &f);
      break;
    case k_gemm:
      add_gemm(as<vireo_mcu_gemm>(parameters), core, &f);
      break;
    case k_average:
    case k_max:
      add_pool(as<vireo_mcu_pool>(parameters), kernel == k_average, &f);
      break;
    case k_add:
    case k_mul: {
      const auto& b = as<vireo_mcu_binary>(parameters);
      f[kernel == k_add ? kAdd : kMul] += double(b.rows) * b.columns;
      f[kBinaryRows] += b.rows;
      break;
    }
    case k_table:
      f[kTable] += as<vireo_plan_table>(parameters).count;
      break;
    case k_softmax: {
      const auto& s = as<vireo_mcu_softmax>(parameters);
      f[kSoftmax] += double(s.outer) * s.axis * s.inner;
      f[kSoftmaxLines] += double(s.outer) * s.inner;
      break;
    }
    case k_quantize:
      f[kQuantize] += as<vireo_plan_quantize>(parameters).count;
      break;
    case k_dequantize:
      f[kDequantize] += as<vireo_plan_dequantize>(parameters).count;
      break;
    case k_conv_reals:
      add_real_conv(as<vireo_mcu_conv_reals>(parameters), &f);
      break;
    case k_depthwise_reals:
      add_real_depthwise(as<vireo_mcu_conv_reals>(parameters), &f);
      break;
    case k_gemm_reals: {
      const auto& g = as<vireo_mcu_gemm_reals>(parameters);
      add_real_product(1, g.m, g.n, g.k, are_bounded(g.bounds), false, &f);
      f[kRealRows] += (g.m % 4 == 1 ? up_to(g.m - 1, 4) + 1 : up_to(g.m, 4)) * g.k;
      break;
    }
    case k_matmul_reals: {
      const auto& g = as<vireo_mcu_matmul_reals>(parameters);
      add_real_product(g.batch, g.m, g.n, g.k, false, false, &f);
      f[kRealRows] += double(g.batch) * (g.m % 4 == 1 ? up_to(g.m - 1, 4) + 1 : up_to(g.m, 4)) * g.k;
      f[kRealPacked] += double(g.batch) * up_to(g.n, 4) * g.k;
      break;
    }
    case k_average_reals:
    case k_max_reals:
      add_real_pool(as<vireo_mcu_pool_reals>(parameters), kernel == k_average_reals, &f);
      break;
    // As the pool over all of it, but that it is divided by rows.
    case k_average_rows: {
      const auto& r = as<vireo_mcu_pool_rows>(parameters).rows;
      f[kAverageElements] += double(r.planes) * r.rows * r.columns;
      f[kAverageRows] += r.planes;
      if (r.first + r.rows == r.all) f[kAverageOutputs] += r.planes;
      break;
    }
    case k_average_rows_reals: {
      const auto& r = as<vireo_mcu_rows>(parameters);
      f[kRealPoolTaps] += double(r.planes) * r.rows * r.columns;
      f[kRealPoolRows] += r.planes;
      if (r.first + r.rows == r.all) f[kRealPoolOutputs] += r.planes;
      break;
    }
    case k_binary_reals: {
      const auto& b = as<vireo_mcu_binary_reals>(parameters);
      f[kRealBinary] += double(b.rows) * b.columns;
      f[kBinaryRows] += b.rows;
      break;
    }
    case k_function: {
      const auto& g = as<vireo_mcu_function>(parameters);
      const bool is_exp = g.what == VIREO_MCU_SIGMOID || g.what == VIREO_MCU_TANH || g.what == VIREO_MCU_SWISH ||
                          g.what == VIREO_MCU_ELU || g.what == VIREO_MCU_EXP;
      f[is_exp ? kRealFunction : g.what == VIREO_MCU_CLIP ? kRealClip : kRealOther] += g.count;
      break;
    }
    case k_softmax_reals: {
      const auto& s = as<vireo_mcu_softmax_reals>(parameters);
      f[kRealSoftmax] += double(s.outer) * s.axis * s.inner;
      break;
    }
    case k_conv_wide:
      add_wide_conv(as<vireo_mcu_conv_wide>(parameters), core, &f);
      break;
    case k_gemm_wide: {
      const auto& g = as<vireo_mcu_gemm_wide>(parameters);
      add_wide(1, g.k, g.m, g.n, false, core, &f);
      f[kWideMatrix] += up_to(g.m, core.tile) * g.k;
      break;
    }
    case k_average_wide: {
      const auto& p = as<vireo_mcu_pool_wide>(parameters);
      f[kWideAverage] += double(p.planes) * p.out[0] * p.out[1] * p.kernel[0] * p.kernel[1];
      f[kWideLongOutputs] += double(p.planes) * p.out[0] * p.out[1];
      break;
    }
    case k_binary_wide: {
      const auto& b = as<vireo_mcu_binary_wide>(parameters);
      f[kWideBinary] += double(b.rows) * b.columns;
      break;
    }
    case k_quantize_wide:
    case k_dequantize_wide:
      f[kernel == k_quantize_wide ? kWideQuantize : kWideDequantize] += as<vireo_mcu_quantize_wide>(parameters).count;
      break;
    case k_move: {
      const auto& m = as<vireo_mcu_move>(parameters);
      f[kMoves] += 1;
      f[kMovedLines] += vireo_mcu_move_units(&m);
      f[kMoved] += double(vireo_mcu_move_units(&m)) * m.dims[VIREO_MCU_MOVE_AXES - 1];
      break;
    }
    case k_join: {
      const auto& j = as<vireo_mcu_join>(parameters);
      for (int32_t i = 0; i < j.count; ++i) f[kJoinedBytes] += double(j.rows) * j.bytes[i];
      f[kJoinedRows] += double(j.rows) * j.count;
      break;
    }
    default:
      add_more(kernel, parameters, &f);
      break;
  }
  return f;
}

uint64_t instructions_of(const Features& features, const std::string& target) {
  const auto* const column = std::find(std::begin(kColumns), std::end(kColumns), target);
  if (column == std::end(kColumns)) return 0;
  double sum = 0;
  for (const Row& row : kCosts) sum += features[row.feature] * row.costs[column - std::begin(kColumns)];
  return static_cast<uint64_t>(sum + 0.5);
}

std::string cost_column(const std::string& core, const std::string& flags) {
  const bool soft = flags.find("-mfloat-abi=soft") != std::string::npos;
  return core + (soft && (core == "cortex-m4" || core == "cortex-m33") ? "-nofp" : "");
}

uint16_t unit_cost(uint16_t kernel, const std::vector<uint8_t>& parameters, const Core& core,
                   const std::string& target) {
  const auto at_most = [](double instructions) {
    return static_cast<uint16_t>(std::clamp(instructions / 64 + 1, 1.0, 65535.0));
  };
  Features f = features_of(kernel, parameters.data(), core);
  const bool in_reals = kernel == k_conv_reals || kernel == k_gemm_reals;
  if (kernel != k_conv && kernel != k_gemm && !in_reals) {
    const double units = vireo_mcu_kernel_of(kernel)->units(parameters.data());
    return at_most(static_cast<double>(instructions_of(f, target)) / units);
  }
  // Units of two kinds; the dearer one counts for both, so that no step takes longer than it was given.
  double tiles = 0;
  const double pairs = f[kConvFilters] + f[kVectorFilters] + f[kGemmFilters] + f[kRealTiles] + f[kRealSomeTiles];
  if (in_reals) {
    tiles = vireo_mcu_kernel_of(kernel)->units(parameters.data()) - pairs;
  } else if (kernel == k_conv) {
    const auto& c = as<vireo_mcu_conv>(parameters.data());
    const int64_t positions = int64_t{c.out[0]} * c.out[1];
    tiles = double(c.batch) * c.groups * static_cast<double>((positions + core.tile - 1) / core.tile);
  } else {
    tiles = (as<vireo_mcu_gemm>(parameters.data()).m + core.tile - 1) / core.tile;
  }
  Features widening = {};
  for (const Feature feature : {kConvPoints, kConvTaps, kConvRows, kGemmElements, kRealElements, kRealTaps,
                                kRealTapRows, kRealPositions, kRealRows}) {
    widening[feature] = f[feature];
    f[feature] = 0;
  }
  return at_most(std::max(static_cast<double>(instructions_of(widening, target)) / tiles,
                          static_cast<double>(instructions_of(f, target)) / pairs));
}

}  // namespace vireo::firmware
