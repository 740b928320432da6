// Weights as XNNPACK's kernels read them: packed once, shared by all sessions of a model.
//
// A part's first filter is packed by the host where it keeps packed constants: counted in vireo_memory, shared by its
// sessions, kept in the user's cache. XNNPACK chooses its layout with the kernel, so that what names such a copy holds
// a hash of how this CPU's kernels want a known filter (Kernels::layout). All else, and where the host keeps none, is
// in a list here: a copy belongs to the bytes that it was made from, which outlive every part that refers to them; the
// last part takes it along.
#ifndef VIREO_DELEGATES_XNNPACK_WEIGHTS_H_
#define VIREO_DELEGATES_XNNPACK_WEIGHTS_H_

#include <stddef.h>
#include <stdint.h>
#include <xnnpack.h>

#include "vireo/delegate.h"

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
  struct Name {
    const void* given = nullptr;
    const void* original = nullptr;
    size_t original_bytes = 0;
    uint32_t tag = 0;
    const void* scales = nullptr;
    size_t scales_bytes = 0;
  };
  void stands_for(const Name& name);

  // The first filter that XNNPACK asks for: says what it is and how large it will be; writes it; has it.
  void measure() { mode_ = Mode::kMeasure; }
  void write_to(void* memory);
  void use(const void* packed);
  // Says that everything is packed already: a part that is never run.
  void pretend() { mode_ = Mode::kPretend; }
  // Whether that part packs anything.
  bool was_asked() const { return looked_up_; }
  // Whether what XNNPACK is given next has to be there: a size does not follow from contents, and a first filter that
  // was packed before is never read.
  bool wants_contents() const {
    return mode_ == Mode::kShare || mode_ == Mode::kWrite || (mode_ == Mode::kUse && name_count_ > 0);
  }
  // After XNNPACK was made to pack. False when it packed nothing.
  bool describe(vireo_packed* out) const;

  static constexpr uint32_t kMost = 6;  // constants of a part

 private:
  enum class Mode : uint8_t { kShare, kMeasure, kWrite, kUse, kPretend };
  struct Key {
    const void* kernel = nullptr;
    const void* bias = nullptr;
    uint32_t seed = 0;  // XNNPACK's: which kernel, which sizes
    uint32_t tag = 0;
    const void* scales = nullptr;

    bool operator==(const Key& o) const {
      return kernel == o.kernel && bias == o.bias && seed == o.seed && tag == o.tag && scales == o.scales;
    }
  };
  Key key_of(const xnn_weights_cache_look_up_key& key) const;
  bool is_first(const Key& key);
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
  Mode mode_ = Mode::kShare;
  bool has_first_ = false, looked_up_ = false;
  Key first_;
  void* first_data_ = nullptr;
  size_t first_bytes_ = 0;
};

// Bytes of all packed copies that are alive. For tests.
size_t packed_weight_bytes();

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_WEIGHTS_H_
