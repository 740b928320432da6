// Flat plans that are damaged at random: each opens with a status, and what opens runs inside its memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "delegates/mcu/kernels/integers.h"
#include "delegates/mcu/kernels/moves.h"
#include "delegates/mcu/kernels/picks.h"
#include "delegates/mcu/kernels/pool.h"
#include "delegates/mcu/kernels/pool_rows.h"
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/kernels/wide.h"
#include "delegates/mcu/plan/call.h"
#include "delegates/mcu/plan/parameters.h"
#include "delegates/mcu/plan/vireo_mcu.h"
#include "sdk/base/status.h"
#include "vireo/vireo.h"

namespace vireo::plan_test {
namespace {

static_assert(VIREO_MCU_OK == static_cast<uint32_t>(Status::kOk) &&
              VIREO_MCU_INVALID_ARGUMENT == static_cast<uint32_t>(Status::kInvalidArgument) &&
              VIREO_MCU_INVALID_MODEL == static_cast<uint32_t>(Status::kInvalidModel) &&
              VIREO_MCU_UNSUPPORTED == static_cast<uint32_t>(Status::kUnsupported) &&
              VIREO_MCU_OUT_OF_ARENA == static_cast<uint32_t>(Status::kOutOfArena) &&
              VIREO_MCU_BUSY == static_cast<uint32_t>(VIREO_BUSY));

constexpr uint32_t kArenaBytes = 4096;

// Writes plans by hand: each kernel once, all of them between parts of the arena.
class Writer {
 public:
  template <class Parameters>
  void add(uint16_t kernel, const Parameters& parameters, const std::vector<uint32_t>& operands) {
    vireo_plan_record r = {};
    r.kernel = kernel;
    r.parameters = append(&parameters, sizeof parameters);  // counted from behind the records, until finish()
    for (uint32_t& o : r.operands) o = VIREO_PLAN_ABSENT;
    std::copy(operands.begin(), operands.end(), r.operands);
    records_.push_back(r);
  }
  uint32_t constant(const void* data, size_t bytes) {
    return VIREO_PLAN_PLACE(VIREO_PLAN_IN_PLAN, append(data, bytes));
  }
  uint32_t noise(size_t bytes) {
    std::vector<uint8_t> data(bytes);
    for (uint8_t& b : data) b = static_cast<uint8_t>(random_());
    return constant(data.data(), bytes);
  }
  uint32_t reals(size_t count) {
    const std::vector<float> data(count, 0.013f);
    return constant(data.data(), count * 4);
  }
  std::vector<uint8_t> finish() {
    const vireo_plan_value values[] = {{VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, 0), 512},
                                       {VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, 512), 512}};
    const auto front =
        static_cast<uint32_t>(sizeof(vireo_plan_header) + records_.size() * sizeof(vireo_plan_record) + sizeof values);
    for (vireo_plan_record& r : records_) {
      r.parameters += front;
      for (uint32_t& o : r.operands) {
        if (o != VIREO_PLAN_ABSENT && VIREO_PLAN_REGION(o) == VIREO_PLAN_IN_PLAN) o += front;
      }
    }
    vireo_plan_header h = {};
    h.magic = VIREO_PLAN_MAGIC;
    h.version = VIREO_PLAN_VERSION;
    h.tile = VIREO_MCU_TILE;
    h.bytes = front + static_cast<uint32_t>(behind_.size());
    h.arena_bytes = kArenaBytes;
    h.records = static_cast<uint16_t>(records_.size());
    h.inputs = h.outputs = 1;
    std::vector<uint8_t> out(front);
    std::memcpy(out.data(), &h, sizeof h);
    std::memcpy(out.data() + sizeof h, records_.data(), records_.size() * sizeof(vireo_plan_record));
    std::memcpy(out.data() + front - sizeof values, values, sizeof values);
    out.insert(out.end(), behind_.begin(), behind_.end());
    return out;
  }

