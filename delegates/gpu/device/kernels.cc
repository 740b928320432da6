#include "delegates/gpu/device/kernels.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>

#include "sdk/base/fnv.h"

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

// The count, the sizes, the code.
std::vector<uint8_t> KernelCode::bytes() const {
  std::vector<uint64_t> head = {of.size()};
  for (const std::vector<uint8_t>& code : of) {
    if (code.empty()) return {};
    head.push_back(code.size());
  }
  const auto* const first = reinterpret_cast<const uint8_t*>(head.data());
  std::vector<uint8_t> out(first, first + head.size() * sizeof(uint64_t));
  for (const std::vector<uint8_t>& code : of) out.insert(out.end(), code.begin(), code.end());
  return out;
}

void KernelCode::take(const void* bytes, size_t size, size_t kernels) {
  of.assign(kernels, {});
  std::vector<uint64_t> head(kernels + 1);
  const size_t head_bytes = head.size() * sizeof(uint64_t);
  if (bytes == nullptr || size < head_bytes) return;
  std::memcpy(head.data(), bytes, head_bytes);
  uint64_t left = size - head_bytes;
  bool whole = head[0] == kernels;
  for (size_t i = 1; i <= kernels; ++i) {
    whole = whole && head[i] <= left;
    left -= whole ? head[i] : 0;
  }
  if (!whole || left != 0) return;
  const uint8_t* at = static_cast<const uint8_t*>(bytes) + head_bytes;
  for (size_t i = 0; i < kernels; at += head[++i]) of[i].assign(at, at + head[i + 1]);
}

std::string code_key(const std::vector<Kernel>& kernels) {
  uint64_t hash = kEmptyHash;
  for (const Kernel& k : kernels) hash = hash_bytes(hash, k.words.data(), k.words.size() * sizeof(uint32_t));
  char text[32];
  std::snprintf(text, sizeof(text), "kernels-%016llx", static_cast<unsigned long long>(hash));
  return text;
}

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
