#include "runtime/place/predict.h"

#include <gtest/gtest.h>
#include <math.h>

#include <string>
#include <vector>

#include "runtime/place/work.h"

// A graph of a test's own, seen through the host's functions.
struct vireo_graph {
  struct Node {
    vireo::Op op;
    std::vector<int32_t> inputs, outputs;
    const vireo_graph* body = nullptr;
  };
  std::vector<vireo_graph_value> values;
  std::vector<Node> nodes;

  int32_t value(vireo_dtype dtype, const std::vector<int64_t>& dims, bool constant = false) {
    vireo_graph_value v = {};
    v.struct_size = sizeof(v);
    v.dtype = dtype;
    v.is_static = 1;
    v.rank = static_cast<int32_t>(dims.size());
    int64_t count = 1;
    for (size_t d = 0; d < dims.size(); ++d) count *= v.max_dims[d] = dims[d];
    if (constant) {
      v.constant = "";
      v.constant_size = static_cast<size_t>(vireo_dtype_size(dtype) * count);
    }
    values.push_back(v);
    return static_cast<int32_t>(values.size()) - 1;
  }
  static int64_t vireo_dtype_size(vireo_dtype dtype) {
    return dtype == VIREO_FLOAT32 ? 4 : dtype == VIREO_INT8 ? 1 : 2;
  }
};

