// Layers whose instructions fit_costs.py counts: as C for mcu_costs.c, and their features for each kind of core.
//
//   cost_cases HEADER.h FEATURES.txt
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "converter/firmware/cost.h"
#include "converter/firmware/kernel_numbers.h"
#include "delegates/mcu/kernels/codes.h"
#include "delegates/mcu/kernels/integers.h"
#include "delegates/mcu/kernels/moves.h"
#include "delegates/mcu/kernels/picks.h"
#include "delegates/mcu/kernels/pool.h"
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/kernels/wide.h"
#include "delegates/mcu/plan/parameters.h"

using namespace vireo::firmware;

namespace {

struct Case {
  uint16_t kernel;
  std::vector<uint8_t> parameters;
  int32_t k;  // products of a sum: multipliers are about 1 / sqrt(k)
};
std::vector<Case> cases;
std::mt19937 numbers(7);

int32_t pick(int32_t low, int32_t high) {
  const uint32_t first = static_cast<uint32_t>(low), count = static_cast<uint32_t>(high) - first + 1;
  return static_cast<int32_t>(first + numbers() % count);
}

template <class Struct>
void add(uint16_t kernel, const Struct& s, int32_t k = 1) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&s);
  cases.push_back({kernel, {bytes, bytes + sizeof s}, k});
}

constexpr vireo_mcu_codes kAll = {-5, -128, 127};

vireo_mcu_conv window(int32_t height, int32_t width, int32_t kernel, int32_t stride) {
  vireo_mcu_conv c = {};
  c.batch = 1;
  const int32_t in[2] = {height, width};
  for (int i = 0; i < 2; ++i) {
    c.in[i] = in[i];
    c.kernel[i] = kernel, c.stride[i] = stride, c.dilation[i] = 1, c.pad[i] = kernel / 2;
    c.out[i] = (c.in[i] + 2 * c.pad[i] - kernel) / stride + 1;
  }
  c.codes = kAll;
  c.x_zero = 3;
  return c;
}

void convolutions() {
  for (int i = 0; i < 70; ++i) {
    const int32_t kernel = i % 2 == 0 ? 1 : i % 4 == 1 ? 3 : pick(2, 7);
    vireo_mcu_conv c = window(pick(2, 24), pick(2, 24), kernel, kernel > 1 ? pick(1, 2) : 1);
    c.groups = i % 11 == 3 ? 2 : 1;
    c.in_channels = kernel == 1 ? pick(4, 96) : i % 8 == 1 ? pick(1, 3) : pick(4, 24);
    c.out_channels = pick(2, 64);
    c.last = i % 9 == 8;
    c.w_nibbles = i % 13 == 12;
    const int32_t k = c.in_channels * kernel * kernel, plane = c.in[0] * c.in[1];
    if (c.groups * c.in_channels * plane > 24000 || c.groups * c.out_channels * plane > 24000 ||
        c.groups * c.out_channels * k > 24000 || int64_t{c.out_channels} * k * plane > 2500000) {
      --i;
      continue;
    }
    add(k_conv, c, k);
  }
}

void depthwise() {
  for (int i = 0; i < 60; ++i) {
    const int32_t kernel = i % 4 == 3 ? pick(2, 5) : 3;
    vireo_mcu_conv c = window(pick(3, 48), pick(3, 48), kernel, i % 3 == 2 ? 2 : 1);
    c.groups = pick(2, 40);
    c.in_channels = 1;
    c.out_channels = i % 15 == 14 ? 2 : 1;
    c.last = i % 10 == 9;
    if (c.groups * c.out_channels * c.in[0] * c.in[1] > 24000) {
      --i;
      continue;
    }
    add(k_depthwise, c, kernel * kernel);
  }
}