 private:
  uint32_t append(const void* data, size_t bytes) {
    const auto at = static_cast<uint32_t>(behind_.size());
    const auto* const from = static_cast<const uint8_t*>(data);
    behind_.insert(behind_.end(), from, from + bytes);
    behind_.resize((behind_.size() + 3) & ~size_t{3});
    return at;
  }
  std::mt19937 random_{7};
  std::vector<vireo_plan_record> records_;
  std::vector<uint8_t> behind_;
};

constexpr uint32_t arena_place(uint32_t offset) { return VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, offset); }

// Those of picks.h, integers.h and reals_more.h.
void add_more_kernels(Writer* w) {
  const uint32_t a = arena_place(0), b = arena_place(512), c = arena_place(2048), scratch = arena_place(1024);
  const int32_t table[] = {0, -1, 3, 9, 2};
  w->add(29, vireo_mcu_pick{2, 5, 4, 12, {7, 0}, 4, 1, 1, 0}, {a, w->constant(table, sizeof table), b});
  w->add(29, vireo_mcu_pick{1, 6, 30, 1, {9, 0}, 1, 2, 0, 0}, {b, a, c});
  for (const int32_t size : {1, 4, 8}) w->add(30, vireo_mcu_choose{3, 14, {14, 0, 14}, {1, 1, 0}, size}, {a, b, a, c});
  for (uint8_t what = 0; what < VIREO_MCU_INT_OPERATIONS; ++what) {
    const auto type = static_cast<uint8_t>(what % VIREO_MCU_BOOL);
    w->add(31, vireo_mcu_integers{3, 20, 20, 1, 0, 1, what, type, {}}, {what % 2 == 0 ? a : c, b, a});
  }
  for (uint8_t from = 0; from < VIREO_MCU_TYPES; ++from) {
    for (uint8_t to = 0; to < VIREO_MCU_TYPES; ++to) w->add(32, vireo_mcu_cast{20, from, to, {}}, {a, b});
  }
  for (const uint8_t type : {VIREO_MCU_SIGNED_BYTE, VIREO_MCU_HALF, VIREO_MCU_REAL})
    w->add(33, vireo_mcu_greatest{2, 5, 3, type, type != 0, type == VIREO_MCU_HALF, 0}, {b, c});
  const uint32_t reals = w->reals(120);
  for (int32_t what = 0; what < VIREO_MCU_PAIRS; ++what)
    w->add(34, vireo_mcu_binary_reals{3, 40, 40, 1, 1, 0, what}, {reals, a, b});
  for (int32_t what = 0; what < VIREO_MCU_MORE_FUNCTIONS; ++what)
    w->add(35, vireo_mcu_more_function{100, what, 0.25f, 0.5f, 2}, {what % 2 == 0 ? a : b, what % 2 == 0 ? b : a});
  for (int32_t what = 0; what < VIREO_MCU_REDUCTIONS; ++what)
    w->add(36, vireo_mcu_reduce_reals{{1, 2, 3}, {0, 60, 1}, {1, 4, 5}, {0, 15, 3}, what}, {reals, a});
  w->add(37, vireo_mcu_norm_reals{4, 12, 2, 3, 4, 1, 1e-5f}, {a, w->reals(6), VIREO_PLAN_ABSENT, a});
  w->add(37, vireo_mcu_norm_reals{4, 12, 1, 1, 1, 0, 1e-5f}, {a, w->reals(12), w->reals(12), b});
  const int32_t first[] = {-1, 0, 1, 2, 7};
  w->add(38, vireo_mcu_resample{2, 5, 4, 3, 2}, {b, w->constant(first, sizeof first), w->reals(10), a});
  for (int32_t cell = VIREO_MCU_LSTM; cell <= VIREO_MCU_RNN; ++cell) {
    const auto flag = static_cast<uint8_t>(cell & 1);
    const vireo_mcu_recurrent r = {cell, 2, 2, 3, 3, 4, 6, 3, 16, 4, 8, 4, 8, 0, 1, flag, 0};
    w->add(39, r, {a, w->reals(288), cell == 0 ? VIREO_PLAN_ABSENT : w->reals(16), VIREO_PLAN_ABSENT, c, b, scratch});
  }
}

