#include "delegates/npu/machine/execute.h"

#include <string.h>

#include "delegates/npu/machine/scale.h"
#include "delegates/npu/machine/unpack.h"

namespace vireo::npu {
namespace {

using namespace field;

// Loaders of an element as the engines see it: uint8 less 128.
struct LoadI8 {
  static constexpr int kBytes = 1;
  static int32_t at(const uint8_t* p) { return static_cast<int8_t>(*p); }
};
struct LoadU8 {
  static constexpr int kBytes = 1;
  static int32_t at(const uint8_t* p) { return static_cast<int32_t>(*p) - 128; }
};
struct LoadI16 {
  static constexpr int kBytes = 2;
  static int32_t at(const uint8_t* p) { return static_cast<int16_t>(static_cast<uint16_t>(p[0] | (p[1] << 8))); }
};
struct Bits {  // of a float32, for commands that take no codes
  static constexpr int kBytes = 4;
};
template <class F>
void with_type(uint32_t type, const F& f) {
  if (type == kI8) {
    f(LoadI8());
  } else if (type == kU8) {
    f(LoadU8());
  } else {
    f(LoadI16());
  }
}

void put(uint8_t* p, uint32_t type, int32_t code) {
  p[0] = static_cast<uint8_t>(code);
  if (type == kI16 || type == kF32) p[1] = static_cast<uint8_t>(static_cast<uint32_t>(code) >> 8);
  if (type == kF32) {
    p[2] = static_cast<uint8_t>(static_cast<uint32_t>(code) >> 16);
    p[3] = static_cast<uint8_t>(static_cast<uint32_t>(code) >> 24);
  }
}

template <class T>
T read(const uint8_t* p) {
  T v;
  memcpy(&v, p, sizeof(v));
  return v;
}

// A tile in a ring of rows.
struct View {
  uint8_t* base;
  int64_t pitch, pixel, ring, row;

  uint8_t* line(int64_t r) const { return base + (pitch == 0 ? 0 : (row + r) % ring * pitch); }
};

struct Tile {
  const Command& k;
  View a, y;
  int64_t rows, cols, chan, a_rows, a_cols;
  uint32_t y_type;
  int32_t a_zero, zero, low, high;
  const uint8_t* params;

  Tile(const Command& c, uint8_t* sram)
      : k(c),
        a{sram + c.u(a_addr), c.u(a_pitch), c.u(a_pixel), c.u(a_ring), c.u(field::a_row)},
        y{sram + c.u(y_addr), c.u(y_pitch), c.u(y_pixel), c.u(y_ring), c.u(field::y_row)},
        rows(c.u(y_rows)),
        cols(c.u(y_cols)),
        chan(c.u(y_chan)),
        a_rows(c.u(field::a_rows)),
        a_cols(c.u(field::a_cols)),
        y_type(c.u(field::y_type)),
        a_zero(c.s(field::a_zero)),
        zero(c.s(y_zero)),
        low(c.s(field::low)),
        high(c.s(field::high)),
        params(sram + c.u(field::params)) {}

