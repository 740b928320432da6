// Delegates in shared libraries: found, opened, and refused with a reason.
//
// A library that crashes takes the process with it, so it is tried in another one first (platform/probe.h). What it
// says of itself is checked here again.
#ifndef VIREO_RUNTIME_DEVICES_PLUGINS_H_
#define VIREO_RUNTIME_DEVICES_PLUGINS_H_

#include "runtime/platform/probe.h"
#include "sdk/base/error.h"
#include "vireo/delegate.h"

struct vireo_runtime;

namespace vireo {

struct Plugin {
  Plugin* next = nullptr;
  void* library = nullptr;
  const vireo_delegate* delegate = nullptr;  // null where it was refused; else:
  vireo_delegate table = {};                 // its table as this header knows it
  uint32_t device_count = 0;
  uint32_t spoke = 0;     // `said` is whole
  char said[160] = {};    // the first error that it logged while it was opened
  char reason[256] = {};  // why it was refused; "" where it serves
  char path[1024] = {};
};

// Opens the libraries that `list` names, files and folders with colons between them, in its order (in a folder: by
// name), and enumerates their devices. What is wrong with one of them is its reason, and a line in the log; only want
// of memory is an error.
// Each is probed before (platform/probe.h), unless `probe` is null.
Status open_plugins(vireo_runtime* runtime, const char* list, const ProbeOptions* probe, Error* error);
void close_plugins(vireo_runtime* runtime);
// For the host's log, from any thread: keeps the first error of a plug-in that is being opened.
void hear_error(vireo_runtime* runtime, const char* text);

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_PLUGINS_H_