// Each kernel of kernels.def, from one half of the first kilobyte to the other; scratch memory from 1024 on.
std::vector<uint8_t> every_kernel() {
  Writer w;
  const uint32_t a = arena_place(0), b = arena_place(512), scratch = arena_place(1024);
  vireo_mcu_conv conv = {1, 1, 4, 6, {6, 7}, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {3, -128, 127},
                         5, 0, 0, 0, 0,      0,      0};
  w.add(1, conv, {a, w.noise(216), w.reals(6), w.noise(24), w.noise(6), b, scratch});
  const vireo_mcu_conv point = {1, 1, 6, 6, {6, 7}, {6, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {3, -128, 127},
                                5, 0, 0, 0, 0,      1,      0};
  w.add(1, point, {b, w.noise(36), w.reals(1), VIREO_PLAN_ABSENT, VIREO_PLAN_ABSENT, b, scratch});
  conv.groups = 4, conv.in_channels = conv.out_channels = 1;
  w.add(2, conv, {b, w.noise(36), w.reals(4), w.noise(16), VIREO_PLAN_ABSENT, a, scratch});
  const vireo_mcu_gemm gemm = {3, 10, 20, {0, -128, 127}, 1, 0, 0, 0, 0, 0, 0};
  w.add(3, gemm, {a, w.noise(200), w.reals(10), w.noise(40), VIREO_PLAN_ABSENT, b, scratch});
  const vireo_mcu_pool pool = {1, 4, {6, 7}, {3, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 1}, {0, -128, 127},
                               1, 0, 0,      0,      0};
  w.add(4, pool, {b, w.reals(5), a});
  w.add(5, pool, {a, b});
  const vireo_mcu_binary binary = {4, 30, 30, 1, 0, 1, 1, 0, 2, 0, 0.7f, 0.4f, {0, -128, 127}};
  w.add(6, binary, {a, b, a});
  w.add(7, binary, {b, a, b});
  w.add(8, vireo_plan_table{200}, {b, w.noise(256), a});
  std::vector<int32_t> table(256, 1 << 20);
  const vireo_mcu_softmax softmax = {2, 20, 3, 0, 256.0f, {-128, -128, 127}};
  w.add(9, softmax, {a, w.constant(table.data(), 1024), b});
  const vireo_plan_dequantize dequantize = {100, 0.25f, 0, 3};
  w.add(11, dequantize, {b, a});
  w.add(10, vireo_plan_quantize{100, 0.125f, {1, -128, 127}}, {a, b});
  // Float32: numbers that the dequantization makes.
  constexpr float kFar = std::numeric_limits<float>::infinity();
  w.add(11, dequantize, {b, a});
  const vireo_mcu_conv_reals wide = {1, 1, 2, 3, {6, 7}, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {-kFar, kFar}};
  w.add(12, wide, {a, w.reals(72), w.reals(3), b, scratch});
  const vireo_mcu_conv_reals narrow = {1, 1, 3, 3, {6, 7}, {6, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 6}};
  w.add(12, narrow, {b, w.reals(12), VIREO_PLAN_ABSENT, b, scratch});
  const vireo_mcu_conv_reals each = {1, 3, 1, 1, {6, 7}, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, kFar}};
  w.add(13, each, {b, w.reals(27), w.reals(3), b, scratch});
  const vireo_mcu_conv_reals other = {1, 2, 1, 1, {6, 7}, {3, 3}, {2, 3}, {2, 2}, {1, 1}, {0, 0}, {-1, 1}};
  w.add(13, other, {b, w.reals(12), VIREO_PLAN_ABSENT, a, scratch});
  w.add(14, vireo_mcu_gemm_reals{5, 6, 20, {-kFar, kFar}}, {a, w.reals(160), w.reals(6), b, scratch});
  const vireo_mcu_pool_reals planes = {3, {5, 6}, {3, 3}, {2, 3}, {2, 2}, {1, 1}, {0, 1}, {1, 0}, 1};
  w.add(15, planes, {b, a});
  for (const int32_t first : {0, 2}) {
    const vireo_mcu_rows rows = {10, 2, 5, first, 4};
    w.add(40, vireo_mcu_pool_rows{rows, {3, -128, 127}, 5, 128, 0, 1}, {b, w.reals(1), a, scratch});
    w.add(41, rows, {b, a});
  }
  w.add(16, planes, {a, b});
  for (int32_t what = VIREO_MCU_ADD_REALS; what <= VIREO_MCU_DIV_REALS; ++what)
    w.add(17, vireo_mcu_binary_reals{3, 40, 40, 1, 1, 0, what}, {a, b, a});
  for (int32_t what = 0; what < VIREO_MCU_FUNCTIONS; ++what)
    w.add(18, vireo_mcu_function{100, what, 0.25f, 0.5f}, {what % 2 == 0 ? a : b, what % 2 == 0 ? b : a});
  w.add(19, vireo_mcu_softmax_reals{2, 12, 4}, {b, b});
  // Codes of 16 bits, and some of 8 beside them.
  constexpr vireo_mcu_codes kHalves = {3, -32768, 32767};
  w.add(24, vireo_mcu_quantize_wide{100, 0.001f, kHalves, VIREO_MCU_I16, {}}, {b, a});
  const vireo_mcu_conv_wide sums = {1,      2,      2, 3,       {5, 6},        {5, 6},        {3, 3}, {1, 1},
                                    {1, 1}, {1, 1}, 7, kHalves, VIREO_MCU_I16, VIREO_MCU_U16, 0,      0};
  w.add(20, sums, {a, w.noise(108), w.reals(6), w.noise(24), w.noise(6), b, scratch});
  const vireo_mcu_gemm_wide lines = {5, 7, 20, 3, {0, -128, 127}, VIREO_MCU_U16, VIREO_MCU_I8, 1, 1};
  w.add(21, lines, {b, w.noise(140), w.reals(1), VIREO_PLAN_ABSENT, w.noise(1), a, scratch});
  const vireo_mcu_pool_wide means = {4,      {5, 6}, {3, 3},  {2, 3},        {2, 2},        {1, 1}, {0, 1},
                                     {1, 0}, 2,      kHalves, VIREO_MCU_I16, VIREO_MCU_I16, 1,      0};
  w.add(22, means, {a, w.reals(7), b});
  for (uint8_t times = 0; times < 2; ++times)
    w.add(23,
          vireo_mcu_binary_wide{3, 40, 40, 1, 1, 0, 5, -6, 0.7f, 0.3f, kHalves, VIREO_MCU_I16, VIREO_MCU_I8,
                                VIREO_MCU_I16, times},
          {a, b, b});
  w.add(25, vireo_mcu_quantize_wide{100, 0.001f, kHalves, VIREO_MCU_I16, {}}, {b, a});
  w.add(28, vireo_mcu_matmul_reals{2, 5, 3, 4, 20, 0}, {a, b, arena_place(2048), scratch});
  w.add(26, vireo_mcu_move{{1, 1, 2, 3, 4, 5}, {0, 0, 60, 1, 15, -3}, 12, 4}, {a, b});
  w.add(26, vireo_mcu_move{{1, 1, 1, 1, 9, 11}, {0, 0, 0, 0, 1, 9}, 0, 2}, {b, a});
  w.add(26, vireo_mcu_move{{1, 1, 1, 1, 9, 11}, {0, 0, 0, 0, 1, 0}, 7, 1}, {a, b});
  w.add(27, vireo_mcu_join{5, 3, {7, 4, 30}},
        {a, b, w.noise(150), VIREO_PLAN_ABSENT, VIREO_PLAN_ABSENT, VIREO_PLAN_ABSENT, arena_place(2048)});
  add_more_kernels(&w);
  return w.finish();
}