  int64_t y_step() const { return bytes_of(y_type); }
  void put_real(uint8_t* to, uint32_t v) const { put(to, y_type, round_and_clamp_bits(v, zero, low, high)); }
  void put_sum(uint8_t* to, int32_t acc, uint32_t m) const { put(to, y_type, scale(acc, m, zero, low, high)); }
};

struct Taps {
  int64_t kh, kw, sh, sw, dh, dw, top, left;
  explicit Taps(const Command& k)
      : kh(k.u(kernel_h)),
        kw(k.u(kernel_w)),
        sh(k.u(stride_h)),
        sw(k.u(stride_w)),
        dh(k.u(dilation_h)),
        dw(k.u(dilation_w)),
        top(k.s(pad_top)),
        left(k.s(pad_left)) {}
  int64_t row(int64_t o, int64_t t) const { return o * sh - top + t * dh; }
  int64_t col(int64_t o, int64_t t) const { return o * sw - left + t * dw; }
};

// Record of a channel in front of the weights: bias, multiplier, weights' zero point, 4 bytes of 0.
constexpr int64_t kRecord = 16;

// Sums and products wrap around: what stands in local memory may be any numbers.
uint32_t product(int32_t x, uint8_t w, uint32_t zw) {
  return static_cast<uint32_t>(x) * (static_cast<uint32_t>(static_cast<int8_t>(w)) - zw);
}

template <class L>
uint32_t dot(const uint8_t* x, const uint8_t* w, int64_t n, int32_t zx, uint32_t zw) {
  uint32_t acc = 0;
  for (int64_t i = 0; i < n; ++i) acc += product(L::at(x + i * L::kBytes) - zx, w[i], zw);
  return acc;
}

// The window of one pixel, taken together once for all results: operands of 9 bits, products of pairs in 16-bit lanes.
constexpr int64_t kMostTogether = 2048;  // the sum of so many products of 9 by 9 bits stays below 2^31

uint32_t dot_together(const int16_t* x, const uint8_t* w, int64_t n, int16_t zw) {
  int32_t acc = 0;
  for (int64_t i = 0; i < n; ++i)
    acc += x[i] * static_cast<int16_t>(static_cast<int16_t>(static_cast<int8_t>(w[i])) - zw);
  return static_cast<uint32_t>(acc);
}

template <class L>
void gather(const Tile& t, const Taps& w, int64_t r, int64_t c, int64_t first, int64_t in, int16_t* to) {
  for (int64_t i = 0; i < w.kh; ++i) {
    const int64_t row = w.row(r, i);
    for (int64_t j = 0; j < w.kw; ++j, to += in) {
      const int64_t col = w.col(c, j);
      if (row < 0 || row >= t.a_rows || col < 0 || col >= t.a_cols) {
        memset(to, 0, static_cast<size_t>(in) * sizeof(*to));
        continue;
      }
      const uint8_t* const x = t.a.line(row) + col * t.a.pixel + first * L::kBytes;
      for (int64_t k = 0; k < in; ++k) to[k] = static_cast<int16_t>(L::at(x + k * L::kBytes) - t.a_zero);
    }
  }
}

template <class L>
void run_conv(const Tile& t, uint8_t* sums) {
  const Taps w(t.k);
  const int64_t groups = t.k.u(field::groups), in = t.k.u(in_chan), per_group = t.chan / groups;
  const uint8_t* const weights = t.params + t.chan * kRecord;
  const int64_t filter = w.kh * w.kw * in;
  const bool keeps = t.k.u(keep) != 0, carries = t.k.u(carry) != 0;
  const bool together = L::kBytes == 1 && filter <= kMostTogether;
  int16_t window[kMostTogether];
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.cols; ++c) {
      uint8_t* const to = t.y.line(r) + c * t.y.pixel;
      for (int64_t o = 0; o < t.chan; ++o) {
        const uint8_t* const record = t.params + o * kRecord;
        uint8_t* const kept = sums + ((r * t.cols + c) * t.chan + o) * 4;
        uint32_t acc = read<uint32_t>(carries ? kept : record);
        const uint32_t zw = read<uint32_t>(record + 8);
        const bool narrow = together && zw + 256 <= 512;
        if (together && o % per_group == 0) gather<L>(t, w, r, c, o / per_group * in, in, window);
        if (narrow) acc += dot_together(window, weights + o * filter, filter, static_cast<int16_t>(zw));
        for (int64_t i = 0; i < (narrow ? 0 : w.kh); ++i) {
          const int64_t row = w.row(r, i);
          if (row < 0 || row >= t.a_rows) continue;
          const uint8_t* const line = t.a.line(row) + o / per_group * in * L::kBytes;
          for (int64_t j = 0; j < w.kw; ++j) {
            const int64_t col = w.col(c, j);
            if (col < 0 || col >= t.a_cols) continue;
            acc += dot<L>(line + col * t.a.pixel, weights + o * filter + (i * w.kw + j) * in, in, t.a_zero, zw);
          }
        }
        if (keeps) {
          memcpy(kept, &acc, sizeof(acc));
        } else {
          t.put_sum(to + o * t.y_step(), static_cast<int32_t>(acc), read<uint32_t>(record + 4));
        }
      }
    }
  }
}

