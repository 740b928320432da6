// VK_KHR_cooperative_matrix as its specification numbers it: vulkan.h has it from 1.3.255 on, and older ones build this
// delegate.
#ifndef VIREO_DELEGATES_VULKAN_COOPERATIVE_H_
#define VIREO_DELEGATES_VULKAN_COOPERATIVE_H_

#include "delegates/vulkan/functions.h"

namespace vireo::vulkan {

constexpr const char* kCooperativeMatrix = "VK_KHR_cooperative_matrix";
constexpr auto kCooperativeMatrixFeatures = static_cast<VkStructureType>(1000506000);
constexpr auto kCooperativeMatrixRow = static_cast<VkStructureType>(1000506001);

struct CooperativeMatrixFeatures {
  VkStructureType sType = kCooperativeMatrixFeatures;
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE, robustBufferAccess = VK_FALSE;
};

enum CooperativeType : int32_t { kCooperativeFloat16 = 0, kCooperativeFloat32 = 1 };
constexpr int32_t kCooperativeSubgroup = 3;  // the scope

// A shape that a device multiplies: a (m x k) b (k x n) + c -> result (m x n).
struct CooperativeMatrixRow {
  VkStructureType sType = kCooperativeMatrixRow;
  void* pNext = nullptr;
  uint32_t m = 0, n = 0, k = 0;
  int32_t a = 0, b = 0, c = 0, result = 0;  // types
  VkBool32 saturates = VK_FALSE;
  int32_t scope = 0;
};

using ListCooperativeMatrices = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, CooperativeMatrixRow*);

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_COOPERATIVE_H_
