// The composites of a node as the files of adapters/ run them, matched once for a claim and what follows it.
#ifndef VIREO_DELEGATES_CPU_FORMS_H_
#define VIREO_DELEGATES_CPU_FORMS_H_

#include <stddef.h>

#include <new>

#include "delegates/cpu/activate_of.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/packed.h"
#include "sdk/composites/codes/codes.h"
#include "sdk/composites/dynamic/dynamic.h"
#include "sdk/composites/epilogue/epilogue.h"

namespace vireo {
namespace cpu {

// A product whose tail the kernels have.
struct Fused : composites::FusedProduct {
  Activate act;
};
inline bool match_fused(const NodeView& node, Fused* out) {
  return composites::match_product(node, out) && activate_of(out->function, &out->act);
}

// The same of a product of codes whose sums become float32.
struct FusedDynamic : composites::FusedDynamic {
  Activate act;
};
inline bool match_dynamic(const NodeView& node, FusedDynamic* out) {
  return composites::match_dynamic(node, out) && activate_of(out->function, &out->act);
}

}  // namespace cpu

// Several adapters ask of one node whether it is a product with a tail, and one asks again for scratch and packed
// constants. Bodies are long: the first to ask has it read, and the claim hands it on to the calls behind it.
class CpuForms {
 public:
  CpuForms() {}  // a form is made when it is asked for

  const cpu::Fused* product(const NodeView& node) {
    if (product_state_ == State::kUnknown) product_state_ = read(node, cpu::match_fused, &product_);
    return product_state_ == State::kMatched ? &product_ : nullptr;
  }
  const composites::FusedCodes* codes(const NodeView& node) {
    if (codes_state_ == State::kUnknown) codes_state_ = read(node, composites::match_codes, &codes_);
    return codes_state_ == State::kMatched ? &codes_ : nullptr;
  }
  const cpu::FusedDynamic* dynamic(const NodeView& node) {
    if (dynamic_state_ == State::kUnknown) dynamic_state_ = read(node, cpu::match_dynamic, &dynamic_);
    return dynamic_state_ == State::kMatched ? &dynamic_ : nullptr;
  }

  // What has to be copied of it: the largest form is last.
  size_t bytes() const {
    if (product_state_ == State::kMatched) return sizeof(*this);
    const void* const end = dynamic_state_ == State::kMatched ? static_cast<const void*>(&product_)
                            : codes_state_ == State::kMatched ? static_cast<const void*>(&dynamic_)
                                                              : static_cast<const void*>(&codes_);
    return static_cast<size_t>(static_cast<const char*>(end) - reinterpret_cast<const char*>(this));
  }

 private:
  enum class State : uint8_t { kUnknown, kMatched, kOther };
  template <class Form>
  static State read(const NodeView& node, bool (*match)(const NodeView&, Form*), Form* form) {
    return match(node, new (form) Form()) ? State::kMatched : State::kOther;
  }

  State product_state_ = State::kUnknown, codes_state_ = State::kUnknown, dynamic_state_ = State::kUnknown;
  union {
    composites::FusedCodes codes_;
  };
  union {
    cpu::FusedDynamic dynamic_;
  };
  union {
    cpu::Fused product_;
  };
};

namespace cpu {

// The node as a product with a tail, or as a product of codes; null where it is none. Lives as long as the query.
inline const Fused* product_of(const CpuQuery& q) { return q.forms->product(q); }
inline const composites::FusedCodes* codes_of(const CpuQuery& q) { return q.forms->codes(q); }
inline const FusedDynamic* dynamic_of(const CpuQuery& q) { return q.forms->dynamic(q); }

// The state of a kernel that runs a product and reads the core's constant packed where it can, and its `prepare`.
struct FusedState {
  Fused fused;
  const float* packed = nullptr;
};
template <PackConstant kPack>
void prepare_fused(const CpuQuery& q, void* state) {
  auto* const s = new (state) FusedState();
  if (const Fused* const f = product_of(q)) s->fused = *f;
  s->packed = static_cast<const float*>(packed_at(q, kPack));
}

}  // namespace cpu
}  // namespace vireo

#endif  // VIREO_DELEGATES_CPU_FORMS_H_
