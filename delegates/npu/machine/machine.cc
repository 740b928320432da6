#include "delegates/npu/machine/machine.h"

#include <string.h>

#include "delegates/npu/machine/cost.h"

namespace vireo::npu {
namespace {

constexpr uint64_t kFull = 1 << 16;  // full speed, and all of a port
constexpr uint64_t kNever = UINT64_MAX;
constexpr uint32_t kMostOutstanding = 16;

// A queue: `head` is the command at work or the next one, `issued` counts the transfers that were asked for.
struct Unit {
  uint32_t head = 0;                        // index in the stream; count: none is left
  uint32_t issue = 0;                       // index in the stream of the next command to ask memory for
  uint32_t done = 0;                        // commands finished
  uint32_t requests = 0;                    // commands asked for
  uint64_t arrives[kMostOutstanding] = {};  // when the first byte of a request is there
  bool active = false;
  uint64_t start = 0, remaining = 0, speed = kFull;  // remaining cycles at full speed, times kFull
  Cost cost;
  uint64_t demand[kMaxBanks + 1] = {};  // share of each bank and of memory outside at full speed, times kFull
};

class Run {
 public:
  Run(const MachineConfig& config, const Stream& stream) : m_(config), stream_(stream) {
    for (uint32_t q = 0; q < kQueues; ++q) units_[q].head = units_[q].issue = next(q, 0);
  }

  Unit& unit(uint32_t q) { return units_[q]; }
  uint64_t now() const { return now_; }

  // The first command of queue `q` from `at` on.
  uint32_t next(uint32_t q, uint32_t at) const {
    while (at < stream_.count && op_info(stream_.commands[at].u(field::op))->queue != q) ++at;
    return at;
  }
  bool met(uint32_t at) const {
    const Command& k = stream_.commands[at];
    return k.u(field::wait_load) <= units_[kLoad].done && k.u(field::wait_store) <= units_[kStore].done &&
           k.u(field::wait_matrix) <= units_[kMatrix].done && k.u(field::wait_vector) <= units_[kVector].done;
  }

  // Asks memory for what the transfer queues may read ahead.
  void request() {
    for (uint32_t q = kLoad; q <= kStore; ++q) {
      Unit& u = units_[q];
      while (u.issue < stream_.count && u.requests < u.done + m_.dma_outstanding && met(u.issue)) {
        u.arrives[u.requests % kMostOutstanding] = now_ + m_.dram_latency;
        ++u.requests;
        u.issue = next(q, u.issue + 1);
      }
    }
  }

  // Whether the head of `q` can start now.
  bool ready(uint32_t q) const {
    const Unit& u = units_[q];
    if (u.active || u.head == stream_.count) return false;
    if (q == kLoad || q == kStore) return u.requests > u.done && u.arrives[u.done % kMostOutstanding] <= now_;
    return met(u.head);
  }

  void begin(uint32_t q) {
    Unit& u = units_[q];
    u.active = true;
    u.start = now_;
    u.cost = cost_of(m_, stream_.commands[u.head]);
    const uint64_t cycles = u.cost.cycles == 0 ? 1 : u.cost.cycles;
    u.remaining = cycles * kFull;
    memset(u.demand, 0, sizeof(u.demand));
    const uint64_t bank_bytes = m_.sram_bytes / m_.banks;
    for (int i = 0; i < u.cost.extents; ++i) {
      const Extent& e = u.cost.extent[i];
      for (uint64_t b = e.begin / bank_bytes; b < m_.banks && b * bank_bytes < e.end; ++b) {
        const uint64_t from = b * bank_bytes > e.begin ? b * bank_bytes : e.begin;
        const uint64_t to = (b + 1) * bank_bytes < e.end ? (b + 1) * bank_bytes : e.end;
        const uint64_t share = e.traffic * (to - from) / (e.end - e.begin);
        u.demand[b] += share * kFull / (cycles * m_.bank_width);
      }
    }
    u.demand[m_.banks] = u.cost.dram_bytes * kFull / (cycles * m_.dram_bytes_per_cycle);
  }

