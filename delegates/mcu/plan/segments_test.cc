// Segments at random: they make what their nodes make one after the other, whole and in steps; damaged they open with a
// status, and what opens runs inside its memory.
#include "delegates/mcu/plan/strips.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "delegates/mcu/kernels/codes.h"
#include "delegates/mcu/kernels/pool.h"
#include "delegates/mcu/kernels/pool_rows.h"
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/plan/parameters.h"

namespace vireo::segments_test {
namespace {

constexpr uint32_t place(uint32_t offset) { return VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, offset); }

// Maxima, tables and sums over images, each of the value before it; a sum also of an earlier one. In the end there may
// be an average over all of it.
struct Net {
  struct Value {
    int32_t rows, columns;
    bool whole;
  };
  struct Node {
    uint16_t kernel;
    int32_t inputs[2];  // values; node k makes value k + 1
    vireo_mcu_pool pool;
    uint32_t chunk;
    uint32_t planes;  // that run at a time; 0: all
  };
  int32_t channels;
  bool last;
  std::vector<Value> values;
  std::vector<Node> nodes;

  explicit Net(uint32_t seed) {
    std::mt19937 random(seed);
    const auto draw = [&](uint32_t n) { return static_cast<int32_t>(random() % n); };
    channels = 1 + draw(4);
    last = draw(2) != 0;
    values.push_back({6 + draw(20), 3 + draw(9), true});
    const int32_t count = 1 + draw(6);
    for (int32_t k = 0; k < count; ++k) {
      const Value x = values.back();
      Node n = {};
      n.inputs[0] = k, n.inputs[1] = -1;
      n.chunk = static_cast<uint32_t>(1 + draw(3));
      Value y = {x.rows, x.columns, k + 1 == count || draw(6) == 0};
      n.kernel = 8;
      for (int32_t v = 0; v < k && n.inputs[1] < 0; ++v) {
        if (values[static_cast<size_t>(v)].rows == x.rows && values[static_cast<size_t>(v)].columns == x.columns &&
            draw(2) == 0)
          n.kernel = 6, n.inputs[1] = v;
      }
      vireo_mcu_pool& p = n.pool;
      p.batch = 1, p.channels = channels, p.last = last ? 1 : 0;
      const int32_t in[2] = {x.rows, x.columns};
      for (int i = 0; i < 2; ++i) {
        p.in[i] = in[i];
        p.kernel[i] = 1 + draw(3);
        p.dilation[i] = 1 + draw(2);
        p.stride[i] = 1 + draw(2);
        const int32_t taps = (p.kernel[i] - 1) * p.dilation[i] + 1;
        p.pad[i] = draw(static_cast<uint32_t>(taps));
        p.pad_end[i] = draw(static_cast<uint32_t>(taps));
        p.out[i] = (p.in[i] + p.pad[i] + p.pad_end[i] - taps) / p.stride[i] + 1;
      }
      const bool fits = p.in[0] + p.pad[0] >= (p.kernel[0] - 1) * p.dilation[0] + 1 && p.out[0] > 0 && p.out[1] > 0 &&
                        (p.out[0] - 1) * p.stride[0] - p.pad[0] < p.in[0];
      if (n.kernel == 8 && fits && draw(3) != 0) n.kernel = 5, y.rows = p.out[0], y.columns = p.out[1];
      if (n.kernel == 5 && !last && draw(3) != 0) n.planes = static_cast<uint32_t>(1 + draw(4));
      values.push_back(y);
      nodes.push_back(n);
    }
    if (values.back().rows > 1 && draw(2) == 0) {
      Value& x = values.back();
      x.whole = draw(6) == 0;
      Node n = {4, {count, -1}, {}, static_cast<uint32_t>(1 + draw(3)), 0};
      n.pool.batch = 1, n.pool.channels = channels, n.pool.last = last ? 1 : 0, n.pool.one_multiplier = 1;
      n.pool.codes = {3, -128, 127}, n.pool.x_zero = 7;
      for (int i = 0; i < 2; ++i) {
        n.pool.in[i] = n.pool.kernel[i] = i == 0 ? x.rows : x.columns;
        n.pool.out[i] = n.pool.stride[i] = n.pool.dilation[i] = 1;
      }
      nodes.push_back(n);
      values.push_back({1, 1, true});
    }
  }
  uint32_t planes() const { return last ? 1 : static_cast<uint32_t>(channels); }
  uint32_t row_bytes(const Value& v) const { return static_cast<uint32_t>(v.columns * (last ? channels : 1)); }
  uint32_t bytes(const Value& v) const { return static_cast<uint32_t>(v.rows) * planes() * row_bytes(v); }
};

// The plan of a net, as a record a node or as one segment; each value and piece of memory has its own place.
class Plan {
 public:
  std::vector<uint8_t> bytes;
  uint32_t arena_bytes = 0;
  std::vector<uint32_t> at;  // values

