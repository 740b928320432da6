#include "delegates/cuda/linker.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace vireo::cuda {

std::unique_ptr<Linker> Linker::open() {
  void* library = nullptr;
  if (const char* const named = std::getenv("VIREO_NVJITLINK_LIBRARY")) {
    library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
  } else {
    for (const char* const file :
         {"libnvJitLink.so.13", "libnvJitLink.so.12", "/usr/local/cuda/lib64/libnvJitLink.so"}) {
      if (library == nullptr) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (library == nullptr) return nullptr;
  std::unique_ptr<Linker> linker(new Linker);
#define VIREO_CUDA_LOOK_UP(name, symbol, arguments)                                             \
  linker->call_.name = reinterpret_cast<decltype(linker->call_.name)>(dlsym(library, #symbol)); \
  if (linker->call_.name == nullptr) return nullptr;
  VIREO_CUDA_LINKER(VIREO_CUDA_LOOK_UP)
#undef VIREO_CUDA_LOOK_UP
  unsigned major = 0, minor = 0;
  if (linker->call_.version(&major, &minor) != 0) return nullptr;
  linker->name_ = "nvJitLink " + std::to_string(major) + "." + std::to_string(minor);
  return linker;
}

bool Linker::compile(const char* text, const std::string& chip, std::vector<uint8_t>* out) const {
  constexpr int kPtx = 2;  // nvJitLinkInputType
  const std::string arch = "-arch=" + chip;
  const char* options[] = {arch.c_str()};
  LinkHandle handle = nullptr;
  if (call_.create(&handle, 1, static_cast<const char**>(options)) != 0) return false;
  size_t bytes = 0;
  bool good = call_.add(handle, kPtx, text, std::strlen(text), "kernel") == 0 && call_.complete(handle) == 0 &&
              call_.code_bytes(handle, &bytes) == 0 && bytes != 0;
  if (good) {
    out->resize(bytes);
    good = call_.code(handle, out->data()) == 0;
  }
  (void)call_.destroy(&handle);
  return good;
}

}  // namespace vireo::cuda