// An arena with known bytes around it.
struct Arena {
  static constexpr size_t kGuard = 64;
  std::vector<uint64_t> words = std::vector<uint64_t>((kArenaBytes + 2 * kGuard) / 8);
  uint8_t* begin() { return reinterpret_cast<uint8_t*>(words.data()) + kGuard; }
  void fill() {
    std::memset(words.data(), 0xA5, words.size() * 8);
    for (uint32_t i = 0; i < kArenaBytes; ++i) begin()[i] = static_cast<uint8_t>(i * 7);
  }
  bool whole() const {
    const auto* const all = reinterpret_cast<const uint8_t*>(words.data());
    const auto guarded = [](uint8_t byte) { return byte == 0xA5; };
    return std::all_of(all, all + kGuard, guarded) &&
           std::all_of(all + kGuard + kArenaBytes, all + 2 * kGuard + kArenaBytes, guarded);
  }
};

// A plan in memory of exactly its size, so that sanitizers see a read behind it.
struct Copy {
  explicit Copy(const std::vector<uint8_t>& from) : bytes(static_cast<uint8_t*>(std::malloc(from.size())), std::free) {
    std::memcpy(bytes.get(), from.data(), from.size());
  }
  std::unique_ptr<uint8_t, void (*)(void*)> bytes;
};