  Plan(const Net& net, bool strips) {
    const auto count = static_cast<uint32_t>(net.nodes.size()), records = strips ? 1 : count;
    bytes.resize(sizeof(vireo_plan_header) + records * sizeof(vireo_plan_record) + 2 * sizeof(vireo_plan_value));
    std::vector<uint8_t> table(256);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i * 37 + 11);
    const uint32_t codes = append(table.data(), table.size());
    for (const Net::Value& v : net.values) at.push_back(!strips || v.whole ? room(net.bytes(v)) : 0);
    std::vector<vireo_segment_node> nodes;
    std::vector<vireo_plan_record> list;
    for (uint32_t k = 0; k < count; ++k) {
      const Net::Node& n = net.nodes[k];
      const Net::Value& y = net.values[k + 1];
      const auto elements = static_cast<int32_t>(net.bytes(y));
      vireo_segment_node s = {};
      s.kernel = n.kernel, s.chunk = static_cast<uint16_t>(n.chunk), s.taps = s.stride = 1;
      s.rows_read_at = s.rows_made_at = s.above_at = s.below_at = s.elements_at = VIREO_SEGMENT_NOWHERE;
      s.first_at = s.planes_at = VIREO_SEGMENT_NOWHERE;
      s.inputs[0] = static_cast<uint8_t>(k), s.inputs[1] = 255, s.output = static_cast<uint8_t>(k + 1);
      vireo_plan_record r = {};
      r.kernel = n.kernel;
      for (uint32_t& o : r.operands) o = VIREO_PLAN_ABSENT;
      r.operands[0] = place(at[k]);
      if (n.kernel == 5) {
        s.taps = static_cast<uint16_t>((n.pool.kernel[0] - 1) * n.pool.dilation[0] + 1);
        s.stride = static_cast<uint16_t>(n.pool.stride[0]), s.pad = static_cast<uint16_t>(n.pool.pad[0]);
        s.rows_read_at = offsetof(vireo_mcu_pool, in) / 4, s.rows_made_at = offsetof(vireo_mcu_pool, out) / 4;
        s.above_at = offsetof(vireo_mcu_pool, pad) / 4, s.below_at = offsetof(vireo_mcu_pool, pad_end) / 4;
        s.output_at = 1;
        r.parameters = append(&n.pool, sizeof n.pool);
        if (n.planes != 0) {
          s.planes_at = offsetof(vireo_mcu_pool, channels) / 4, s.planes = static_cast<uint16_t>(n.planes);
          s.filters = 1;
          const auto readers = std::count_if(net.nodes.begin(), net.nodes.end(), [&](const Net::Node& other) {
            return other.inputs[0] == n.inputs[0] || other.inputs[1] == n.inputs[0];
          });
          s.slides = !net.values[k].whole && readers == 1;
        }
      } else if (n.kernel == 4) {
        const float m = 1.0f / static_cast<float>(n.pool.in[0] * n.pool.in[1]);
        r.operands[1] = VIREO_PLAN_PLACE(VIREO_PLAN_IN_PLAN, append(&m, sizeof m));
        s.output_at = 2;
        if (strips) {
          const vireo_mcu_pool_rows rows = {{n.pool.channels, n.pool.in[0], n.pool.in[1], 0, n.pool.in[0]},
                                            n.pool.codes,
                                            n.pool.x_zero,
                                            n.pool.x_flip,
                                            n.pool.last,
                                            1};
          s.kernel = 40, s.rows_read_at = offsetof(vireo_mcu_rows, rows) / 4;
          s.first_at = offsetof(vireo_mcu_rows, first) / 4;
          r.operands[3] = place(room(static_cast<uint32_t>(n.pool.channels) * 4));
          r.parameters = append(&rows, sizeof rows);
        } else {
          r.parameters = append(&n.pool, sizeof n.pool);
        }
      } else if (n.kernel == 6) {
        const vireo_mcu_binary add = {1, elements, elements, 1, elements, 1, 3, 0, 200, 0, 0.7f, 0.4f, {5, -128, 127}};
        s.inputs[1] = static_cast<uint8_t>(n.inputs[1]), s.input_at[1] = 1, s.output_at = 2;
        s.elements_at = offsetof(vireo_mcu_binary, columns) / 4;
        r.operands[1] = place(at[static_cast<size_t>(n.inputs[1])]);
        r.parameters = append(&add, sizeof add);
      } else {
        const vireo_plan_table t = {elements};
        s.elements_at = 0, s.output_at = 2;
        r.operands[1] = VIREO_PLAN_PLACE(VIREO_PLAN_IN_PLAN, codes);
        r.parameters = append(&t, sizeof t);
      }
      r.operands[s.output_at] = place(at[k + 1]);
      std::memcpy(s.operands, r.operands, sizeof s.operands);
      s.parameters = r.parameters;
      if (strips) {
        s.gather_rows = 255;
        for (int i = 0; i < 2 && s.inputs[i] != 255; ++i) {
          const Net::Value& x = net.values[s.inputs[i]];
          s.gather_rows = static_cast<uint16_t>(std::min<int32_t>(s.gather_rows, x.rows));
        }
        for (int i = 0; i < 2 && s.inputs[i] != 255; ++i) s.gather[i] = place(room(net.bytes(net.values[s.inputs[i]])));
      }
      nodes.push_back(s);
      list.push_back(r);
    }
    if (strips) list = {segment(net, &nodes)};
    const vireo_plan_value values[] = {{place(at.front()), net.bytes(net.values.front())},
                                       {place(at.back()), net.bytes(net.values.back())}};
    vireo_plan_header h = {};
    h.magic = VIREO_PLAN_MAGIC;
    h.version = VIREO_PLAN_VERSION;
    h.tile = VIREO_MCU_TILE;
    h.bytes = static_cast<uint32_t>(bytes.size());
    h.arena_bytes = arena_bytes;
    h.records = static_cast<uint16_t>(records);
    h.inputs = h.outputs = 1;
    std::memcpy(bytes.data(), &h, sizeof h);
    std::memcpy(bytes.data() + sizeof h, list.data(), records * sizeof(vireo_plan_record));
    std::memcpy(bytes.data() + sizeof h + records * sizeof(vireo_plan_record), values, sizeof values);
  }