// Weights of a tap lie together: [kh, kw, channels].
template <class L>
void run_depthwise(const Tile& t) {
  const Taps w(t.k);
  const int64_t multiplier = t.k.u(field::groups);
  const uint8_t* const weights = t.params + t.chan * kRecord;
  constexpr int64_t kBlock = 64;
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.cols; ++c) {
      uint8_t* const to = t.y.line(r) + c * t.y.pixel;
      for (int64_t first = 0; first < t.chan; first += kBlock) {
        const int64_t n = t.chan - first < kBlock ? t.chan - first : kBlock;
        uint32_t acc[kBlock];
        uint32_t zw[kBlock];
        for (int64_t o = 0; o < n; ++o) {
          acc[o] = read<uint32_t>(t.params + (first + o) * kRecord);
          zw[o] = read<uint32_t>(t.params + (first + o) * kRecord + 8);
        }
        for (int64_t i = 0; i < w.kh; ++i) {
          const int64_t row = w.row(r, i);
          if (row < 0 || row >= t.a_rows) continue;
          for (int64_t j = 0; j < w.kw; ++j) {
            const int64_t col = w.col(c, j);
            if (col < 0 || col >= t.a_cols) continue;
            const uint8_t* const x = t.a.line(row) + col * t.a.pixel;
            const uint8_t* const f = weights + (i * w.kw + j) * t.chan + first;
            if (multiplier == 1) {
              for (int64_t o = 0; o < n; ++o) {
                acc[o] += product(L::at(x + (first + o) * L::kBytes) - t.a_zero, f[o], zw[o]);
              }
            } else {
              for (int64_t o = 0; o < n; ++o) {
                acc[o] += product(L::at(x + (first + o) / multiplier * L::kBytes) - t.a_zero, f[o], zw[o]);
              }
            }
          }
        }
        for (int64_t o = 0; o < n; ++o) {
          const uint32_t m = read<uint32_t>(t.params + (first + o) * kRecord + 4);
          t.put_sum(to + (first + o) * t.y_step(), static_cast<int32_t>(acc[o]), m);
        }
      }
    }
  }
}

template <class LA, class LB>
void run_binary(const Tile& t, uint8_t* sram) {
  const Command& k = t.k;
  const View b{sram + k.u(b_addr), k.u(b_pitch), k.u(b_pixel), k.u(b_ring), k.u(b_row)};
  const int32_t zb = k.s(b_zero);
  const int64_t step_a = k.u(a_one) ? 0 : LA::kBytes, step_b = k.u(b_one) ? 0 : LB::kBytes;
  const bool sum = k.op() == Op::add;
  const uint32_t ma = k.u(m0), mb = k.u(m1);
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.cols; ++c) {
      const uint8_t *pa = t.a.line(r) + c * t.a.pixel, *pb = b.line(r) + c * b.pixel;
      uint8_t* to = t.y.line(r) + c * t.y.pixel;
      for (int64_t i = 0; i < t.chan; ++i, pa += step_a, pb += step_b, to += t.y_step()) {
        const int32_t va = LA::at(pa) - t.a_zero, vb = LB::at(pb) - zb;
        if (sum) {
          t.put_real(to, f32_add(f32_mul(f32_of(va), ma), f32_mul(f32_of(vb), mb)));
        } else {
          t.put_sum(to, static_cast<int32_t>(static_cast<uint32_t>(va) * static_cast<uint32_t>(vb)), ma);
        }
      }
    }
  }
}