vireo_mcu_status open(const std::vector<uint8_t>& plan, Arena* arena, vireo_mcu_session* session) {
  return vireo_mcu_open(session, plan.data(), static_cast<uint32_t>(plan.size()), arena->begin(), kArenaBytes);
}

template <class T>
T read(const std::vector<uint8_t>& plan, size_t at) {
  T value;
  std::memcpy(&value, plan.data() + at, sizeof value);
  return value;
}
template <class T>
void write(std::vector<uint8_t>* plan, size_t at, const T& value) {
  std::memcpy(plan->data() + at, &value, sizeof value);
}

TEST(Plan, EveryKernelRuns) {
  const std::vector<uint8_t> plan = every_kernel();
  Arena arena;
  arena.fill();
  vireo_mcu_session session = {};
  ASSERT_EQ(open(plan, &arena, &session), VIREO_MCU_OK);
  std::vector<bool> seen(42);
  for (uint32_t i = 0; i < read<vireo_plan_header>(plan, 0).records; ++i) {
    seen[read<vireo_plan_record>(plan, sizeof(vireo_plan_header) + i * sizeof(vireo_plan_record)).kernel] = true;
  }
#define VIREO_MCU_KERNEL(number, name) EXPECT_TRUE(seen[number]) << #name;
#include "delegates/mcu/plan/kernels.def"
#undef VIREO_MCU_KERNEL
  ASSERT_EQ(vireo_mcu_run(&session), VIREO_MCU_OK);
  EXPECT_TRUE(arena.whole());
  const std::vector<uint8_t> first(arena.begin(), arena.begin() + kArenaBytes);
  // In steps the same, and a run that is forgotten leaves no trace in the next one.
  arena.fill();
  uint8_t done = 0;
  ASSERT_EQ(vireo_mcu_step(&session, 3, &done), VIREO_MCU_OK);
  EXPECT_EQ(done, 0);
  ASSERT_EQ(vireo_mcu_restart(&session), VIREO_MCU_OK);
  // Every unit by itself; then as many as fit.
  int most = 0;
  for (const uint32_t instructions : {1u, 100u, 1000u, 7777u, 100000u}) {
    arena.fill();
    int steps = 0;
    for (done = 0; done == 0; ++steps) ASSERT_EQ(vireo_mcu_step(&session, instructions, &done), VIREO_MCU_OK);
    EXPECT_EQ(std::memcmp(first.data(), arena.begin(), kArenaBytes), 0) << instructions;
    EXPECT_TRUE(most == 0 || steps <= most) << instructions;
    if (most == 0) {
      EXPECT_GT(steps, read<vireo_plan_header>(plan, 0).records);
    }
    most = steps;
  }
  // What a step has begun, a run ends.
  arena.fill();
  ASSERT_EQ(vireo_mcu_step(&session, 1, &done), VIREO_MCU_OK);
  ASSERT_EQ(vireo_mcu_run(&session), VIREO_MCU_OK);
  EXPECT_EQ(std::memcmp(first.data(), arena.begin(), kArenaBytes), 0);
  session.busy = 1;  // as an interrupt in the middle of a run finds it
  EXPECT_EQ(vireo_mcu_run(&session), VIREO_MCU_BUSY);
  EXPECT_EQ(vireo_mcu_restart(&session), VIREO_MCU_BUSY);
}

