// What a process waits for before its first run on the first card: the loader and an instance, a device, pipelines.
//
//   vireo_vulkan_start_bench PART [KEPT]
//
// PART holds what compile() wrote for a part on this card. KEPT: a file for what the driver keeps of pipelines, read
// if it is there and written anew.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "delegates/vulkan/device.h"

namespace vireo::vulkan {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::vector<uint64_t> contents(const char* file, size_t* bytes) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::vector<uint64_t> aligned(all.size() / 8 + 1);
  std::copy(all.begin(), all.end(), reinterpret_cast<char*>(aligned.data()));
  *bytes = all.size();
  return aligned;
}

int run(const char* part, const char* kept) {
  std::string why;
  Clock::time_point begin = Clock::now();
  const auto instance = Instance::open(nullptr, &why);
  const double of_instance = ms_since(begin);
  if (instance == nullptr) return std::printf("%s\n", why.c_str()), 1;
  begin = Clock::now();
  std::shared_ptr<gpu::Device> opened;
  if (Device::open(*instance, instance->cards()[0], &opened, &why) != VIREO_OK)
    return std::printf("%s\n", why.c_str()), 1;
  auto* const device = static_cast<Device*>(opened.get());
  const double of_device = ms_since(begin);
  size_t bytes = 0, taken = 0;
  const std::vector<uint64_t> blob = contents(part, &bytes);
  gpu::Schedule s;
  why = gpu::read_schedule(blob.data(), bytes, device->card().target, &s);
  if (!why.empty()) return std::printf("%s\n", why.c_str()), 1;
  begin = Clock::now();
  if (kept != nullptr) {
    const std::vector<uint64_t> data = contents(kept, &taken);
    if (taken != 0 && !device->pipelines().take(data.data(), taken)) std::printf("the driver does not take %s\n", kept);
  }
  const double of_taking = ms_since(begin);
  std::vector<std::shared_ptr<Pipelines::Pipeline>> made;
  uint32_t failed = 0;
  begin = Clock::now();
  const bool good = device->pipelines().make(s.kernels, false, &made, &failed) == VK_SUCCESS;
  const double of_pipelines = ms_since(begin);
  if (!good) return std::printf("kernel %u cannot be made\n", failed), 1;
  const std::vector<uint8_t> data = device->pipelines().data();
  if (kept != nullptr) {
    std::ofstream out(kept, std::ios::binary);
    out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  }
  std::printf("instance %.1f ms, device %.1f, taking %zu bytes %.1f, %zu pipelines %.1f; the driver keeps %zu bytes\n",
              of_instance, of_device, taken, of_taking, s.kernels.size(), of_pipelines, data.size());
  return 0;
}

}  // namespace
}  // namespace vireo::vulkan

int main(int count, char** words) {
  if (count < 2) return std::printf("vireo_vulkan_start_bench PART [KEPT]\n"), 1;
  return vireo::vulkan::run(words[1], count > 2 ? words[2] : nullptr);
}
