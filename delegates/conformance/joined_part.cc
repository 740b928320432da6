#include "delegates/conformance/joined_part.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vireo {
namespace {

constexpr uint64_t kSoon = 20'000'000'000;

uint8_t* aligned(std::vector<uint8_t>* bytes) {
  return bytes->data() + (64 - reinterpret_cast<uintptr_t>(bytes->data()) % 64) % 64;
}
// Makes room for `bytes` from aligned() on.
void resize(std::vector<uint8_t>* out, size_t bytes) { out->assign(bytes + 64, 0xA5); }

}  // namespace

TestJoinedPart::TestJoinedPart(const vireo_delegate& d, void* device, const vireo_host& host, const vireo_graph* graph,
                               uint32_t node, TestClaim claim)
    : d_(d),
      device_(device),
      host_(host),
      graph_(graph),
      node_(node),
      claim_(std::move(claim)),
      claimed_(claim_.state()) {
  const TestNode& n = graph->nodes[node];
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const int32_t value = n.inputs[i];
    if (value < 0 || graph->values[static_cast<size_t>(value)].constant != nullptr ||
        std::find(inputs_.begin(), inputs_.end(), value) != inputs_.end())
      continue;
    inputs_.push_back(value);
    from_.push_back(i);
  }
  part_.nodes = &node_;
  part_.node_count = 1;
  part_.claimed = &claimed_;
  part_.inputs = inputs_.data();
  part_.input_count = static_cast<uint32_t>(inputs_.size());
  part_.outputs = n.outputs.data();
  part_.output_count = static_cast<uint32_t>(n.outputs.size());
}

TestJoinedPart::~TestJoinedPart() {
  if (loaded_ != nullptr) d_.unload(loaded_);
  for (const auto* list : {&constants_, &values_}) {
    for (const Buffer& b : *list) d_.buffer_release(device_, b.handle);
  }
  for (const Buffer& b : on_device_) {
    if (b.handle != nullptr) d_.buffer_release(device_, b.handle);
  }
}

vireo_status TestJoinedPart::compile() {
  if (d_.compile == nullptr) return VIREO_OK;
  vireo_blob to = VIREO_BLOB_INIT;
  to.context = &blob_;
  to.reserve = [](void* blob, size_t bytes) -> void* {
    auto* const out = static_cast<std::vector<uint8_t>*>(blob);
    resize(out, bytes);
    return aligned(out);
  };
  to.fault = &fault_;
  vireo_compiled found = VIREO_COMPILED_INIT;
  return d_.compile(device_, &host_, graph_, &part_, &to, &found);
}

std::string TestJoinedPart::place(uint64_t bytes, Buffer* out) {
  if (d_.buffer_create(device_, &host_, bytes, &out->handle) != VIREO_OK) return "buffer_create() fails";
  out->place.buffer = out->handle;
  return "";
}

std::string TestJoinedPart::place_constants() {
  vireo_packed what = VIREO_PACKED_INIT;
  for (uint32_t i = 0;
       d_.pack != nullptr && d_.pack(device_, &host_, graph_, &part_, i, nullptr, &what, nullptr) == VIREO_OK; ++i) {
    if ((what.flags & VIREO_PACKED_ON_DEVICE) == 0)
      return "pack() wants a constant in the host's memory for a part on buffers";
    if (what.constant == nullptr || what.bytes == 0) return "pack() names no constant";
    std::vector<uint8_t> bytes;
    resize(&bytes, what.bytes);
    vireo_packed again = VIREO_PACKED_INIT;
    if (d_.pack(device_, &host_, graph_, &part_, i, nullptr, &again, aligned(&bytes)) != VIREO_OK)
      return "pack() does not write";
    if (again.bytes != what.bytes || again.constant != what.constant || again.layout != what.layout)
      return "pack() answers differently the second time";
    Buffer b;
    if (std::string why = place(what.bytes, &b); !why.empty()) return why;
    constants_.push_back(b);
    if (d_.buffer_write(device_, b.handle, 0, aligned(&bytes), what.bytes) != VIREO_OK) return "buffer_write() fails";
  }
  for (const Buffer& b : constants_) constant_places_.push_back(&b.place);
  return "";
}

std::string TestJoinedPart::load(int32_t slots) {
  if (compile() != VIREO_OK) return std::string("compile() refuses a node that was taken: ") + fault_.text;
  vireo_memory_request request = VIREO_MEMORY_REQUEST_INIT;
  request.slots = slots;
  request.packs = d_.pack != nullptr ? 1 : 0;
  request.blob = blob_.empty() ? nullptr : aligned(&blob_);
  request.blob_bytes = blob_.empty() ? 0 : blob_.size() - 64;
  vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
  if (d_.memory(device_, &host_, graph_, &part_, &request, &memory) != VIREO_OK) return "memory() fails";
  resize(&state_, memory.state_bytes);
  resize(&scratch_, memory.scratch_bytes);
  const bool buffers = d_.bind != nullptr;
  std::string why = buffers ? place_constants() : "";
  if (buffers && why.empty() && memory.device_state_bytes != 0) why = place(memory.device_state_bytes, &on_device_[0]);
  if (buffers && why.empty() && memory.device_scratch_bytes != 0)
    why = place(memory.device_scratch_bytes, &on_device_[1]);
  if (!why.empty()) return why;
  vireo_load_request with = VIREO_LOAD_REQUEST_INIT;
  with.slots = slots;
  with.blob = request.blob;
  with.blob_bytes = request.blob_bytes;
  with.state = aligned(&state_);
  with.fault = &fault_;
  with.packed_at = constant_places_.empty() ? nullptr : constant_places_.data();
  with.state_at = on_device_[0].handle == nullptr ? nullptr : &on_device_[0].place;
  with.scratch_at = on_device_[1].handle == nullptr ? nullptr : &on_device_[1].place;
  const vireo_status status = d_.load(device_, &host_, graph_, &part_, &with, &loaded_);
  claim_.end();
  return status == VIREO_OK ? "" : std::string("load() fails for a part that was taken: ") + fault_.text;
}

