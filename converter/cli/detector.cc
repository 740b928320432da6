// Decodings by their names and out of files.
//
//   {"boxes": "raw", "scores": "raw", "layout": "rows", "form": "grid", "strides": [8, 16, 32], "size": [320, 320],
//    "box_columns": [0, 4], "objectness_column": 4, "score_columns": [5, 15], "activation": "sigmoid",
//    "floor": 0.01, "overlap": 0.5, "most": 50}
#include "converter/cli/detector.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/nearest.h"
#include "sdk/json/json.h"

namespace vireo::cli {
namespace {

using quant::BoxForm;
using quant::Decoding;

// (1, 4 + classes, boxes): middle and size in pixels, then probabilities.
Decoding yolo8() {
  Decoding how;
  how.columns = true;
  how.form = BoxForm::kCentre;
  return how;
}

// Outputs boxes, scores and classes, suppressed already.
Decoding final_outputs() {
  Decoding how;
  how.final = true;
  how.boxes = "boxes";
  how.scores = "scores";
  how.classes = "classes";
  how.floor = 0;
  return how;
}

const std::map<std::string, Decoding (*)()>& built_in() {
  static const std::map<std::string, Decoding (*)()> all{{"yolo8", yolo8}, {"final", final_outputs}};
  return all;
}

// The keys of a file, each of a kind.
class DecodingFile {
 public:
  explicit DecodingFile(const std::string& path) : path_(path), json_(parse_json(read_file(path))) {
    if (!json_.is_object()) fail("holds no JSON object");
    static const std::vector<std::string> known{
        "boxes",       "scores",        "classes",           "final",      "layout",     "form",  "strides", "size",
        "box_columns", "score_columns", "objectness_column", "activation", "normalised", "floor", "overlap", "most"};
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end())
        fail("has an unknown key \"" + key + "\"", did_you_mean(key, known));
    }
  }

  [[noreturn]] void fail(const std::string& what, const std::string& hint = "") const {
    throw Failure(path_ + " " + what, hint + "see vireo eval --help for an example", {"failed", path_, "", "", "", ""});
  }
  void read(const char* key, std::string* value) const {
    if (const Json* found = json_.find(key); found != nullptr)
      found->is_string() ? void(*value = found->get<std::string>()) : wrong(key, "a text");
  }
  void read(const char* key, bool* value) const {
    if (const Json* found = json_.find(key); found != nullptr)
      found->is_boolean() ? void(*value = found->get<bool>()) : wrong(key, "true or false");
  }
  void read(const char* key, float* value) const {
    if (const Json* found = json_.find(key); found != nullptr)
      found->is_number() ? void(*value = found->get<float>()) : wrong(key, "a number");
  }
  // "" where the key is not there.
  std::string one_of(const char* key, const std::vector<std::string>& allowed) const {
    std::string text, list;
    read(key, &text);
    for (const std::string& a : allowed) list += (list.empty() ? "" : ", ") + a;
    if (!text.empty() && std::find(allowed.begin(), allowed.end(), text) == allowed.end())
      wrong(key, ("one of " + list).c_str());
    return text;
  }
  // `otherwise` where the key is not there.
  int64_t whole(const char* key, int64_t otherwise) const {
    const Json* const found = json_.find(key);
    return found == nullptr ? otherwise : whole(key, *found, "a whole number");
  }
  // Empty where the key is not there. `count` 0: any.
  std::vector<int64_t> list(const char* key, size_t count) const {
    std::vector<int64_t> numbers;
    const Json* const found = json_.find(key);
    if (found == nullptr) return numbers;
    const std::string wanted = count == 0 ? "a list of whole numbers" : std::to_string(count) + " whole numbers";
    if (!found->is_array() || (count != 0 && found->size() != count)) wrong(key, wanted.c_str());
    for (const Json& v : *found) numbers.push_back(whole(key, v, wanted.c_str()));
    return numbers;
  }

  [[noreturn]] void wrong(const char* key, const char* wanted) const {
    fail("(" + std::string(key) + ") must be " + wanted);
  }

 private:
  int64_t whole(const char* key, const Json& v, const char* wanted) const {
    if (!v.is_number_unsigned() || v.get<int64_t>() > 1 << 20) wrong(key, wanted);
    return v.get<int64_t>();
  }

  std::string path_;
  Json json_;
};

Decoding from_file(const std::string& path) {
  const DecodingFile file(path);
  Decoding how;
  file.read("boxes", &how.boxes);
  how.scores = how.boxes;
  file.read("scores", &how.scores);
  file.read("classes", &how.classes);
  file.read("final", &how.final);
  how.columns = file.one_of("layout", {"rows", "columns"}) == "columns";
  const std::string form = file.one_of("form", {"corners", "centre", "grid"});
  how.form = form == "grid" ? BoxForm::kGrid : form == "centre" ? BoxForm::kCentre : BoxForm::kCorners;
  how.strides = file.list("strides", 0);
  if (std::find(how.strides.begin(), how.strides.end(), 0) != how.strides.end())
    file.wrong("strides", "whole numbers above 0");
  if (const auto size = file.list("size", 2); !size.empty()) how.width = size[0], how.height = size[1];
  file.read("normalised", &how.shares);
  const auto columns = [&](const char* key, size_t* first, size_t* end) {
    const auto pair = file.list(key, 2);
    if (pair.empty()) return;
    if (pair[0] >= pair[1]) file.wrong(key, "[first, end], end behind first");
    *first = static_cast<size_t>(pair[0]);
    *end = static_cast<size_t>(pair[1]);
  };
  size_t box_end = 0;
  columns("box_columns", &how.box_column, &box_end);
  if (box_end != 0 && box_end != how.box_column + 4) file.wrong("box_columns", "[first, first + 4]");
  if (how.scores != how.boxes) how.score_column = 0;
  columns("score_columns", &how.score_column, &how.score_end);
  how.objectness_column = file.whole("objectness_column", -1);
  how.sigmoid = file.one_of("activation", {"none", "sigmoid"}) == "sigmoid";
  file.read("floor", &how.floor);
  file.read("overlap", &how.limit);
  how.most = static_cast<size_t>(file.whole("most", static_cast<int64_t>(how.most)));
  if (how.form == BoxForm::kGrid && (how.strides.empty() || how.width == 0))
    file.fail("says \"form\": \"grid\" without \"strides\" and \"size\"");
  if (how.shares && how.width == 0) file.fail("says \"normalised\" without \"size\"");
  if (how.final && how.form == BoxForm::kGrid) file.fail("says \"final\" and \"form\": \"grid\"");
  return how;
}

}  // namespace

std::vector<std::string> decoding_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : built_in()) names.push_back(name);
  return names;
}

Decoding read_decoding(const std::string& text) {
  const auto found = built_in().find(text);
  if (found != built_in().end()) return found->second();
  if (std::filesystem::path(text).extension() == ".json") return from_file(text);
  std::string names;
  for (const std::string& name : decoding_names()) names += name + ", ";
  throw Failure("--decode " + text + " is not known",
                did_you_mean(text, decoding_names()) + "there are: " + names + "or a .json file that says how");
}

}  // namespace vireo::cli
