#include "delegates/gpu/spirv/module.h"

namespace vireo::gpu::spirv {
namespace {

void append(Words* out, const Words& more) { out->insert(out->end(), more.begin(), more.end()); }

// A literal string: bytes from the lowest of each word on, with a 0 at the end.
Words text(const char* s) {
  Words out;
  uint32_t word = 0;
  int at = 0;
  for (;; ++s) {
    word |= static_cast<uint32_t>(static_cast<unsigned char>(*s)) << (8 * at);
    if (++at == 4 || *s == 0) {
      out.push_back(word);
      word = 0;
      at = 0;
    }
    if (*s == 0) return out;
  }
}

}  // namespace

void Module::put(Words* out, Opcode opcode, const Words& operands) {
  out->push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
  append(out, operands);
}

void Module::capability(uint32_t number) { put(&capabilities_, kOpCapability, {number}); }
void Module::extension(const char* name) { put(&extensions_, kOpExtension, text(name)); }

uint32_t Module::keyed(Opcode opcode, Words operands, size_t result_at) {
  Words key = operands;
  key.insert(key.begin(), opcode);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const uint32_t id = fresh();
  operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(result_at), id);
  put(&types_, opcode, operands);
  known_.emplace(std::move(key), id);
  return id;
}

uint32_t Module::type(Opcode opcode, std::initializer_list<uint32_t> operands) { return keyed(opcode, operands, 0); }
uint32_t Module::own_type(Opcode opcode, std::initializer_list<uint32_t> operands) {
  const uint32_t id = fresh();
  Words all = operands;
  all.insert(all.begin(), id);
  put(&types_, opcode, all);
  return id;
}
uint32_t Module::constant(uint32_t type, std::initializer_list<uint32_t> value) {
  Words operands = value;
  operands.insert(operands.begin(), type);
  return keyed(kOpConstant, std::move(operands), 1);
}
uint32_t Module::boolean(bool value) {
  return keyed(value ? kOpConstantTrue : kOpConstantFalse, {type(kOpTypeBool)}, 1);
}
uint32_t Module::global(uint32_t pointer_type, StorageClass storage) {
  const uint32_t id = fresh();
  put(&types_, kOpVariable, {pointer_type, id, storage});
  return id;
}

uint32_t Module::value(Opcode opcode, uint32_t type, std::initializer_list<uint32_t> operands) {
  const uint32_t id = fresh();
  Words all = operands;
  all.insert(all.begin(), {type, id});
  put(&code_, opcode, all);
  return id;
}
uint32_t Module::extended(uint32_t number, uint32_t type, std::initializer_list<uint32_t> operands) {
  if (glsl_ == 0) glsl_ = fresh();
  const uint32_t id = fresh();
  Words all = operands;
  all.insert(all.begin(), {type, id, glsl_, number});
  put(&code_, kOpExtInst, all);
  return id;
}

Words Module::finish(uint32_t entry, const Words& interface) {
  Words out = {0x07230203, 0x00010300, 0, bound_, 0};  // magic, version 1.3, no registered generator
  append(&out, capabilities_);
  append(&out, extensions_);
  if (glsl_ != 0) {
    Words import = text("GLSL.std.450");
    import.insert(import.begin(), glsl_);
    put(&out, kOpExtInstImport, import);
  }
  put(&out, kOpMemoryModel, {0, memory_model_});  // logical addresses
  Words point = {5, entry};                       // GLCompute
  append(&point, text("main"));
  append(&point, interface);
  put(&out, kOpEntryPoint, point);
  append(&out, modes_);
  append(&out, decorations_);
  append(&out, types_);
  append(&out, code_);
  return out;
}

}  // namespace vireo::gpu::spirv