void others() {
  for (int i = 0; i < 24; ++i) {
    vireo_mcu_gemm g = {};
    g.m = i % 2 == 0 ? 1 : pick(1, 24), g.n = pick(2, 96), g.k = pick(8, 256), g.codes = kAll;
    if (g.n * g.k <= 24000) add(k_gemm, g, g.k);
  }
  for (int i = 0; i < 24; ++i) {
    vireo_mcu_pool p = {};
    p.batch = 1, p.channels = pick(2, 64), p.codes = kAll, p.last = i % 6 == 5;
    const bool whole = i % 3 == 0;
    const int32_t size = whole ? pick(2, 12) : pick(4, 20), kernel = whole ? size : pick(2, 3);
    for (int a = 0; a < 2; ++a) {
      p.in[a] = size, p.kernel[a] = kernel, p.stride[a] = whole ? 1 : 2, p.dilation[a] = 1;
      p.out[a] = (size - kernel) / p.stride[a] + 1;
    }
    p.one_multiplier = 1;
    if (p.channels * size * size <= 24000) add(i % 2 == 0 ? k_average : k_max, p, kernel * kernel);
  }
  for (int i = 0; i < 12; ++i) {
    vireo_mcu_binary b = {pick(1, 12), pick(8, 400), 0, 1, 0, 1, 3, 0, 5, 0, 0.6f, 0.7f, kAll};
    b.a_row = b.b_row = b.columns;
    if (i % 4 >= 2) b.b_row = 1, b.b_step = 0;
    if (i % 2 == 1) b.a_multiplier = 0.01f;
    add(i % 2 == 0 ? k_add : k_mul, b);
    add(k_table, vireo_plan_table{pick(100, 4000)});
    const vireo_mcu_softmax s = {pick(1, 6), pick(4, 100), i % 3 == 0 ? pick(2, 4) : 1, 0, 256.0f, {-128, -128, 127}};
    add(k_softmax, s);
    add(k_quantize, vireo_plan_quantize{pick(50, 2000), 0.02f, kAll});
    add(k_dequantize, vireo_plan_dequantize{pick(4, 2000), 0.02f, 0, 3});
  }
}

// Float32: for cores with a floating-point unit.
void reals() {
  const vireo_mcu_bounds relu = {0, INFINITY}, clip = {0, 6};
  const auto wide = [&](const vireo_mcu_conv& c) {
    vireo_mcu_conv_reals r = {};
    r.batch = 1, r.groups = c.groups, r.in_channels = c.in_channels, r.out_channels = c.out_channels;
    for (int a = 0; a < 2; ++a) {
      r.in[a] = c.in[a], r.out[a] = c.out[a], r.kernel[a] = c.kernel[a], r.stride[a] = c.stride[a];
      r.dilation[a] = c.dilation[a], r.pad[a] = c.pad[a];
    }
    r.bounds = cases.size() % 5 == 4 ? clip : relu;
    return r;
  };
  for (int i = 0; i < 48; ++i) {
    const int32_t kernel = i % 2 == 0 ? 1 : pick(2, 5);
    vireo_mcu_conv c = window(pick(3, 24), pick(3, 24), kernel, kernel > 1 && i % 4 == 3 ? 2 : 1);
    c.groups = i % 10 == 9 ? 2 : 1;
    c.in_channels = pick(1, 48);
    c.out_channels = pick(2, 48);
    const int32_t k = c.in_channels * kernel * kernel, plane = c.in[0] * c.in[1];
    if (c.groups * c.in_channels * plane > 6000 || c.groups * c.out_channels * plane > 6000 ||
        c.groups * c.out_channels * k > 5000) {
      --i;
      continue;
    }
    add(k_conv_reals, wide(c), k);
  }
  for (int i = 0; i < 30; ++i) {
    const int32_t kernel = i % 4 == 3 ? pick(2, 5) : 3;
    vireo_mcu_conv c = window(pick(3, 24), pick(3, 24), kernel, i % 3 == 2 ? 2 : 1);
    c.groups = pick(2, 24);
    c.in_channels = c.out_channels = 1;
    if (c.groups * c.in[0] * c.in[1] > 6000) {
      --i;
      continue;
    }
    add(k_depthwise_reals, wide(c), kernel * kernel);
  }
  for (int i = 0; i < 12; ++i) {
    const vireo_mcu_gemm_reals g = {i % 2 == 0 ? 1 : pick(2, 16), pick(2, 48), pick(8, 96), relu};
    add(k_gemm_reals, g, g.k);
    const vireo_mcu_matmul_reals mm = {pick(1, 3), pick(1, 12), pick(2, 24), pick(4, 48), 0, 0};
    add(k_matmul_reals, mm, mm.k);
    for (int n = 0; n < 2; ++n) {
      vireo_mcu_pool_reals p = {};
      p.planes = pick(2, 32);
      const bool whole = i % 4 < 2;
      const int32_t size = whole ? pick(2, 12) : pick(4, 12), kernel = whole ? size : pick(2, 3);
      for (int a = 0; a < 2; ++a) {
        p.in[a] = size, p.kernel[a] = kernel, p.stride[a] = whole ? 1 : 2, p.dilation[a] = 1;
        p.out[a] = (size - kernel) / p.stride[a] + 1;
      }
      add(n == 0 ? k_average_reals : k_max_reals, p);
    }
    const int32_t columns = pick(8, 300);
    add(k_binary_reals, vireo_mcu_binary_reals{pick(1, 12), columns, columns, 1, columns, 1, i % 3});
    add(k_function,
        vireo_mcu_function{pick(50, 2000), i % 2 == 0 ? VIREO_MCU_CLIP : VIREO_MCU_LEAKY_RELU, 0, INFINITY});
    const int32_t kinds[] = {VIREO_MCU_SIGMOID, VIREO_MCU_TANH, VIREO_MCU_SWISH};
    add(k_function, vireo_mcu_function{pick(50, 2000), kinds[i % 3], 1, 0});
    add(k_softmax_reals, vireo_mcu_softmax_reals{pick(1, 6), pick(4, 100), i % 3 == 0 ? pick(2, 4) : 1});
  }
}

