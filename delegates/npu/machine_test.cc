// The machine: cycles against calculations by hand, streams that are wrong, faults.
#include "delegates/npu/machine/machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "delegates/npu/compiler/hazards.h"
#include "delegates/npu/compiler/report.h"
#include "delegates/npu/testing.h"
#include "tests/support/roots.h"

namespace vireo::npu {
namespace {

constexpr uint32_t kBank = 32 * 1024;  // of the default machine

struct Program {
  std::vector<Command> commands;
  uint32_t constants = 1 << 20, tensors = 1 << 20;
  std::vector<uint32_t> words;

  Command& add(Op op) {
    commands.push_back({});
    commands.back().set(field::op, static_cast<int64_t>(op));
    return commands.back();
  }
  Command& move(Op op, uint32_t dram, uint32_t sram, uint32_t bytes) {
    Command& k = add(op);
    for (const auto& [f, v] : {std::pair<const Field&, uint32_t>{field::region, kTensors},
                               {field::element, 1},
                               {field::n0, bytes},
                               {field::n1, 1},
                               {field::n2, 1},
                               {field::d0, 1},
                               {field::s0, 1},
                               {field::dram, dram},
                               {field::sram, sram}})
      EXPECT_TRUE(k.set(f, v));
    return k;
  }
  // From bank 0 with parameters from bank 1 on to bank 3, all tiles dense.
  Command& compute(Op op, int64_t rows, int64_t cols, int64_t chan, int64_t in, int64_t kernel, int64_t pad) {
    Command& k = add(op);
    const std::pair<const Field&, int64_t> values[] = {
        {field::a_addr, 0},     {field::a_pitch, cols * in}, {field::a_pixel, in},       {field::a_ring, rows},
        {field::a_rows, rows},  {field::a_cols, cols},       {field::y_addr, 3 * kBank}, {field::y_pitch, cols * chan},
        {field::y_pixel, chan}, {field::y_ring, rows},       {field::y_rows, rows},      {field::y_cols, cols},
        {field::y_chan, chan},  {field::kernel_h, kernel},   {field::kernel_w, kernel},  {field::stride_h, 1},
        {field::stride_w, 1},   {field::dilation_h, 1},      {field::dilation_w, 1},     {field::pad_top, pad},
        {field::pad_left, pad}, {field::low, -128},          {field::high, 127},         {field::params, kBank},
        {field::groups, 1}};
    for (const auto& [f, v] : values) EXPECT_TRUE(k.set(f, v)) << f.name;
    EXPECT_TRUE(k.set(field::in_chan, op == Op::conv ? in : 0));
    return k;
  }
  Status verify(const MachineConfig& config, Stream* stream, Fault* fault) {
    StreamHeader header{};
    header.magic = kStreamMagic;
    header.version = kIsaVersion;
    header.command_count = static_cast<uint32_t>(commands.size());
    header.sram_bytes = config.sram_bytes;
    header.constant_bytes = constants;
    header.tensor_bytes = tensors;
    words.resize((commands.size() + 1) * kCommandWords);
    std::memcpy(words.data(), &header, sizeof(header));
    std::memcpy(words.data() + kCommandWords, commands.data(), commands.size() * sizeof(Command));
    return verify_stream(config, words.data(), words.size() * 4, stream, fault);
  }
  std::vector<std::pair<uint64_t, uint64_t>> spans;  // start and end of every command of the last run

