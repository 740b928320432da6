// How fast products run on the first card, and how far they are from float64.
//
//   vireo_vulkan_product_bench [M,N,K,XW[:TM,TN,TK,SM,SN] or :TM,TN,STAGES or :0[,TM,TN,TK,LM,LN,PARTS]]...
//
// X and W are h (float16) or f (float32), or both c (int8, into int32); w lies along k, as Gemm's does with transB.
// Behind the colon: a tile and a subgroup's part of it for the matrix unit, a tile for the unit that reads tiles, or 0
// for products without a unit, with a tile, a lane's part of it, and the parts of the depth. Without arguments: a list
// of sizes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "delegates/gpu/device/runner.h"
#include "delegates/gpu/device/test_cards.h"
#include "delegates/gpu/emit/kernel.h"
#include "delegates/gpu/templates/product_body.h"
#include "sdk/base/half.h"

namespace vireo::gpu {
namespace {

constexpr int kLaunches = 40;  // of one submit

struct Size {
  int64_t m = 0, n = 0, k = 0;
  DType x = DType::kF16, w = DType::kF16;
};

std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> out(count);
  for (float& v : out) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<int32_t>(seed) >> 22) / 512;  // 10 bits: float16 has them
  }
  return out;
}
Runner::Bytes as(DType type, const std::vector<float>& v) {
  Runner::Bytes out(v.size() * static_cast<size_t>(dtype_bits(type) / 8));
  for (size_t i = 0; i < v.size(); ++i) {
    if (type == DType::kF32) {
      std::memcpy(&out[i * 4], &v[i], 4);
    } else if (type == DType::kI8) {
      out[i] = static_cast<uint8_t>(static_cast<int8_t>(v[i] * 127));
    } else {
      const uint16_t h = f32_to_f16(v[i]);
      std::memcpy(&out[i * 2], &h, 2);
    }
  }
  return out;
}

ProductProblem problem_of(const Size& s) {
  ProductProblem p;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.x = {s.x, 0, {}, s.k, 1};
  p.w = {s.w, 0, {}, 1, s.k};
  Input sum;
  sum.given = true;
  if (s.x == DType::kI8) sum.dtype = p.sum = DType::kI32;
  p.epilogue.inputs = {sum};
  Output y;
  y.view.strides = {s.n, 1};
  p.epilogue.outputs = {y};
  if (s.x == DType::kF16) {
    Step cast;
    cast.type = DType::kF16;
    cast.a = 0;
    p.epilogue.steps = {cast};
    p.epilogue.outputs[0].value = 1;
  }
  return p;
}

// Some elements against float64, relative to the sum of magnitudes.
double error_of(const Size& s, const std::vector<float>& x, const std::vector<float>& w, const Runner::Bytes& y) {
  double most = 0;
  uint32_t seed = 7;
  for (int i = 0; i < 400; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const int64_t row = (seed >> 8) % static_cast<uint32_t>(s.m);
    seed = seed * 1664525u + 1013904223u;
    const int64_t column = (seed >> 8) % static_cast<uint32_t>(s.n);
    double sum = 0, size = 1e-9;
    for (int64_t k = 0; k < s.k; ++k) {
      const double one = static_cast<double>(x[static_cast<size_t>(row * s.k + k)]) *
                         static_cast<double>(w[static_cast<size_t>(column * s.k + k)]);
      sum += one;
      size += std::fabs(one);
    }
    const auto at = static_cast<size_t>(row * s.n + column);
    float got = 0;
    if (s.x == DType::kF32) {
      std::memcpy(&got, &y[at * 4], 4);
    } else if (s.x == DType::kI8) {
      int32_t codes = 0;
      std::memcpy(&codes, &y[at * 4], 4);
      got = static_cast<float>(codes);
    } else {
      uint16_t h = 0;
      std::memcpy(&h, &y[at * 2], 2);
      got = f16_to_f32(h);
    }
    most = std::fmax(most, std::fabs(static_cast<double>(got) - sum) / size);
  }
  return most;
}