// float32: a * m0 + b * m1, or a * b * m0.
void run_real(const Tile& t, uint8_t* sram) {
  const Command& k = t.k;
  const View b{sram + k.u(b_addr), k.u(b_pitch), k.u(b_pixel), k.u(b_ring), k.u(b_row)};
  const int64_t step_a = k.u(a_one) ? 0 : 4, step_b = k.u(b_one) ? 0 : 4;
  const bool sum = k.op() == Op::add;
  const uint32_t ma = k.u(m0), mb = k.u(m1);
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.cols; ++c) {
      const uint8_t *pa = t.a.line(r) + c * t.a.pixel, *pb = b.line(r) + c * b.pixel;
      uint8_t* to = t.y.line(r) + c * t.y.pixel;
      for (int64_t i = 0; i < t.chan; ++i, pa += step_a, pb += step_b, to += 4) {
        const uint32_t va = read<uint32_t>(pa), vb = read<uint32_t>(pb);
        const uint32_t y = sum ? f32_add(f32_mul(va, ma), f32_mul(vb, mb)) : f32_mul(f32_mul(va, vb), ma);
        put(to, kF32, static_cast<int32_t>(y));
      }
    }
  }
}

// f(channel, element, result) for every element.
template <class L, class F>
void each(const Tile& t, const F& f) {
  const int64_t step = t.k.u(a_one) ? 0 : L::kBytes;
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.cols; ++c) {
      const uint8_t* x = t.a.line(r) + c * t.a.pixel;
      uint8_t* to = t.y.line(r) + c * t.y.pixel;
      for (int64_t i = 0; i < t.chan; ++i) f(i, x + i * step, to + i * t.y_step());
    }
  }
}

template <class L>
void run_affine(const Tile& t) {
  each<L>(t, [&](int64_t i, const uint8_t* x, uint8_t* to) {
    const uint8_t* const record = t.params + i * 12;  // factor, factor below the zero point, offset
    const int32_t d = L::at(x) - t.a_zero;
    t.put_real(to, f32_add(f32_mul(f32_of(d), read<uint32_t>(record + (d < 0 ? 4 : 0))), read<uint32_t>(record + 8)));
  });
}

// Parameters: a scale and a zero point (16 bits that count) for each channel.
void run_quantize(const Tile& t) {
  const int32_t least = t.y_type == kU8 ? 0 : t.y_type == kI8 ? -128 : -32768;
  const int32_t most = t.y_type == kU8 ? 255 : t.y_type == kI8 ? 127 : 32767;
  each<Bits>(t, [&](int64_t i, const uint8_t* x, uint8_t* to) {
    const uint8_t* const record = t.params + i * 8;
    const uint32_t q = f32_div(read<uint32_t>(x), read<uint32_t>(record));
    put(to, t.y_type, round_and_clamp_bits(q, read<int16_t>(record + 4), least, most));
  });
}

template <class L>
void run_dequantize(const Tile& t) {
  each<L>(t, [&](int64_t i, const uint8_t* x, uint8_t* to) {
    const uint8_t* const record = t.params + i * 8;
    const int32_t d = L::at(x) - read<int16_t>(record + 4);
    put(to, kF32, static_cast<int32_t>(f32_mul(f32_of(d), read<uint32_t>(record))));
  });
}

