// A HIP that fails on demand: what no driver does when a test asks for it. It is a driver with its compiler and its
// cards in one shared library, made of the host's memory (delegates/gpu/stream/fake.h).
#ifndef VIREO_DELEGATES_HIP_FAKE_CONTROL_H_
#define VIREO_DELEGATES_HIP_FAKE_CONTROL_H_

#include "delegates/gpu/stream/fake.h"

namespace vireo::hip::fake {

// What a test sets, and what it reads.
struct Control : gpu::fake::Control {
  int version = 60241133;
  const char* chip = "gfx1100";
  int lanes = 32;
  bool old_properties = false;  // the layout of HIP 5
  int compile_result = 0;       // of hiprtc
};

using ControlFunction = Control* (*)();
#define VIREO_FAKE_HIP_CONTROL "vireo_fake_hip_control"

}  // namespace vireo::hip::fake

#endif  // VIREO_DELEGATES_HIP_FAKE_CONTROL_H_