// Codes of 16 bits.
void wide() {
  const vireo_mcu_codes codes = {0, -32768, 32767};
  for (int i = 0; i < 72; ++i) {
    const int32_t kernel = i % 12 == 9 ? 4 : i % 3 == 0 ? 3 : 1;
    const vireo_mcu_conv c = window(pick(3, 16), pick(3, 16), kernel, i % 18 == 6 ? 2 : 1);
    vireo_mcu_conv_wide r = {};
    std::memcpy(&r, &c, offsetof(vireo_mcu_conv_wide, x_zero));
    r.groups = i % 6 == 3 || i % 24 == 18 ? pick(2, 16) : 1;
    r.x_zero = i % 5 == 4 ? 77 : 0;
    r.in_channels = r.groups > 1 ? 1 : i % 4 < 2 ? 4 * pick(1, 12) : pick(4, 48);
    r.out_channels = r.groups > 1 ? 1 : pick(4, 48);
    r.codes = codes;
    r.x_type = r.y_type = VIREO_MCU_I16;
    const int32_t k = r.in_channels * kernel * kernel, plane = r.in[0] * r.in[1];
    if (r.groups * r.in_channels * plane > 10000 || r.groups * r.out_channels * plane > 10000) {
      --i;
      continue;
    }
    add(k_conv_wide, r, k);
  }
  for (int i = 0; i < 16; ++i) {
    const vireo_mcu_gemm_wide g = {
        i % 2 == 0 ? 1 : pick(2, 16), pick(2, 48), pick(8, 300), 0, codes, VIREO_MCU_I16, VIREO_MCU_I16, 0, 0};
    add(k_gemm_wide, g, g.k);
    vireo_mcu_pool_wide p = {};
    p.planes = pick(2, 32), p.codes = codes, p.x_type = p.y_type = VIREO_MCU_I16, p.one_multiplier = 1;
    const int32_t size = pick(2, 12);
    for (int a = 0; a < 2; ++a) p.in[a] = p.kernel[a] = size, p.stride[a] = p.dilation[a] = p.out[a] = 1;
    add(k_average_wide, p);
    const int32_t columns = pick(8, 300);
    add(k_binary_wide, vireo_mcu_binary_wide{pick(1, 12), columns, columns, 1, columns, 1, 0, 0, 0.3f, 0.6f, codes,
                                             VIREO_MCU_I16, VIREO_MCU_I16, VIREO_MCU_I16, 0});
    add(k_quantize_wide, vireo_mcu_quantize_wide{pick(50, 1000), 0.001f, codes, VIREO_MCU_I16, {}});
    add(k_dequantize_wide, vireo_mcu_quantize_wide{pick(50, 1000), 0.001f, codes, VIREO_MCU_I16, {}});
  }
}

void moves() {
  for (int i = 0; i < 8; ++i) {
    const int32_t rows = pick(2, 40), columns = pick(2, 100), size = 1 << i % 3;
    add(k_move, vireo_mcu_move{{1, 1, 1, 1, columns, rows}, {0, 0, 0, 0, 1, columns}, 0, size});
    add(k_join, vireo_mcu_join{rows, 2 + i % 3, {pick(4, 100), pick(4, 100), pick(4, 60), pick(4, 60)}});
  }
}

