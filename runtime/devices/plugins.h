// Delegates in shared libraries: found, opened, and refused with a reason.
//
// Nothing here is trusted but to be code: a library that crashes when it is loaded takes the process with it, as every
// shared library does. What it says of itself is checked.
#ifndef VIREO_RUNTIME_DEVICES_PLUGINS_H_
#define VIREO_RUNTIME_DEVICES_PLUGINS_H_

#include "sdk/base/error.h"
#include "vireo/delegate.h"

struct vireo_runtime;

namespace vireo {

struct Plugin {
  Plugin* next = nullptr;
  void* library = nullptr;
  const vireo_delegate* delegate = nullptr;  // null where it was refused
  uint32_t device_count = 0;
  char reason[256] = {};  // why it was refused; "" where it serves
  char path[1024] = {};
};

// Opens the libraries that `list` names, files and folders with colons between them, in its order (in a folder: by
// name), and enumerates their devices. What is wrong with one of them is its reason, and a line in the log; only want
// of memory is an error.
Status open_plugins(vireo_runtime* runtime, const char* list, Error* error);
void close_plugins(vireo_runtime* runtime);

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_PLUGINS_H_
