#include "delegates/gpu/device/kernels.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

namespace vireo::gpu {
namespace {

constexpr uint32_t kMostThreads = 16;

std::vector<uint32_t> key_of(const Kernel& k) {
  std::vector<uint32_t> key = {k.bindings, k.push_words};
  key.insert(key.end(), k.words.begin(), k.words.end());
  return key;
}

// Calls task(i) for i below count, on this thread and others.
template <class Task>
void in_parallel(uint32_t count, const Task& task) {
  std::atomic<uint32_t> next{0};
  const auto work = [&] {
    for (uint32_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(i);
  };
  std::vector<std::thread> threads;
  const uint32_t most = std::min({count, kMostThreads, std::max(std::thread::hardware_concurrency(), 1u)});
  try {
    while (threads.size() + 1 < most) threads.emplace_back(work);
  } catch (const std::system_error&) {  // fewer, then
  }
  work();
  for (std::thread& t : threads) t.join();
}

}  // namespace

int KernelCache::make(const std::vector<Kernel>& kernels, const Compile& compile,
                      std::vector<std::shared_ptr<CompiledKernel>>* out, uint32_t* failed) {
  out->clear();
  out->resize(kernels.size());
  std::vector<std::vector<uint32_t>> keys;
  std::vector<uint32_t> missing;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (uint32_t i = 0; i < kernels.size(); ++i) {
      keys.push_back(key_of(kernels[i]));
      const auto known = made_.find(keys[i]);
      if (known != made_.end()) (*out)[i] = known->second.lock();
      if ((*out)[i] == nullptr) missing.push_back(i);
    }
  }
  // The longest first: a long one that begins last is waited for alone.
  std::stable_sort(missing.begin(), missing.end(),
                   [&](uint32_t a, uint32_t b) { return kernels[a].words.size() > kernels[b].words.size(); });
  std::vector<int> results(missing.size(), 0);
  in_parallel(static_cast<uint32_t>(missing.size()),
              [&](uint32_t m) { results[m] = compile(kernels[missing[m]], &(*out)[missing[m]]); });
  for (size_t m = 0; m < missing.size(); ++m) {
    if (results[m] == 0) continue;
    *failed = missing[m];
    return results[m];
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = made_.begin(); it != made_.end();) it = it->second.expired() ? made_.erase(it) : std::next(it);
  for (const uint32_t m : missing) made_[keys[m]] = (*out)[m];
  return 0;
}

}  // namespace vireo::gpu
