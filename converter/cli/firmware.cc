#include "converter/cli/firmware.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "c_api/cli/app.h"
#include "c_api/cli/file.h"
#include "converter/cli/onnx_source.h"
#include "converter/cli/targets.h"
#include "converter/firmware/emit.h"
#include "converter/firmware/on_plan.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"

namespace vireo::cli {
namespace {

namespace fs = std::filesystem;
using firmware::FlatPlan;
using firmware::PlanValue;
using firmware::SelfTest;

constexpr uint32_t kMadeUpCases = 4;
// How far results of float32 may be from a session's, whose sums have another order: a share of the largest, which
// counts as at least kLeast. Codes that are made of such results may be off by 1.
constexpr float kNear = 1e-4f, kLeast = 1e-2f;
constexpr size_t kMostKeptBytes = 16384;  // of embedded tests' inputs: they lie in the image's flash

// Inputs of the file's embedded tests, as many as fit.
void keep_tests(const std::vector<uint8_t>& file, const FlatPlan& plan, SelfTest* test) {
  FileHeader header;
  Error e;
  if (read_header({file.data(), file.size()}, file.size(), &header, &e) != Status::kOk) return;
  const fb::Model& model = *fb::GetModel(file.data() + header.model_offset);
  size_t kept = 0;
  for (uint32_t c = 0; model.tests() != nullptr && c < model.tests()->size(); ++c) {
    const auto& inputs = *model.tests()->Get(c)->inputs();
    std::vector<std::vector<uint8_t>> list;
    for (uint32_t i = 0; i < inputs.size() && i < plan.inputs.size(); ++i) {
      const fb::TestTensor& t = *inputs.Get(i);
      if (t.size() != plan.inputs[i].bytes || t.dtype() != static_cast<uint8_t>(plan.inputs[i].dtype)) break;
      const uint8_t* const from = file.data() + model.segments()->Get(t.segment())->offset() + t.offset();
      list.emplace_back(from, from + t.size());
      kept += t.size();
    }
    if (list.size() != plan.inputs.size() || kept > kMostKeptBytes) return;
    test->cases.push_back(std::move(list));
  }
}

std::vector<uint8_t> session_outputs(const Model& model, vireo_session* session, const FlatPlan& plan,
                                     const std::vector<std::vector<uint8_t>>& inputs) {
  std::vector<Array> arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Array& a = arrays.emplace_back();
    a.dtype = static_cast<vireo_dtype>(plan.inputs[i].dtype);
    a.dims = plan.inputs[i].dims;
    a.bytes = inputs[i];
  }
  std::vector<uint8_t> all;
  for (const Array& out : run_once(model, session, arrays)) all.insert(all.end(), out.bytes.begin(), out.bytes.end());
  return all;
}

// Whether a plan's outputs are a session's: bits, and numbers near to each other where float32 sums have another order.
bool agree(const FlatPlan& plan, const std::vector<uint8_t>& wanted, const std::vector<uint8_t>& got) {
  if (!plan.in_reals || wanted == got) return wanted == got;
  size_t at = 0;
  for (const firmware::PlanValue& v : plan.outputs) {
    const size_t bytes = v.bytes;
    if (at + bytes > wanted.size() || wanted.size() != got.size()) return false;
    if (v.dtype == DType::kF32) {
      std::vector<float> a(bytes / 4), b(bytes / 4);
      std::memcpy(a.data(), wanted.data() + at, bytes);
      std::memcpy(b.data(), got.data() + at, bytes);
      float most = 0;
      for (const float x : a) most = std::isfinite(x) ? std::max(most, std::abs(x)) : most;
      for (size_t i = 0; i < a.size(); ++i) {
        const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        if (!same && !(std::abs(a[i] - b[i]) <= kNear * std::max(most, kLeast))) return false;
      }
    } else {
      const int most = v.dtype == DType::kI8 || v.dtype == DType::kU8 ? 1 : 0;
      for (size_t i = at; i < at + bytes; ++i) {
        if (std::abs(static_cast<int8_t>(wanted[i] - got[i])) > most) return false;
      }
    }
    at += bytes;
  }
  return at == wanted.size();
}

void make_folder_of(const fs::path& file) {
  std::error_code code;
  fs::create_directories(file.parent_path(), code);
  if (code) throw Failure("cannot make the folder " + file.parent_path().string() + ": " + code.message());
}

// A folder is whole or as it was: its files are written beside it first, and moved when all are there. What else an
// earlier folder holds, such as a board of the user's own, stays.
void write_below(const std::string& folder, const firmware::File& file) {
  const fs::path path = fs::path(folder) / file.path;
  make_folder_of(path);
  write_file(path.string(), file.text);
}
void move_below(const std::string& from, const std::string& folder, const firmware::File& file) {
  const fs::path to = fs::path(folder) / file.path;
  make_folder_of(to);
  std::error_code code;
  fs::rename(fs::path(from) / file.path, to, code);
  if (code) throw Failure("cannot write " + to.string() + ": " + code.message());
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Of a folder on disk, the library that it builds: that and what a program includes stay.
std::vector<firmware::File> make_library(const std::string& folder, const std::string& name,
                                         const std::string& compiler, std::vector<firmware::File> files) {
  const std::string log = folder + "/build.log";
  std::string quoted = "'";
  for (const char c : folder) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  quoted += "'";
  const std::string command = "make -s -C " + quoted + " lib >" + quoted + "/build.log 2>&1";
  if (std::system(command.c_str()) != 0) {  // NOLINT: the command is this program's own
    std::string said = read_text(log);
    said = said.substr(0, said.find('\n'));
    throw Failure("--emit static-lib: the library does not build: " + said,
                  "install make and " + compiler + ", or write the sources with --emit firmware");
  }
  const std::string library = "lib" + name + ".a";
  std::vector<firmware::File> kept = {{"lib/" + library, ""}};
  fs::create_directories(fs::path(folder) / "lib");
  fs::rename(fs::path(folder) / "build" / library, fs::path(folder) / "lib" / library);
  for (firmware::File& f : files) {
    if (f.path == "include/vireo_mcu.h" || f.path == "manifest.json" || f.path.rfind("LICENSES/", 0) == 0) {
      kept.push_back(std::move(f));
    } else if (f.path == "model/" + name + ".h") {
      f.path = "include/" + name + ".h";
      write_below(folder, f);
      kept.push_back(std::move(f));
    }
  }
  return kept;
}

}  // namespace

const target::Profile& firmware_profile(const Emission& emission, const std::vector<target::Profile>& profiles) {
  const std::string &kind = emission.kind, &folder = emission.folder, asked = "--emit " + kind;
  if (kind != "firmware" && kind != "static-lib")
    throw Failure(asked + ": there is no such kind",
                  "write --emit firmware " + folder + ", or --emit static-lib " + folder);
  const target::Profile* found = nullptr;
  for (const target::Profile& p : profiles) {
    if (p.firmware.core.empty()) continue;
    if (found != nullptr)
      throw Failure(asked + " is for one microcontroller, and --target names " + found->name + " and " + p.name,
                    "convert for each, into a folder each");
    found = &p;
  }
  if (found == nullptr) {
    std::string names;
    for (const target::ShippedProfile& p : target::shipped_profiles()) {
      if (std::strstr(p.text, "\"firmware\"") != nullptr) names += (names.empty() ? "" : ", ") + std::string(p.name);
    }
    throw Failure(asked + " needs to know the microcontroller",
                  "add --target with one of " + names + ", or with a profile that has \"firmware\"");
  }
  (void)core_of(*found);
  std::error_code ignored;
  if (emission.add && kind != "firmware")
    throw Failure("--add is for --emit firmware", "make the library of the folder: make lib");
  if (emission.add && !fs::exists(fs::path(folder) / "manifest.json", ignored))
    throw Failure("--add: " + folder + " is not a folder that an earlier --emit firmware wrote",
                  "leave --add out for the first model");
  if (fs::exists(folder, ignored) &&
      (!fs::is_directory(folder, ignored) ||
       (!fs::is_empty(folder, ignored) && !fs::exists(fs::path(folder) / "manifest.json", ignored))))
    throw Failure(asked + " " + folder + ": it is there, and not a folder that an earlier --emit wrote",
                  "name a folder that is not there yet, or an empty one");
  return *found;
}

void write_firmware(const Emission& emission, const std::string& model, const std::string& output,
                    const std::vector<uint8_t>& file, const FlatPlan& plan, const target::Profile& profile) {
  const std::string name = firmware::model_name(fs::path(output.empty() ? model : output).stem().string());
  SelfTest test;
  keep_tests(file, plan, &test);
  test.made_up = kMadeUpCases;
  test.amplitudes = firmware::input_amplitudes(plan);
  // This machine's kernels take tiles of another size than some cores: the same plan but for that.
  FlatPlan here = plan;
  std::vector<firmware::Refusal> refusals;
  std::string error;
  FileBytes copy;
  copy.resize(file.size());
  std::memcpy(copy.data(), file.data(), file.size());
  const ModelBytes bytes = share(std::move(copy));
  firmware::OnPlan on_plan;
  if (!firmware::make_flat_plan({static_cast<const uint8_t*>(bytes.data), bytes.size}, firmware::host_core(), "",
                                plan.options, &here, &refusals, &error) ||
      !on_plan.open(here, &error))
    throw Failure("no flat plan for this machine: " + error, "report this model");
  const Model loaded(bytes, model, 1);
  SessionChoice choice{"cpu", 1};
  choice.target = "none";
  const Session session = make_session(loaded, choice, Bounds());
  test.hash = firmware::kEmptyTestHash;
  for (uint32_t c = 0; c < test.cases.size() + test.made_up; ++c) {
    const auto inputs = c < test.cases.size() ? test.cases[c]
                                              : firmware::test_inputs(plan, test.amplitudes,
                                                                      c - static_cast<uint32_t>(test.cases.size()));
    const std::vector<uint8_t> wanted = session_outputs(loaded, session.get(), plan, inputs);
    const std::vector<uint8_t> got = on_plan.run(inputs);
    if (!agree(here, wanted, got))
      throw Failure("the flat plan of " + model + " computes other values than a session does", "report this model");
    test.hash = firmware::test_hash(test.hash, got.data(), got.size());
  }
  // Layer by layer of the last case, for `vireo trace`: whole values, whether or not the target's run strip by strip.
  FlatPlan whole;
  firmware::OnPlan layers;
  if (!firmware::make_flat_plan({static_cast<const uint8_t*>(bytes.data), bytes.size}, firmware::host_core(), "",
                                {false, 0}, &whole, &refusals, &error) ||
      !layers.open(whole, &error))
    throw Failure("no flat plan for this machine: " + error, "report this model");
  test.layers = layers.trace(firmware::test_inputs(plan, test.amplitudes, test.made_up - 1));
  const firmware::Target target{profile.name, profile.firmware.core, profile.firmware.compiler, profile.firmware.flags,
                                profile.firmware.board};
  const std::string& folder = emission.folder;
  const std::string earlier = emission.add ? read_text(fs::path(folder) / "manifest.json") : "";
  std::vector<firmware::File> files;
  const std::string why = firmware::firmware_folder(plan, target, name, fs::path(model).filename().string(),
                                                    version_number(), test, earlier, &files);
  if (!why.empty())
    throw Failure("--add: " + folder + " cannot take " + name + ": " + why,
                  "convert its models again, into a new folder");
  const std::string beside = fs::path(folder + "/").parent_path().string() + ".partial";
  std::error_code ignored;
  try {
    for (const firmware::File& f : files) write_below(beside, f);
    if (emission.kind == "static-lib") files = make_library(beside, name, target.compiler, std::move(files));
    for (const firmware::File& f : files) move_below(beside, folder, f);
  } catch (...) {
    fs::remove_all(beside, ignored);
    throw;
  }
  fs::remove_all(beside, ignored);
}

}  // namespace vireo::cli