 private:
  vireo_plan_record segment(const Net& net, std::vector<vireo_segment_node>* nodes) {
    std::vector<vireo_segment_value> values;
    for (size_t v = 0; v < net.values.size(); ++v) {
      const Net::Value& from = net.values[v];
      vireo_segment_value to = {};
      to.rows = static_cast<uint32_t>(from.rows), to.planes = net.planes(), to.row_bytes = net.row_bytes(from);
      to.maker = to.last_reader = static_cast<uint8_t>(v == 0 ? 255 : v - 1);
      for (size_t k = 0; k < nodes->size(); ++k) {
        if ((*nodes)[k].inputs[0] == v || (*nodes)[k].inputs[1] == v) to.last_reader = static_cast<uint8_t>(k);
      }
      to.whole = from.whole ? place(at[v]) : VIREO_PLAN_ABSENT;
      if (v > 0 && net.nodes[v - 1].kernel == 4) {
        to.one_row = 1, to.planes = 1, to.row_bytes = net.bytes(from);
        to.rows = static_cast<uint32_t>(net.values[v - 1].rows);
      }
      if (v > 0) to.fresh_rows = static_cast<uint16_t>((*nodes)[v - 1].chunk);
      to.fresh = place(room(to.fresh_rows * to.planes * to.row_bytes));
      to.kept_rows = static_cast<uint16_t>(from.whole ? 0 : from.rows);
      to.kept = place(room(to.kept_rows * to.planes * to.row_bytes));
      values.push_back(to);
    }
    vireo_segment s = {};
    s.nodes = static_cast<uint16_t>(nodes->size());
    s.values = static_cast<uint16_t>(values.size());
    s.state = place(room(s.values * static_cast<uint32_t>(sizeof(vireo_segment_rows)) + 12));
    s.list = append(values.data(), values.size() * sizeof values[0]);
    append(nodes->data(), nodes->size() * sizeof(vireo_segment_node));
    vireo_plan_record r = {};
    r.kernel = VIREO_PLAN_SEGMENT;
    r.parameters = append(&s, sizeof s);
    return r;
  }
  uint32_t append(const void* data, size_t size) {
    const auto begin = static_cast<uint32_t>(bytes.size());
    const auto* const from = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + size);
    bytes.resize((bytes.size() + 3) & ~size_t{3});
    return begin;
  }
  uint32_t room(uint32_t size) {
    const uint32_t begin = arena_bytes;
    arena_bytes += (size + 7) / 8 * 8;
    return begin;
  }
};

