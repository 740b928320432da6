#include "delegates/vulkan/recordings.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vireo::vulkan {
namespace {

constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;

// What was written at `from` is seen by `to`; what reads or writes at `from` is done before `to` begins.
void barrier(const DeviceFunctions& call, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
             VkPipelineStageFlags to, VkAccessFlags used) {
  VkMemoryBarrier b = {};
  b.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  b.srcAccessMask = written;
  b.dstAccessMask = used;
  call.CmdPipelineBarrier(commands, from, to, 0, 1, &b, 0, nullptr, 0, nullptr);
}

}  // namespace

std::unique_ptr<gpu::Recordings> Device::recordings() { return std::make_unique<Recordings>(*this); }

Recordings::~Recordings() {
  if (!device_.untouchable()) {
    const DeviceFunctions& call = device_.call();
    if (times_ != VK_NULL_HANDLE) call.DestroyQueryPool(device_.handle(), times_, nullptr);
    if (commands_ != VK_NULL_HANDLE) call.DestroyCommandPool(device_.handle(), commands_, nullptr);
    if (descriptors_ != VK_NULL_HANDLE) call.DestroyDescriptorPool(device_.handle(), descriptors_, nullptr);
  } else {
    device_.pipelines().leave();
  }
}

vireo_status Recordings::make(gpu::Schedule schedule, std::string* why) {
  schedule_ = std::move(schedule);
  uint32_t failed = 0;
  if (const VkResult result = device_.pipelines().make(schedule_.kernels, cuts(), &pipelines_, &failed);
      result != VK_SUCCESS) {
    *why = "the driver does not compile kernel \"" + schedule_.kernels[failed].name + "\": VkResult " +
           std::to_string(result);
    return device_.take(result);
  }
  for (gpu::Kernel& k : schedule_.kernels) k.words = std::vector<uint32_t>();
  const vireo_status status = allocate();
  if (status != VIREO_OK) *why = "the driver has no memory for " + std::to_string(schedule_.steps.size()) + " steps";
  return status;
}

vireo_status Recordings::allocate() {
  const DeviceFunctions& call = device_.call();
  const auto steps = static_cast<uint32_t>(schedule_.steps.size());
  uint32_t bindings = 0;
  std::vector<VkDescriptorSetLayout> layouts;
  for (const gpu::Launch& step : schedule_.steps) {
    bindings += static_cast<uint32_t>(step.bindings.size());
    layouts.push_back(pipelines_[step.kernel]->layout.set);
  }
  VkCommandPoolCreateInfo commands = {};
  commands.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  commands.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  commands.queueFamilyIndex = device_.card().queue_family;
  if (const VkResult result = call.CreateCommandPool(device_.handle(), &commands, nullptr, &commands_);
      result != VK_SUCCESS) {
    commands_ = VK_NULL_HANDLE;
    return device_.take(result);
  }
  VkCommandBufferAllocateInfo buffers = {};
  buffers.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  buffers.commandPool = commands_;
  buffers.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  const size_t pieces = most_pieces();
  std::vector<VkCommandBuffer> made(kKept * pieces);
  buffers.commandBufferCount = static_cast<uint32_t>(made.size());
  if (const VkResult result = call.AllocateCommandBuffers(device_.handle(), &buffers, made.data());
      result != VK_SUCCESS)
    return device_.take(result);
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, std::max(1u, bindings) * kKept};
  VkDescriptorPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = std::max(1u, steps) * kKept;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  if (const VkResult result = call.CreateDescriptorPool(device_.handle(), &pool, nullptr, &descriptors_);
      result != VK_SUCCESS) {
    descriptors_ = VK_NULL_HANDLE;
    return device_.take(result);
  }
  if (timed() && steps != 0 && device_.card().time_bits != 0) {
    VkQueryPoolCreateInfo times = {};
    times.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    times.queryType = VK_QUERY_TYPE_TIMESTAMP;
    times.queryCount = kKept * 2 * steps;
    if (const VkResult result = call.CreateQueryPool(device_.handle(), &times, nullptr, &times_);
        result != VK_SUCCESS) {
      times_ = VK_NULL_HANDLE;
      return device_.take(result);
    }
  }
  for (uint32_t r = 0; r < kKept; ++r) {
    Recording& recording = kept_[r];
    const auto first = made.begin() + static_cast<ptrdiff_t>(r * pieces);
    recording.commands.assign(first, first + static_cast<ptrdiff_t>(pieces));
    recording.sets.resize(steps);
    VkDescriptorSetAllocateInfo sets = {};
    sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    sets.descriptorPool = descriptors_;
    sets.descriptorSetCount = steps;
    sets.pSetLayouts = layouts.data();
    if (steps == 0) continue;
    if (const VkResult result = call.AllocateDescriptorSets(device_.handle(), &sets, recording.sets.data());
        result != VK_SUCCESS)
      return device_.take(result);
  }
  return VIREO_OK;
}

