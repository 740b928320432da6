// Plug-ins are tried in a process of their own before they are opened in this one.
//
// Weighed: handlers for signals in the host (they belong to the application, and a driver that wrote where it should
// not has done so by then), a thread with a time limit (a crash takes the process along, a hanging thread cannot be
// ended), and a list of good plug-ins that somebody keeps (it would not know this driver on this device). A child costs
// some milliseconds once for each content of a file. What it finds is kept as one small file named after that content's
// hash: writers do not meet, and a plug-in that changed is a plug-in that was not tried.
#ifndef VIREO_RUNTIME_PLATFORM_PROBE_H_
#define VIREO_RUNTIME_PLATFORM_PROBE_H_

#include <stddef.h>
#include <stdint.h>

#include "vireo/vireo.h"

namespace vireo {

struct ProbeOptions {
  const char* cache = nullptr;  // as vireo_runtime_options.plugin_cache
  uint32_t timeout_ms = 0;
};

// Writes why the plug-in is not to be opened, "" when it may be. Any thread, any process.
void probe_plugin(const char* path, const ProbeOptions& options, char* reason, size_t reason_bytes);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PLATFORM_PROBE_H_