struct Session {
  std::vector<uint64_t> arena;
  vireo_mcu_session session = {};
  vireo_mcu_status status;
  uint8_t* begin() { return reinterpret_cast<uint8_t*>(arena.data()) + 64; }

  Session(const std::vector<uint8_t>& plan, uint32_t arena_bytes) : arena((arena_bytes + 128) / 8) {
    std::memset(arena.data(), 0xA5, arena.size() * 8);
    status = vireo_mcu_open(&session, plan.data(), static_cast<uint32_t>(plan.size()), begin(), arena_bytes);
  }
  std::vector<uint8_t> run(uint32_t seed, uint32_t instructions) {
    std::mt19937 random(seed);
    uint32_t size = 0;
    auto* const x = static_cast<uint8_t*>(vireo_mcu_input(&session, 0, &size));
    for (uint32_t i = 0; i < size; ++i) x[i] = static_cast<uint8_t>(random());
    uint8_t done = 0;
    while (done == 0) EXPECT_EQ(vireo_mcu_step(&session, instructions, &done), VIREO_MCU_OK);
    const auto* const y = static_cast<const uint8_t*>(vireo_mcu_output(&session, 0, &size));
    return {y, y + size};
  }
  bool guarded(uint32_t arena_bytes) {
    const auto known = [](uint8_t byte) { return byte == 0xA5; };
    return std::all_of(begin() - 64, begin(), known) &&
           std::all_of(begin() + arena_bytes, begin() + arena_bytes / 8 * 8 + 64, known);
  }
};

TEST(Segments, MakeWhatNodesMakeOneAfterTheOther) {
  for (uint32_t seed = 0; seed < 2000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Net net(seed);
    const Plan whole(net, false), strips(net, true);
    Session a(whole.bytes, whole.arena_bytes), b(strips.bytes, strips.arena_bytes);
    ASSERT_EQ(a.status, VIREO_MCU_OK);
    ASSERT_EQ(b.status, VIREO_MCU_OK);
    const std::vector<uint8_t> y = a.run(seed, VIREO_MCU_WHOLE_RUN);
    EXPECT_EQ(y, b.run(seed, VIREO_MCU_WHOLE_RUN));
    EXPECT_EQ(y, b.run(seed, 1));
    EXPECT_EQ(y, b.run(seed, 640));
    // A run that is forgotten leaves no trace in the next one.
    uint8_t done = 0;
    ASSERT_EQ(vireo_mcu_step(&b.session, 64, &done), VIREO_MCU_OK);
    ASSERT_EQ(vireo_mcu_restart(&b.session), VIREO_MCU_OK);
    EXPECT_EQ(y, b.run(seed, VIREO_MCU_WHOLE_RUN));
    ASSERT_TRUE(b.guarded(strips.arena_bytes));
  }
}

