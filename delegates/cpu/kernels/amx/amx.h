// Tiles: eight matrix registers of up to 16 rows of 64 bytes, and products of whole tiles (Intel AMX).
//
// A kernel is written once over a `Tiles` policy: AmxTiles is the core's own, PlainTiles does the same in plain C++, so
// that the loops around tiles are tested on every machine. Tiles belong to the thread: configure at the begin of a
// task, release at its end, or every switch of threads saves 8 KiB. A tile's number is part of the instruction.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1 chapter 18, volume 2 (TDPBF16PS,
// TDPBSSD).
#ifndef VIREO_DELEGATES_CPU_KERNELS_AMX_AMX_H_
#define VIREO_DELEGATES_CPU_KERNELS_AMX_AMX_H_

#include <math.h>
#include <stdint.h>
#include <string.h>

namespace vireo::cpu {

// True where the core has these tiles and the operating system lends them: Linux wants to be asked, once a process,
// because they enlarge the context of every thread. The first call asks. Any thread.
bool has_amx_bf16();
bool has_amx_int8();
// For tests of lesser levels: from now on there are none.
void withhold_amx();

// Rows and bytes a row of each tile, as LDTILECFG reads them.
struct TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void set(int tile, int64_t tile_rows, int64_t bytes) {
    rows[tile] = static_cast<uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
  }
};
static_assert(sizeof(TileConfig) == 64, "what LDTILECFG reads");

constexpr int64_t kTileRows = 16, kTileBytes = 64;

#if defined(__x86_64__) && defined(__GNUC__)
#define VIREO_AMX 1

// Inline assembly, because gcc's intrinsics paste the tile's number as text and so refuse a template's argument. The
// compiler never uses tiles by itself, so none need be listed as clobbered.
class AmxTiles {
 public:
  void configure(const TileConfig& config) { __asm__ volatile("ldtilecfg %0" : : "m"(config)); }
  void release() { __asm__ volatile("tilerelease" : : : "memory"); }

  template <int kTile>
  void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // Rows `stride` bytes apart.
  template <int kTile>
  void load(const void* from, int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  void store(void* to, int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  // Asks for the line at `from`, which may lie behind what is there.
  void prefetch(const void* from) { __builtin_prefetch(from); }
  // C[m, n] += A[m, k] B[k, n]: A has pairs of k along its rows, B in row k / 2 those of each column side by side.
  // Sums of the even and of the odd k are float32 and meet at the end; subnormal numbers count as 0.
  template <int kC, int kA, int kB>
  void dot_bf16() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  }
  // The same of bytes, in fours of k, exactly and modulo 2^32.
  template <int kC, int kA, int kB, bool kASigned, bool kBSigned>
  void dot_i8() {
    if constexpr (kASigned && kBSigned) {
      __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
    } else if constexpr (kASigned) {
      __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
    } else if constexpr (kBSigned) {
      __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
    } else {
      __asm__ volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
    }
  }
};
#else
#define VIREO_AMX 0
#endif

class PlainTiles {
 public:
  void configure(const TileConfig& config) {
    config_ = config;
    memset(tiles_, 0, sizeof(tiles_));
  }
  void release() { config_ = TileConfig{}; }

  template <int kTile>
  void zero() {
    memset(tiles_[kTile], 0, sizeof(tiles_[kTile]));
  }
  template <int kTile>
  void load(const void* from, int64_t stride) {
    zero<kTile>();
    for (int i = 0; i < config_.rows[kTile]; ++i) {
      memcpy(tiles_[kTile][i], static_cast<const char*>(from) + i * stride, config_.row_bytes[kTile]);
    }
  }
  template <int kTile>
  void store(void* to, int64_t stride) const {
    for (int i = 0; i < config_.rows[kTile]; ++i) {
      memcpy(static_cast<char*>(to) + i * stride, tiles_[kTile][i], config_.row_bytes[kTile]);
    }
  }
  void prefetch(const void*) {}
  template <int kC, int kA, int kB>
  void dot_bf16() {
    for (int m = 0; m < config_.rows[kC]; ++m) {
      for (int n = 0; n < config_.row_bytes[kC] / 4; ++n) {
        float sum[2] = {0, 0};
        for (int k = 0; k < config_.row_bytes[kA] / 2; ++k) {
          const float product = widened(kA, m, k) * widened(kB, k / 2, 2 * n + k % 2);  // exact
          sum[k % 2] = flushed(sum[k % 2] + product);
        }
        const float c = flushed(at<float>(kC, m, n) + flushed(sum[0] + sum[1]));
        memcpy(tiles_[kC][m] + 4 * n, &c, sizeof(c));
      }
    }
  }
  template <int kC, int kA, int kB, bool kASigned, bool kBSigned>
  void dot_i8() {
    for (int m = 0; m < config_.rows[kC]; ++m) {
      for (int n = 0; n < config_.row_bytes[kC] / 4; ++n) {
        uint32_t sum = at<uint32_t>(kC, m, n);
        for (int k = 0; k < config_.row_bytes[kA]; ++k) {
          sum += static_cast<uint32_t>(byte<kASigned>(kA, m, k) * byte<kBSigned>(kB, k / 4, 4 * n + k % 4));
        }
        memcpy(tiles_[kC][m] + 4 * n, &sum, sizeof(sum));
      }
    }
  }

 private:
  template <class T>
  T at(int tile, int row, int column) const {
    T value;
    memcpy(&value, tiles_[tile][row] + sizeof(T) * static_cast<size_t>(column), sizeof(value));
    return value;
  }
  float widened(int tile, int row, int column) const {
    const uint32_t bits = uint32_t{at<uint16_t>(tile, row, column)} << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return flushed(value);
  }
  template <bool kSigned>
  int32_t byte(int tile, int row, int column) const {
    return kSigned ? int32_t{at<int8_t>(tile, row, column)} : int32_t{at<uint8_t>(tile, row, column)};
  }
  static float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

  TileConfig config_;
  unsigned char tiles_[8][kTileRows][kTileBytes];
};

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_AMX_AMX_H_
