#include "delegates/vulkan/pipelines.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

namespace vireo::vulkan {
namespace {

constexpr uint32_t kMostThreads = 16;

std::vector<uint32_t> key_of(const gpu::Kernel& k) {
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

Pipelines::Pipelines(const DeviceFunctions& call, VkDevice device) : call_(call), device_(device) {
  VkPipelineCacheCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  if (call_.CreatePipelineCache(device_, &info, nullptr, &cache_) != VK_SUCCESS) cache_ = VK_NULL_HANDLE;
}

Pipelines::~Pipelines() {
  if (left_) return;
  for (const auto& [key, layout] : layouts_) call_.DestroyPipelineLayout(device_, layout.pipeline, nullptr);
  for (const auto& [bindings, set] : sets_) call_.DestroyDescriptorSetLayout(device_, set, nullptr);
  if (cache_ != VK_NULL_HANDLE) call_.DestroyPipelineCache(device_, cache_, nullptr);
}

bool Pipelines::take(const void* data, size_t bytes) {
  if (cache_ == VK_NULL_HANDLE) return false;
  VkPipelineCacheCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = bytes;
  info.pInitialData = data;
  VkPipelineCache kept = VK_NULL_HANDLE;
  if (call_.CreatePipelineCache(device_, &info, nullptr, &kept) != VK_SUCCESS) return false;
  VkResult result = VK_SUCCESS;
  {
    const std::unique_lock<std::shared_mutex> alone(cache_mutex_);
    result = call_.MergePipelineCaches(device_, cache_, 1, &kept);
  }
  call_.DestroyPipelineCache(device_, kept, nullptr);
  return result == VK_SUCCESS;
}

std::vector<uint8_t> Pipelines::data() {
  std::vector<uint8_t> out;
  const std::unique_lock<std::shared_mutex> alone(cache_mutex_);
  size_t bytes = 0;
  if (cache_ == VK_NULL_HANDLE || call_.GetPipelineCacheData(device_, cache_, &bytes, nullptr) != VK_SUCCESS)
    return out;
  out.resize(bytes);
  if (call_.GetPipelineCacheData(device_, cache_, &bytes, out.data()) != VK_SUCCESS) bytes = 0;
  out.resize(bytes);
  return out;
}

Pipelines::Pipeline::~Pipeline() {
  if (owner != nullptr && !owner->left_ && handle != VK_NULL_HANDLE)
    owner->call_.DestroyPipeline(owner->device_, handle, nullptr);
}

VkResult Pipelines::layout(uint32_t bindings, uint32_t push_words, Layout* out) {
  const auto known = layouts_.find({bindings, push_words});
  if (known != layouts_.end()) {
    *out = known->second;
    return VK_SUCCESS;
  }
  VkDescriptorSetLayout& set = sets_[bindings];
  if (set == VK_NULL_HANDLE) {
    std::vector<VkDescriptorSetLayoutBinding> rows(bindings);
    for (uint32_t i = 0; i < bindings; ++i)
      rows[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = bindings;
    info.pBindings = rows.data();
    if (const VkResult result = call_.CreateDescriptorSetLayout(device_, &info, nullptr, &set); result != VK_SUCCESS) {
      sets_.erase(bindings);
      return result;
    }
  }
  const VkPushConstantRange words = {VK_SHADER_STAGE_COMPUTE_BIT, 0, push_words * 4};
  VkPipelineLayoutCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = 1;
  info.pSetLayouts = &set;
  info.pushConstantRangeCount = push_words == 0 ? 0 : 1;
  info.pPushConstantRanges = &words;
  Layout made = {set, VK_NULL_HANDLE};
  const VkResult result = call_.CreatePipelineLayout(device_, &info, nullptr, &made.pipeline);
  if (result == VK_SUCCESS) *out = layouts_[{bindings, push_words}] = made;
  return result;
}

VkResult Pipelines::compile(const gpu::Kernel& kernel, Pipeline* out) {
  VkShaderModuleCreateInfo code = {};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = kernel.words.size() * sizeof(uint32_t);
  code.pCode = kernel.words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = call_.CreateShaderModule(device_, &code, nullptr, &module);
  if (result != VK_SUCCESS) return result;
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = out->layout.pipeline;
  result = call_.CreateComputePipelines(device_, cache_, 1, &info, nullptr, &out->handle);
  call_.DestroyShaderModule(device_, module, nullptr);
  if (result == VK_SUCCESS) {
    out->owner = this;
  } else {
    out->handle = VK_NULL_HANDLE;
  }
  return result;
}

VkResult Pipelines::make(const std::vector<gpu::Kernel>& kernels, std::vector<std::shared_ptr<Pipeline>>* out,
                         uint32_t* failed) {
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
      if ((*out)[i] != nullptr) continue;
      (*out)[i] = std::make_shared<Pipeline>();
      missing.push_back(i);
      if (const VkResult result = layout(kernels[i].bindings, kernels[i].push_words, &(*out)[i]->layout);
          result != VK_SUCCESS) {
        *failed = i;
        return result;
      }
    }
  }
  // The longest first: a long one that begins last is waited for alone.
  std::stable_sort(missing.begin(), missing.end(),
                   [&](uint32_t a, uint32_t b) { return kernels[a].words.size() > kernels[b].words.size(); });
  std::vector<VkResult> results(missing.size(), VK_SUCCESS);
  const std::shared_lock<std::shared_mutex> beside(cache_mutex_);
  in_parallel(static_cast<uint32_t>(missing.size()),
              [&](uint32_t m) { results[m] = compile(kernels[missing[m]], (*out)[missing[m]].get()); });
  for (size_t m = 0; m < missing.size(); ++m) {
    if (results[m] == VK_SUCCESS) continue;
    *failed = missing[m];
    return results[m];
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = made_.begin(); it != made_.end();) it = it->second.expired() ? made_.erase(it) : std::next(it);
  for (const uint32_t m : missing) made_[keys[m]] = (*out)[m];
  return VK_SUCCESS;
}

}  // namespace vireo::vulkan
