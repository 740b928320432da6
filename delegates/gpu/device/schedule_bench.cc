// Where a compiled part's time goes on the first card: each distinct launch by itself, all of them, and what the driver
// takes to compile the kernels.
//
//   vireo_vulkan_schedule_bench FILE, or vireo_cuda_schedule_bench...
//
// A file holds what compile() wrote for a part on this card. Constants hold anything.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <tuple>

#include "delegates/gpu/device/runner.h"
#include "delegates/gpu/device/test_cards.h"

namespace vireo::gpu {
namespace {

constexpr int kLaunches = 20;  // of one submit

// Seconds of one launch, with the barrier before it.
std::string time_launch(Runner* runner, const Schedule& all, Launch step, double* seconds) {
  Schedule s = all;
  s.kernels = {all.kernels[step.kernel]};
  step.kernel = 0;
  step.barrier = true;
  std::vector<Runner::Bytes> inputs;
  for (const uint64_t bytes : s.inputs) inputs.emplace_back(bytes);
  double one = 0, many = 0;
  s.steps = {step};
  std::string why = runner->time(s, inputs, 5, &one);
  s.steps.assign(kLaunches, step);
  if (why.empty()) why = runner->time(s, inputs, 5, &many);
  *seconds = (many - one) / (kLaunches - 1);
  return why;
}

struct Row {
  size_t step = 0;
  int times = 0;
  double seconds = 0;
};

std::string bench(Runner* runner, const char* file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::vector<uint64_t> aligned(bytes.size() / 8 + 1);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(aligned.data()));
  Schedule s;
  std::string why = read_schedule(aligned.data(), bytes.size(), runner->target(), &s);
  if (!why.empty()) return why;
  std::vector<double> compiled(s.kernels.size());
  for (size_t k = 0; k < s.kernels.size(); ++k) {
    if (why = runner->compile(s.kernels[k], &compiled[k]); !why.empty()) return why;
  }
  std::vector<Row> rows;
  for (size_t i = 0; i < s.steps.size(); ++i) {
    const auto same = [&](const Row& r) {
      const Launch &a = s.steps[r.step], &b = s.steps[i];
      return std::tie(a.kernel, a.groups, a.push) == std::tie(b.kernel, b.groups, b.push);
    };
    auto at = std::find_if(rows.begin(), rows.end(), same);
    if (at == rows.end()) at = rows.insert(rows.end(), {i, 0, 0});
    ++at->times;
  }
  double sum = 0;
  for (Row& r : rows) {
    if (why = time_launch(runner, s, s.steps[r.step], &r.seconds); !why.empty()) return why;
    sum += r.times * r.seconds;
  }
  std::vector<Runner::Bytes> inputs;
  for (const uint64_t n : s.inputs) inputs.emplace_back(n);
  double whole = 0;
  if (why = runner->time(s, inputs, 20, &whole); !why.empty()) return why;
  const auto barriers = std::count_if(s.steps.begin(), s.steps.end(), [](const Launch& l) { return l.barrier; });
  std::printf("%s: %.0f us, %zu launches, %td barriers, %zu kernels; each by itself %.0f us\n", file, whole * 1e6,
              s.steps.size(), barriers, s.kernels.size(), sum * 1e6);
  std::printf("kernels compiled one after another: %.0f ms, the slowest %.0f ms\n",
              std::accumulate(compiled.begin(), compiled.end(), 0.0) * 1e3,
              *std::max_element(compiled.begin(), compiled.end()) * 1e3);
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.times * a.seconds > b.times * b.seconds; });
  for (const Row& r : rows) {
    const Launch& step = s.steps[r.step];
    const Kernel& k = s.kernels[step.kernel];
    std::printf("%7.1f us = %3d x %5.1f  node %u %s, %u x %u x %u of %u lanes, kernel %u: %zu words, %.0f ms\n",
                r.times * r.seconds * 1e6, r.times, r.seconds * 1e6, step.node, k.name.c_str(), step.groups[0],
                step.groups[1], step.groups[2], k.size[0], step.kernel, k.words.size(), compiled[step.kernel] * 1e3);
  }
  return "";
}

int run(int count, char** files) {
  Runner runner(test_cards);
  if (!runner.why().empty()) return std::printf("%s\n", runner.why().c_str()), 1;
  for (int i = 1; i < count; ++i) {
    if (const std::string why = bench(&runner, files[i]); !why.empty()) {
      std::printf("%s: %s\n", files[i], why.c_str());
      return 1;
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace vireo::gpu

int main(int count, char** files) { return vireo::gpu::run(count, files); }
