#include "c_api/cli/roofline.h"
#include "c_api/cli/clock.h"

#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <vector>

namespace vireo::cli {
namespace {

// The widest vectors that this CPU has, without a second source: the compiler writes the loop for each and the loader
// picks one. Elsewhere the baseline's, which on Arm are all there is.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VIREO_WIDEST \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3", "fp-contract=fast")))
#else
#define VIREO_WIDEST
#endif

typedef float Lanes __attribute__((vector_size(64)));
constexpr int kSums = 10;  // two units, four or five cycles each

VIREO_WIDEST float multiply_add(int64_t rounds, float by) {
  Lanes sums[kSums] = {}, factor = Lanes{} + by;
  for (int64_t i = 0; i < rounds; ++i) {
    for (Lanes& sum : sums) sum = sum * factor + factor;
  }
  float out = 0;
  for (const Lanes& sum : sums) out += sum[0];
  return out;
}

VIREO_WIDEST uint64_t read_all(const uint64_t* p, size_t count) {
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (size_t i = 0; i + 32 <= count; i += 32) {
    for (size_t k = 0; k < 8; ++k) {
      a ^= p[i + k];
      b ^= p[i + 8 + k];
      c ^= p[i + 16 + k];
      d ^= p[i + 24 + k];
    }
  }
  return a ^ b ^ c ^ d;
}

volatile uint64_t sink;  // results that nobody wants must be computed all the same

}  // namespace

Rates measure_rates() {
  Rates rates;
  constexpr int64_t kRounds = 40000;
  constexpr size_t kNear = 128 << 10, kFar = 24 << 20;
  const std::vector<uint64_t> data(kFar / sizeof(uint64_t), 1);
  for (int i = 0; i < 5; ++i) {  // the best: who was interrupted measures too little
    Clock::time_point start = Clock::now();
    sink = static_cast<uint64_t>(multiply_add(kRounds, 0.5f));
    rates.operations = std::max(rates.operations, 2.0 * 16 * kSums * kRounds / seconds_since(start));
    start = Clock::now();
    for (int k = 0; k < 16; ++k) sink = read_all(data.data(), kNear / sizeof(uint64_t));
    rates.near_bytes = std::max(rates.near_bytes, 16.0 * kNear / seconds_since(start));
    if (i >= 2) continue;
    start = Clock::now();
    sink = read_all(data.data(), data.size());
    rates.far_bytes = std::max(rates.far_bytes, kFar / seconds_since(start));
  }
  return rates;
}

double least_us(const vireo_node_info& node, const Rates& rates, bool tiles, int threads) {
  double operations = static_cast<double>(node.operations), rate = rates.operations * threads;
  if (strstr(node.op, "onv") != nullptr) operations /= 4;  // Conv, conv_...: names of operators and of composites
  // What a unit of a core does in the time of one float32: four products of bytes, two of 16 bits; tiles have 8 times.
  const bool bytes = node.dtype == VIREO_INT8 || node.dtype == VIREO_UINT8;
  bool plain = node.dtype == VIREO_FLOAT32;  // and not by the way of a smaller type
  for (const char* small : {"bf16", "i8", "dynamic", "integer"}) plain = plain && strstr(node.kernel, small) == nullptr;
  rate *= bytes ? 4 : plain ? 1 : 2;
  if (tiles && !plain) rate *= 8;
  constexpr double kCached = 8 << 20;
  const auto size = static_cast<double>(node.bytes);
  const double bandwidth = size < kCached * threads ? rates.near_bytes : rates.far_bytes;
  return 1e6 * std::max(operations / rate, size / (bandwidth * threads));
}

double least_us(const vireo_device_info& device, vireo_dtype dtype, double operations, double bytes) {
  const bool byte = dtype == VIREO_INT8 || dtype == VIREO_UINT8;
  const bool half = dtype == VIREO_FLOAT16 || dtype == VIREO_BFLOAT16;
  double rate = byte ? device.i8_rate : half ? device.f16_rate : device.f32_rate;
  if (rate <= 0) rate = device.f32_rate;
  const double compute = operations > 0 && rate > 0 ? operations / rate : 0;
  const double move = device.bandwidth > 0 ? bytes / device.bandwidth : 0;
  return 1e6 * std::max(compute, move);
}

}  // namespace vireo::cli