TEST(Plan, InputsAndOutputs) {
  const std::vector<uint8_t> plan = every_kernel();
  Arena arena;
  vireo_mcu_session session = {};
  ASSERT_EQ(open(plan, &arena, &session), VIREO_MCU_OK);
  uint32_t bytes = 0;
  EXPECT_EQ(vireo_mcu_input(&session, 0, &bytes), arena.begin());
  EXPECT_EQ(bytes, 512u);
  EXPECT_EQ(vireo_mcu_output(&session, 0, nullptr), arena.begin() + 512);
  EXPECT_EQ(vireo_mcu_input(&session, 1, nullptr), nullptr);
  EXPECT_EQ(vireo_mcu_output(&session, 1, nullptr), nullptr);
}

TEST(Plan, WhatIsWrongHasAStatus) {
  const std::vector<uint8_t> plan = every_kernel();
  const auto size = static_cast<uint32_t>(plan.size());
  Arena arena;
  vireo_mcu_session s = {};
  EXPECT_EQ(vireo_mcu_open(nullptr, plan.data(), size, arena.begin(), kArenaBytes), VIREO_MCU_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_mcu_open(&s, nullptr, size, arena.begin(), kArenaBytes), VIREO_MCU_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_mcu_open(&s, plan.data(), size, nullptr, kArenaBytes), VIREO_MCU_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_mcu_open(&s, plan.data() + 1, size - 1, arena.begin(), kArenaBytes), VIREO_MCU_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_mcu_open(&s, plan.data(), size, arena.begin() + 4, kArenaBytes), VIREO_MCU_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_mcu_open(&s, plan.data(), size, arena.begin(), kArenaBytes - 8), VIREO_MCU_OUT_OF_ARENA);
  for (uint32_t cut = 0; cut < size; cut += 3)
    EXPECT_EQ(vireo_mcu_open(&s, plan.data(), cut, arena.begin(), kArenaBytes), VIREO_MCU_INVALID_MODEL) << cut;
  const auto changed = [&](size_t at, auto value) {
    std::vector<uint8_t> other = plan;
    write(&other, at, value);
    return open(other, &arena, &s);
  };
  EXPECT_EQ(changed(offsetof(vireo_plan_header, magic), uint32_t{1}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(offsetof(vireo_plan_header, version), uint16_t{99}), VIREO_MCU_UNSUPPORTED);
  EXPECT_EQ(changed(offsetof(vireo_plan_header, tile), uint16_t{VIREO_MCU_TILE + 1}), VIREO_MCU_UNSUPPORTED);
  constexpr size_t kFirst = sizeof(vireo_plan_header);
  EXPECT_EQ(changed(kFirst + offsetof(vireo_plan_record, kernel), uint16_t{0}), VIREO_MCU_UNSUPPORTED);
  EXPECT_EQ(changed(kFirst + offsetof(vireo_plan_record, kernel), uint16_t{999}), VIREO_MCU_UNSUPPORTED);
  const size_t y = kFirst + offsetof(vireo_plan_record, operands) + 5 * 4, scratch = y + 4, x = y - 5 * 4;
  EXPECT_EQ(changed(y, VIREO_PLAN_PLACE(VIREO_PLAN_IN_PLAN, 0)), VIREO_MCU_INVALID_MODEL);  // a result in flash
  EXPECT_EQ(changed(y, arena_place(kArenaBytes - 8)), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(x, VIREO_PLAN_PLACE(2u, 0)), VIREO_MCU_INVALID_MODEL);  // no such region
  EXPECT_EQ(changed(x, VIREO_PLAN_ABSENT), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(scratch, VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, 1028)), VIREO_MCU_INVALID_MODEL);  // not at 8
  EXPECT_EQ(changed(kFirst + offsetof(vireo_plan_record, parameters), uint32_t{0xFFFFFFFC}), VIREO_MCU_INVALID_MODEL);
}

