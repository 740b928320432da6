#include "delegates/npu/machine/cost.h"

namespace vireo::npu {
namespace {

using namespace field;

uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }
uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

// Products and sums of a malformed command may leave 64 bits; they then stick to the end of the range.
uint64_t times(uint64_t a, uint64_t b) {
  uint64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX / 4 : r;
}

struct Tile {
  uint64_t address, pitch, pixel, ring, row, rows, cols, line_bytes;
};

void add_bytes(Cost* c, uint64_t begin, uint64_t bytes, uint64_t traffic, bool written) {
  if (bytes == 0) return;
  Extent& e = c->extent[c->extents++];
  e.begin = begin;
  e.end = begin + bytes;
  e.traffic = traffic;
  e.written = written;
}

void add_tile(Cost* c, const Tile& t, uint64_t traffic, bool written) {
  if (t.rows == 0 || t.cols == 0) return;
  const uint64_t line = (t.cols - 1) * t.pixel + t.line_bytes;
  if (t.pitch == 0) return add_bytes(c, t.address, line, traffic, written);
  const uint64_t first = t.row + t.rows <= t.ring ? t.rows : t.ring - t.row;  // rows before the ring goes round
  const uint64_t part = traffic / t.rows * first;
  add_bytes(c, t.address + t.row * t.pitch, (first - 1) * t.pitch + line, first == t.rows ? traffic : part, written);
  if (first < t.rows) add_bytes(c, t.address, (t.rows - first - 1) * t.pitch + line, traffic - part, written);
}

uint64_t bursts(const MachineConfig& m, uint64_t begin, uint64_t bytes) {
  if (bytes == 0) return 0;
  return ((begin + bytes - 1) / m.dram_burst - begin / m.dram_burst + 1) * m.dram_burst;
}

Cost dma_cost(const MachineConfig& m, const Command& k, bool store) {
  Cost c;
  const uint64_t e = k.u(element), x0 = k.u(n0), x1 = k.u(n1), x2 = k.u(n2), s = k.u(s0);
  if (x0 == 0 || x1 == 0 || x2 == 0) return c;
  const uint64_t count = times(times(x0, x1), x2);
  // The innermost loop outside is the one with the smallest step; lines that touch are one run of bursts.
  uint64_t run = e, runs = count;
  const uint64_t steps[3] = {k.u(d0), k.u(d1), k.u(d2)}, counts[3] = {x0, x1, x2};
  bool taken[3] = {false, false, false};
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      if (taken[i] || (counts[i] != 1 && steps[i] != run)) continue;
      taken[i] = true;
      run = times(run, counts[i]);
      runs /= counts[i];
      break;
    }
  }
  c.dram_bytes = runs == 1 ? bursts(m, k.u(dram), run) : times(runs, ceil_div(run, m.dram_burst) * m.dram_burst);
  // One row of a bank a cycle: elements that lie apart share it as far as it reaches.
  const uint64_t per_row = s == e || x0 == 1 ? m.dram_bytes_per_cycle / e : larger(1, m.bank_width / larger(1, s));
  const uint64_t width = larger(1, per_row < m.dram_bytes_per_cycle / e ? per_row : m.dram_bytes_per_cycle / e);
  const uint64_t inside = x0 == 1 ? count : times(times(x1, x2), ceil_div(x0, width));
  c.cycles = larger(ceil_div(c.dram_bytes, m.dram_bytes_per_cycle), inside);
  c.latency = m.dram_latency;
  const uint64_t span = times(x0 - 1, s) + times(x1 - 1, k.u(s1)) + times(x2 - 1, k.u(s2)) + e;
  add_bytes(&c, k.u(sram), span, times(count, e), !store);
  const uint64_t out = times(x0 - 1, k.u(d0)) + times(x1 - 1, k.u(d1)) + times(x2 - 1, k.u(d2)) + e;
  c.outside = {k.u(dram), k.u(dram) + out, k.u(region), true, store};
  return c;
}

}  // namespace

