// The columns of an integer product, packed once a model: layout 3 of delegates/cpu/cpu_op.h.
//
// Columns stand in panels of 64, and what is left of them, where it is 48 or fewer, in panels of 16. A panel is
//   [k / 4 rounded up to a multiple of 16, columns, 4] bytes, 0 behind the last k
//   [columns] int32, little endian: the sum of each column's bytes
// with the columns of a panel of 64 in the order 0..3, 16..19, 32..35, 48..51, 4..7, ...: as unpacking 4 rows of 64
// bytes leaves them in vectors of 512 bits, and as packing sums of such vectors to bytes undoes. 16 of these columns
// times 16 fours of k are a B tile of AMX, rows 256 (or 64) bytes apart. Bytes have the sign that A has not, which is
// what VNNI multiplies: where A's sign is B's own they are moved by 128.
#ifndef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PACKED_H_
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PACKED_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

// B(k, n) = data[n n_step + k % channels channel_step + k / channels tap_step].
struct ColumnsI8 {
  const void* data = nullptr;
  int64_t n = 0, k = 0, channels = 0;
  int64_t n_step = 0, channel_step = 0, tap_step = 0;
  bool a_signed = false, b_signed = false;
  bool nibbles = false;  // data is int4, two to a byte, the first in the low half
};
// Code `i` of int4 data.
inline int8_t nibble_at(const void* data, int64_t i) {
  const int32_t code = static_cast<const uint8_t*>(data)[i / 2] >> (i % 2 * 4) & 15;
  return static_cast<int8_t>((code ^ 8) - 8);
}

inline int64_t packed_quads(int64_t k) { return (k + 63) / 64 * 16; }  // of a panel, with those that are 0
inline int64_t packed_panel_bytes(int64_t k, int64_t columns) { return (packed_quads(k) + 1) * 4 * columns; }
inline size_t packed_i8_bytes(int64_t n, int64_t k) {
  return static_cast<size_t>((n + 15) / 16 * packed_panel_bytes(k, 16));
}
// The panel that begins with `column`, a multiple of 64, or of 16 among the last 48.
inline const uint8_t* packed_panel(const void* packed, int64_t k, int64_t column) {
  return static_cast<const uint8_t*>(packed) + column / 16 * packed_panel_bytes(k, 16);
}
// How many columns the panel has that column `column` of `n` stands in.
inline int64_t packed_panel_columns(int64_t n, int64_t column) { return n - column / 64 * 64 > 48 ? 64 : 16; }
// Where column `column` stands in a panel of `columns`.
inline int64_t packed_lane(int64_t columns, int64_t column) {
  return columns == 16 ? column : column % 16 / 4 * 16 + column / 16 * 4 + column % 4;
}

// `to` is aligned to 64 bytes.
void pack_i8(const ColumnsI8& from, const Parallel& parallel, void* to);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_INTGEMM_PACKED_H_
