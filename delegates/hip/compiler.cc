#include "delegates/hip/compiler.h"

#include <dlfcn.h>

#include <cstdlib>

namespace vireo::hip {
namespace {

constexpr size_t kMostLog = 1024;

template <class F>
void look_up(void* library, const char* symbol, F* out) {
  *out = reinterpret_cast<F>(dlsym(library, symbol));
}

}  // namespace

std::unique_ptr<Compiler> Compiler::open(void* driver, const std::string& suffix, std::string* why) {
  const char* const named = std::getenv("VIREO_HIPRTC_LIBRARY");
  const std::string file = named != nullptr ? named : "libhiprtc.so" + suffix;
  void* library = named == nullptr && dlsym(driver, "hiprtcCreateProgram") != nullptr ? driver : nullptr;
  std::string missing;
  if (library == nullptr) library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) missing = dlerror();
  if (library == nullptr && named == nullptr) library = dlopen("/opt/rocm/lib/libhiprtc.so", RTLD_NOW | RTLD_LOCAL);
  std::unique_ptr<Compiler> compiler(new Compiler);
  bool whole = library != nullptr;
#define VIREO_HIP_LOOK_UP(name, symbol, arguments)    \
  if (whole) {                                        \
    look_up(library, #symbol, &compiler->call_.name); \
    whole = compiler->call_.name != nullptr;          \
  }
  VIREO_HIP_COMPILER(VIREO_HIP_LOOK_UP)
#undef VIREO_HIP_LOOK_UP
  if (!whole) {
    *why = "HIP is here, and no compiler for kernels" +
           (missing.empty() ? ": " + file + " is no hiprtc" : ": " + missing) +
           " (it comes with ROCm's package hip-runtime-amd)";
    return nullptr;
  }
  int major = 0, minor = 0;
  (void)compiler->call_.version(&major, &minor);
  compiler->name_ = "hiprtc " + std::to_string(major) + "." + std::to_string(minor);
  return compiler;
}

bool Compiler::compile(const std::string& text, const std::string& chip, std::vector<uint8_t>* out,
                       std::string* log) const {
  Program program = nullptr;
  if (const CompileResult result = call_.create(&program, text.c_str(), "vireo.hip", 0, nullptr, nullptr);
      result != 0) {
    *log = name_ + " takes no text: " + std::to_string(result);
    return false;
  }
  const std::string arch = "--offload-arch=" + chip;
  const char* options[] = {arch.c_str(), "-O3", "-std=c++17", "-ffp-contract=off"};
  CompileResult result = call_.compile(program, 4, static_cast<const char**>(options));
  size_t bytes = 0;
  if (result != 0) {
    *log = name_ + " gives " + std::to_string(result);
    std::string said;
    if (call_.log_bytes(program, &bytes) == 0 && bytes > 1) {
      said.resize(bytes);
      if (call_.log(program, said.data()) == 0) *log += ": " + std::string(said.c_str()).substr(0, kMostLog);
    }
  } else {
    result = call_.code_bytes(program, &bytes);
    if (result == 0) {
      out->resize(bytes);
      result = call_.code(program, reinterpret_cast<char*>(out->data()));
    }
    if (result == 0 && out->empty()) result = -1;
    if (result != 0) *log = name_ + " gives no code: " + std::to_string(result);
  }
  (void)call_.destroy(&program);
  return result == 0;
}

}  // namespace vireo::hip
