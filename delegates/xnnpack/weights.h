// Weights as XNNPACK's kernels read them: packed once, shared by all sessions of a model.
//
// The host keeps packed constants only in layouts that do not depend on the machine (vireo_packed); XNNPACK chooses its
// layout with the kernel, so they are kept here. A packed copy belongs to the bytes that it was made from, which
// outlive every part that refers to them; the last part takes it along.
#ifndef VIREO_DELEGATES_XNNPACK_WEIGHTS_H_
#define VIREO_DELEGATES_XNNPACK_WEIGHTS_H_

#include <stddef.h>
#include <stdint.h>
#include <xnnpack.h>

namespace vireo::xnnpack {

struct PackedWeights;  // one copy, counted

// What one part refers to. `provider` is XNNPACK's way in and must stay where it is while the part lives.
class Weights {
 public:
  Weights();
  ~Weights();
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  xnn_weights_cache_t provider() { return &provider_; }
  // XNNPACK will be given `given` (`original` itself, or a reordered copy that does not last) for the constant
  // `original`; `tag` tells apart the orders that one constant may be given in, `scales` (a constant, or null) what
  // else is packed with it: XNNPACK's own key knows the filter and the bias alone.
  void stands_for(const void* given, const void* original, uint32_t tag, const void* scales = nullptr);

  static constexpr uint32_t kMost = 6;  // constants of a part

 private:
  struct Name {
    const void* given = nullptr;
    const void* original = nullptr;
    const void* scales = nullptr;
    uint32_t tag = 0;
  };
  struct Key;
  Key key_of(const xnn_weights_cache_look_up_key& key) const;
  PackedWeights* hold(const Key& key);
  void drop_reserved();
  static size_t look_up(void* self, const xnn_weights_cache_look_up_key* key);
  static void* reserve(void* self, size_t bytes);
  static size_t insert(void* self, const xnn_weights_cache_look_up_key* key, void* data, size_t bytes);

  xnn_weights_cache_provider provider_ = {};
  Name names_[kMost];
  uint32_t name_count_ = 0;
  PackedWeights* held_[kMost] = {};
  uint32_t held_count_ = 0;
  PackedWeights* reserved_ = nullptr;
};

// Bytes of all packed copies that are alive. For tests.
size_t packed_weight_bytes();

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_WEIGHTS_H_
