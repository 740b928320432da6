#include "delegates/gpu/schedule/schedule.h"

#include <string.h>

#include "delegates/gpu/schedule/schedule_generated.h"
#include "sdk/base/half.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr size_t kSpirvHeader = 5;  // words
constexpr uint32_t kMostErrors = 1 << 20;

// Each instruction begins with how many words it has; together they fill the module.
bool is_module(const std::vector<uint32_t>& words) {
  if (words.size() <= kSpirvHeader || words[0] != kSpirvMagic) return false;
  size_t at = kSpirvHeader;
  while (at < words.size()) {
    const uint32_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at) return false;
    at += count;
  }
  return true;
}

// PTX or HIP: a text that ends, with what it begins with.
bool is_text(const std::vector<uint32_t>& words, const std::string& begin) {
  return words.size() * sizeof(uint32_t) > begin.size() && memcmp(words.data(), begin.data(), begin.size()) == 0 &&
         words.back() >> 24 == 0;
}

bool fits(uint64_t offset, uint64_t bytes, uint64_t room) {
  return offset % kPlaceAlignment == 0 && offset <= room && bytes <= room - offset;
}

const char* check(const Kernel& k, const Target& t) {
  if (!k.words.empty()) {
    if (t.ptx != 0 && !is_text(k.words, ".version ")) return "the code of a kernel is no PTX";
    if (t.hip != 0 && !is_text(k.words, kHipBegin)) return "the code of a kernel is no HIP";
    if (t.ptx == 0 && t.hip == 0 && !is_module(k.words)) return "the code of a kernel is no SPIR-V module";
  }
  const std::array<uint32_t, 3> most{t.workgroup_x, t.workgroup_y, t.workgroup_z};
  uint64_t lanes = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (k.size[i] == 0 || k.size[i] > most[i]) return "a workgroup is larger than the device's";
    lanes *= k.size[i];
  }
  if (lanes > t.workgroup) return "a workgroup is larger than the device's";
  if (k.bindings > t.bindings || k.bindings > 32) return "a kernel has more bindings than the device takes";
  if (k.shared_bytes > t.stage_bytes) return "a kernel shares more memory than the device has";
  if (k.push_words > t.push_words) return "a kernel has more arguments than the device takes";
  return k.bindings < 32 && k.writes >> k.bindings != 0 ? "a kernel writes where it has no binding" : "";
}

// Bytes of the memory that a binding lies in, or 0 if there is no such memory.
uint64_t room_of(const Binding& b, const Schedule& s) {
  switch (b.where) {
    case Where::kInput:
      return b.index < s.inputs.size() ? s.inputs[b.index] : 0;
    case Where::kOutput:
      return b.index < s.outputs.size() ? s.outputs[b.index] : 0;
    case Where::kWeights:
      return b.index < s.weights.size() ? s.weights[b.index].bytes : 0;
    case Where::kInner:
      return b.index == 0 ? s.inner_bytes : 0;
    case Where::kData:
      return b.index == 0 ? s.data.size() : 0;
    case Where::kErrors:
      return b.index == 0 ? uint64_t{s.errors} * sizeof(uint32_t) : 0;
  }
  return 0;
}

const char* check(const Binding& b, const Schedule& s, const Target& t, bool written) {
  const uint64_t room = room_of(b, s);
  if (room == 0) return "a binding of memory that there is not";
  if (written && (b.where == Where::kInput || b.where == Where::kWeights || b.where == Where::kData))
    return "a step writes to what it may only read";
  if (b.bytes == 0 || !fits(b.offset, b.bytes, room)) return "a binding outside of its memory";
  return b.bytes > t.buffer_bytes ? "a binding is larger than the device's" : "";
}

const char* check(const Launch& step, const Schedule& s, const Target& t) {
  if (step.kernel >= s.kernels.size()) return "a step of a kernel that there is not";
  const Kernel& k = s.kernels[step.kernel];
  if (step.bindings.size() != k.bindings || step.push.size() != k.push_words) return "a step without its arguments";
  const std::array<uint32_t, 3> most{t.groups_x, t.groups_y, t.groups_z};
  for (size_t i = 0; i < 3; ++i) {
    if (step.groups[i] == 0 || step.groups[i] > most[i]) return "a step of more workgroups than the device starts";
  }
  for (size_t i = 0; i < step.bindings.size(); ++i) {
    if (const char* why = check(step.bindings[i], s, t, (k.writes >> i & 1) != 0); why[0] != 0) return why;
  }
  return "";
}

bool has_form(const Weight& w) {
  if (w.element == 0) return w.channels == 0 && w.taps == 0 && !w.halves && !w.nibbles;
  if (w.halves ? w.element != 4 : w.element != 1 && w.element != 2 && w.element != 4) return false;
  if (w.bytes > UINT64_MAX / 2) return false;
  const uint64_t run = uint64_t{w.channels} * w.taps;  // of 64 bits: below 2^64
  if (w.nibbles)
    return w.element == 1 && !w.halves && run != 0 && w.channels % 2 == 0 && w.taps % 2 == 0 && w.bytes * 2 % run == 0;
  return (w.taps == 0) == (w.channels == 0) && w.source_bytes() / w.element % (run == 0 ? 1 : run) == 0 &&
         w.source_bytes() % w.element == 0;
}