  Counters time(const MachineConfig& config = {}) {
    Stream stream;
    Fault fault;
    Counters counters;
    const Status status = verify(config, &stream, &fault);
    EXPECT_EQ(status, Status::kOk) << fault.command << ": " << fault.reason;
    if (status != Status::kOk) return counters;
    Machine machine(config, nullptr);
    spans.assign(commands.size(), {});
    machine.trace.context = &spans;
    machine.trace.end = [](void* context, uint32_t command, uint64_t start, uint64_t stop) {
      (*static_cast<std::vector<std::pair<uint64_t, uint64_t>>*>(context))[command] = {start, stop};
    };
    EXPECT_EQ(machine.run(stream, nullptr, nullptr, &counters, nullptr, 0, &fault), Status::kOk);
    return counters;
  }
};

// Load x, load parameters, compute, store: the plainest program of a layer.
Counters layer_alone(Op op, int64_t rows, int64_t cols, int64_t chan, int64_t in, int64_t kernel, int64_t pad,
                     uint32_t params, std::vector<std::pair<uint64_t, uint64_t>>* spans = nullptr) {
  Program p;
  p.move(Op::load, 0, 0, static_cast<uint32_t>(rows * cols * in));
  p.move(Op::load, 1 << 16, kBank, params);
  EXPECT_TRUE(p.compute(op, rows, cols, chan, in, kernel, pad).set(field::wait_load, 2));
  EXPECT_TRUE(
      p.move(Op::store, 1 << 18, 3 * kBank, static_cast<uint32_t>(rows * cols * chan)).set(field::wait_matrix, 1));
  const Counters c = p.time();
  if (spans != nullptr) *spans = p.spans;
  return c;
}

// 8 x 8 pixels, 64 to 64 channels, 1 x 1.
//   load x     4096 bytes, 64 bursts: first byte at 200, 4096 / 16 = 256 cycles              200 ..  456
//   load w     64 channels of 16 + 64 bytes = 5120, asked for at 0 as well: 320 cycles       456 ..  776
//   conv       2 blocks of 32 results x 2 of 32 products x 64 pixels = 256, and 24 to fill   776 .. 1056
//   store      latency 200, then 256 cycles                                                 1256 .. 1512
TEST(NpuCycles, PointwiseConvolutionByHand) {
  using Spans = std::vector<std::pair<uint64_t, uint64_t>>;
  Spans spans;
  const Counters c = layer_alone(Op::conv, 8, 8, 64, 64, 1, 0, 5120, &spans);
  EXPECT_EQ(spans, (Spans{{200, 456}, {456, 776}, {776, 1056}, {1256, 1512}}));
  EXPECT_EQ(c.cycles, 1512u);
  EXPECT_EQ(c.macs, 64u * 64 * 64);
  EXPECT_EQ(c.busy[kLoad], 576u);
  EXPECT_EQ(c.busy[kMatrix], 280u);
  EXPECT_EQ(c.busy[kStore], 256u);
  EXPECT_EQ(c.dram_read, 4096u + 5120);
  EXPECT_EQ(c.dram_written, 4096u);
  EXPECT_EQ(c.stalled, 0u);
  // Energy: products 262144 x 120 fJ; local memory: loads and store 4096 + 5120 + 4096, the engine's reads of x 4 x 64
  // x 32, of parameters 5120 and its results 4096, 600 fJ a byte; outside 13312 bytes x 40000 fJ; 1512 cycles x 60000
  // fJ.
  const uint64_t sram = 4096 + 5120 + 4096 + 8192 + 5120 + 4096;
  EXPECT_EQ(c.sram_bytes, sram);
  EXPECT_NEAR(static_cast<double>(c.energy_pj),
              (262144.0 * 120 + static_cast<double>(sram) * 600 + 13312.0 * 40000 + 1512.0 * 60000) / 1000, 5);
}

// 10 x 6 pixels, 40 channels, 3 x 3.
//   load x     2400 bytes, 38 bursts = 2432: 152 cycles                                      200 .. 352
//   load w     40 channels of 16 + 9 bytes = 1000, 16 bursts = 1024: 64 cycles               352 .. 416
//   depthwise  2 blocks of 32 channels x 60 pixels x 1 (3 new columns of 32 bytes are less
//              than a bank's 128, 9 taps less than 32) = 120, and 24 to fill                 416 .. 560
//   store      200 + 152                                                                     560 .. 912
TEST(NpuCycles, DepthwiseConvolutionByHand) {
  const Counters c = layer_alone(Op::depthwise, 10, 6, 40, 40, 3, 1, 1000);
  EXPECT_EQ(c.cycles, 912u);
  EXPECT_EQ(c.busy[kMatrix], 144u);
  EXPECT_EQ(c.macs, 60u * 40 * 9);
}

// One row of 256 by 256 x 100.
//   load x     256 bytes: 16 cycles                                                          200 ..  216
//   load w     100 channels of 16 + 256 bytes = 27200 = 425 bursts: 1700 cycles              216 .. 1916
//   conv       4 blocks of results x 8 of products x 32 (one pixel, but 32 cycles to bring
//              in the next weights) = 1024, and 24 to fill                                  1916 .. 2964
//   store      100 bytes are 2 bursts: 200 + 8                                              2964 .. 3172
TEST(NpuCycles, FullyConnectedByHand) {
  const Counters c = layer_alone(Op::conv, 1, 1, 100, 256, 1, 0, 27200);
  EXPECT_EQ(c.cycles, 3172u);
  EXPECT_EQ(c.busy[kMatrix], 1048u);
  EXPECT_EQ(c.dram_read, 256u + 27200);
}

// Pool, 2 x 2, step 2: 12 x 12 pixels of 48 channels to 6 x 6.
//   load x     6912 bytes, 108 bursts: 432 cycles                                            200 ..  632
//   max_pool   6 rows x ceil(6 x 48 / 64 lanes) = 5 x 4 taps = 120, and 16 to fill           632 ..  768
//   store      1728 bytes, 27 bursts: 200 + 108                                              968 .. 1076
TEST(NpuCycles, PoolByHand) {
  Program p;
  p.move(Op::load, 0, 0, 6912);
  Command& k = p.compute(Op::max_pool, 12, 12, 48, 48, 2, 0);
  for (const Field* f : {&field::params, &field::groups, &field::low, &field::high}) k.set(*f, 0);
  for (const Field* f : {&field::y_rows, &field::y_cols, &field::y_ring}) k.set(*f, 6);
  for (const Field* f : {&field::stride_h, &field::stride_w}) k.set(*f, 2);
  k.set(field::y_pitch, 6 * 48);
  k.set(field::wait_load, 1);
  p.move(Op::store, 1 << 18, 3 * kBank, 1728).set(field::wait_vector, 1);
  const Counters c = p.time();
  using Spans = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(p.spans, (Spans{{200, 632}, {632, 768}, {968, 1076}}));
  EXPECT_EQ(c.cycles, 1076u);
  EXPECT_EQ(c.vector_ops, 36u * 48 * 4);
  EXPECT_EQ(c.dram_read, 6912u);
  EXPECT_EQ(c.dram_written, 1728u);
}

// Float32 to codes: 8 rows of 20 pixels of 3 channels.
//   load x     1920 bytes, 30 bursts: 120 cycles                                             200 .. 320
//   load c     3 scales and zero points of 8 bytes: a burst, 4 cycles                        320 .. 324
//   quantize   8 rows x 60 numbers / 4 dividers = 120, 32 to the first quotient, 16 to fill  324 .. 492
//   store      480 bytes, 8 bursts: 200 + 32                                                 692 .. 724
TEST(NpuCycles, QuantizeByHand) {
  Program p;
  p.move(Op::load, 0, 0, 1920);
  p.move(Op::load, 1 << 16, kBank, 24);
  Command& k = p.compute(Op::quantize, 8, 20, 3, 12, 1, 0);
  for (uint32_t w = 20; w < 27; ++w) k.w[w] = 0;  // no window, no codes
  k.set(field::a_type, kF32);
  k.set(field::wait_load, 2);
  p.move(Op::store, 1 << 18, 3 * kBank, 480).set(field::wait_vector, 1);
  const Counters c = p.time();
  EXPECT_EQ(c.cycles, 724u);
  EXPECT_EQ(c.busy[kVector], 168u);
}

// Both directions at once ask for twice what memory gives: 200 + 2 * 16384 / 16.
TEST(NpuCycles, TransfersShareMemory) {
  Program p;
  p.move(Op::load, 0, 0, 16384);
  p.move(Op::store, 1 << 16, 4 * kBank, 16384);
  EXPECT_EQ(p.time().cycles, 2248u);
  p.commands[1].set(field::wait_load, 1);  // one after the other: the second latency is to be seen
  EXPECT_EQ(p.time().cycles, 200u + 1024 + 200 + 1024);
}

// Four loads of 64 bytes: their latencies overlap. Then one at a time.
TEST(NpuCycles, LatenciesOverlapAsFarAsRequestsMayRunAhead) {
  Program p;
  for (uint32_t i = 0; i < 4; ++i) p.move(Op::load, i * 64, i * 64, 64);
  EXPECT_EQ(p.time().cycles, 200u + 4 * 4);
  MachineConfig one;
  one.dma_outstanding = 1;
  EXPECT_EQ(p.time(one).cycles, 4u * (200 + 4));
}

// A copy of 64 bytes a cycle reads and writes 128: a bank's port alone. Two units at one bank share it.
TEST(NpuCycles, BanksAreShared) {
  const auto both = [](uint32_t conv_at) {
    Program p;
    Command& copy = p.compute(Op::copy, 64, 1, 64, 64, 1, 0);
    for (const Field* f : {&field::params, &field::groups, &field::low, &field::high}) copy.set(*f, 0);
    copy.w[16] = copy.w[23] = 0;
    copy.set(field::a_chan, 64);
    copy.set(field::step_chan, 1);
    copy.set(field::y_addr, 16384);
    Command& conv = p.compute(Op::conv, 8, 8, 64, 64, 1, 0);
    conv.set(field::a_addr, conv_at);
    return p.time();
  };
  EXPECT_EQ(both(4 * kBank).stalled, 0u);
  EXPECT_EQ(both(4 * kBank).cycles, 280u);
  const Counters shared = both(8192);
  EXPECT_GT(shared.stalled, 0u);
  EXPECT_GT(shared.busy[kVector], both(4 * kBank).busy[kVector]);
}

// Two tiles: with two buffers the second load runs beside the first computation, with one it waits for it.
TEST(NpuCycles, DoubleBufferingHidesTheLoad) {
  const auto tiles = [](bool two) {
    Program p;
    p.move(Op::load, 0, 0, 4096);
    p.compute(Op::conv, 8, 8, 64, 64, 3, 1).set(field::wait_load, 1);
    Command& load = p.move(Op::load, 4096, two ? 5 * kBank : 0, 4096);
    if (!two) load.set(field::wait_matrix, 1);
    Command& second = p.compute(Op::conv, 8, 8, 64, 64, 3, 1);
    second.set(field::wait_load, 2);
    if (two) second.set(field::a_addr, 5 * kBank);
    return p.time().cycles;
  };
  // The engine: 2 x 18 x 64 + 24 = 2328 cycles a tile; one load 256 cycles behind a latency of 200.
  EXPECT_EQ(tiles(true), 200u + 256 + 2 * 2328);
  EXPECT_EQ(tiles(false), 200u + 256 + 2328 + 200 + 256 + 2328);
}

TEST(NpuStreams, WaitsThatNeverEndAreRefused) {
  Stream stream;
  Fault fault;
  Program p;
  p.move(Op::load, 0, 0, 64).set(field::wait_store, 1);
  p.move(Op::store, 0, 128, 64).set(field::wait_load, 1);
  EXPECT_EQ(p.verify({}, &stream, &fault), Status::kBadStream);
  EXPECT_EQ(fault.command, 0u);
  EXPECT_STREQ(fault.reason, "waits for commands that never finish before it");
  p.commands[0].set(field::wait_store, 0);
  EXPECT_EQ(p.verify({}, &stream, &fault), Status::kOk);
  p.commands[0].set(field::wait_load, 1);  // for itself
  EXPECT_EQ(p.verify({}, &stream, &fault), Status::kBadStream);
  p.commands[0].set(field::wait_load, 0);
  p.commands[1].set(field::wait_vector, 1);  // for a queue without commands
  EXPECT_EQ(p.verify({}, &stream, &fault), Status::kBadStream);
  EXPECT_EQ(fault.command, 1u);
}

// Values that go in and come out may lie in regions of their own; what goes in is not written to.
TEST(NpuStreams, RegionsOfValues) {
  GraphBuilder b(4);
  const int x = b.input({1, 4, 4, 8}), z = b.input({1, 4, 4, 8});
  const int y = b.binary(Kind::kAdd, x, z);
  b.graph.outputs = {y, b.table(y), b.reshape(z, {1, 1, 4, 32})};  // the last is an input under another shape
  CompileOptions options;
  options.own_regions = true;
  const MachineConfig config;
  const Compiled c = compile(b.graph, config, options);
  ASSERT_EQ(c.error, "");
  const auto region = [&](int t) { return static_cast<uint32_t>(c.region[static_cast<size_t>(t)]); };
  EXPECT_EQ(region(x), kValues);
  EXPECT_EQ(region(z), kTensors);
  EXPECT_EQ(region(y), kValues + 1);
  EXPECT_EQ(region(b.graph.outputs[1]), kValues + 2);
  EXPECT_EQ(region(b.graph.outputs[2]), kTensors);
  EXPECT_EQ(c.tensor_bytes, 128);
  const auto verify = [&](std::vector<uint32_t> words, auto&& change) {
    auto* const header = reinterpret_cast<StreamHeader*>(words.data());
    change(header, reinterpret_cast<Command*>(header + 1));
    Stream stream;
    Fault fault;
    const Status status = verify_stream(config, words.data(), words.size() * 4, &stream, &fault);
    return status == Status::kOk ? std::string() : std::string(fault.reason);
  };
  const auto first = [](Command* k, Op op) {
    while (k->op() != op) ++k;
    return k;
  };
  EXPECT_EQ(verify(c.stream, [](auto*, auto*) {}), "");
  EXPECT_NE(verify(c.stream, [](auto* h, auto*) { h->value_bytes[1] -= 1; }), "");
  EXPECT_NE(verify(c.stream, [](auto* h, auto*) { h->value_written = 4; }), "");
  EXPECT_NE(verify(c.stream, [](auto* h, auto*) { h->value_count = 25; }), "");
  EXPECT_NE(verify(c.stream, [](auto* h, auto*) { h->value_bytes[3] = 1; }), "");
  EXPECT_NE(verify(c.stream, [&](auto*, auto* k) { first(k, Op::store)->set(field::region, kValues); }), "");
  EXPECT_NE(verify(c.stream, [&](auto*, auto* k) { first(k, Op::load)->set(field::region, kValues + 3); }), "");
  // Without memory for a value nothing runs.
  Stream stream;
  Fault fault;
  ASSERT_EQ(verify_stream(config, c.stream.data(), c.stream.size() * 4, &stream, &fault), Status::kOk);
  Bytes sram(Machine::memory_bytes(config)), tensors(128);
  Counters counters;
  EXPECT_EQ(Machine(config, sram.data()).run(stream, c.constants.data(), tensors.data(), &counters, nullptr, 0, &fault),
            Status::kInvalidArgument);
}

TEST(NpuStreams, CarriedSumsMustHaveBeenKept) {
  Stream stream;
  Fault fault;
  Program p;
  p.compute(Op::conv, 4, 4, 32, 8, 1, 0).set(field::keep, 1);
  p.compute(Op::conv, 4, 4, 32, 8, 1, 0).set(field::carry, 1);
  EXPECT_EQ(p.verify({}, &stream, &fault), Status::kOk);
  p.commands[0].set(field::keep, 0);
  EXPECT_EQ(p.verify({}, &stream, &fault), Status::kBadStream);
  EXPECT_EQ(fault.command, 1u);
  p.commands[0].set(field::keep, 1);
  p.commands[1].set(field::y_cols, 3);
  EXPECT_EQ(p.verify({}, &stream, &fault), Status::kBadStream);
  EXPECT_STREQ(fault.reason, "carries sums that no command before it kept");
  Program wide;
  wide.compute(Op::conv, 4, 4, 33, 8, 1, 0).set(field::keep, 1);
  EXPECT_EQ(wide.verify({}, &stream, &fault), Status::kBadStream);
  EXPECT_STREQ(fault.reason, "more sums than the engine keeps");
}

TEST(NpuStreams, RangesAreChecked) {
  Stream stream;
  Fault fault;
  const MachineConfig config;
  const auto refused = [&](const char* reason, const Field& f, int64_t v, Op op = Op::conv) {
    Program p;
    Command& k = op == Op::load ? p.move(op, 0, 0, 64) : p.compute(op, 8, 8, 64, 64, 1, 0);
    ASSERT_TRUE(k.set(f, v));
    ASSERT_EQ(p.verify(config, &stream, &fault), Status::kBadStream) << f.name;
    EXPECT_STREQ(fault.reason, reason) << f.name;
  };
  refused("a tile ends outside of local memory", field::a_addr, config.sram_bytes - 4095);
  refused("a tile ends outside of local memory", field::y_addr, config.sram_bytes - 4095);
  refused("parameters end outside of local memory", field::params, config.sram_bytes - 5119);
  refused("a result lies on an operand", field::y_addr, 4095);
  refused("results lie on each other", field::y_pixel, 63);
  refused("a tile has more rows than its ring", field::a_ring, 7);
  refused("a tile begins outside of its ring", field::y_row, 8);
  refused("groups do not divide the channels", field::groups, 3);
  refused("zero point or bounds are none of the result's codes", field::y_zero, 128);
  refused("a transfer ends outside of local memory", field::sram, config.sram_bytes - 63, Op::load);
  refused("a transfer ends outside of its region", field::dram, (1 << 20) - 63, Op::load);
  refused("no such command", field::op, 99);
  refused("a flag that has no meaning is set", field::flags, 1);
}

// A small network's stream with every bit turned over, one at a time: refused, or run to an end. The sanitizers see to
// the rest.
TEST(NpuStreams, EveryBitTurnedOver) {
  GraphBuilder b(9);
  Layer window;
  window.kernel = {3, 3};
  window.pad_begin = window.pad_end = {1, 1};
  int x = b.conv(b.input({1, 4, 4, 3}), 5, window);
  x = b.concat({x, b.resize(b.pool(Kind::kAveragePool, x, window), 4, 4, 2)}, 3);
  window.groups = 10;
  x = b.binary(Kind::kAdd, x, b.affine(b.conv(x, 10, window)));
  b.graph.outputs = {b.softmax(b.table(b.pool(Kind::kMaxPool, x, window)))};
  MachineConfig config;
  config.sram_bytes = 4096;
  config.watchdog_cycles = 20000;
  const Compiled c = compile(b.graph, config);
  ASSERT_EQ(c.error, "");
  Bytes sram(Machine::memory_bytes(config)), tensors(static_cast<size_t>(c.tensor_bytes));
  size_t refused = 0, ran = 0;
  for (size_t bit = 0; bit < c.stream.size() * 32; ++bit) {
    std::vector<uint32_t> words = c.stream;
    words[bit / 32] ^= 1u << (bit % 32);
    Stream stream;
    Fault fault;
    if (verify_stream(config, words.data(), words.size() * 4, &stream, &fault) != Status::kOk) {
      EXPECT_NE(fault.reason[0], 0);
      ++refused;
      continue;
    }
    if (stream.header->tensor_bytes > tensors.size() || stream.header->constant_bytes > c.constants.size()) continue;
    Machine machine(config, sram.data());
    Counters counters;
    const Status status = machine.run(stream, c.constants.data(), tensors.data(), &counters, nullptr, 0, &fault);
    EXPECT_TRUE(status == Status::kOk || status == Status::kBadData) << status_name(status);
    ++ran;
  }
  EXPECT_GT(refused, ran);
  EXPECT_GT(ran, 0u);
  for (size_t bytes = 0; bytes < 600; ++bytes) {  // cut short
    Stream stream;
    Fault fault;
    EXPECT_EQ(verify_stream(config, c.stream.data(), bytes, &stream, &fault), Status::kBadStream);
  }
}

TEST(NpuStreams, FieldsKeepWhatTheyAreGiven) {
  size_t count = 0;
  const Field* const all = fields(&count);
  for (size_t i = 0; i < count; ++i) {
    const Field& f = all[i];
    const int64_t most = (int64_t{1} << (f.bits - f.is_signed)) - 1, least = f.is_signed ? -most - 1 : 0;
    for (const int64_t v : {least, most, int64_t{0}, most / 3}) {
      Command k{};
      ASSERT_TRUE(k.set(f, v)) << f.name;
      EXPECT_EQ(f.is_signed ? static_cast<int64_t>(k.s(f)) : static_cast<int64_t>(k.u(f)), v) << f.name;
      Command full;
      std::memset(&full, 0xff, sizeof(full));
      full.set(f, 0);
      int cleared = 0;
      for (const uint32_t w : full.w) cleared += 32 - __builtin_popcount(w);
      EXPECT_EQ(cleared, f.bits) << f.name;
    }
    Command k{};
    EXPECT_FALSE(k.set(f, most + 1)) << f.name;
    EXPECT_FALSE(k.set(f, least - 1)) << f.name;
  }
}

// MACHINE.md's tables are isa.def's rows.
TEST(NpuStreams, TheManualListsEveryCommandAndField) {
  std::ifstream file(tests::source_path("delegates/npu/MACHINE.md"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t count = 0;
  const Field* const all = fields(&count);
  ASSERT_GT(count, 60u);
  for (size_t i = 0; i < count; ++i) {
    const Field& f = all[i];
    const std::string bits =
        std::to_string(f.bit) + ".." + std::to_string(f.bit + f.bits - 1) + (f.is_signed ? " signed" : "");
    const size_t row = text.find("\n| `" + std::string(f.name) + "` |");
    ASSERT_NE(row, std::string::npos) << f.name;
    const std::string line = text.substr(row + 1, text.find('\n', row + 1) - row - 1);
    EXPECT_NE(line.find("| " + std::to_string(f.word) + " | " + bits + " | " + f.meaning + " |"), std::string::npos)
        << line;
  }
  for (uint32_t n = 0; n < 256; ++n) {
    const OpInfo* const op = op_info(n);
    if (op == nullptr) continue;
    EXPECT_NE(text.find("| " + std::to_string(n) + " | `" + op->name + "` |"), std::string::npos) << op->name;
  }
}

struct SmallNetwork {
  GraphBuilder b{3};
  MachineConfig config;
  Compiled compiled;
  std::vector<Bytes> inputs;
  std::vector<Bytes> wanted;

  SmallNetwork() {
    const int x = b.input({1, 8, 8, 16});
    b.graph.outputs = {b.binary(Kind::kAdd, x, b.gemm(b.gemm(x, 32), 16))};
    compiled = compile(b.graph, config);
    EXPECT_EQ(compiled.error, "");
    Random random(1);
    inputs = {random_bytes(b.at(x), &random)};
    wanted = run_reference(b.graph, inputs);
  }
  const Bytes& answer() const { return wanted[static_cast<size_t>(b.graph.outputs[0])]; }
  uint32_t last(Op op) const {
    const auto* const k = reinterpret_cast<const Command*>(compiled.stream.data()) + 1;
    uint32_t at = kNoCommand;
    for (uint32_t i = 0; i < compiled.stream.size() / kCommandWords - 1; ++i) at = k[i].op() == op ? i : at;
    return at;
  }
};

TEST(NpuFaults, HangIsSeenByTheWatchdog) {
  const SmallNetwork n;
  Faults f;
  f.hang_at = n.last(Op::conv);
  const Ran ran = run_machine(n.b.graph, n.compiled, n.config, n.inputs, f);
  EXPECT_EQ(ran.status, Status::kHung);
  EXPECT_EQ(ran.fault.command, f.hang_at);
  EXPECT_GT(ran.counters.cycles, n.config.watchdog_cycles);
}

TEST(NpuFaults, ACorruptResultIsOneBitOff) {
  const SmallNetwork n;
  Faults f;
  f.corrupt_at = n.last(Op::store);
  f.corrupt_mask = 0x40;
  const Ran ran = run_machine(n.b.graph, n.compiled, n.config, n.inputs, f);
  ASSERT_EQ(ran.status, Status::kOk);
  Bytes wanted = n.answer();
  ASSERT_NE(ran.outputs[0], wanted);
  size_t differ = 0;
  for (size_t i = 0; i < wanted.size(); ++i) differ += wanted[i] != ran.outputs[0][i];
  EXPECT_EQ(differ, 1u);
}

// A machine with its input in place, to run as often as wanted.
struct Ready {
  SmallNetwork n;
  Stream stream;
  Fault fault;
  Counters counters;
  Bytes sram = Bytes(Machine::memory_bytes(n.config));
  Bytes tensors = Bytes(static_cast<size_t>(n.compiled.tensor_bytes));
  Machine machine{n.config, sram.data()};

  Ready() {
    EXPECT_EQ(verify_stream(n.config, n.compiled.stream.data(), n.compiled.stream.size() * 4, &stream, &fault),
              Status::kOk);
    std::memcpy(tensors.data() + n.compiled.address[static_cast<size_t>(n.b.graph.inputs[0])], n.inputs[0].data(),
                n.inputs[0].size());
  }
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;
  Status run() {
    return machine.run(stream, n.compiled.constants.data(), tensors.data(), &counters, nullptr, 0, &fault);
  }
  Bytes answer() const {
    const auto at = tensors.begin() + n.compiled.address[static_cast<size_t>(n.b.graph.outputs[0])];
    return {at, at + static_cast<int64_t>(n.answer().size())};
  }
};

TEST(NpuFaults, ALostDeviceStaysLostUntilItIsReset) {
  Ready r;
  r.machine.faults.lost_at = r.n.last(Op::conv);
  EXPECT_EQ(r.run(), Status::kLost);
  EXPECT_EQ(r.fault.command, r.machine.faults.lost_at);
  r.machine.faults = Faults();
  EXPECT_EQ(r.run(), Status::kLost);
  r.machine.reset();
  EXPECT_EQ(r.run(), Status::kOk);
  EXPECT_EQ(r.answer(), r.n.answer());
}

// Asked before every command; what was done before stays done.
TEST(NpuFaults, AMachineThatIsAskedToStopStopsAtItsNextCommand) {
  Ready r;
  struct Asked {
    uint32_t times, most;
  };
  for (uint32_t most = 0; most <= r.stream.count; ++most) {
    Asked asked = {0, most};
    r.machine.stop.context = &asked;
    r.machine.stop.asked = [](void* context) {
      auto& a = *static_cast<Asked*>(context);
      return a.times++ == a.most;
    };
    const Status status = r.run();
    uint32_t done = 0;
    for (const uint32_t c : r.counters.commands) done += c;
    EXPECT_EQ(done, most);
    ASSERT_EQ(status, most < r.stream.count ? Status::kStopped : Status::kOk);
    EXPECT_EQ(r.fault.command == kNoCommand, status == Status::kOk);
    EXPECT_FALSE(r.machine.lost());
  }
  EXPECT_EQ(r.answer(), r.n.answer());
}

TEST(NpuFaults, OutOfMemory) {
  const SmallNetwork n;
  Faults f;
  f.out_of_memory = true;
  EXPECT_EQ(run_machine(n.b.graph, n.compiled, n.config, n.inputs, f).status, Status::kOutOfMemory);
}

TEST(NpuFaults, PackedWeightsThatDoNotDecodeAreNoResult) {
  SmallNetwork n;
  const uint32_t at = n.last(Op::unpack);
  ASSERT_NE(at, kNoCommand);
  const auto* const k = reinterpret_cast<const Command*>(n.compiled.stream.data()) + 1;
  n.compiled.constants[k[at].u(field::dram)] |= 0x0f;  // a header that is not used
  const Ran ran = run_machine(n.b.graph, n.compiled, n.config, n.inputs);
  EXPECT_EQ(ran.status, Status::kBadData);
  EXPECT_EQ(ran.fault.command, at);
}

TEST(NpuHazards, AMissingWaitIsFound) {
  const SmallNetwork n;
  const auto* const k = reinterpret_cast<const Command*>(n.compiled.stream.data()) + 1;
  std::vector<Command> commands(k, k + n.compiled.stream.size() / kCommandWords - 1);
  EXPECT_EQ(find_race(n.config, commands), "");
  commands[n.last(Op::store)].set(field::wait_vector, 0);
  EXPECT_NE(find_race(n.config, commands), "");
}

TEST(NpuReports, NameEveryLayerAndAddUp) {
  const SmallNetwork n;
  const std::string list = listing(n.b.graph, n.compiled), text = report_text(n.b.graph, n.compiled, n.config),
                    json = report_json(n.b.graph, n.compiled, n.config);
  uint64_t cycles = 0, macs = 0, read = 0, written = 0;
  for (size_t i = 0; i < n.b.graph.layers.size(); ++i) {
    const std::string& name = n.b.graph.layers[i].name;
    EXPECT_NE(list.find("; " + name + "\n"), std::string::npos) << list;
    EXPECT_NE(text.find(name + "\n"), std::string::npos) << text;
    EXPECT_NE(json.find("\"" + name + "\""), std::string::npos) << json;
    cycles += n.compiled.layers[i].cycles;
    macs += n.compiled.layers[i].macs;
    read += n.compiled.layers[i].dram_read;
    written += n.compiled.layers[i].dram_written;
    EXPECT_GT(n.compiled.sizes[i].sram_peak, 0);
  }
  EXPECT_EQ(cycles, n.compiled.counters.cycles);
  EXPECT_EQ(macs, 64u * (16 * 32 + 32 * 16));
  EXPECT_EQ(read, n.compiled.counters.dram_read);
  EXPECT_EQ(written, n.compiled.counters.dram_written);
}

}  // namespace
}  // namespace vireo::npu
