#include "delegates/gpu/emit/kernel.h"

#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "delegates/gpu/hip/print.h"
#include "delegates/gpu/ptx/print.h"
#include "delegates/gpu/spirv/emit.h"

namespace vireo::gpu {
namespace {

// A text with the zero that ends it, filled up to whole words with more of them.
std::vector<uint32_t> words_of(const std::string& text) {
  std::vector<uint32_t> words(text.size() / sizeof(uint32_t) + 1, 0);
  memcpy(words.data(), text.data(), text.size());
  return words;
}

}  // namespace

Kernel kernel_of(const Program& program, const Target& target) {
  Kernel out;
  out.name = program.name;
  out.words = target.ptx != 0   ? words_of(print_ptx(program, target))
              : target.hip != 0 ? words_of(print_hip(program))
                                : emit_spirv(program, target);
  out.size = program.size;
  out.bindings = program.bindings;
  for (const Buffer& b : program.buffers) out.writes |= b.written ? 1u << b.binding : 0u;
  out.push_words = program.push_words;
  if (target.ptx != 0) out.shared_bytes = ptx_launch_bytes(program);
  out.begins_early =
      std::any_of(program.body.begin(), program.body.end(), [](const Statement& s) { return s.op == Op::kAwait; });
  return out;
}

}  // namespace vireo::gpu