void bench(Runner* runner, const Size& s, const char* tile) {
  Target target = runner->target();
  target.half_products = !target.units.empty();
  const ProductProblem p = problem_of(s);
  ProductTiling t = choose_product(p, target);
  if (tile != nullptr && tile[0] == '0') {
    target.units.clear();
    t = choose_product(p, target);
    unsigned tm = 0, tn = 0, tk = 0, lm = 0, ln = 0, parts = 0;
    if (std::sscanf(tile, "0,%u,%u,%u,%u,%u,%u", &tm, &tn, &tk, &lm, &ln, &parts) == 6) {
      t = ProductTiling();
      t.tile_m = tm, t.tile_n = tn, t.tile_k = tk, t.lane_m = lm, t.lane_n = ln, t.parts = parts;
    }
  } else if (tile != nullptr && !target.units.empty()) {
    uint32_t v[5] = {};
    char* at = const_cast<char*>(tile);
    for (uint32_t& one : v) one = static_cast<uint32_t>(std::strtoul(at, &at, 10)), at += *at == ',';
    t.tile_m = v[0], t.tile_n = v[1], t.tile_k = v[2], t.sub_m = v[3], t.sub_n = v[4];
    t.depth_lanes = 0;
    if (v[3] == 0)
      t = s.x == DType::kI8 ? code_tile_tiling(v[0], v[1], v[2], true, true) : tile_tiling(v[0], v[1], v[2]);
    if (v[3] != 0 && s.x == DType::kI8) {
      const MatrixUnit& u = target.code_unit;
      t.unit = {u.m, u.n, u.k, target.subgroup, u.known, false, true, true, true};
    } else if (v[3] != 0)
      t.unit = {target.units[0].m, target.units[0].n, target.units[0].k, target.subgroup, target.units[0].known};
  }
  std::printf("%lld x %lld x %lld %s %s, ", static_cast<long long>(s.m), static_cast<long long>(s.n),
              static_cast<long long>(s.k), dtype_name(s.x), dtype_name(s.w));
  std::printf(t.unit.m != 0        ? "matrices %u %u %u by %u %u, %u stages: "
              : t.depth_lanes != 0 ? "rows %u columns %u: "
                                   : "tile %u %u %u, lanes %u %u, %u parts: ",
              t.tile_m, t.tile_n, t.depth_lanes != 0 ? t.depth_lanes : t.tile_k, t.unit.m != 0 ? t.sub_m : t.lane_m,
              t.unit.m != 0 ? t.sub_n : t.lane_n, t.unit.m != 0 ? t.stages : t.parts);
  const Dispatch d = make_product(p, t, target);
  if (!d.refusal.empty()) return void(std::printf("%s\n", d.refusal.c_str()));
  std::vector<float> x = numbers(static_cast<size_t>(s.m * s.k), 1), w = numbers(static_cast<size_t>(s.n * s.k), 2);
  const std::vector<Runner::Bytes> inputs = {as(s.x, x), as(s.w, w)};
  if (s.x == DType::kI8) {
    for (std::vector<float>* const all : {&x, &w}) {
      for (float& v : *all) v = std::trunc(v * 127);
    }
  }
  const auto bytes = static_cast<uint64_t>(s.m * s.n * (s.x == DType::kF16 ? 2 : 4));
  Schedule schedule;
  schedule.inputs = {inputs[0].size(), inputs[1].size()};
  schedule.outputs = {bytes};
  schedule.kernels = {kernel_of(d.program, target)};
  Launch launch;
  launch.push = d.push;
  launch.push.resize(d.program.push_words);
  launch.groups = d.groups;
  launch.barrier = true;
  launch.bindings = {
      {Where::kInput, 0, 0, inputs[0].size()}, {Where::kInput, 1, 0, inputs[1].size()}, {Where::kOutput, 0, 0, bytes}};
  schedule.steps = {launch};
  std::vector<Runner::Bytes> outputs;
  std::string why = runner->run(schedule, inputs, {}, &outputs);
  double one = 0, many = 0;
  if (why.empty()) why = runner->time(schedule, inputs, 5, &one);
  schedule.steps.assign(kLaunches, launch);
  if (why.empty()) why = runner->time(schedule, inputs, 5, &many);
  if (!why.empty()) return void(std::printf("%s\n", why.c_str()));
  const double each = (many - one) / (kLaunches - 1);
  const double read = static_cast<double>(inputs[0].size() + inputs[1].size() + bytes);
  std::printf("%.1f us, %.2f TFLOP/s, %.0f GB/s, error %.1e\n", each * 1e6,
              2e-12 * static_cast<double>(s.m * s.n * s.k) / each, read * 1e-9 / each, error_of(s, x, w, outputs[0]));
  std::fflush(stdout);
}

int run(int count, char** arguments) {
  Runner runner(test_cards);
  if (!runner.why().empty()) return std::printf("%s\n", runner.why().c_str()), 1;
  std::printf("%s, %s\n", runner.facts().detail.c_str(), text_of(runner.target()).c_str());
  const char* const usual[] = {"512,512,512,hh",  "512,512,512,ff", "512,512,512,ff:0", "128,384,1536,hh",
                               "128,1536,384,ff", "197,192,768,ff", "3136,64,576,ff",   "49,2048,512,ff",
                               "1,4096,4096,fh",  "4,4096,4096,fh"};
  for (int i = count > 1 ? 1 : 0; i < (count > 1 ? count : static_cast<int>(std::size(usual))); ++i) {
    const char* const text = count > 1 ? arguments[i] : usual[i];
    Size s;
    long long m = 0, n = 0, k = 0;
    char types[3] = "";
    if (std::sscanf(text, "%lld,%lld,%lld,%2[hfc]", &m, &n, &k, types) != 4 || types[1] == 0 || m < 1 || n < 1 ||
        k < 1 || (types[0] == 'c') != (types[1] == 'c'))
      return std::printf("no size: %s\n", text), 2;
    s.m = m, s.n = n, s.k = k;
    const auto type = [](char name) { return name == 'h' ? DType::kF16 : name == 'c' ? DType::kI8 : DType::kF32; };
    s.x = type(types[0]);
    s.w = type(types[1]);
    const char* const colon = std::strchr(text, ':');
    bench(&runner, s, colon == nullptr ? nullptr : colon + 1);
  }
  return 0;
}

}  // namespace
}  // namespace vireo::gpu

int main(int count, char** arguments) { return vireo::gpu::run(count, arguments); }