namespace vireo {
namespace {

vireo_host host() {
  vireo_host h = {};
  h.struct_size = sizeof(h);
  h.node_count = [](const vireo_graph* g) { return static_cast<uint32_t>(g->nodes.size()); };
  h.value_count = [](const vireo_graph* g) { return static_cast<uint32_t>(g->values.size()); };
  h.node = [](const vireo_graph* g, uint32_t i, vireo_graph_node* out) -> vireo_status {
    if (i >= g->nodes.size()) return VIREO_INVALID_ARGUMENT;
    const vireo_graph::Node& n = g->nodes[i];
    out->op = static_cast<uint16_t>(n.op);
    out->inputs = n.inputs.data();
    out->input_count = static_cast<uint32_t>(n.inputs.size());
    out->outputs = n.outputs.data();
    out->output_count = static_cast<uint32_t>(n.outputs.size());
    out->body = n.body;
    return VIREO_OK;
  };
  h.value = [](const vireo_graph* g, uint32_t i, vireo_graph_value* out) -> vireo_status {
    if (i >= g->values.size()) return VIREO_INVALID_ARGUMENT;
    *out = g->values[i];
    return VIREO_OK;
  };
  return h;
}

using Types = std::vector<std::vector<int64_t>>;

NodeWork work_of(Op op, const Types& in, const std::vector<int64_t>& out, vireo_dtype dtype = VIREO_FLOAT32) {
  vireo_graph g;
  vireo_graph::Node n{op, {}, {}, nullptr};
  for (const auto& dims : in) n.inputs.push_back(dims.empty() ? -1 : g.value(dtype, dims));
  n.outputs.push_back(g.value(dtype, out));
  g.nodes.push_back(n);
  return node_work(host(), &g, 0);
}

TEST(NodeWork, CountsProducts) {
  EXPECT_EQ(work_of(Op::kConv, {{1, 8, 10, 10}, {16, 8, 3, 3}, {16}}, {1, 16, 10, 10}).operations,
            2u * 1600 * 8 * 9);  // 1600 results of 72 terms
  EXPECT_EQ(work_of(Op::kConv, {{1, 8, 10, 10}, {8, 1, 3, 3}}, {1, 8, 10, 10}).operations, 2u * 800 * 9);
  EXPECT_EQ(work_of(Op::kGemm, {{4, 30}, {30, 5}}, {4, 5}).operations, 2u * 20 * 30);
  EXPECT_EQ(work_of(Op::kMatMul, {{2, 4, 30}, {2, 30, 5}}, {2, 4, 5}).operations, 2u * 40 * 30);
  EXPECT_EQ(work_of(Op::kConvTranspose, {{1, 8, 10, 10}, {8, 16, 2, 2}}, {1, 16, 20, 20}).operations,
            2u * 800 * 16 * 4);
  // 7 steps of 2 sequences, 3 inputs, 5 hidden, 4 gates.
  EXPECT_EQ(work_of(Op::kLSTM, {{7, 2, 3}, {1, 20, 3}, {1, 20, 5}}, {7, 1, 2, 5}).operations, 2u * 14 * (60 + 100));
  // 6 queries by 9 keys, 4 heads of 8.
  EXPECT_EQ(work_of(Op::kAttention, {{1, 4, 6, 8}, {1, 4, 9, 8}, {1, 4, 9, 8}}, {1, 4, 6, 8}).operations,
            2u * 2 * (4 * 6 * 8) * 9);
  EXPECT_EQ(work_of(Op::kRelu, {{1000}}, {1000}).operations, 0u);
  EXPECT_EQ(work_of(Op::kMatMul, {{2, 3}, {}}, {2, 3}).operations, 0u);  // an operand is absent
}

TEST(NodeWork, CountsBytes) {
  EXPECT_EQ(work_of(Op::kAdd, {{10, 10}, {10}}, {10, 10}).bytes, 840u);
  EXPECT_EQ(work_of(Op::kAdd, {{10, 10}, {10}}, {10, 10}, VIREO_INT8).bytes, 210u);
  EXPECT_EQ(work_of(Op::kReshape, {{10, 10}}, {100}).bytes, 0u);
  EXPECT_EQ(work_of(Op::kGather, {{50000, 64}, {3}}, {3, 64}).bytes, 2u * 3 * 64 * 4 + 12);  // three rows of the table
  EXPECT_EQ(node_work(host(), std::vector<vireo_graph>(1).data(), 5).bytes, 0u);             // there is no such node
}

TEST(NodeWork, KnowsTheKindOfAProduct) {
  EXPECT_EQ(work_of(Op::kMatMul, {{2, 3}, {3, 2}}, {2, 2}).kind, WorkKind::kFull);
  EXPECT_EQ(work_of(Op::kMatMul, {{2, 3}, {3, 2}}, {2, 2}, VIREO_FLOAT16).kind, WorkKind::kHalf);
  EXPECT_EQ(work_of(Op::kMatMul, {{2, 3}, {3, 2}}, {2, 2}, VIREO_BFLOAT16).kind, WorkKind::kHalf);
  EXPECT_EQ(work_of(Op::kIntConv, {{1, 2, 4, 4}, {2, 2, 1, 1}}, {1, 2, 4, 4}, VIREO_INT8).kind, WorkKind::kByte);
}

// float32 in, quantized, multiplied, float32 out: the product's kind counts, and the weights inside.
TEST(NodeWork, LooksIntoComposites) {
  vireo_graph body;
  const int32_t x = body.value(VIREO_FLOAT32, {4, 30}), q = body.value(VIREO_INT8, {4, 30}),
                w = body.value(VIREO_INT8, {30, 5}, true), y = body.value(VIREO_FLOAT32, {4, 5});
  body.nodes = {{Op::kQuantizeLinear, {x}, {q}, nullptr}, {Op::kMatMulInteger, {q, w}, {y}, nullptr}};
  vireo_graph g;
  const int32_t in = g.value(VIREO_FLOAT32, {4, 30}), out = g.value(VIREO_FLOAT32, {4, 5});
  g.nodes = {{Op::kComposite, {in}, {out}, &body}};
  const NodeWork work = node_work(host(), &g, 0);
  EXPECT_EQ(work.operations, 2u * 20 * 30);
  EXPECT_EQ(work.bytes, 4u * 120 + 4 * 20 + 150);
  EXPECT_EQ(work.kind, WorkKind::kByte);
}

vireo_device_info info_of(double f32, double f16, double i8) {
  vireo_device_info info = VIREO_DEVICE_INFO_INIT;
  info.f32_rate = f32;
  info.f16_rate = f16;
  info.i8_rate = i8;
  return info;
}

TEST(DeviceSpeed, FillsWhatIsNotKnown) {
  const auto rates = [](double f32, double f16, double i8) {
    const DeviceSpeed s = device_speed(info_of(f32, f16, i8), true);
    return std::vector<double>{s.rate[0], s.rate[1], s.rate[2]};
  };
  EXPECT_EQ(rates(8e9, 16e9, 32e9), (std::vector<double>{8e9, 16e9, 32e9}));
  EXPECT_EQ(rates(8e9, 0, 0), (std::vector<double>{8e9, 8e9, 8e9}));
  EXPECT_EQ(rates(8e9, 0, 32e9), (std::vector<double>{8e9, 8e9, 32e9}));
  EXPECT_EQ(rates(0, 16e9, 0), (std::vector<double>{8e9, 16e9, 16e9}));
  EXPECT_EQ(rates(0, 0, 32e9), (std::vector<double>{4e9, 8e9, 32e9}));
  EXPECT_EQ(rates(NAN, -1, INFINITY), std::vector<double>(3, assumed::kOperations));
  EXPECT_TRUE(device_speed(info_of(0, 0, 0), true).assumed_rate);
  EXPECT_FALSE(device_speed(info_of(0, 0, 1e9), true).assumed_rate);
  EXPECT_EQ(device_speed(info_of(0, 0, 0), true).bandwidth, assumed::kBandwidth);
  // What is declared is not what is reached.
  EXPECT_EQ(device_speed(info_of(8e9, 0, 0), false).rate[0], assumed::kReached * 8e9);
}

TEST(DeviceSpeed, KnowsWhatHasToBeMoved) {
  vireo_device_info info = info_of(8e9, 0, 0);
  EXPECT_TRUE(device_speed(info, true).place.unified);
  EXPECT_EQ(device_speed(info, true).place.launch_ns, 0);
  info.transfer = 4e9;
  DeviceSpeed speed = device_speed(info, true);
  EXPECT_FALSE(speed.place.unified);
  EXPECT_EQ(speed.place.launch_ns, assumed::kLaunchNs);
  EXPECT_EQ(speed.place.transfer_rate, 4e9);
  info.launch_ns = 7000;
  speed = device_speed(info, true);
  EXPECT_EQ(speed.place.launch_ns, 7000);
  EXPECT_EQ(speed.place.transfer_ns, 7000);
  info.transfer_ns = 300;
  speed = device_speed(info, true);
  EXPECT_EQ(speed.place.launch_ns, 7000);
  EXPECT_EQ(speed.place.transfer_ns, 300);
  info.flags = VIREO_DEVICE_UNIFIED;
  EXPECT_TRUE(device_speed(info, true).place.unified);
}

TEST(PredictedTime, IsARoofline) {
  vireo_device_info info = info_of(1e9, 0, 4e9);
  info.bandwidth = 1e9;
  const DeviceSpeed speed = device_speed(info, true);
  EXPECT_EQ(estimate_ns(speed, {5000, 1000, WorkKind::kFull}), assumed::kNodeNs + 5000);
  EXPECT_EQ(estimate_ns(speed, {5000, 9000, WorkKind::kFull}), assumed::kNodeNs + 9000);
  EXPECT_EQ(estimate_ns(speed, {8000, 1000, WorkKind::kByte}), assumed::kNodeNs + 2000);
}

TEST(PredictedTime, MeasuredWinsOverTheDelegateOverRates) {
  const NodeWork work{5000, 0, WorkKind::kFull};
  const DeviceSpeed speed = device_speed(info_of(1e9, 0, 0), true);
  EXPECT_EQ(node_time(speed, work, 200, 300).ns, 300);
  EXPECT_EQ(node_time(speed, work, 200, 300).source, TimeSource::kMeasured);
  for (const double none : {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    EXPECT_EQ(node_time(speed, work, 200, none).ns, 200);
    EXPECT_EQ(node_time(speed, work, none, none).ns, assumed::kNodeNs + 5000);
  }
  EXPECT_EQ(node_time(speed, work, 200, 0).source, TimeSource::kDelegate);
  EXPECT_EQ(node_time(speed, work, 0, 0).source, TimeSource::kRates);
  EXPECT_EQ(node_time(device_speed(info_of(0, 0, 0), true), work, 0, 0).source, TimeSource::kAssumed);
}

}  // namespace
}  // namespace vireo