  void set_speeds() {
    uint64_t asked[kMaxBanks + 1] = {};
    for (const Unit& u : units_) {
      for (uint32_t b = 0; u.active && b <= m_.banks; ++b) asked[b] += u.demand[b];
    }
    for (Unit& u : units_) {
      u.speed = kFull;
      for (uint32_t b = 0; u.active && b <= m_.banks; ++b) {
        if (u.demand[b] == 0 || asked[b] <= kFull) continue;
        const uint64_t speed = kFull * kFull / asked[b];
        u.speed = speed < u.speed ? (speed == 0 ? 1 : speed) : u.speed;
      }
    }
  }

  // Cycles to the next event; kNever: there is none.
  uint64_t step(uint32_t hung) const {
    uint64_t least = kNever;
    for (uint32_t q = 0; q < kQueues; ++q) {
      const Unit& u = units_[q];
      uint64_t t = kNever;
      if (u.active) {
        if (u.head != hung) t = (u.remaining + u.speed - 1) / u.speed;
      } else if ((q == kLoad || q == kStore) && u.requests > u.done) {
        const uint64_t at = u.arrives[u.done % kMostOutstanding];
        t = at > now_ ? at - now_ : 0;
      }
      least = t < least ? t : least;
    }
    return least;
  }

  void advance(uint64_t cycles) {
    now_ += cycles;
    for (Unit& u : units_) {
      if (!u.active) continue;
      const uint64_t did = cycles * u.speed;
      u.remaining = did < u.remaining ? u.remaining - did : 0;
    }
  }

  void finish(uint32_t q) {
    Unit& u = units_[q];
    u.active = false;
    ++u.done;
    u.head = next(q, u.head + 1);
  }

