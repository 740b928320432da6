// conformance_<delegate>: VIREO_CONFORMANCE_DELEGATE is the symbol of its table, or VIREO_CONFORMANCE_OPEN that of the
// function which opens a plug-in's; VIREO_CONFORMANCE_TAKES is what it must serve at least (0 for one that leaves
// everything). Exit status 77: a plug-in's devices are not on this machine.
#include <cstdio>

#include "delegates/conformance/conformance.h"
#include "delegates/conformance/test_graph.h"

#ifdef VIREO_CONFORMANCE_OPEN
extern "C" vireo_status VIREO_CONFORMANCE_OPEN(uint32_t abi, const vireo_host* host, const vireo_delegate** out);

static const vireo_delegate* open_delegate() {
  static vireo_host host = vireo::test_host();
  host.log = [](void*, vireo_log_level, const char* text) { std::printf("%s\n", text); };
  const vireo_delegate* d = nullptr;
  return VIREO_CONFORMANCE_OPEN(VIREO_DELEGATE_ABI, &host, &d) == VIREO_OK ? d : nullptr;
}
static bool is_there(const vireo_delegate& d) {
  vireo_device_info info = VIREO_DEVICE_INFO_INIT;
  void* device = nullptr;
  return d.enumerate(d.self, nullptr, 0, &info, &device) == VIREO_OK;
}
#else
extern "C" const vireo_delegate VIREO_CONFORMANCE_DELEGATE;

static const vireo_delegate* open_delegate() { return &VIREO_CONFORMANCE_DELEGATE; }
static bool is_there(const vireo_delegate&) { return true; }
#endif

int main() {
  const vireo_delegate* const d = open_delegate();
  if (d == nullptr) {
    std::printf("FAILED open\n");
    return 1;
  }
  if (!is_there(*d)) {
    std::printf("%s: skipped: no device on this machine\n", d->name);
    d->release(d->self);
    return 77;
  }
  const vireo::ConformanceResult r = vireo::run_conformance(*d, {});
  for (const std::string& line : r.log) std::printf("%s\n", line.c_str());
  for (const std::string& line : r.failures) std::printf("FAILED %s\n", line.c_str());
  std::printf("%s: %d passed, %d left with a reason, %zu failed\n", d->name, r.passed, r.left, r.failures.size());
#ifdef VIREO_CONFORMANCE_OPEN
  d->release(d->self);
#endif
  return r.failures.empty() && r.passed >= VIREO_CONFORMANCE_TAKES ? 0 : 1;
}