Cost cost_of(const MachineConfig& m, const Command& k) {
  Cost c;
  const Op code = k.op();
  if (code == Op::load || code == Op::store) return dma_cost(m, k, code == Op::store);
  if (code == Op::unpack) {
    c.dram_bytes = bursts(m, k.u(dram), k.u(packed));
    c.cycles = larger(ceil_div(c.dram_bytes, m.dram_bytes_per_cycle), ceil_div(k.u(unpacked), m.unpack_per_cycle));
    c.latency = m.dram_latency;
    add_bytes(&c, k.u(sram), k.u(unpacked), k.u(unpacked), true);
    c.outside = {k.u(dram), uint64_t{k.u(dram)} + k.u(packed), k.u(region), true, false};
    return c;
  }
  const uint64_t rows = k.u(y_rows), cols = k.u(y_cols), chan = k.u(y_chan), pixels = rows * cols;
  const uint64_t ye = bytes_of(k.u(y_type)), ae = bytes_of(k.u(a_type));
  uint64_t a_chan_count = k.u(a_one) ? 1 : chan;
  uint64_t a_traffic = times(pixels, a_chan_count) * ae, b_traffic = 0, param_bytes = 0, param_traffic = 0;
  const uint64_t taps = uint64_t{k.u(kernel_h)} * k.u(kernel_w);
  const uint64_t elements = times(pixels, chan);
  const uint64_t passes = times(rows, ceil_div(times(cols, chan) * ae, m.vector_lanes));
  c.vector_ops = elements;
  switch (code) {
    case Op::conv: {
      const uint64_t g = larger(1, k.u(groups)), in = k.u(in_chan), per_group = chan / g;
      const uint64_t window = times(taps, in), steps = ceil_div(window, m.array_in) * ae;
      const uint64_t blocks = times(times(g, ceil_div(per_group, m.array_out)), steps);
      // Weights of a step come in while the step before runs: array_in cycles at the least.
      const uint64_t whole = pixels / m.accumulator_pixels, rest = pixels % m.accumulator_pixels;
      const uint64_t line =
          times(whole, larger(m.accumulator_pixels, m.array_in)) + (rest ? larger(rest, m.array_in) : 0);
      c.cycles = times(blocks, line) + m.matrix_fill;
      c.macs = times(elements, window);
      c.vector_ops = 0;
      a_chan_count = times(g, in);
      const uint64_t read = window < m.array_in ? window : m.array_in;
      a_traffic = times(times(blocks, pixels), read) * (ae == 2 ? 1 : ae);
      param_bytes = times(chan, 16 + window);
      param_traffic = times(param_bytes, whole + (rest ? 1 : 0));
      break;
    }
    case Op::depthwise: {
      const uint64_t mult = larger(1, k.u(groups));
      const uint64_t fresh = k.u(stride_w) < k.u(kernel_w) ? k.u(stride_w) : k.u(kernel_w);
      const uint64_t read = k.u(kernel_h) * fresh * m.array_out * ae;  // columns of the window that are new
      const uint64_t a_pixel_cycles = larger(ceil_div(read, m.bank_width), ceil_div(taps * ae, m.array_in));
      const uint64_t blocks = ceil_div(chan, m.array_out);
      c.cycles = times(times(blocks, pixels), larger(1, a_pixel_cycles)) + m.matrix_fill;
      c.macs = times(elements, taps);
      c.vector_ops = 0;
      a_chan_count = ceil_div(chan, mult);
      a_traffic = times(times(pixels, chan), k.u(kernel_h) * fresh) * ae;
      param_bytes = param_traffic = times(chan, 16 + taps);
      break;
    }
    case Op::add:
    case Op::mul:
      c.cycles = passes + m.vector_fill;
      b_traffic = times(pixels, k.u(b_one) ? 1 : chan) * bytes_of(k.u(b_type));
      break;
    case Op::affine:
      c.cycles = passes + m.vector_fill;
      param_bytes = param_traffic = chan * 12;
      break;
    case Op::table:
      c.cycles = times(rows, ceil_div(times(cols, chan), m.table_lanes)) + 256 / m.vector_lanes + m.vector_fill;
      c.vector_ops = 0;
      c.look_ups = elements;
      param_bytes = param_traffic = 256;
      break;
    case Op::max_pool:
    case Op::average_pool:
      c.cycles = times(passes, taps) + m.vector_fill;
      c.vector_ops = times(elements, taps);
      a_traffic = times(elements, taps) * ae;
      if (code == Op::average_pool) param_bytes = param_traffic = k.u(groups) * 4;
      break;
    case Op::resize: {
      const uint64_t t = uint64_t{k.u(taps_h)} * k.u(taps_w);
      c.cycles = times(times(pixels, ceil_div(chan * ae, m.vector_lanes)), t) + m.vector_fill;
      c.vector_ops = times(elements, t);
      a_traffic = times(elements, t) * ae;
      param_bytes = param_traffic = 8 * (rows * k.u(taps_h) + cols * k.u(taps_w));
      break;
    }
    case Op::softmax:  // the greatest; table and sum; table and product. Pixels divide behind each other
      c.cycles = times(pixels, 2 * ceil_div(chan, m.vector_lanes) + 2 * ceil_div(chan, m.table_lanes)) +
                 m.divide_cycles + m.vector_fill;
      c.vector_ops = 2 * elements;
      c.look_ups = 2 * elements;
      a_traffic *= 3;
      param_bytes = param_traffic = 1024;
      break;
    case Op::quantize:
      c.cycles = times(rows, ceil_div(times(cols, chan), m.dividers)) + m.divide_cycles + m.vector_fill;
      c.vector_ops = times(elements, 16);  // a quotient of 24 bits, in the energy of an operation on 8
      param_bytes = param_traffic = chan * 8;
      break;
    case Op::dequantize:
      c.cycles = times(rows, ceil_div(times(cols, chan) * ye, m.vector_lanes)) + m.vector_fill;
      c.vector_ops = times(elements, 4);
      param_bytes = param_traffic = chan * 8;
      break;
    case Op::copy:
      c.cycles = times(rows, ceil_div(times(cols, chan) * ae, m.vector_lanes)) + m.vector_fill;
      a_chan_count = k.u(a_chan);
      break;
    default:
      break;
  }
  const Tile a{k.u(a_addr), k.u(a_pitch), k.u(a_pixel), k.u(a_ring),
               k.u(a_row),  k.u(a_rows),  k.u(a_cols),  a_chan_count * ae};
  add_tile(&c, a, a_traffic, false);
  if (code == Op::add || code == Op::mul) {
    const uint64_t line = (k.u(b_one) ? 1 : chan) * bytes_of(k.u(b_type));
    add_tile(&c, {k.u(b_addr), k.u(b_pitch), k.u(b_pixel), k.u(b_ring), k.u(b_row), rows, cols, line}, b_traffic,
             false);
  }
  add_bytes(&c, k.u(params), param_bytes, param_traffic, false);
  if (code == Op::conv && k.u(keep) != 0) return c;  // the sums stay inside
  const Tile y{k.u(y_addr), k.u(y_pitch), k.u(y_pixel), k.u(y_ring), k.u(y_row), rows, cols, chan * ye};
  add_tile(&c, y, elements * ye, true);
  return c;
}

}  // namespace vireo::npu
