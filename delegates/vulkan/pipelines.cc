#include "delegates/vulkan/pipelines.h"

#include <utility>

namespace vireo::vulkan {

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

VkResult Pipelines::compile(const gpu::Kernel& kernel, bool in_parts, Pipeline* out) {
  VkShaderModuleCreateInfo code = {};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = kernel.words.size() * sizeof(uint32_t);
  code.pCode = kernel.words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = call_.CreateShaderModule(device_, &code, nullptr, &module);
  if (result != VK_SUCCESS) return result;
  VkComputePipelineCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  if (in_parts) info.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = out->layout.pipeline;
  result = call_.CreateComputePipelines(device_, cache_, 1, &info, nullptr, &out->handle);
  call_.DestroyShaderModule(device_, module, nullptr);
  if (result == VK_SUCCESS) {
    ++compiled_;
    out->owner = this;
  } else {
    out->handle = VK_NULL_HANDLE;
  }
  return result;
}

VkResult Pipelines::make(const std::vector<gpu::Kernel>& kernels, bool in_parts,
                         std::vector<std::shared_ptr<Pipeline>>* out, uint32_t* failed) {
  const auto compile_one = [this, in_parts](const gpu::Kernel& kernel, std::shared_ptr<gpu::CompiledKernel>* to) {
    auto made = std::make_shared<Pipeline>();
    VkResult result = VK_SUCCESS;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      result = layout(kernel.bindings, kernel.push_words, &made->layout);
    }
    if (result == VK_SUCCESS) result = compile(kernel, in_parts, made.get());
    *to = std::move(made);
    return static_cast<int>(result);
  };
  std::vector<std::shared_ptr<gpu::CompiledKernel>> made;
  const std::shared_lock<std::shared_mutex> beside(cache_mutex_);
  const int result = (in_parts ? made_in_parts_ : made_).make(kernels, compile_one, &made, failed);
  out->clear();
  for (std::shared_ptr<gpu::CompiledKernel>& one : made) out->push_back(std::static_pointer_cast<Pipeline>(one));
  return static_cast<VkResult>(result);
}

}  // namespace vireo::vulkan
