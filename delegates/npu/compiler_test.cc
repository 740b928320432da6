// Every kind of layer, and random graphs of them, against the SDK's reference kernels: the same bits.
#include <gtest/gtest.h>

#include "delegates/npu/testing.h"

namespace vireo::npu {
namespace {

MachineConfig machine(uint32_t sram_kib) {
  MachineConfig c;
  c.sram_bytes = sram_kib * 1024;
  return c;
}

Layer window(int64_t k, int64_t s, int64_t p, int64_t groups = 1, int64_t d = 1) {
  Layer l;
  l.kernel = {k, k};
  l.stride = {s, s};
  l.pad_begin = l.pad_end = {p, p};
  l.dilation = {d, d};
  l.groups = groups;
  return l;
}

// One layer, on a machine with room and on one where it has to be cut.
void expect_layer(GraphBuilder* b, int y, const std::string& what, uint32_t tiny_kib = 4) {
  b->graph.outputs = {y};
  for (const uint32_t kib : {512u, 16u, tiny_kib}) {
    CompileOptions options;
    options.own_regions = kib != 512;
    expect_same(b->graph, machine(kib), options, 7, what + " in " + std::to_string(kib) + " KiB");
  }
}

TEST(NpuLayers, ConvolutionsAroundTheArray) {
  uint64_t seed = 1;
  for (const int64_t in : {1, 3, 31, 33}) {
    for (const int64_t out : {1, 31, 32, 33}) {
      for (const auto& [k, s, p] : {std::array<int64_t, 3>{1, 1, 0}, {3, 1, 1}, {3, 2, 1}, {5, 3, 2}}) {
        GraphBuilder b(++seed);
        const Type xt = seed % 2 ? kI8 : kU8, yt = seed % 3 ? kU8 : kI8;
        const int x = b.input({1, 9 + static_cast<int64_t>(seed % 5), 11, in}, xt);
        expect_layer(&b, b.conv(x, out, window(k, s, p), yt), "conv " + std::to_string(seed), 8);
      }
    }
  }
}

TEST(NpuLayers, GroupsDilationsAndPadding) {
  uint64_t seed = 100;
  for (const auto& [in, out, groups, k, d, p] : {std::array<int64_t, 6>{8, 12, 4, 3, 1, 1},
                                                 {6, 6, 6, 3, 1, 1},
                                                 {6, 18, 6, 3, 2, 2},
                                                 {33, 33, 33, 5, 1, 2},
                                                 {64, 64, 2, 1, 1, 0},
                                                 {4, 8, 1, 3, 3, 3},
                                                 {65, 65, 65, 3, 1, 0},
                                                 {64, 80, 2, 3, 1, 1},
                                                 {96, 6, 3, 1, 1, 0},
                                                 {2, 4, 1, 2, 1, 5},
                                                 {3, 3, 3, 2, 1, 4}}) {
    GraphBuilder b(++seed);
    const int x = b.input({2, 13, 10, in}, seed % 2 ? kI8 : kU8);
    Layer l = window(k, 1 + static_cast<int64_t>(seed % 2), p, groups, d);
    l.pad_end = {p, p + 1};
    expect_layer(&b, b.conv(x, out, l), "conv " + std::to_string(seed));
  }
}

TEST(NpuLayers, Gemm) {
  uint64_t seed = 200;
  for (const auto& [m, k, n] :
       {std::array<int64_t, 3>{1, 64, 12}, {1, 700, 70}, {50, 33, 65}, {600, 16, 8}, {3, 1, 1}}) {
    GraphBuilder b(++seed);
    expect_layer(&b, b.gemm(b.input({1, 1, m, k}), n), "gemm " + std::to_string(seed));
  }
}

// Neither a pixel nor a channel's weights fit: the engine keeps the sums.
TEST(NpuLayers, ReductionsInParts) {
  uint64_t seed = 250;
  for (const auto& [h, w, in, out, k] :
       {std::array<int64_t, 5>{1, 1, 9000, 4, 1}, {1, 5, 5000, 40, 1}, {4, 5, 1500, 7, 3}}) {
    GraphBuilder b(++seed);
    const int y = b.conv(b.input({2, h, w, in}, seed % 2 ? kU8 : kI8), out, window(k, 1, k / 2));
    b.graph.outputs = {y};
    const Compiled c = expect_same(b.graph, machine(4), {}, seed, "reduction " + std::to_string(seed));
    const auto* const commands = reinterpret_cast<const Command*>(c.stream.data()) + 1;
    size_t kept = 0;
    for (size_t i = 0; i + 1 < c.stream.size() / kCommandWords; ++i)
      kept += commands[i].op() == Op::conv && commands[i].u(field::keep) != 0;
    EXPECT_GT(kept, 0u);
  }
}

TEST(NpuLayers, Elementwise) {
  uint64_t seed = 300;
  const std::array<int64_t, 4> shapes[] = {{1, 9, 7, 40}, {1, 1, 1, 40}, {1, 9, 7, 1}, {1, 1, 7, 40}, {1, 9, 1, 40}};
  for (const Kind kind : {Kind::kAdd, Kind::kMul}) {
    for (const auto& shape : shapes) {
      for (const bool swap : {false, true}) {
        GraphBuilder b(++seed);
        int a = b.input(shapes[0], kU8), c = seed % 2 ? b.input(shape, kI8) : b.constant(shape, kI8);
        if (swap) std::swap(a, c);
        expect_layer(&b, b.binary(kind, a, c, seed % 3 ? kI8 : kU8), "binary " + std::to_string(seed));
      }
    }
  }
  for (const Type type : {kI8, kU8}) {
    GraphBuilder b(++seed);
    expect_layer(&b, b.affine(b.input({1, 6, 9, 65}, type)), "affine");
    GraphBuilder t(++seed);
    expect_layer(&t, t.table(t.input({2, 6, 9, 65}, type), kU8), "table");
    GraphBuilder s(++seed);
    expect_layer(&s, s.softmax(s.input({1, 5, 6, 101}, type)), "softmax");
  }
}

TEST(NpuLayers, BetweenCodesAndFloat32) {
  uint64_t seed = 350;
  for (const Type type : {kI8, kU8}) {
    for (const auto& shape : {std::array<int64_t, 4>{1, 9, 7, 40}, {2, 5, 11, 3}, {1, 1, 1, 1}, {1, 1, 3, 700}}) {
      GraphBuilder q(++seed);
      expect_layer(&q, q.quantize(q.input(shape, kF32), type), "quantize " + std::to_string(seed), 16);
      GraphBuilder d(++seed);
      expect_layer(&d, d.dequantize(d.input(shape, type)), "dequantize " + std::to_string(seed), 16);
    }
  }
  for (const float sign : {0.0f, 1.0f, -1.0f}) {
    for (const auto& shape : {std::array<int64_t, 4>{1, 9, 7, 40}, {1, 1, 1, 40}, {1, 1, 1, 1}}) {
      GraphBuilder b(++seed);
      const int x = b.input({1, 9, 7, 40}, kF32);
      const int c = seed % 2 ? b.constant(shape, kF32) : b.input(shape, kF32);
      expect_layer(&b, seed % 3 ? b.real(x, c, sign) : b.real(c, x, sign), "float32 " + std::to_string(seed), 16);
    }
  }
  // From a picture in planes to codes in pixels, as detectors begin: one section, and no way out and back.
  GraphBuilder b(++seed);
  const int x = b.transpose(b.input({1, 3, 40, 32}, kF32), {0, 2, 3, 1});
  const int y = b.quantize(b.real(x, b.constant({1, 1, 1, 1}, kF32), -1), kU8);
  b.graph.outputs = {b.conv(y, 16, window(3, 2, 1))};
  const Compiled c = expect_same(b.graph, machine(512), {}, 7, "front");
  EXPECT_EQ(c.sections.size(), 1u);
}

TEST(NpuLayers, Pools) {
  uint64_t seed = 400;
  for (const Kind kind : {Kind::kMaxPool, Kind::kAveragePool}) {
    for (const auto& [k, s, p, d] :
         {std::array<int64_t, 4>{2, 2, 0, 1}, {3, 2, 1, 1}, {3, 1, 1, 1}, {5, 3, 2, 1}, {2, 1, 0, 2}, {11, 1, 0, 1}}) {
      for (const bool ceil_mode : {false, true}) {
        GraphBuilder b(++seed);
        Layer l = window(k, s, p, 1, d);
        l.count_padding = seed % 3 == 0;
        expect_layer(&b, b.pool(kind, b.input({1, 11, 12, 35}, seed % 2 ? kI8 : kU8), l, ceil_mode),
                     "pool " + std::to_string(seed));
      }
    }
  }
}

TEST(NpuLayers, Resize) {
  uint64_t seed = 500;
  for (const auto& [rows, cols, taps] : {std::array<int64_t, 3>{14, 20, 2}, {7, 5, 1}, {3, 9, 4}}) {
    GraphBuilder b(++seed);
    expect_layer(&b, b.resize(b.input({1, 7, 10, 33}, seed % 2 ? kI8 : kU8), rows, cols, taps), "resize");
  }
  GraphBuilder b(++seed);  // along columns alone
  const int y = b.resize(b.input({1, 7, 10, 5}), 7, 20, 2);
  b.graph.layers[0].resize[0] = ResizeAxis();
  expect_layer(&b, y, "resize of columns");
}

TEST(NpuLayers, Movement) {
  uint64_t seed = 600;
  for (const int axis : {1, 2, 3}) {
    GraphBuilder b(++seed);
    std::array<int64_t, 4> other{1, 6, 7, 9};
    other[static_cast<size_t>(axis)] = 4;
    const int x = b.input({1, 6, 7, 9});
    expect_layer(&b, b.concat({x, b.input(other), x}, axis), "concat");
  }
  GraphBuilder s(++seed);
  expect_layer(&s, s.slice(s.input({1, 12, 14, 20}, kU8), {0, 1, 3, 2}, {1, 2, 3, 4}, {1, 5, 4, 4}), "slice");
  GraphBuilder p(++seed);
  expect_layer(&p, p.slice(p.input({2, 6, 5, 7}, kU8), {0, -2, -1, -3}, {1, 1, 1, 1}, {2, 11, 8, 12}), "pad");
  const std::array<int, 4> perms[] = {{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 2, 1, 3}, {3, 2, 1, 0}, {1, 0, 3, 2}};
  for (const auto& perm : perms) {
    GraphBuilder t(++seed);
    expect_layer(&t, t.transpose(t.input({2, 9, 5, 6}, kU8), perm), "transpose");
  }
  GraphBuilder r(++seed);
  expect_layer(&r, r.gemm(r.reshape(r.conv(r.input({1, 6, 6, 8}), 16, window(3, 1, 1)), {1, 1, 12, 48}), 10),
               "reshape");
}

TEST(NpuLayers, SixteenBits) {
  uint64_t seed = 700;
  for (const auto& [xt, yt] : {std::pair<Type, Type>{kI16, kI16}, {kI16, kI8}, {kI8, kI16}}) {
    GraphBuilder b(++seed);
    expect_layer(&b, b.conv(b.input({1, 9, 8, 17}, xt), 40, window(3, 1, 1), yt), "conv16");
    GraphBuilder d(++seed);
    expect_layer(&d, d.conv(d.input({1, 9, 8, 17}, xt), 17, window(3, 2, 1, 17), yt), "depthwise16");
    GraphBuilder e(++seed);
    expect_layer(&e, e.binary(Kind::kAdd, e.input({1, 9, 8, 17}, xt), e.input({1, 9, 8, 17}, yt), yt), "add16");
    GraphBuilder m(++seed);
    GraphBuilder a(++seed);
    expect_layer(&a, a.affine(a.input({1, 9, 8, 17}, xt)), "affine16");
    expect_layer(&m, m.binary(Kind::kMul, m.input({1, 9, 8, 17}, xt), m.input({1, 1, 1, 17}, yt), yt), "mul16");
  }
  for (const Kind kind : {Kind::kMaxPool, Kind::kAveragePool}) {
    GraphBuilder b(++seed);
    expect_layer(&b, b.pool(kind, b.input({1, 9, 8, 17}, kI16), window(3, 2, 1)), "pool16");
  }
  GraphBuilder r(++seed);
  expect_layer(&r, r.resize(r.input({1, 5, 6, 17}, kI16), 10, 12, 2), "resize16");
  GraphBuilder c(++seed);
  const int x = c.transpose(c.input({1, 5, 6, 17}, kI16), {0, 3, 1, 2});
  expect_layer(&c, c.slice(c.concat({x, x}, 3), {0, 1, -1, 2}, {1, 2, 1, 3}, {1, 8, 7, 3}), "movement16");
}

// A network as layers come: branches, joins, windows; never larger than a machine with next to no memory can hold in
// parts.
Graph random_network(uint64_t seed) {
  GraphBuilder b(seed);
  Random& r = b.random;
  int x = b.input({r.between(1, 2), r.between(8, 24), r.between(8, 24), r.between(1, 24)}, r.between(0, 1) ? kI8 : kU8);
  std::vector<int> same{x};  // tensors of the shape at hand
  const int64_t length = r.between(2, 14);
  for (int64_t i = 0; i < length; ++i) {
    const auto [n, h, w, c] = b.at(x).shape;
    const int other = same[static_cast<size_t>(r.between(0, static_cast<int64_t>(same.size()) - 1))];
    const Type type = r.between(0, 1) ? kI8 : kU8;
    int y = x;
    switch (r.between(0, 11)) {
      case 0:
      case 1:
        y = b.conv(x, r.between(1, 48), window(1, 1, 0), type);
        break;
      case 2:
        y = b.conv(x, r.between(1, 40), window(3, h > 4 && w > 4 ? r.between(1, 2) : 1, 1), type);
        break;
      case 3:
      case 4:
        y = b.conv(x, c, window(3, 1, 1, c), type);
        break;
      case 5:
        y = b.binary(Kind::kAdd, x, other, type);
        break;
      case 6:
        y = b.binary(Kind::kMul, x,
                     b.pool(Kind::kAveragePool, x,
                            [&] {
                              Layer l;
                              l.kernel = {h, w};
                              return l;
                            }()),
                     type);
        break;
      case 7:
        y = b.table(x, type);
        break;
      case 8:
        if (h > 3 && w > 3)
          y = b.pool(r.between(0, 1) ? Kind::kMaxPool : Kind::kAveragePool, x, window(3, r.between(1, 2), 1));
        break;
      case 9:
        if (b.at(other).type == b.at(x).type && c < 40) y = b.concat({x, other}, 3);
        break;
      case 10:
        if (h < 16) y = b.resize(x, h * 2, w * 2, r.between(1, 2));
        break;
      default:
        y = b.affine(x);
        break;
    }
    if (b.at(y).shape != b.at(x).shape) same.clear();
    same.push_back(y);
    x = y;
  }
  b.graph.outputs = {x};
  if (r.between(0, 2) == 0 && same.size() > 1 && same.front() != b.graph.inputs[0])
    b.graph.outputs.push_back(same.front());
  return b.graph;
}

TEST(NpuGraphs, RandomNetworksOnSmallAndSmallestMachines) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Graph g = random_network(seed);
    CompileOptions options;
    options.own_regions = seed % 2 == 0;
    for (const uint32_t kib : {512u, 32u, 8u})
      expect_same(g, machine(kib), options, seed,
                  "network " + std::to_string(seed) + " in " + std::to_string(kib) + " KiB");
  }
}

