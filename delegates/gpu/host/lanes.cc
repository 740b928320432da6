#include "delegates/gpu/host/lanes.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "delegates/gpu/hip/lanes.h"
#include "delegates/gpu/host/print.h"

namespace vireo::gpu {
namespace {

// A path of this process's own in the working directory, removed again by who asked for it.
std::string scratch_path(const char* suffix) {
  static int count = 0;
  return "./gpu_lanes_" + std::to_string(getpid()) + "_" + std::to_string(count++) + suffix;
}

// Output of a command that failed; "" where it did not.
std::string run_command(const std::string& command) {
  std::string said;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");  // NOLINT(cert-env33-c): a compiler, in tests
  if (pipe == nullptr) return "cannot start: " + command;
  char line[512];
  while (fgets(line, sizeof(line), pipe) != nullptr) said += line;
  const int status = pclose(pipe);
  return status == 0 ? "" : command + " ended with " + std::to_string(status) + ": " + said;
}

bool write_file(const std::string& path, const void* data, size_t bytes) {
  FILE* f = fopen(path.c_str(), "wb");
  if (f == nullptr) return false;
  const bool whole = fwrite(data, 1, bytes, f) == bytes;
  return fclose(f) == 0 && whole;
}

}  // namespace

HostLanes::~HostLanes() {
  if (library_ != nullptr) dlclose(library_);
}

size_t HostLanes::add(const Program& program) {
  const std::string symbol = "kernel" + std::to_string(count_);
  text_ += hip_ != nullptr ? hip_lanes_entry(program, symbol) : print_host(program, symbol);
  return count_++;
}

// In a folder of its own under one name: then a compiler's cache knows the text again, whoever asks.
std::string HostLanes::build() {
  const std::string folder = scratch_path(""), source = folder + "/lanes.cc", library = folder + "/lanes.so";
  const std::string text = (hip_ != nullptr ? hip_lanes_head(*hip_) : host_prelude()) + text_;
  if (mkdir(folder.c_str(), 0700) != 0 || !write_file(source, text.data(), text.size()))
    return "cannot write " + source;
  std::string why = run_command("cd " + folder +
                                " && " VIREO_GPU_TEST_COMPILE
                                " -std=c++20 -O0 -fno-strict-aliasing -fwrapv -ffp-contract=off -fPIC -w -c "
                                "-o lanes.o lanes.cc && " VIREO_GPU_TEST_CXX " -shared -o lanes.so lanes.o");
  if (why.empty()) {
    library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) why = dlerror();
  }
  for (size_t i = 0; i < count_ && why.empty(); ++i) {
    entries_.push_back(reinterpret_cast<Entry>(dlsym(library_, ("kernel" + std::to_string(i)).c_str())));
    if (entries_.back() == nullptr) why = "a kernel is not in its library";
  }
  remove(source.c_str());
  remove((folder + "/lanes.o").c_str());
  remove(library.c_str());
  rmdir(folder.c_str());
  return why;
}

std::string HostLanes::run(size_t at, const std::vector<uint32_t>& push, const std::array<uint32_t, 3>& groups,
                           std::vector<Bytes>* bindings) const {
  std::vector<Bytes> results[2] = {*bindings, *bindings};
  for (int backwards = 0; backwards < 2; ++backwards) {
    std::vector<void*> places;
    std::vector<uint64_t> bytes;
    for (Bytes& b : results[backwards]) {
      b.resize((b.size() + 3) / 4 * 4);  // as drivers bind it
      places.push_back(b.data());
      bytes.push_back(b.size());
    }
    const int wrong = entries_[at](places.data(), bytes.data(), push.data(), groups.data(), backwards);
    if (wrong == 1) return "memory outside a binding";
    if (wrong == 2) return "a barrier that not every lane comes to in the same way";
    if (wrong == 3) return "lanes and matrices that meet in shared memory without a barrier";
    if (wrong == 4) return "a wave that is not whole, or whose lanes have other elements than its unit takes";
    for (size_t i = 0; i < bindings->size(); ++i) results[backwards][i].resize((*bindings)[i].size());
  }
  if (results[0] != results[1]) return "results that depend on the order of the lanes";
  *bindings = results[0];
  return "";
}

namespace {

std::string validator() {
  const char* const named = getenv("VIREO_SPIRV_VAL");
  return named != nullptr ? named : "spirv-val";
}

}  // namespace

