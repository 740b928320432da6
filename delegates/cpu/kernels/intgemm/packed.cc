#include "delegates/cpu/kernels/intgemm/packed.h"

#include <string.h>

namespace vireo::cpu {

void pack_i8(const ColumnsI8& b, const Parallel& parallel, void* to) {
  const auto* const data = static_cast<const uint8_t*>(b.data);
  const uint8_t flip = b.a_signed == b.b_signed ? 0x80 : 0;
  const int64_t groups = (b.n + 63) / 64;
  parallel.for_range(groups, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t n = begin * 64; n < end * 64 && n < b.n;) {
      const int64_t columns = packed_panel_columns(b.n, n), count = b.n - n < columns ? b.n - n : columns;
      uint8_t* const panel = static_cast<uint8_t*>(to) + (packed_panel(to, b.k, n) - static_cast<const uint8_t*>(to));
      memset(panel, 0, static_cast<size_t>(packed_panel_bytes(b.k, columns)));
      int32_t sums[64] = {};
      for (int64_t k = 0; k < b.k; ++k) {
        int64_t from = n * b.n_step + k % b.channels * b.channel_step + k / b.channels * b.tap_step;
        uint8_t* const row = panel + k / 4 * 4 * columns + k % 4;
        for (int64_t c = 0; c < count; ++c, from += b.n_step) {
          const uint8_t code = b.nibbles ? static_cast<uint8_t>(nibble_at(data, from)) : data[from];
          const auto byte = static_cast<uint8_t>(code ^ flip);
          row[packed_lane(columns, c) * 4] = byte;
          sums[c] += b.a_signed ? int32_t{byte} : int32_t{static_cast<int8_t>(byte)};
        }
      }
      for (int64_t c = 0; c < count; ++c) {
        const int64_t at = packed_quads(b.k) * 4 * columns + packed_lane(columns, c) * 4;
        for (int i = 0; i < 4; ++i) panel[at + i] = static_cast<uint8_t>(static_cast<uint32_t>(sums[c]) >> (8 * i));
      }
      n += count;
    }
  });
}

}  // namespace vireo::cpu