TEST(NpuGraphs, NeitherCascadesNorCompressionChangeABit) {
  for (uint64_t seed = 41; seed <= 48; ++seed) {
    const Graph g = random_network(seed);
    uint64_t cycles[2] = {};
    for (const bool cascade : {false, true}) {
      for (const bool compress : {false, true}) {
        CompileOptions o;
        o.cascade = cascade;
        o.compress = compress;
        cycles[cascade] = expect_same(g, machine(128), o, seed, "network " + std::to_string(seed)).counters.cycles;
      }
    }
    EXPECT_LE(cycles[1], cycles[0]) << seed;
  }
}

// What cannot be compiled is named, with the reason.
TEST(NpuGraphs, RefusalsSayWhichLayerAndWhy) {
  const auto refused = [](GraphBuilder* b, int y, const std::string& reason, const MachineConfig& config = {}) {
    b->graph.outputs = {y};
    const Compiled c = compile(b->graph, config);
    ASSERT_GE(c.error_layer, 0) << reason;
    const Layer& l = b->graph.layers[static_cast<size_t>(c.error_layer)];
    EXPECT_EQ(c.error.find(std::string(kind_name(l.kind)) + " \"" + l.name + "\": "), 0u) << c.error;
    EXPECT_NE(c.error.find(reason), std::string::npos) << c.error;
    EXPECT_TRUE(c.stream.empty());
  };
  {
    GraphBuilder b(1);
    refused(&b, b.conv(b.input({1, 99, 99, 2}), 1, window(99, 1, 0)), "bytes of local memory, the machine has 8192",
            machine(8));
  }
  {
    GraphBuilder b(2);
    refused(&b, b.table(b.input({1, 2, 2, 3}, kI16)), "tables of 16 bits have no unit");
  }
  {
    GraphBuilder b(3);
    const int x = b.input({2, 2, 2, 3});
    refused(&b, b.concat({x, x}, 0), "joins images of a batch");
  }
  {
    GraphBuilder b(4);
    refused(&b, b.slice(b.input({1, 9, 2, 3}), {0, 0, 0, 0}, {1, 300, 1, 1}, {1, 1, 2, 3}), "steps must be 1 to 255");
  }
  {
    GraphBuilder b(5);
    refused(&b, b.table(b.input({1, 1, 70000, 3})), "extents are 1 to 65535");
  }
  {
    GraphBuilder b(6);
    const int y = b.conv(b.input({1, 5, 5, 4}), 6, window(3, 1, 1));
    b.graph.layers[0].weights.pop_back();
    refused(&b, y, "another number of weights");
  }
  {
    GraphBuilder b(7);
    const int y = b.gemm(b.input({1, 5, 5, 4}), 6);
    b.graph.tensors[static_cast<size_t>(y)].shape[1] = 6;
    refused(&b, y, "its result is [1,6,5,6], which does not follow from [1,5,5,4]");
  }
  {
    GraphBuilder b(8);
    const int late = b.tensor({1, 5, 5, 4}, kI8, "late");
    refused(&b, b.gemm(late, 6), "before it is made");
  }
  {
    GraphBuilder b(9);
    refused(&b, b.table(b.input({65535, 65535, 65535, 65535})), "the machine addresses 4 GiB");
  }
  {
    GraphBuilder b(10);
    const int y = b.gemm(b.input({1, 5, 5, 4}), 6);
    b.graph.layers[0].a_zero = INT32_MIN;
    refused(&b, y, "a zero point is none of its operand's codes");
  }
  {
    GraphBuilder b(11);
    const int y = b.gemm(b.input({1, 5, 5, 4}), 6);
    b.graph.layers[0].high = 128 + 255;
    refused(&b, y, "zero point or bounds are none of its result's codes");
  }
  {
    GraphBuilder b(12);
    refused(&b, b.table(b.input({65535, 1, 1, 1})), "cut into too many pieces");
  }
}

TEST(NpuGraphs, CompilesToTheSameBytesEveryTime) {
  const Graph g = random_network(77);
  const Compiled a = compile(g, machine(64)), b = compile(g, machine(64));
  EXPECT_EQ(a.stream, b.stream);
  EXPECT_EQ(a.constants, b.constants);
}

}  // namespace
}  // namespace vireo::npu
