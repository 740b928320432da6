// Signature files and stored cases, as options of the conversion.
//
//   {"name": "main",
//    "inputs": [{"name": "image", "meaning": "image", "layout": "NCHW", "color": "RGB", "range": [0, 1],
//                "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25], "resize": "letterbox"}],
//    "outputs": [{"name": "logits", "meaning": "features"}],
//    "states": [{"output": "present", "input": "past"}]}
#include <set>

#include "c_api/cli/file.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/reference.h"
#include "converter/cli/onnx_source.h"
#include "converter/cli/verbs.h"

namespace vireo::cli {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(path_ + ": " + what, "see vireo convert --help for an example of a signature file",
                  {"failed", path_, "", "", "", ""});
  }
  void only(const Json& object, const std::string& where, const std::set<std::string>& known) const {
    if (!object.is_object()) fail(where + " must be an object");
    for (const auto& [key, value] : object.items()) {
      if (known.count(key) == 0) fail(where + " has an unknown key \"" + key + "\"");
    }
  }
  std::string text(const Json& object, const char* key, const std::set<std::string>& allowed = {}) const {
    if (!object.contains(key)) return "";
    if (!object[key].is_string()) fail(std::string("\"") + key + "\" must be a text");
    std::string value = object[key].get<std::string>();
    if (!allowed.empty() && allowed.count(value) == 0) {
      std::string list;
      for (const std::string& a : allowed) list += (list.empty() ? "\"" : ", \"") + a + "\"";
      fail(std::string("\"") + key + "\" is \"" + value + "\", but must be one of " + list);
    }
    return value;
  }
  std::vector<float> numbers(const Json& object, const char* key) const {
    std::vector<float> values;
    if (!object.contains(key)) return values;
    if (!object[key].is_array()) fail(std::string("\"") + key + "\" must be a list of numbers");
    for (const Json& v : object[key]) {
      if (!v.is_number()) fail(std::string("\"") + key + "\" must be a list of numbers");
      values.push_back(v.get<float>());
    }
    return values;
  }
  IoMeaning meaning(const Json& object) const {
    only(object, "an input or output",
         {"name", "meaning", "layout", "color", "range", "mean", "std", "resize", "sample_rate"});
    IoMeaning io;
    io.name = text(object, "name");
    if (io.name.empty()) fail("an input or output lacks its \"name\"");
    io.meaning = text(object, "meaning", {"image", "audio", "tokens", "features", "state"});
    io.layout = text(object, "layout", {"NCHW", "NHWC", "CHW", "HWC"});
    io.color = text(object, "color", {"RGB", "BGR", "gray"});
    io.resize = text(object, "resize", {"none", "stretch", "letterbox"});
    const std::vector<float> range = numbers(object, "range");
    if (!range.empty()) {
      if (range.size() != 2 || !(range[0] < range[1])) fail("\"range\" of \"" + io.name + "\" must be [low, high]");
      io.range_lo = range[0];
      io.range_hi = range[1];
    } else if (io.meaning == "audio") {
      io.range_lo = -1;
    }
    io.mean = numbers(object, "mean");
    io.std = numbers(object, "std");
    for (const float s : io.std) {
      if (!(s > 0)) fail("\"std\" of \"" + io.name + "\" must be above 0");
    }
    if (object.contains("sample_rate")) {
      if (!object["sample_rate"].is_number_unsigned())
        fail("\"sample_rate\" of \"" + io.name + "\" must be a whole number of Hz");
      io.sample_rate = object["sample_rate"].get<uint32_t>();
    }
    return io;
  }

 private:
  std::string path_;
};

}  // namespace

void read_signature(const std::string& path, ConvertOptions* options) {
  const std::vector<uint8_t> bytes = read_file(path);
  const Reader reader(path);
  const Json json = parse_json(bytes);
  if (json.is_discarded()) reader.fail("is not valid JSON");
  reader.only(json, "the file", {"name", "inputs", "outputs", "states"});
  if (json.contains("name")) options->signature_name = reader.text(json, "name");
  for (const char* side : {"inputs", "outputs"}) {
    if (!json.contains(side)) continue;
    if (!json[side].is_array()) reader.fail(std::string("\"") + side + "\" must be a list");
    for (const Json& entry : json[side]) options->io.push_back(reader.meaning(entry));
  }
  if (!json.contains("states")) return;
  if (!json["states"].is_array()) reader.fail("\"states\" must be a list");
  for (const Json& entry : json["states"]) {
    reader.only(entry, "a state", {"input", "output"});
    const std::string input = reader.text(entry, "input"), output = reader.text(entry, "output");
    if (input.empty() || output.empty()) reader.fail("a state needs \"input\" and \"output\"");
    options->states.emplace_back(output, input);
  }
}

std::vector<TestCaseOption> read_tests(const std::string& path, double atol, double rtol) {
  const Arrays arrays = read_reference(path);
  std::vector<TestCaseOption> tests;
  for (const int number : cases_of(arrays)) {
    const std::string prefix = "c" + std::to_string(number);
    TestCaseOption test;
    for (int i = 0;; ++i) {
      const Array* input = find(arrays, prefix + "_in" + std::to_string(i));
      if (input == nullptr) break;
      test.inputs.push_back(to_host(*input));
    }
    int last = -1;  // an output in the middle may be missing: random by design
    for (const auto& [key, array] : arrays) {
      int c = 0, j = 0;
      if (sscanf(key.c_str(), "c%d_out%d", &c, &j) == 2 && c == number) last = std::max(last, j);
    }
    for (int j = 0; j <= last; ++j) {
      const std::string key = prefix + "_out" + std::to_string(j);
      const Expected expected = stored(arrays, key, key);
      TestOutput output;
      if (expected.values != nullptr) {
        output.values = to_host(*expected.values);
        output.dims = expected.dims;
        output.step = expected.step == 0 ? 1 : static_cast<uint64_t>(expected.step);
        const vireo_dtype dtype = expected.values->dtype;
        const bool wide = dtype == VIREO_FLOAT32 || dtype == VIREO_FLOAT64 || dtype_is_complex(dtype);
        const bool exact = !dtype_is_float(dtype) && !dtype_is_complex(dtype);
        output.atol = exact ? 0.0f : static_cast<float>(atol >= 0 ? atol : wide ? 1e-5 : 1e-2);
        output.rtol = exact ? 0.0f : static_cast<float>(rtol >= 0 ? rtol : 1e-4);
      }
      test.outputs.push_back(std::move(output));
    }
    tests.push_back(std::move(test));
  }
  return tests;
}

}  // namespace vireo::cli
