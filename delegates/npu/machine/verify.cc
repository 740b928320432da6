#include "delegates/npu/machine/verify.h"

#include "delegates/npu/machine/cost.h"

namespace vireo::npu {
namespace {

using namespace field;

struct Tile {
  uint64_t address, pitch, pixel, ring, row, rows, cols, line_bytes;
};

const char* check_tile(const MachineConfig& m, const Tile& t) {
  if (t.rows == 0 || t.cols == 0 || t.line_bytes == 0) return "a tile is empty";
  if (t.ring == 0 || t.row >= t.ring) return "a tile begins outside of its ring";
  if (t.pitch == 0 && t.ring != 1) return "a ring whose rows lie on each other";
  if (t.pitch != 0 && t.rows > t.ring) return "a tile has more rows than its ring";
  if (t.address + (t.ring - 1) * t.pitch + (t.cols - 1) * t.pixel + t.line_bytes > m.sram_bytes)
    return "a tile ends outside of local memory";
  return nullptr;
}

const char* check_dma(const MachineConfig& m, const Command& k, uint64_t outside) {
  const uint64_t e = k.u(element), x0 = k.u(n0), x1 = k.u(n1), x2 = k.u(n2);
  if (e != 1 && e != 2 && e != 4) return "an element is not 1, 2 or 4 bytes";
  if (x0 == 0 || x1 == 0 || x2 == 0) return "nothing to move";
  constexpr uint64_t kMost = 1u << 30;
  if (x0 > kMost || x1 > kMost || x2 > kMost || x0 * x1 > kMost || x0 * x1 * x2 > kMost) return "too much to move";
  // Each product is below 2^62, so three of them stay within 64 bits.
  const uint64_t inside = (x0 - 1) * k.u(s0) + (x1 - 1) * k.u(s1) + (x2 - 1) * k.u(s2) + e;
  if (k.u(sram) + inside > m.sram_bytes) return "a transfer ends outside of local memory";
  const uint64_t out = (x0 - 1) * k.u(d0) + (x1 - 1) * k.u(d1) + (x2 - 1) * k.u(d2) + e;
  if (k.u(dram) + out > outside) return "a transfer ends outside of its region";
  return nullptr;
}

bool fits(int32_t v, uint32_t type) {
  if (type == kF32) return v == 0;
  if (type == kI16) return v >= -32768 && v <= 32767;
  return type == kU8 ? v >= 0 && v <= 255 : v >= -128 && v <= 127;
}
// Operands' zero points are less 128 where the type is uint8.
bool zero_fits(int32_t v, uint32_t type) { return fits(v, type == kU8 ? uint32_t{kI8} : type); }

}  // namespace

const char* status_name(Status status) {
  constexpr const char* kNames[] = {"ok",   "invalid argument", "bad stream",    "bad data",
                                    "hung", "device lost",      "out of memory", "stopped"};
  return kNames[static_cast<uint32_t>(status)];
}

const char* verify_command(const MachineConfig& m, const Command& k, const StreamHeader& memory) {
  const OpInfo* const info = op_info(k.u(op));
  if (info == nullptr) return "no such command";
  uint32_t used[kCommandWords] = {};
  size_t count = 0;
  const Field* const all = npu::fields(&count);
  for (size_t i = 0; i < count; ++i) {
    if ((all[i].groups & info->groups) == 0) continue;
    used[all[i].word] |= all[i].bits == 32 ? 0xffffffffu : ((1u << all[i].bits) - 1) << all[i].bit;
  }
  for (uint32_t i = 0; i < kCommandWords; ++i) {
    if ((k.w[i] & ~used[i]) != 0) return "a bit that has no meaning is set";
  }
  if (k.u(flags) != 0) return "a flag that has no meaning is set";
  if ((info->groups & (kDma | kPack)) != 0) {
    const uint32_t r = k.u(region), value = r - kValues;
    if (r >= kValues && value >= memory.value_count) return "no such region";
    if (info->op == Op::store && r != kTensors && (r < kValues || (memory.value_written >> value & 1) == 0))
      return "constants and what goes in cannot be written";
    const uint64_t outside = r == kConstants ? memory.constant_bytes
                             : r == kTensors ? memory.tensor_bytes
                                             : memory.value_bytes[value];
    if (info->op == Op::unpack) {
      if (k.u(packed) == 0 || k.u(unpacked) == 0) return "nothing to unpack";
      if (uint64_t{k.u(sram)} + k.u(unpacked) > m.sram_bytes) return "a transfer ends outside of local memory";
      if (uint64_t{k.u(dram)} + k.u(packed) > outside) return "a transfer ends outside of its region";
    } else if (const char* reason = check_dma(m, k, outside)) {
      return reason;
    }
    return cost_of(m, k).cycles > m.watchdog_cycles / 2 ? "takes longer than the watchdog waits" : nullptr;
  }

  const uint64_t rows = k.u(y_rows), cols = k.u(y_cols), chan = k.u(y_chan);
  const bool binary = info->op == Op::add || info->op == Op::mul;
  const bool a_real = k.u(a_type) == kF32, y_real = k.u(y_type) == kF32;
  if (info->op == Op::quantize || info->op == Op::dequantize) {
    if (a_real == y_real || a_real != (info->op == Op::quantize)) return "codes and float32 change places";
  } else if (a_real != y_real || (binary && (k.u(b_type) == kF32) != a_real)) {
    return "codes and float32 in one command";
  } else if (a_real && !binary && info->op != Op::copy) {
    return "no unit does this in float32";
  }
  const uint64_t ye = bytes_of(k.u(y_type)), ae = bytes_of(k.u(a_type));
  const uint64_t taps = uint64_t{k.u(kernel_h)} * k.u(kernel_w);
  uint64_t a_channels = k.u(a_one) ? 1 : chan, param_bytes = 0;
  if ((info->groups & kWindow) != 0) {
    if (taps == 0 || k.u(stride_h) == 0 || k.u(stride_w) == 0 || k.u(dilation_h) == 0 || k.u(dilation_w) == 0)
      return "a window is empty, or a step is 0";
    if (taps > 1u << 24) return "a window is too large";
    if (k.u(a_one) != 0) return "one channel for all, in a command that has windows";
  } else if (info->op != Op::resize && (k.u(a_rows) != rows || k.u(a_cols) != cols)) {
    return "operand and result differ in rows or columns";
  }
  switch (info->op) {
    case Op::conv:
      if (k.u(groups) == 0 || k.u(in_chan) == 0 || chan % k.u(groups) != 0) return "groups do not divide the channels";
      if ((k.u(keep) | k.u(carry)) != 0 && (rows * cols > m.accumulator_pixels || chan > m.array_out))
        return "more sums than the engine keeps";
      a_channels = uint64_t{k.u(groups)} * k.u(in_chan);
      param_bytes = chan * (16 + taps * k.u(in_chan));
      break;
    case Op::depthwise:
      if (k.u(groups) == 0 || chan % k.u(groups) != 0 || k.u(in_chan) != 0) return "groups do not divide the channels";
      a_channels = chan / k.u(groups);
      param_bytes = chan * (16 + taps);
      break;
    case Op::affine:
      param_bytes = chan * 12;
      break;
    case Op::table:
      if (k.u(a_type) == kI16 || k.u(y_type) == kI16) return "tables are of 8 bits";
      param_bytes = 256;
      break;
    case Op::quantize:
    case Op::dequantize:
      param_bytes = chan * 8;
      break;
    case Op::max_pool:
      if (k.u(a_type) != k.u(y_type)) return "types differ";
      break;
    case Op::average_pool:
      if (k.u(in_chan) != 0) return "a bit that has no meaning is set";
      if (k.u(groups) != 1 && k.u(groups) != taps + 1)
        return "there is neither one multiplier nor one for each count of taps";
      param_bytes = uint64_t{k.u(groups)} * 4;
      break;
    case Op::resize: {
      const uint64_t lines = rows * k.u(taps_h) + cols * k.u(taps_w);
      if (k.u(taps_h) == 0 || k.u(taps_w) == 0) return "a result without taps";
      if (k.u(a_one) != 0) return "one channel for all, in a command that has windows";
      param_bytes = lines * 8;
      break;
    }
    case Op::softmax:
      if (k.u(a_type) == kI16) return "tables are of 8 bits";
      param_bytes = 1024;
      break;
    case Op::copy:
      if (taps != 1 || k.u(dilation_h) != 1 || k.u(dilation_w) != 1) return "a copy has no window";
      if (k.u(a_chan) == 0 || k.u(step_chan) == 0) return "a tile is empty";
      if (k.u(a_type) != k.u(y_type)) return "types differ";
      a_channels = k.u(a_chan);
      break;
    default:
      break;
  }
  const bool writes_codes = (info->groups & kCodes) != 0;
  if (writes_codes) {
    if (!zero_fits(k.s(a_zero), k.u(a_type))) return "a zero point is none of the operand's codes";
    if ((info->groups & kB) == 0 && k.s(b_zero) != 0) return "a zero point of an operand that is not there";
    if (!fits(k.s(y_zero), k.u(y_type)) || !fits(k.s(low), k.u(y_type)) || !fits(k.s(high), k.u(y_type)) ||
        k.s(low) > k.s(high))
      return "zero point or bounds are none of the result's codes";
  }
  const Tile a{k.u(a_addr), k.u(a_pitch), k.u(a_pixel), k.u(a_ring),
               k.u(a_row),  k.u(a_rows),  k.u(a_cols),  a_channels * ae};
  if (const char* reason = check_tile(m, a)) return reason;
  const Tile y{k.u(y_addr), k.u(y_pitch), k.u(y_pixel), k.u(y_ring), k.u(y_row), rows, cols, chan * ye};
  if (const char* reason = check_tile(m, y)) return reason;
  if (y.pixel < y.line_bytes || y.pitch < (cols - 1) * y.pixel + y.line_bytes) return "results lie on each other";
  if ((info->groups & kB) != 0) {
    if (!zero_fits(k.s(b_zero), k.u(b_type))) return "a zero point is none of the operand's codes";
    const uint64_t line = (k.u(b_one) ? 1 : chan) * bytes_of(k.u(b_type));
    if (const char* reason =
            check_tile(m, {k.u(b_addr), k.u(b_pitch), k.u(b_pixel), k.u(b_ring), k.u(b_row), rows, cols, line}))
      return reason;
  }
  if (param_bytes != 0 && k.u(params) + param_bytes > m.sram_bytes) return "parameters end outside of local memory";
  const Cost c = cost_of(m, k);
  for (int i = 0; i < c.extents; ++i) {
    for (int j = i + 1; j < c.extents; ++j) {
      const Extent &e = c.extent[i], &f = c.extent[j];
      if (e.written != f.written && e.begin < f.end && f.begin < e.end) return "a result lies on an operand";
    }
  }
  return c.cycles > m.watchdog_cycles / 2 ? "takes longer than the watchdog waits" : nullptr;
}

Status verify_stream(const MachineConfig& m, const void* data, size_t bytes, Stream* stream, Fault* fault) {
  *fault = Fault();
  const auto refuse = [&](const char* reason, uint32_t command = kNoCommand) {
    *fault = {command, reason};
    return Status::kBadStream;
  };
  if (data == nullptr || !config_ok(m)) {
    fault->reason = "no stream, or a machine with numbers out of range";
    return Status::kInvalidArgument;
  }
  if (reinterpret_cast<uintptr_t>(data) % alignof(Command) != 0) return refuse("the stream is not aligned to 4 bytes");
  if (bytes < sizeof(StreamHeader) || bytes % sizeof(Command) != 0)
    return refuse("the stream's size is not a number of commands");
  const auto* const header = static_cast<const StreamHeader*>(data);
  if (header->magic != kStreamMagic) return refuse("not a command stream");
  if (header->version != kIsaVersion) return refuse("written for another version of the instruction set");
  if (header->command_count != bytes / sizeof(Command) - 1)
    return refuse("the header counts other commands than follow");
  if (header->sram_bytes > m.sram_bytes) return refuse("made for a machine with more local memory");
  if (header->value_count > kMostRegions || (header->value_written >> header->value_count) != 0)
    return refuse("more values than the machine has regions for");
  for (uint32_t k = header->value_count; k < kMostRegions; ++k) {
    if (header->value_bytes[k] != 0) return refuse("a value that is not there has a size");
  }
  const auto* const commands = reinterpret_cast<const Command*>(header + 1);
  const uint32_t count = header->command_count;
  for (uint32_t i = 0; i < count; ++i) {
    const char* const reason = verify_command(m, commands[i], *header);
    if (reason != nullptr) return refuse(reason, i);
  }
  // Sums that are carried are those of the command before in the matrix queue.
  const Command* before = nullptr;
  for (uint32_t i = 0; i < count; ++i) {
    const Command& k = commands[i];
    if (op_info(k.u(op))->queue != kMatrix) continue;
    if (k.op() == Op::conv && k.u(carry) != 0 &&
        (before == nullptr || before->op() != Op::conv || before->u(keep) == 0 || before->u(y_rows) != k.u(y_rows) ||
         before->u(y_cols) != k.u(y_cols) || before->u(y_chan) != k.u(y_chan)))
      return refuse("carries sums that no command before it kept", i);
    before = &k;
  }
  // Every queue runs as far as its waits let it, again and again: what is left then waits for ever.
  uint32_t next[kQueues] = {}, done[kQueues] = {};
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t q = 0; q < kQueues; ++q) {
      for (;; ++next[q]) {
        if (next[q] == count) break;
        const Command& k = commands[next[q]];
        if (op_info(k.u(op))->queue != q) continue;
        if (k.u(wait_load) > done[kLoad] || k.u(wait_store) > done[kStore] || k.u(wait_matrix) > done[kMatrix] ||
            k.u(wait_vector) > done[kVector])
          break;
        ++done[q];
        moved = true;
      }
    }
  }
  for (uint32_t q = 0; q < kQueues; ++q) {
    if (next[q] != count) return refuse("waits for commands that never finish before it", next[q]);
  }
  *stream = {header, commands, count};
  return Status::kOk;
}

}  // namespace vireo::npu