const char* check(const Schedule& s, const Target& t) {
  if (s.target != text_of(t)) return "compiled for another device";
  if (s.errors > kMostErrors) return "more words of errors than a part has nodes";
  if (s.inner_bytes % kPlaceAlignment != 0) return "a block of memory that does not end where places do";
  for (const Kernel& k : s.kernels) {
    if (const char* why = check(k, t); why[0] != 0) return why;
  }
  for (const Weight& w : s.weights) {
    if (w.node < -1 || w.value < 0) return "a constant of no value";
    if (!has_form(w)) return "a constant in a form that there is not";
  }
  for (const Launch& step : s.steps) {
    if (const char* why = check(step, s, t); why[0] != 0) return why;
  }
  return "";
}

// What the verifier of FlatBuffers leaves open: elements of eight bytes lie at multiples of eight.
template <class List>
bool is_aligned(const List* list) {
  return list == nullptr || list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % 8 == 0;
}
bool is_aligned(const fb::Schedule& s) {
  bool good = is_aligned(s.inputs()) && is_aligned(s.outputs());
  for (uint32_t i = 0; s.steps() != nullptr && i < s.steps()->size(); ++i)
    good = good && is_aligned(s.steps()->Get(i)->bindings());
  return good;
}

template <class T>
std::vector<T> copy(const ::flatbuffers::Vector<T>* from) {
  return from == nullptr ? std::vector<T>() : std::vector<T>(from->begin(), from->end());
}

Kernel unpack(const fb::Kernel& k) {
  Kernel out;
  if (k.name() != nullptr) out.name = k.name()->str();
  out.words = copy(k.words());
  out.size = {k.x(), k.y(), k.z()};
  out.bindings = k.bindings();
  out.writes = k.writes();
  out.push_words = k.push_words();
  out.shared_bytes = k.shared_bytes();
  out.begins_early = k.begins_early();
  return out;
}

Launch unpack(const fb::Step& s) {
  Launch out;
  out.kernel = s.kernel();
  if (s.bindings() != nullptr) {
    for (const fb::Binding* b : *s.bindings())
      out.bindings.push_back({static_cast<Where>(b->where()), b->index(), b->offset(), b->bytes()});
  }
  out.push = copy(s.push());
  out.groups = {s.x(), s.y(), s.z()};
  out.barrier = s.barrier();
  out.node = s.node();
  return out;
}

Weight unpack(const fb::Weight& w) {
  return {w.bytes(), w.node(), w.value(), w.channels(), w.taps(), w.element(), w.halves(), w.nibbles()};
}

template <class Table, class T>
void unpack(const ::flatbuffers::Vector<::flatbuffers::Offset<Table>>* from, std::vector<T>* to) {
  if (from == nullptr) return;
  for (const Table* table : *from) to->push_back(unpack(*table));
}

// Runs [first, end) of a weight, as T of the model and K as they are kept, in the order in which they are kept.
template <class T, class K, class Convert>
void keep(const Weight& w, const void* from, void* to, uint64_t first, uint64_t end, const Convert& convert) {
  const uint64_t channels = w.taps == 0 ? 1 : w.channels, taps = w.taps == 0 ? 1 : w.taps, each = channels * taps;
  const auto* in = static_cast<const T*>(from);
  auto* out = static_cast<K*>(to) + first * each;
  if (each == 1) {
    for (uint64_t i = first; i < end; ++i) *out++ = convert(in[i]);
    return;
  }
  for (uint64_t run = first * each; run < end * each; run += each) {
    for (uint64_t tap = 0; tap < taps; ++tap) {
      for (uint64_t c = 0; c < channels; ++c) *out++ = convert(in[run + c * taps + tap]);
    }
  }
}

// The same of elements of four bits. A block of taps is read from all channels before the next, so that lines of memory
// are read whole.
void keep_nibbles(const Weight& w, const uint8_t* from, uint8_t* to, uint64_t first, uint64_t end) {
  constexpr uint64_t kBlock = 64;
  const uint64_t channels = w.channels, taps = w.taps, each = channels * taps / 2;
  const auto nibble = [](const uint8_t* line, uint64_t t) { return line[t / 2] >> (t % 2 * 4) & 15; };
  for (uint64_t run = first * each; run < end * each; run += each) {
    for (uint64_t block = 0; block < taps; block += kBlock) {
      const uint64_t last = std::min(block + kBlock, taps);
      for (uint64_t c = 0; c < channels; c += 2) {
        const uint8_t *const one = from + run + c * taps / 2, *const two = one + taps / 2;
        for (uint64_t t = block; t < last; ++t)
          to[run + (t * channels + c) / 2] = static_cast<uint8_t>(nibble(one, t) | nibble(two, t) << 4);
      }
    }
  }
}

