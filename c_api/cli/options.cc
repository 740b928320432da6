#include "c_api/cli/options.h"

#include "c_api/cli/file.h"

namespace vireo::cli {
namespace {

void add_target(Command verb, std::string* target) {
  verb.add_option("--target", *target,
                  "place nodes as the file's plan of this name says (vireo inspect lists them); none: without a plan");
}

void add_require(Command verb, std::string* require) {
  verb.add_option(
      "--require", *require,
      "fail unless this share of the nodes runs on a device: npu>=95%, npu=100% (vireo explain says why not)");
}

void add_math(Command verb, vireo_math* math) {
  verb.add_choice(
      "--math", {{"exact", VIREO_MATH_EXACT}, {"f16", VIREO_MATH_F16}},
      [math](int choice) { *math = static_cast<vireo_math>(choice); },
      "what devices may do to float32: exact (the default); f16: round operands of products to float16, which is "
      "faster on GPUs with matrix units");
}

void add_service(Command verb, SessionRequest* request) {
  verb.add_choice(
      "--priority", {{"normal", VIREO_PRIORITY_NORMAL}, {"low", VIREO_PRIORITY_LOW}, {"high", VIREO_PRIORITY_HIGH}},
      [request](int choice) { request->priority = static_cast<vireo_priority>(choice); },
      "whose work a device takes first: low, normal (the default), high");
  verb.add_option("--slice-ms", request->slice_ms,
                  "MS: the longest that a device works before others, such as the screen, get a turn, in milliseconds; "
                  "default: none within a part")
      .range(0.0, 1e6);
}

}  // namespace

void add_session(Command verb, SessionRequest* request) {
  add_device(verb, &request->device);
  add_math(verb, &request->math);
  add_service(verb, request);
  add_target(verb, &request->target);
  add_require(verb, &request->require);
  add_threads(verb, &request->threads);
  add_shapes(verb, &request->shapes);
  add_bounds(verb, &request->bounds);
}

SessionChoice choice_of(const SessionRequest& request) {
  SessionChoice choice;
  choice.device = request.device;
  choice.threads = request.threads;
  choice.require = request.require;
  choice.target = request.target;
  choice.math = request.math;
  choice.priority = request.priority;
  choice.slice_ns = static_cast<uint64_t>(request.slice_ms * 1e6);
  return choice;
}

void add_inputs(Command verb, std::vector<std::string>* inputs, const std::string& description) {
  verb.add_repeated("-i,--input", *inputs, description);
}

void add_json(Command verb, bool* json, const std::string& description) { verb.add_flag("--json", *json, description); }

void add_device(Command verb, std::string* device) {
  verb.add_option("--device", *device,
                  "run on this device only, or on these with commas between them, best first (see vireo devices)");
}

void add_tuning(Command verb, std::string* tuning) {
  verb.add_option("--tuning", *tuning,
                  "take the kernels that vireo tune found fastest: its file, or auto for the one in your cache")
      .file({".json"})
      .offer({"auto"});
}

void add_tune_at_load(Command verb, double* budget_ms) {
  verb.add_option(
          "--tune-at-load", *budget_ms,
          "MS: before the first run, measure the kernels of the costliest nodes for MS milliseconds, and keep the "
          "result in the file of --tuning (without that: auto)")
      .range(0.0, 1e6);
}

std::string tuning_file(const std::string& given, double tune_at_load_ms) {
  return given.empty() && tune_at_load_ms > 0 ? "auto" : given;
}

void add_cache(Command verb, std::string* folder) {
  verb.add_option("--cache", *folder,
                  "keep packed weights (in the order in which kernels read them) in this folder and map them from it: "
                  "a folder, auto for the one in your cache, off (the default)")
      .folder()
      .offer({"auto", "off"})
      .transform([](const std::string& given) {
        return given == "off" ? std::string() : given == "auto" ? user_cache("packed") : given;
      });
}

void add_threads(Command verb, int* threads) {
  verb.add_option("--threads", *threads, "threads to use; default: one per core").range(1, 1024);
}

void add_packing(Command verb, vireo_packing* packing) {
  verb.add_choice(
      "--packing",
      {{"default", VIREO_PACKING_DEFAULT}, {"always", VIREO_PACKING_ALWAYS}, {"never", VIREO_PACKING_NEVER}},
      [packing](int choice) { *packing = static_cast<vireo_packing>(choice); },
      "whether to copy weights into the order in which kernels read them: default (copies, but not on bare metal), "
      "always, never (least memory, slower)");
}

void add_shapes(Command verb, std::vector<std::string>* shapes) {
  verb.add_repeated("--shape", *shapes,
                    "NAME=1,3,224,224: the shape of an input; without it, an open dimension (one without a number in "
                    "the model) has its size in the input file, if one is given, else 1");
}

void add_bounds(Command verb, std::vector<std::string>* bounds) {
  verb.add_repeated("--bound", *bounds,
                    "DIMENSION=8: upper bound of a dimension that is open, or whose size depends on the data");
}

}  // namespace vireo::cli
