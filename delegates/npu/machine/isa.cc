#include "delegates/npu/machine/isa.h"

namespace vireo::npu {
namespace {

constexpr OpInfo kOps[] = {
#define VIREO_NPU_OP(number, name, queue, fields) {#name, Op::name, queue, kHead | fields},
#define VIREO_NPU_FIELD(name, group, word, bit, bits, is_signed, meaning)
#include "delegates/npu/machine/isa.def"
#undef VIREO_NPU_OP
#undef VIREO_NPU_FIELD
};

constexpr Field kFields[] = {
#define VIREO_NPU_OP(number, name, queue, fields)
#define VIREO_NPU_FIELD(name, group, word, bit, bits, is_signed, meaning) field::name,
#include "delegates/npu/machine/isa.def"
#undef VIREO_NPU_OP
#undef VIREO_NPU_FIELD
};

// No two fields of one command share a bit.
constexpr bool disjoint() {
  for (const OpInfo& op : kOps) {
    uint32_t used[kCommandWords] = {};
    for (const Field& f : kFields) {
      if ((f.groups & op.groups) == 0) continue;
      const uint32_t mask = f.bits == 32 ? 0xffffffffu : ((1u << f.bits) - 1) << f.bit;
      if ((used[f.word] & mask) != 0) return false;
      used[f.word] |= mask;
    }
  }
  return true;
}
static_assert(disjoint());

struct Line {
  char* text;
  size_t capacity, length = 0;

  void put(char c) {
    if (length + 1 < capacity) text[length++] = c;
  }
  void put(const char* s) {
    for (; *s != 0; ++s) put(*s);
  }
  void put(int64_t v) {
    char digits[24];
    int n = 0;
    uint64_t u = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    do digits[n++] = static_cast<char>('0' + u % 10);
    while ((u /= 10) != 0);
    if (v < 0) put('-');
    while (n > 0) put(digits[--n]);
  }
  void put_hex(uint32_t v) {
    put("0x");
    for (int shift = 28; shift >= 0; shift -= 4) put("0123456789abcdef"[(v >> shift) & 15]);
  }
};

}  // namespace

const OpInfo* op_info(uint32_t number) {
  for (const OpInfo& op : kOps) {
    if (static_cast<uint32_t>(op.op) == number) return &op;
  }
  return nullptr;
}

const Field* fields(size_t* count) {
  *count = sizeof(kFields) / sizeof(kFields[0]);
  return kFields;
}

size_t print_command(const Command& command, uint32_t index, const char* layer, char* text, size_t capacity) {
  if (capacity == 0) return 0;
  Line line{text, capacity};
  line.put(static_cast<int64_t>(index));
  line.put(' ');
  const OpInfo* const op = op_info(command.u(field::op));
  if (op == nullptr) {
    line.put("unknown ");
    line.put(static_cast<int64_t>(command.u(field::op)));
  } else {
    line.put(op->name);
    for (const Field& f : kFields) {
      if ((f.groups & op->groups) == 0 || command.u(f) == 0) continue;
      if (f.word == field::op.word && f.bit == field::op.bit) continue;
      line.put(' ');
      line.put(f.name);
      line.put('=');
      if ((f.groups & (kScaleA | kScaleB)) != 0) {
        line.put_hex(command.u(f));
      } else {
        line.put(f.is_signed ? static_cast<int64_t>(command.s(f)) : static_cast<int64_t>(command.u(f)));
      }
    }
  }
  if (layer != nullptr) {
    line.put("  ; ");
    line.put(layer);
  }
  text[line.length] = 0;
  return line.length;
}

}  // namespace vireo::npu