// Integers of each type by each operation, casts between all types, and functions: one after the other.
void by_kind() {
  for (int i = 0; i < 48; ++i) {
    const auto what = static_cast<uint8_t>(i % VIREO_MCU_INT_OPERATIONS), type = static_cast<uint8_t>(i % 6);
    const int32_t columns = pick(8, 300);
    add(k_integers, vireo_mcu_integers{pick(1, 12), columns, columns, 1, columns, 1, what, type, {}});
  }
  for (int from = 0; from < VIREO_MCU_TYPES; ++from) {
    for (int to = 0; to < VIREO_MCU_TYPES; ++to) {
      if (from == to) continue;
      add(k_cast, vireo_mcu_cast{pick(50, 700), static_cast<uint8_t>(from), static_cast<uint8_t>(to), {}});
    }
  }
  for (int i = 0; i < 2 * VIREO_MCU_MORE_FUNCTIONS; ++i)
    add(k_more_function, vireo_mcu_more_function{pick(50, 1500), i / 2, 1, 1, 1});
}

// What chooses elements, and the other float32 kernels.
void more() {
  for (int i = 0; i < 12; ++i) {
    const int32_t columns = pick(8, 300), rows = pick(1, 12);
    const int32_t bytes = i % 2 == 0 ? 4 : 4 * pick(2, 60);
    add(k_pick, vireo_mcu_pick{pick(1, 6), pick(4, 60), pick(4, 60), bytes, {0, 0}, 4, 1, 0, 0});
    add(k_choose, vireo_mcu_choose{rows, columns, {columns, columns, 0}, {1, 1, 1}, 1 << i % 3});
    const uint8_t types[] = {VIREO_MCU_SIGNED_BYTE, VIREO_MCU_SIGNED_HALF, VIREO_MCU_SIGNED_WORD, VIREO_MCU_REAL};
    add(k_greatest, vireo_mcu_greatest{pick(1, 6), pick(4, 100), pick(1, 8), types[i % 4], 0, 0, 0});
    add(k_pairs, vireo_mcu_binary_reals{rows, columns, columns, 1, columns, 1, i % 2});
    add(k_pairs, vireo_mcu_binary_reals{rows, columns, columns, 1, 0, 0, VIREO_MCU_POWER});
    const int32_t axis = pick(4, 60), inner = i % 2 == 0 ? 1 : pick(2, 12);
    add(k_reduce_reals, vireo_mcu_reduce_reals{{1, rows, inner},
                                               {0, axis * inner, 1},
                                               {1, 1, axis},
                                               {0, 0, inner},
                                               i % 3 == 0 ? VIREO_MCU_SUM : VIREO_MCU_MOST});
    const int32_t span = i % 2 == 0 ? 1 : pick(4, 30);
    add(k_norm_reals, vireo_mcu_norm_reals{rows, span * pick(4, 20), 1, 1, span, 1, 1e-5f});
    add(k_resample,
        vireo_mcu_resample{rows, pick(4, 40), pick(4, 20), i % 2 == 0 ? 1 : pick(4, 24), i % 4 == 3 ? 4 : 2});
    vireo_mcu_recurrent r = {};
    r.cell = i % 3, r.directions = 1, r.batch = 1, r.steps = pick(1, 8), r.inputs = pick(4, 24), r.hidden = pick(4, 32);
    r.x_step = r.inputs, r.y_step = r.hidden, r.has_bias = 1;
    add(k_recurrent, r);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  convolutions();
  depthwise();
  others();
  reals();
  wide();
  moves();
  by_kind();
  more();
  std::FILE* const header = std::fopen(argv[1], "w");
  std::FILE* const features = std::fopen(argv[2], "w");
  if (header == nullptr || features == nullptr) return 1;
  std::fprintf(header,
               "static const struct {\n  uint16_t kernel;\n  int32_t k;\n  uint32_t parameters[24];\n} kCases[] = {\n");
  for (const Case& c : cases) {
    std::vector<uint32_t> words((c.parameters.size() + 3) / 4);
    std::memcpy(words.data(), c.parameters.data(), c.parameters.size());
    std::fprintf(header, "    {%u, %d, {", c.kernel, static_cast<int>(c.k));
    for (const uint32_t w : words) std::fprintf(header, "0x%xu,", static_cast<unsigned>(w));
    std::fprintf(header, "}},\n");
  }
  std::fprintf(header, "};\n");
  for (const char* core : {"cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55"}) {
    for (const Case& c : cases) {
      std::fprintf(features, "%s %s", core, kernel_name(c.kernel));
      for (const double f : features_of(c.kernel, c.parameters.data(), *find_core(core)))
        std::fprintf(features, " %.17g", f);
      std::fprintf(features, "\n");
    }
  }
  return std::fclose(header) + std::fclose(features);
}