template <class L>
void run_pool(const Tile& t) {
  const Taps w(t.k);
  const bool average = t.k.op() == Op::average_pool, with_padding = t.k.u(count_padding) != 0,
             many = t.k.u(groups) != 1;
  const int64_t end_rows = t.k.u(limit_rows), end_cols = t.k.u(limit_cols);
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.cols; ++c) {
      uint8_t* const to = t.y.line(r) + c * t.y.pixel;
      int64_t inside = 0, padded = 0;
      for (int64_t i = 0; i < w.kh; ++i) {
        for (int64_t j = 0; j < w.kw; ++j) {
          const int64_t row = w.row(r, i), col = w.col(c, j);
          if (row < end_rows && col < end_cols) ++padded;
          if (row >= 0 && row < t.a_rows && col >= 0 && col < t.a_cols) ++inside;
        }
      }
      const int64_t count = with_padding ? padded : inside;
      for (int64_t o = 0; o < t.chan; ++o) {
        uint32_t acc = 0;
        int32_t top = L::kBytes == 2 ? -32768 : -128;
        for (int64_t i = 0; i < w.kh; ++i) {
          const int64_t row = w.row(r, i);
          if (row < 0 || row >= t.a_rows) continue;
          const uint8_t* const line = t.a.line(row) + o * L::kBytes;
          for (int64_t j = 0; j < w.kw; ++j) {
            const int64_t col = w.col(c, j);
            if (col < 0 || col >= t.a_cols) continue;
            const int32_t v = L::at(line + col * t.a.pixel);
            acc += static_cast<uint32_t>(v - t.a_zero);
            top = v > top ? v : top;
          }
        }
        if (average) {
          t.put_sum(to + o * t.y_step(), static_cast<int32_t>(acc), read<uint32_t>(t.params + (many ? count * 4 : 0)));
        } else {
          put(to + o * t.y_step(), t.y_type, t.y_type == kU8 ? top + 128 : top);
        }
      }
    }
  }
}

// Parameters: for each row, then for each column of the result, `taps` pairs of place and weight.
template <class L>
bool run_resize(const Tile& t) {
  const int64_t th = t.k.u(taps_h), tw = t.k.u(taps_w);
  const uint8_t* const by_col = t.params + t.rows * th * 8;
  for (int64_t i = 0; i < t.rows * th; ++i) {
    const int32_t place = read<int32_t>(t.params + i * 8);
    if (place < 0 || place >= t.a_rows) return false;
  }
  for (int64_t i = 0; i < t.cols * tw; ++i) {
    const int32_t place = read<int32_t>(by_col + i * 8);
    if (place < 0 || place >= t.a_cols) return false;
  }
  const uint32_t m = t.k.u(m0);
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.cols; ++c) {
      uint8_t* const to = t.y.line(r) + c * t.y.pixel;
      for (int64_t o = 0; o < t.chan; ++o) {
        uint32_t acc = 0;
        for (int64_t i = 0; i < th; ++i) {
          const uint8_t* const row = t.params + (r * th + i) * 8;
          const uint8_t* const line = t.a.line(read<int32_t>(row)) + o * L::kBytes;
          uint32_t sum = 0;
          for (int64_t j = 0; j < tw; ++j) {
            const uint8_t* const col = by_col + (c * tw + j) * 8;
            const int32_t v = L::at(line + read<int32_t>(col) * t.a.pixel) - t.a_zero;
            sum += read<uint32_t>(col + 4) * static_cast<uint32_t>(v);
          }
          acc += read<uint32_t>(row + 4) * sum;
        }
        t.put_sum(to + o * t.y_step(), static_cast<int32_t>(acc), m);
      }
    }
  }
  return true;
}

template <class L>
void run_softmax(const Tile& t) {
  const int64_t step = t.k.u(a_one) ? 0 : L::kBytes;
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.cols; ++c) {
      const uint8_t* const x = t.a.line(r) + c * t.a.pixel;
      uint8_t* const to = t.y.line(r) + c * t.y.pixel;
      int32_t top = -128;
      for (int64_t i = 0; i < t.chan; ++i) top = L::at(x + i * step) > top ? L::at(x + i * step) : top;
      uint64_t sum = 0;
      const auto e = [&](int64_t i) { return read<int32_t>(t.params + (top - L::at(x + i * step)) * 4); };
      for (int64_t i = 0; i < t.chan; ++i) sum += static_cast<uint64_t>(static_cast<int64_t>(e(i)));
      const uint32_t q = f32_div(t.k.u(m0), f32_of(static_cast<int64_t>(sum)));
      for (int64_t i = 0; i < t.chan; ++i) t.put_real(to + i * t.y_step(), f32_mul(f32_of(e(i)), q));
    }
  }
}