std::string TestJoinedPart::run_on_buffers(const std::vector<TestTensor>& inputs, std::vector<uint8_t>* output) {
  // Each value in a buffer of its own, with room before and behind it.
  const auto fresh = [&](const std::vector<uint8_t>& bytes) -> std::string {
    Buffer b;
    std::vector<uint8_t> around(VIREO_BUFFER_ALIGNMENT + bytes.size() + VIREO_BUFFER_ALIGNMENT, 0x3C);
    std::copy(bytes.begin(), bytes.end(), around.begin() + VIREO_BUFFER_ALIGNMENT);
    if (std::string why = place(around.size(), &b); !why.empty()) return why;
    b.place.offset = VIREO_BUFFER_ALIGNMENT;
    values_.push_back(b);
    return d_.buffer_write(device_, b.handle, 0, around.data(), around.size()) == VIREO_OK ? ""
                                                                                           : "buffer_write() fails";
  };
  if (values_.empty()) {
    for (const size_t i : from_) {
      if (std::string why = fresh(inputs[i].bytes); !why.empty()) return why;
    }
    if (std::string why = fresh(std::vector<uint8_t>(output->size(), 0xA5)); !why.empty()) return why;
    std::vector<const vireo_place*> places;
    for (const Buffer& b : values_) places.push_back(&b.place);
    if (d_.bind(loaded_, places.data(), places.data() + from_.size()) != VIREO_OK) return "bind() fails";
  }
  vireo_submit with = VIREO_SUBMIT_INIT;
  with.fault = &fault_;
  std::vector<const vireo_tensor*> in(from_.size());
  vireo_tensor* out = nullptr;
  if (d_.submit(loaded_, in.data(), part_.input_count, &out, 1, &with) != VIREO_OK)
    return std::string("submit fails: ") + fault_.text;
  if (d_.wait(loaded_, kSoon) != VIREO_OK) return "wait() does not give VIREO_OK";
  for (size_t v = 0; v < values_.size(); ++v) {
    const bool made = v == from_.size();
    const size_t bytes = made ? output->size() : inputs[from_[v]].bytes.size();
    std::vector<uint8_t> around(bytes + 2 * VIREO_BUFFER_ALIGNMENT);
    if (d_.buffer_read(device_, values_[v].handle, 0, around.data(), around.size()) != VIREO_OK)
      return "buffer_read() fails";
    // A device works on whole words.
    const size_t end = VIREO_BUFFER_ALIGNMENT + (bytes + 3) / 4 * 4;
    const auto painted = [](uint8_t b) { return b == 0x3C; };
    if (!std::all_of(around.begin(), around.begin() + VIREO_BUFFER_ALIGNMENT, painted) ||
        !std::all_of(around.begin() + static_cast<ptrdiff_t>(end), around.end(), painted))
      return "writes outside of a value's place";
    const auto* const value = around.data() + VIREO_BUFFER_ALIGNMENT;
    if (made) {
      output->assign(value, value + bytes);
    } else if (!std::equal(value, value + bytes, inputs[from_[v]].bytes.begin())) {
      return "writes to an input";
    }
  }
  return "";
}

std::string TestJoinedPart::run(const std::vector<TestTensor>& inputs, const TensorType& type,
                                std::vector<uint8_t>* output) {
  if (d_.bind != nullptr) return run_on_buffers(inputs, output);
  std::vector<Tensor> tensors(from_.size() + 1);
  std::vector<std::vector<uint8_t>> bytes(from_.size() + 1);
  std::vector<const vireo_tensor*> in;
  for (size_t v = 0; v <= from_.size(); ++v) {
    const bool made = v == from_.size();
    static_cast<TensorType&>(tensors[v]) = made ? type : inputs[from_[v]].type;
    const size_t size = made ? output->size() : inputs[from_[v]].bytes.size();
    resize(&bytes[v], size);
    tensors[v].data = aligned(&bytes[v]);
    tensors[v].capacity = static_cast<int64_t>(size);
    if (made) continue;
    if (size != 0) std::memcpy(tensors[v].data, inputs[from_[v]].bytes.data(), size);
    in.push_back(reinterpret_cast<const vireo_tensor*>(&tensors[v]));
  }
  auto* out = reinterpret_cast<vireo_tensor*>(&tensors.back());
  vireo_submit with = VIREO_SUBMIT_INIT;
  with.fault = &fault_;
  with.scratch = aligned(&scratch_);
  with.scratch_bytes = scratch_.size() - 64;
  if (d_.submit(loaded_, in.data(), part_.input_count, &out, 1, &with) != VIREO_OK)
    return std::string("submit fails: ") + fault_.text;
  if (d_.wait != nullptr && d_.wait(loaded_, kSoon) != VIREO_OK) return "wait() does not give VIREO_OK";
  const auto* const y = static_cast<const uint8_t*>(tensors.back().data);
  output->assign(y, y + output->size());
  return "";
}

}  // namespace vireo