uint64_t kept_bytes(const Weight& w) { return w.halves ? 2 : w.element == 0 ? 1 : w.element; }

}  // namespace

uint64_t runs_of(const Weight& w) {
  if (w.nibbles) return w.bytes * 2 / (uint64_t{w.channels} * w.taps);
  return w.bytes / kept_bytes(w) / (w.taps == 0 ? 1 : uint64_t{w.channels} * w.taps);
}

void keep_weight(const Weight& w, const void* from, void* to, uint64_t first, uint64_t end) {
  const auto same = [](auto v) { return v; };
  if (w.nibbles) return keep_nibbles(w, static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), first, end);
  if (w.halves) return keep<float, uint16_t>(w, from, to, first, end, f32_to_f16);
  if (w.element == 4) return keep<uint32_t, uint32_t>(w, from, to, first, end, same);
  if (w.element == 2) return keep<uint16_t, uint16_t>(w, from, to, first, end, same);
  if (w.element == 1) return keep<uint8_t, uint8_t>(w, from, to, first, end, same);
  memcpy(static_cast<uint8_t*>(to) + first, static_cast<const uint8_t*>(from) + first, end - first);
}

std::vector<uint8_t> write_schedule(const Schedule& schedule) {
  ::flatbuffers::FlatBufferBuilder b(1 << 16);
  std::vector<::flatbuffers::Offset<fb::Kernel>> kernels;
  for (const Kernel& k : schedule.kernels) {
    const auto name = b.CreateString(k.name);
    kernels.push_back(fb::CreateKernel(b, name, b.CreateVector(k.words), k.size[0], k.size[1], k.size[2], k.writes,
                                       k.bindings, k.push_words, k.shared_bytes, k.begins_early));
  }
  std::vector<::flatbuffers::Offset<fb::Step>> steps;
  for (const Launch& s : schedule.steps) {
    std::vector<fb::Binding> bindings;
    for (const Binding& at : s.bindings)
      bindings.emplace_back(at.offset, at.bytes, at.index, static_cast<fb::Where>(at.where));
    const auto places = b.CreateVectorOfStructs(bindings);
    const auto push = b.CreateVector(s.push);
    steps.push_back(
        fb::CreateStep(b, s.kernel, places, push, s.groups[0], s.groups[1], s.groups[2], s.barrier, s.node));
  }
  std::vector<::flatbuffers::Offset<fb::Weight>> weights;
  for (const Weight& w : schedule.weights)
    weights.push_back(
        fb::CreateWeight(b, w.bytes, w.node, w.value, w.channels, w.taps, w.element, w.halves, w.nibbles));
  const auto target = b.CreateString(schedule.target);
  const auto inputs = b.CreateVector(schedule.inputs);
  const auto outputs = b.CreateVector(schedule.outputs);
  const auto weight_list = b.CreateVector(weights);
  const auto kernel_list = b.CreateVector(kernels);
  const auto step_list = b.CreateVector(steps);
  const auto data = b.CreateVector(schedule.data);
  b.Finish(fb::CreateSchedule(b, kScheduleVersion, target, inputs, outputs, schedule.inner_bytes, weight_list,
                              kernel_list, step_list, data, schedule.errors, schedule.open),
           fb::ScheduleIdentifier());
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

const char* read_schedule(const void* data, size_t bytes, const Target& target, Schedule* out) {
  *out = {};
  const auto* const base = static_cast<const uint8_t*>(data);
  if (data == nullptr || reinterpret_cast<uintptr_t>(data) % 8 != 0 || bytes < 8) return "not a compiled part";
  ::flatbuffers::Verifier::Options options;
  options.max_tables = static_cast<::flatbuffers::uoffset_t>(bytes / 4 + 1);
  ::flatbuffers::Verifier verifier(base, bytes, options);
  if (!fb::VerifyScheduleBuffer(verifier)) return "not a compiled part, or damaged";
  const fb::Schedule& s = *fb::GetSchedule(base);
  if (!is_aligned(s)) return "not a compiled part, or damaged";
  if (s.version() != kScheduleVersion) return "compiled by another version of the delegate";
  if (s.target() != nullptr) out->target = s.target()->str();
  out->inputs = copy(s.inputs());
  out->outputs = copy(s.outputs());
  out->inner_bytes = s.inner_bytes();
  unpack(s.weights(), &out->weights);
  unpack(s.kernels(), &out->kernels);
  unpack(s.steps(), &out->steps);
  out->data = copy(s.data());
  out->errors = s.errors();
  out->open = s.open();
  const char* why = check(*out, target);
  if (why[0] != 0) *out = {};
  return why;
}

}  // namespace vireo::gpu