void run_copy(const Tile& t) {
  const Taps w(t.k);
  const int64_t size = t.y_step(), first = t.k.s(first_chan), count = t.k.u(a_chan), step = t.k.u(step_chan);
  uint8_t fill[4];
  put(fill, t.y_type, t.y_type == kU8 ? t.a_zero + 128 : t.a_zero);
  for (int64_t r = 0; r < t.rows; ++r) {
    const int64_t row = w.row(r, 0);
    for (int64_t c = 0; c < t.cols; ++c) {
      const int64_t col = w.col(c, 0);
      const bool inside = row >= 0 && row < t.a_rows && col >= 0 && col < t.a_cols;
      const uint8_t* const x = inside ? t.a.line(row) + col * t.a.pixel : nullptr;
      uint8_t* const to = t.y.line(r) + c * t.y.pixel;
      for (int64_t i = 0; i < t.chan; ++i) {
        const int64_t at = first + i * step;
        memcpy(to + i * size, inside && at >= 0 && at < count ? x + at * size : fill, static_cast<size_t>(size));
      }
    }
  }
}

void move(const Command& k, const Memory& memory) {
  const bool store = k.op() == Op::store;
  const size_t size = k.u(element);
  uint8_t* const inside = memory.sram + k.u(sram);
  const uint64_t at = k.u(dram);
  const uint8_t* const source = memory.at(k.u(region)) + at;
  const uint64_t x0 = k.u(n0), x1 = k.u(n1), x2 = k.u(n2);
  const bool dense = k.u(d0) == size && k.u(s0) == size;
  const size_t chunk = dense ? static_cast<size_t>(x0) * size : size;
  for (uint64_t i = 0; i < x2; ++i) {
    for (uint64_t j = 0; j < x1; ++j) {
      for (uint64_t n = 0; n < (dense ? 1 : x0); ++n) {
        uint8_t* const s = inside + i * k.u(s2) + j * k.u(s1) + n * k.u(s0);
        const uint64_t d = i * k.u(d2) + j * k.u(d1) + n * k.u(d0);
        if (store) {
          memcpy(memory.writable(k.u(region)) + at + d, s, chunk);
        } else {
          memcpy(s, source + d, chunk);
        }
      }
    }
  }
}

}  // namespace

bool execute(const Command& k, const Memory& memory) {
  const Op code = k.op();
  if (code == Op::load || code == Op::store) {
    move(k, memory);
    return true;
  }
  if (code == Op::unpack) {
    const uint8_t* const from = memory.at(k.u(region)) + k.u(dram);
    return unpack(from, k.u(packed), memory.sram + k.u(sram), k.u(unpacked));
  }
  const Tile t(k, memory.sram);
  bool good = true;
  if (code == Op::quantize) {
    run_quantize(t);
    return true;
  }
  if ((code == Op::add || code == Op::mul) && t.y_type == kF32) {
    run_real(t, memory.sram);
    return true;
  }
  if (code == Op::add || code == Op::mul) {
    with_type(k.u(a_type), [&](auto a) {
      with_type(k.u(b_type), [&](auto b) { run_binary<decltype(a), decltype(b)>(t, memory.sram); });
    });
    return true;
  }
  with_type(k.u(a_type), [&](auto l) {
    using L = decltype(l);
    switch (code) {
      case Op::conv:
        run_conv<L>(t, memory.sums);
        break;
      case Op::depthwise:
        run_depthwise<L>(t);
        break;
      case Op::affine:
        run_affine<L>(t);
        break;
      case Op::table:
        each<L>(t, [&](int64_t, const uint8_t* x, uint8_t* to) { *to = t.params[*x]; });
        break;
      case Op::dequantize:
        run_dequantize<L>(t);
        break;
      case Op::max_pool:
      case Op::average_pool:
        run_pool<L>(t);
        break;
      case Op::resize:
        good = run_resize<L>(t);
        break;
      case Op::softmax:
        run_softmax<L>(t);
        break;
      default:
        run_copy(t);
        break;
    }
  });
  return good;
}

}  // namespace vireo::npu