// Bits, bytes, words and numbers that are often wrong, at places that are often looked at.
void damage(std::mt19937* random, std::vector<uint8_t>* plan) {
  const auto upto = [&](size_t n) { return (*random)() % n; };
  static constexpr uint32_t kWords[] = {0,          1,          2,          7,          255,       0x4000,
                                        0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000000, 0x1FFFFFFF};
  for (size_t n = upto(3) + 1; n > 0; --n) {
    const size_t front = upto(2) == 0 ? plan->size() : std::min<size_t>(plan->size(), 1024);
    const size_t at = upto(front / 4) * 4;
    auto word = read<uint32_t>(*plan, at);
    switch (upto(4)) {
      case 0:
        word ^= 1u << upto(32);
        break;
      case 1:
        word = kWords[upto(sizeof kWords / 4)];
        break;
      case 2:
        word += static_cast<uint32_t>(upto(65)) - 32;
        break;
      default:
        word = (word & 0xFFFFFF00u) | static_cast<uint32_t>(upto(256));
        break;
    }
    write(plan, at, word);
  }
}

// VIREO_CASES=100000 in the environment asks for more of them.
TEST(Plan, DamageNeverLeavesItsMemory) {
  const char* const asked = std::getenv("VIREO_CASES");
  const int cases = asked != nullptr ? std::max(1, std::atoi(asked)) : 20000;
  const std::vector<uint8_t> good = every_kernel();
  std::mt19937 random(20);
  Arena arena;
  int opened = 0, statuses[5] = {};
  for (int i = 0; i < cases; ++i) {
    std::vector<uint8_t> plan = good;
    damage(&random, &plan);
    const Copy copy(plan);
    arena.fill();
    vireo_mcu_session session = {};
    const vireo_mcu_status status =
        vireo_mcu_open(&session, copy.bytes.get(), static_cast<uint32_t>(plan.size()), arena.begin(), kArenaBytes);
    ASSERT_LE(status, VIREO_MCU_OUT_OF_ARENA) << i;
    ++statuses[status];
    if (status == VIREO_MCU_OK) {
      ++opened;
      uint8_t done = 0;
      for (uint32_t n = 0; i % 2 == 0 && n < 1000 && done == 0; ++n)
        ASSERT_EQ(vireo_mcu_step(&session, 5000, &done), VIREO_MCU_OK) << i;
      if (done == 0) {
        ASSERT_EQ(vireo_mcu_run(&session), VIREO_MCU_OK) << i;
      }
    }
    ASSERT_TRUE(arena.whole()) << i;
    ASSERT_EQ(std::memcmp(copy.bytes.get(), plan.data(), plan.size()), 0) << i;
  }
  EXPECT_GT(opened, cases / 20);  // damage that only changes numbers runs
  for (const uint32_t s : {VIREO_MCU_INVALID_MODEL, VIREO_MCU_UNSUPPORTED, VIREO_MCU_OUT_OF_ARENA})
    EXPECT_GT(statuses[s], 0) << s;
}

}  // namespace
}  // namespace vireo::plan_test