 private:
  const MachineConfig& m_;
  const Stream& stream_;
  Unit units_[kQueues];
  uint64_t now_ = 0;
};

uint64_t energy_fj(const MachineConfig& m, const Cost& c, uint64_t sram, bool wide) {
  return c.macs * m.fj_mac8 * (wide ? 2 : 1) + c.vector_ops * m.fj_vector_op + c.look_ups * m.fj_table +
         sram * m.fj_sram_byte + c.dram_bytes * m.fj_dram_byte;
}

void corrupt(const Command& k, const Memory& memory, uint8_t mask) {
  const uint32_t groups = op_info(k.u(field::op))->groups;
  if ((groups & kY) != 0) {
    memory.sram[k.u(field::y_addr) + uint64_t{k.u(field::y_row)} * k.u(field::y_pitch) + bytes_of(k.u(field::y_type)) -
                1] ^= mask;
  } else if (k.op() == Op::store) {
    memory.writable(k.u(field::region))[k.u(field::dram) + k.u(field::element) - 1] ^= mask;
  } else {
    memory.sram[k.u(field::sram)] ^= mask;
  }
}

}  // namespace

Status Machine::run(const Stream& stream, const uint8_t* constants, uint8_t* tensors, Counters* counters,
                    LayerCounters* layers, uint32_t layer_count, Fault* fault, uint8_t* const* values) {
  *counters = Counters();
  *fault = Fault();
  for (uint32_t i = 0; layers != nullptr && i < layer_count; ++i) layers[i] = LayerCounters();
  const auto fail = [&](Status status, uint32_t command, const char* reason) {
    *fault = {command, reason};
    return status;
  };
  if (lost_) return fail(Status::kLost, kNoCommand, "the device was lost before");
  if (!config_ok(config_)) return fail(Status::kInvalidArgument, kNoCommand, "numbers of the machine out of range");
  if (faults.out_of_memory)
    return fail(Status::kOutOfMemory, kNoCommand, "no memory outside for constants and tensors");
  const bool data = sram_ != nullptr;
  if (data && ((constants == nullptr && stream.header->constant_bytes > 0) ||
               (tensors == nullptr && stream.header->tensor_bytes > 0)))
    return fail(Status::kInvalidArgument, kNoCommand, "no memory for a region");
  for (uint32_t k = 0; data && k < stream.header->value_count; ++k) {
    if (stream.header->value_bytes[k] != 0 && (values == nullptr || values[k] == nullptr))
      return fail(Status::kInvalidArgument, kNoCommand, "no memory for a value");
  }
  const Memory memory{sram_, data ? sram_ + config_.sram_bytes : nullptr, constants, tensors, values};
  Run r(config_, stream);
  Status status = Status::kOk;
  for (;;) {
    r.request();
    for (uint32_t q = 0; q < kQueues; ++q) {
      if (!r.ready(q)) continue;
      if (r.unit(q).head == faults.lost_at) {
        lost_ = true;
        if (data) memset(sram_, 0xa5, memory_bytes(config_));
        return fail(Status::kLost, faults.lost_at, "the device was lost");
      }
      r.begin(q);
    }
    r.set_speeds();
    const uint64_t cycles = r.step(faults.hang_at);
    if (cycles == kNever) break;
    uint32_t oldest = kNoCommand;
    for (uint32_t q = 0; q < kQueues; ++q) {
      const Unit& u = r.unit(q);
      if (!u.active) continue;
      counters->busy[q] += cycles;
      counters->stalled += cycles - cycles * u.speed / kFull;
      if (u.head < oldest) oldest = u.head;
      const uint32_t layer = stream.commands[u.head].u(field::layer);
      if (layers == nullptr || layer >= layer_count) continue;
      if (q == kMatrix) layers[layer].busy_matrix += cycles;
      if (q == kVector) layers[layer].busy_vector += cycles;
    }
    if (oldest == kNoCommand) {  // only requests are under way: the time is that of the oldest
      for (uint32_t q = kLoad; q <= kStore; ++q) {
        if (r.unit(q).requests > r.unit(q).done && r.unit(q).head < oldest) oldest = r.unit(q).head;
      }
    }
    if (layers != nullptr && oldest != kNoCommand) {
      const uint32_t layer = stream.commands[oldest].u(field::layer);
      if (layer < layer_count) layers[layer].cycles += cycles;
    }
    r.advance(cycles);
    for (uint32_t q = 0; q < kQueues; ++q) {
      const Unit& u = r.unit(q);
      if (!u.active || u.remaining != 0 || u.head == faults.hang_at) continue;
      const uint32_t at = u.head;
      const Command& k = stream.commands[at];
      if (stop.asked != nullptr && stop.asked(stop.context)) {
        status = fail(Status::kStopped, at, "it was asked to stop");
        break;
      }
      if (data && !execute(k, memory)) {
        status = fail(Status::kBadData, at, "packed weights or a table of places hold what cannot be");
        break;
      }
      if (data && at == faults.corrupt_at) corrupt(k, memory, faults.corrupt_mask);
      uint64_t sram = 0;
      for (int i = 0; i < u.cost.extents; ++i) sram += u.cost.extent[i].traffic;
      counters->macs += u.cost.macs;
      counters->vector_ops += u.cost.vector_ops;
      counters->look_ups += u.cost.look_ups;
      counters->sram_bytes += sram;
      (q == kStore ? counters->dram_written : counters->dram_read) += u.cost.dram_bytes;
      ++counters->commands[q];
      const uint64_t fj = energy_fj(config_, u.cost, sram, k.u(field::a_type) == kI16 && u.cost.macs != 0);
      counters->energy_pj += fj / 1000;
      const uint32_t layer = k.u(field::layer);
      if (layers != nullptr && layer < layer_count) {
        LayerCounters& l = layers[layer];
        l.macs += u.cost.macs;
        (q == kStore ? l.dram_written : l.dram_read) += u.cost.dram_bytes;
        l.energy_pj += fj / 1000;
      }
      if (trace.end != nullptr) trace.end(trace.context, at, u.start, r.now());
      r.finish(q);
    }
    if (status != Status::kOk) break;
  }
  counters->cycles = r.now();
  const uint64_t idle_fj = counters->cycles * config_.fj_idle_cycle;
  counters->energy_pj += idle_fj / 1000;
  for (uint32_t i = 0; layers != nullptr && i < layer_count; ++i)
    layers[i].energy_pj += layers[i].cycles * config_.fj_idle_cycle / 1000;
  if (status != Status::kOk) return status;
  uint32_t left = kNoCommand;  // the command that hangs, not those that wait for it
  for (uint32_t q = 0; q < kQueues; ++q) {
    const Unit& u = r.unit(q);
    if (u.head != stream.count && (u.active || left == kNoCommand)) left = u.head;
  }
  if (left == kNoCommand) return Status::kOk;
  counters->cycles += config_.watchdog_cycles;
  lost_ = true;  // a unit that hangs answers nothing until it is reset
  return fail(Status::kHung, left, "the watchdog met a command that did not end");
}

}  // namespace vireo::npu
