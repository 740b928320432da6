// The composites of a node as the files of adapters/ run them, matched once for a call of the delegate.
#ifndef VIREO_DELEGATES_CPU_FORMS_H_
#define VIREO_DELEGATES_CPU_FORMS_H_

#include "delegates/cpu/activate_of.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/packed.h"
#include "sdk/composites/codes/codes.h"
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

}  // namespace cpu

// Several adapters ask of one node whether it is a product with a tail, and one asks again for scratch and packed
// constants. Bodies are long: the first to ask has it read.
class CpuForms {
 public:
  const cpu::Fused* product(const NodeView& node) { return product_.of(node, cpu::match_fused); }
  const composites::FusedCodes* codes(const NodeView& node) { return codes_.of(node, composites::match_codes); }

 private:
  template <class Form>
  class Once {
   public:
    Once() {}  // the form is made when it is asked for
    const Form* of(const NodeView& node, bool (*match)(const NodeView&, Form*)) {
      if (state_ == State::kUnknown) state_ = match(node, new (&form_) Form()) ? State::kMatched : State::kOther;
      return state_ == State::kMatched ? &form_ : nullptr;
    }

   private:
    enum class State : uint8_t { kUnknown, kMatched, kOther };
    State state_ = State::kUnknown;
    union {
      Form form_;
    };
  };
  Once<cpu::Fused> product_;
  Once<composites::FusedCodes> codes_;
};

namespace cpu {

// The node as a product with a tail, or as a product of codes; null where it is none. Lives as long as the query.
inline const Fused* product_of(const CpuQuery& q) { return q.forms->product(q); }
inline const composites::FusedCodes* codes_of(const CpuQuery& q) { return q.forms->codes(q); }

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