TEST(Segments, WhatIsWrongHasAStatus) {
  const Net net(3);
  const Plan good(net, true);
  const auto head_at = [&] {
    vireo_plan_record r;
    std::memcpy(&r, good.bytes.data() + sizeof(vireo_plan_header), sizeof r);
    return r.parameters;
  };
  vireo_segment head;
  std::memcpy(&head, good.bytes.data() + head_at(), sizeof head);
  const size_t nodes = head.list + head.values * sizeof(vireo_segment_value);
  const auto changed = [&](size_t at, auto value) {
    std::vector<uint8_t> plan = good.bytes;
    std::memcpy(plan.data() + at, &value, sizeof value);
    return Session(plan, good.arena_bytes).status;
  };
  EXPECT_EQ(changed(head_at() + offsetof(vireo_segment, nodes), uint16_t{0}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(head_at() + offsetof(vireo_segment, nodes), uint16_t{65}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(head_at() + offsetof(vireo_segment, list), uint32_t{0x7FFFFFFC}), VIREO_MCU_INVALID_MODEL);
  // State that calls could write over.
  EXPECT_EQ(changed(head_at() + offsetof(vireo_segment, state), place(0)), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(head_at() + offsetof(vireo_segment, state), place(good.arena_bytes)), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(nodes + offsetof(vireo_segment_node, kernel), uint16_t{999}), VIREO_MCU_UNSUPPORTED);
  EXPECT_EQ(changed(nodes + offsetof(vireo_segment_node, kernel), uint16_t{VIREO_PLAN_SEGMENT}), VIREO_MCU_UNSUPPORTED);
  EXPECT_EQ(changed(nodes + offsetof(vireo_segment_node, chunk), uint16_t{0}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(nodes + offsetof(vireo_segment_node, chunk), uint16_t{100}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(nodes + offsetof(vireo_segment_node, inputs), uint8_t{200}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(nodes + offsetof(vireo_segment_node, output), uint8_t{0}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(head.list + offsetof(vireo_segment_value, row_bytes), uint32_t{0}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(head.list + offsetof(vireo_segment_value, rows), uint32_t{16385}), VIREO_MCU_INVALID_MODEL);
  // Values whose rows lie in one place are made here; planes are some of a kernel's parameters; only where some run at
  // a time are rows kept as they are gathered.
  EXPECT_EQ(changed(head.list + offsetof(vireo_segment_value, one_row), uint8_t{1}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(nodes + offsetof(vireo_segment_node, planes_at), uint8_t{200}), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(changed(nodes + offsetof(vireo_segment_node, slides), uint8_t{1}), VIREO_MCU_INVALID_MODEL);
  // A plan of before, and of later.
  EXPECT_EQ(changed(offsetof(vireo_plan_header, version), uint16_t{VIREO_PLAN_VERSION - 1}), VIREO_MCU_UNSUPPORTED);
  EXPECT_EQ(changed(offsetof(vireo_plan_header, version), uint16_t{VIREO_PLAN_VERSION + 1}), VIREO_MCU_UNSUPPORTED);
}

// VIREO_CASES=100000 in the environment asks for more of them.
TEST(Segments, DamageNeverLeavesItsMemory) {
  const char* const asked = std::getenv("VIREO_CASES");
  const int cases = asked != nullptr ? std::max(1, std::atoi(asked)) : 10000;
  std::mt19937 random(5);
  int opened = 0, refused = 0;
  for (int i = 0; i < cases; ++i) {
    const Net net(random() % 500);
    const Plan good(net, true);
    std::vector<uint8_t> plan = good.bytes;
    for (size_t n = random() % 3 + 1; n > 0; --n) {
      const size_t at = random() % plan.size();
      plan[at] = random() % 2 == 0 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(plan[at] + random() % 5 - 2);
    }
    // In memory of exactly its size, so that sanitizers see a read behind it.
    const std::unique_ptr<uint8_t, void (*)(void*)> copy(static_cast<uint8_t*>(std::malloc(plan.size())), std::free);
    std::memcpy(copy.get(), plan.data(), plan.size());
    std::vector<uint64_t> arena((good.arena_bytes + 128) / 8, 0xA5A5A5A5A5A5A5A5u);
    uint8_t* const begin = reinterpret_cast<uint8_t*>(arena.data()) + 64;
    vireo_mcu_session session = {};
    const vireo_mcu_status status =
        vireo_mcu_open(&session, copy.get(), static_cast<uint32_t>(plan.size()), begin, good.arena_bytes);
    ASSERT_LE(status, VIREO_MCU_OUT_OF_ARENA) << i;
    ++(status == VIREO_MCU_OK ? opened : refused);
    uint8_t done = 0;
    for (int n = 0; status == VIREO_MCU_OK && i % 2 == 0 && n < 50 && done == 0; ++n)
      ASSERT_EQ(vireo_mcu_step(&session, 5000, &done), VIREO_MCU_OK);
    if (status == VIREO_MCU_OK && done == 0) {
      ASSERT_EQ(vireo_mcu_run(&session), VIREO_MCU_OK);
    }
    for (size_t g = 0; g < 8; ++g) {
      ASSERT_EQ(arena[g], 0xA5A5A5A5A5A5A5A5u) << i;
      ASSERT_EQ(arena[arena.size() - 1 - g], 0xA5A5A5A5A5A5A5A5u) << i;
    }
    ASSERT_EQ(std::memcmp(copy.get(), plan.data(), plan.size()), 0) << i;
  }
  EXPECT_GT(opened, cases / 20);
  EXPECT_GT(refused, cases / 20);
}

}  // namespace
}  // namespace vireo::segments_test