bool validates_matrices() {
  // SPIRV-Tools of mid-2023 and newer have SPV_KHR_cooperative_matrix; the version is "v2023.1" or so.
  static const bool knows = [] {
    const bool is = run_command(validator() + " --version | grep -q -E 'v2023[.][3-9]|v202[4-9]|v20[3-9]'").empty();
    if (!is)
      puts("spirv-val is older than cooperative matrices: modules with them are not validated (VIREO_SPIRV_VAL)");
    return is;
  }();
  return knows;
}

std::string validate_spirv(const std::vector<uint32_t>& words, bool* found) {
  const std::string tool = validator();
  *found = run_command(tool + " --version").empty();
  if (!*found) return "";
  const std::string path = scratch_path(".spv");
  if (!write_file(path, words.data(), words.size() * 4)) return "cannot write " + path;
  std::string why = run_command(tool + " --target-env vulkan1.1 " + path);
  remove(path.c_str());
  return why;
}

std::string assemble_ptx(const std::string& text, const std::string& level, bool* found) {
  // Where NVIDIA's toolkit puts it, if it is not on the path.
  const std::string tool = "PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin ptxas";
  *found = run_command(tool + " --version").empty();
  if (!*found) return "";
  const std::string path = scratch_path(".ptx");
  if (!write_file(path, text.data(), text.size())) return "cannot write " + path;
  // -v: "0 bytes spill stores" and so on for each entry. What spills more than some words is too large a tiling.
  const std::string log = path + ".log", first = " " + log + " | head -n 5";
  std::string why = run_command(tool + " -v -arch sm_" + level + " -o " + path + ".cubin " + path + " >" + log +
                                " 2>&1 || { grep -i -E 'error|fatal'" + first +
                                "; exit 1; }; ! grep -q '[1-9][0-9][0-9][0-9]* bytes spill' " + log +
                                " || { grep -B 3 '[1-9][0-9][0-9][0-9]* bytes spill'" + first + "; exit 1; }");
  for (const char* end : {"", ".cubin", ".log"}) remove((path + end).c_str());
  return why;
}

namespace {

// The number behind `what` in a line, if it stands there.
void take_number(const std::string& line, const char* what, uint32_t* out) {
  const size_t at = line.find(what);
  if (at != std::string::npos) *out += static_cast<uint32_t>(strtoul(line.c_str() + at + strlen(what), nullptr, 10));
}

}  // namespace

std::string compile_hip(const std::string& text, const std::string& family, bool* found, std::vector<HipUse>* uses) {
  *found = run_command("clang-19 --version").empty() && run_command("ld.lld-19 --version").empty();
  if (!*found) return "";
  const std::string path = scratch_path(".hip"), log = path + ".log";
  if (!write_file(path, text.data(), text.size())) return "cannot write " + path;
  std::string why =
      run_command("clang-19 " + hip_options(family) + " -Werror -Rpass-analysis=kernel-resource-usage -o " + path +
                  ".o " + path + " >" + log + " 2>&1 || { grep -E 'error|fatal' " + log + " | head -n 5; exit 1; }");
  if (FILE* f = fopen(log.c_str(), "r"); f != nullptr) {
    char buffer[512];
    while (fgets(buffer, sizeof(buffer), f) != nullptr) {
      const std::string line = buffer;
      constexpr char kName[] = "Function Name: ";
      if (const size_t at = line.find(kName); at != std::string::npos) {
        const size_t begin = at + sizeof(kName) - 1;
        uses->push_back({line.substr(begin, line.find_first_of(" \n", begin) - begin)});
      }
      if (uses->empty()) continue;
      HipUse& use = uses->back();
      take_number(line, " SGPRs: ", &use.scalars);
      take_number(line, " VGPRs: ", &use.vectors);
      take_number(line, " AGPRs: ", &use.accumulators);
      take_number(line, " ScratchSize [bytes/lane]: ", &use.scratch_bytes);
      take_number(line, " SGPRs Spill: ", &use.spilled);
      take_number(line, " VGPRs Spill: ", &use.spilled);
      take_number(line, " LDS Size [bytes/block]: ", &use.shared_bytes);
      take_number(line, " Occupancy [waves/SIMD]: ", &use.waves);
    }
    fclose(f);
  }
  for (const char* end : {"", ".o", ".log"}) remove((path + end).c_str());
  return why;
}

}  // namespace vireo::gpu
