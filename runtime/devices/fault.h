// What a delegate says of a call that failed (vireo_fault), with room for its text.
#ifndef VIREO_RUNTIME_DEVICES_FAULT_H_
#define VIREO_RUNTIME_DEVICES_FAULT_H_

#include "sdk/base/error.h"
#include "vireo/delegate.h"

namespace vireo {

struct Fault : vireo_fault {
  char text[256];

  Fault() : vireo_fault{sizeof(vireo_fault), text, sizeof(text), nullptr, nullptr} { text[0] = 0; }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

  // For the end of a message, as "{}{}": what the delegate said, or the status.
  const char* lead() const { return text[0] == 0 ? "status " : ""; }
  ErrorArg said(vireo_status status) const { return text[0] == 0 ? ErrorArg(status) : ErrorArg(text); }
};

// Names come from the graph that the delegate was shown: they live as long as the model.
inline void blame(Error* error, const vireo_fault& fault) {
  blame_node(error, fault.node);
  blame_tensor(error, fault.tensor);
}

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_FAULT_H_