void Recordings::write_set(const Recording& recording, const gpu::Place* places, const gpu::OwnPlaces& own,
                           uint32_t step) {
  constexpr uint32_t kMost = 32;  // bits of gpu::Kernel::writes
  std::array<VkDescriptorBufferInfo, kMost> ranges;
  std::array<VkWriteDescriptorSet, kMost> writes;
  const std::vector<gpu::Binding>& bindings = schedule_.steps[step].bindings;
  const auto count = static_cast<uint32_t>(std::min<size_t>(bindings.size(), kMost));
  for (uint32_t i = 0; i < count; ++i) {
    const gpu::Place at = place_of(schedule_, places, own, bindings[i]);
    VkDescriptorBufferInfo& range = ranges[i];
    range.buffer = buffer_of(at.buffer->block);
    range.offset = at.offset;
    range.range = gpu::words_up(bindings[i].bytes);
    writes[i] = {};
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = recording.sets[step];
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &range;
  }
  device_.call().UpdateDescriptorSets(device_.handle(), count, writes.data(), 0, nullptr);
}

vireo_status Recordings::record(uint32_t slot, const std::vector<gpu::Stretch>& pieces, const gpu::Place* places,
                                const gpu::OwnPlaces& own, std::vector<gpu::Commands>* out) {
  out->clear();
  for (uint32_t s = 0; s < schedule_.steps.size(); ++s) write_set(kept_[slot], places, own, s);
  for (size_t p = 0; p < pieces.size(); ++p) {
    const VkCommandBuffer commands = kept_[slot].commands[p];
    if (const vireo_status status = record_piece(slot, commands, pieces[p]); status != VIREO_OK) return status;
    out->push_back(commands);
  }
  return VIREO_OK;
}

vireo_status Recordings::record_piece(uint32_t slot, VkCommandBuffer commands, const gpu::Stretch& piece) {
  const DeviceFunctions& call = device_.call();
  const Recording& recording = kept_[slot];
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  if (const VkResult result = call.BeginCommandBuffer(commands, &begin); result != VK_SUCCESS)
    return device_.take(result);
  constexpr VkAccessFlags kBoth = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  // Behind copies, other pieces and other parts that the queue has before.
  barrier(call, commands, kCompute | VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, kCompute, kBoth);
  const auto stamp = [&](uint32_t query) {
    if (times_ != VK_NULL_HANDLE)
      call.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times_, first_time(slot) + query);
  };
  // A step in parts is timed from the first to the last of them.
  const bool begins = piece.part == 0, ends = piece.part + 1 == piece.parts;
  if (times_ != VK_NULL_HANDLE && piece.end != piece.first && begins)
    call.CmdResetQueryPool(commands, times_, first_time(slot) + 2 * piece.first, 2 * (piece.end - piece.first));
  const Pipelines::Pipeline* last = nullptr;
  for (uint32_t s = piece.first; s < piece.end; ++s) {
    const gpu::Launch& step = schedule_.steps[s];
    const Pipelines::Pipeline& pipeline = *pipelines_[step.kernel];
    // Steps that may overlap are timed one after the other.
    if ((step.barrier || times_ != VK_NULL_HANDLE) && s != piece.first)
      barrier(call, commands, kCompute, VK_ACCESS_SHADER_WRITE_BIT, kCompute, kBoth);
    if (&pipeline != last) call.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    last = &pipeline;
    call.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout.pipeline, 0, 1,
                               &recording.sets[s], 0, nullptr);
    if (!step.push.empty()) {
      call.CmdPushConstants(commands, pipeline.layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            static_cast<uint32_t>(step.push.size() * sizeof(uint32_t)), step.push.data());
    }
    if (begins) stamp(2 * s);
    if (piece.parts == 1) {
      call.CmdDispatch(commands, step.groups[0], step.groups[1], step.groups[2]);
    } else {
      const gpu::Range part = gpu::part_of(step.groups, piece.part, piece.parts);
      call.CmdDispatchBase(commands, part.base[0], part.base[1], part.base[2], part.groups[0], part.groups[1],
                           part.groups[2]);
    }
    if (ends) stamp(2 * s + 1);
  }
  barrier(call, commands, kCompute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  return device_.take(call.EndCommandBuffer(commands));
}

bool Recordings::read_times(uint32_t slot, std::vector<gpu::StepTime>* out) {
  if (times_ == VK_NULL_HANDLE) return false;
  const Card& card = device_.card();
  std::vector<uint64_t> ticks(2 * schedule_.steps.size());
  if (device_.call().GetQueryPoolResults(device_.handle(), times_, first_time(slot),
                                         static_cast<uint32_t>(ticks.size()), ticks.size() * sizeof(uint64_t),
                                         ticks.data(), sizeof(uint64_t), VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
    return false;
  const uint64_t mask = card.time_bits >= 64 ? UINT64_MAX : (uint64_t{1} << card.time_bits) - 1;
  const auto ns = [&](uint64_t tick) {  // since the first: a counter may begin anew on its way
    return static_cast<uint64_t>(static_cast<double>((tick - ticks[0]) & mask) * card.time_ns);
  };
  out->clear();
  for (size_t i = 0; i < ticks.size(); i += 2) out->push_back({ns(ticks[i]), ns(ticks[i + 1])});
  return true;
}

}  // namespace vireo::vulkan
