// Numbers of a problem in a program: words of the push constants while there are any, constants of the code after that.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_NUMBERS_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_NUMBERS_H_

#include <stdint.h>

#include <vector>

#include "delegates/gpu/ir/builder.h"
#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

class Numbers {
 public:
  Numbers(Builder& builder, const Target& target) : b_(builder), most_(target.push_words) {}

  // An extent, a stride or an offset, modulo 2^32. 0 and 1 are constants: code that they make shorter is another
  // program.
  Value operator()(int64_t v) {
    const uint32_t word = static_cast<uint32_t>(v);
    if (word <= 1 || words_.size() >= most_) return b_.u32(word);
    words_.push_back(word);
    return b_.push(static_cast<uint32_t>(words_.size() - 1));
  }
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  Builder& b_;
  size_t most_;
  std::vector<uint32_t> words_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_NUMBERS_H_
