// Pictures, sounds and arrays in files of their own: folders with labels, and COCO's annotations.
#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "c_api/cli/file.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/nearest.h"
#include "converter/cli/dataset.h"
#include "sdk/json/json.h"

namespace vireo::cli {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string file, label;  // as the data write it
  std::vector<quant::Box> boxes;
};

// The one input that a file is for.
size_t only_input(const Model& model) {
  std::vector<size_t> inputs;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    if (model.inputs()[i].state_of < 0) inputs.push_back(i);
  }
  if (inputs.size() == 1) return inputs[0];
  throw Failure(model.name() + " has " + std::to_string(inputs.size()) + " inputs, and a file is one",
                "put the data into an .npz, with an array for each input");
}

bool is_whole(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
}

// "a,b,c", or a file with a name a line.
std::vector<std::string> names_given(const std::string& classes) {
  std::string text = classes;
  char end = ',';
  if (std::error_code error; fs::is_regular_file(classes, error)) {
    const std::vector<uint8_t> bytes = read_file(classes);
    text.assign(bytes.begin(), bytes.end());
    end = '\n';
  }
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string name; std::getline(lines, name, end);) {
    while (!name.empty() && (name.back() == '\r' || name.back() == ' ')) name.pop_back();
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

// Fields of a line of comma-separated values; a quoted one may hold commas, and "" for a quote.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else if (line[i] != '\r') {
      fields.back() += line[i];
    }
  }
  return fields;
}

class FileData final : public Dataset {
 public:
  // `labelled`: entries have labels, which are classes or texts. `root`: the folder that files are relative to.
  FileData(const Model& model, std::string root, std::vector<Entry> entries, bool labelled, bool boxed)
      : model_(model),
        input_(only_input(model)),
        root_(std::move(root)),
        entries_(std::move(entries)),
        labelled_(labelled),
        boxed_(boxed) {}

  // The numbers of the labels: written as numbers, or the places of their names.
  void number_classes(const DataOptions& options) {
    std::vector<std::string> names = names_given(options.classes);
    std::vector<std::string> found;
    for (const Entry& entry : entries_) found.push_back(entry.label);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (names.empty() && std::all_of(found.begin(), found.end(), is_whole)) {
      for (const std::string& name : found) classes_[name] = std::stoll(name);
      return;
    }
    if (names.empty()) {
      names = found;
      std::string list;
      for (size_t i = 0; i < names.size() && i < 12; ++i)
        list += (i == 0 ? "" : ", ") + std::to_string(i) + " " + names[i];
      if (names.size() > 12) list += " and so on";
      assume("classes in the order of their names: " + list + " (--classes changes it)");
    }
    for (size_t i = 0; i < names.size(); ++i) classes_[names[i]] = static_cast<int64_t>(i);
    for (const std::string& name : found) {
      if (classes_.count(name) == 0)
        throw Failure(options.data + " has the label '" + name + "', which is none of --classes",
                      did_you_mean(name, names) + "write all names in the order of the model's classes");
    }
  }

  uint64_t size() const override { return entries_.size(); }
  bool has(quant::Needs what) const override {
    if (what == quant::Needs::kLabel) return !classes_.empty();
    if (what == quant::Needs::kText) return labelled_;
    return what == quant::Needs::kBoxes && boxed_;
  }

  Item next() override {
    const Entry& entry = entries_[at_++];
    Item item;
    item.name = entry.file;
    item.inputs.resize(model_.inputs().size());
    std::string line;
    PictureFit fit;
    const std::string path = (fs::path(root_) / entry.file).string();
    item.inputs[input_] = load_file(path, model_, input_, &line, &fit);
    if (at_ == 1) assume(line);
    if (!classes_.empty()) item.labels.push_back(classes_.at(entry.label));
    item.text = entry.label;
    for (quant::Box box : entry.boxes) {
      box.x0 = static_cast<float>(fit.left + fit.scale_x * static_cast<double>(box.x0));
      box.x1 = static_cast<float>(fit.left + fit.scale_x * static_cast<double>(box.x1));
      box.y0 = static_cast<float>(fit.top + fit.scale_y * static_cast<double>(box.y0));
      box.y1 = static_cast<float>(fit.top + fit.scale_y * static_cast<double>(box.y1));
      item.boxes.push_back(box);
    }
    return item;
  }

 private:
  const Model& model_;
  size_t input_;
  std::string root_;
  std::vector<Entry> entries_;
  std::map<std::string, int64_t> classes_;
  bool labelled_, boxed_;
  size_t at_ = 0;
};

// file,label lines; a first line that names no file is a heading.
std::vector<Entry> read_labels(const std::string& folder, const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  std::vector<Entry> entries;
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line == "\r") continue;
    const std::vector<std::string> fields = fields_of(line);
    std::error_code error;
    const bool there = fs::is_regular_file(fs::path(folder) / fields[0], error);
    if (number == 1 && !there) continue;
    const std::string where = path + " line " + std::to_string(number);
    if (fields.size() != 2)
      throw Failure(where + " has " + std::to_string(fields.size()) + " fields", "a line is FILE,LABEL");
    if (!there) throw Failure(where + " names " + fields[0] + ", which is no file in " + folder, "check the name");
    entries.push_back({fields[0], fields[1], {}});
  }
  return entries;
}

// A folder a class.
std::vector<Entry> read_class_folders(const std::string& folder) {
  std::vector<Entry> entries;
  for (const fs::directory_entry& inner : fs::directory_iterator(folder)) {
    if (!inner.is_directory()) continue;
    const std::string label = inner.path().filename().string();
    for (const fs::directory_entry& file : fs::directory_iterator(inner.path())) {
      const std::string name = file.path().filename().string();
      if (file.is_regular_file() && name[0] != '.') entries.push_back({label + "/" + name, label, {}});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.file < b.file; });
  return entries;
}

// All files in `folder` and below it.
std::vector<Entry> read_files(const std::string& folder) {
  std::vector<Entry> entries;
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(file.path(), folder).generic_string();
    const bool listed = name == "labels.csv" || file.path().filename().string()[0] == '.';
    if (file.is_regular_file() && !listed) entries.push_back({name, "", {}});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.file < b.file; });
  return entries;
}

class CocoReader {
 public:
  explicit CocoReader(const std::string& path) : path_(path), json_(parse_json(read_file(path))) {}

  std::vector<Entry> read() const {
    std::map<int64_t, size_t> classes, pictures;
    std::vector<int64_t> ids;
    for (const Json& category : list("categories")) ids.push_back(whole(category, "id", "categories"));
    std::sort(ids.begin(), ids.end());
    for (size_t i = 0; i < ids.size(); ++i) classes[ids[i]] = i;
    std::vector<Entry> entries;
    for (const Json& image : list("images")) {
      const Json* const name = image.find("file_name");
      if (name == nullptr || !name->is_string()) fail("an entry of \"images\" has no \"file_name\"");
      pictures[whole(image, "id", "images")] = entries.size();
      entries.push_back({name->get<std::string>(), "", {}});
    }
    for (const Json& note : list("annotations")) {
      const auto picture = pictures.find(whole(note, "image_id", "annotations"));
      const auto label = classes.find(whole(note, "category_id", "annotations"));
      if (picture == pictures.end()) fail("an annotation's \"image_id\" is none of \"images\"");
      if (label == classes.end()) fail("an annotation's \"category_id\" is none of \"categories\"");
      if (note.value("iscrowd", 0) != 0) continue;  // a region, not an object
      entries[picture->second].boxes.push_back(box(note, static_cast<int32_t>(label->second)));
    }
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Failure(path_ + ": " + what, "COCO's file has \"images\", \"annotations\" and \"categories\"",
                  {"failed", path_, "", "", "", ""});
  }
  const Json& list(const char* key) const {
    const Json* const found = json_.find(key);
    if (found == nullptr || !found->is_array()) fail("there is no list \"" + std::string(key) + "\"");
    return *found;
  }
  int64_t whole(const Json& entry, const char* key, const char* of) const {
    const Json* const found = entry.find(key);
    if (found == nullptr || !found->is_number_integer())
      fail("an entry of \"" + std::string(of) + "\" has no whole number \"" + key + "\"");
    return found->get<int64_t>();
  }
  quant::Box box(const Json& note, int32_t label) const {
    const Json* const corner = note.find("bbox");
    std::vector<float> v;
    if (corner != nullptr && corner->is_array()) {
      for (const Json& number : *corner) {
        if (number.is_number()) v.push_back(number.get<float>());
      }
    }
    if (v.size() != 4) fail("an annotation's \"bbox\" is not [x, y, width, height]");
    return {v[0], v[1], v[0] + v[2], v[1] + v[3], 1, label};
  }

  std::string path_;
  Json json_;
};

}  // namespace

std::unique_ptr<Dataset> open_folder(const DataOptions& options, const Model& model) {
  const std::string csv = (fs::path(options.data) / "labels.csv").string();
  std::error_code error;
  if (!options.labelled) return std::make_unique<FileData>(model, options.data, read_files(options.data), false, false);
  std::vector<Entry> entries =
      fs::exists(csv, error) ? read_labels(options.data, csv) : read_class_folders(options.data);
  if (entries.empty()) {
    throw Failure(options.data + " holds no labelled files",
                  "write labels.csv with a line FILE,LABEL for each, or put the files of each class into a folder of "
                  "its name");
  }
  auto data = std::make_unique<FileData>(model, options.data, std::move(entries), true, false);
  data->number_classes(options);
  return data;
}

std::unique_ptr<Dataset> open_coco(const DataOptions& options, const Model& model) {
  return std::make_unique<FileData>(model, fs::path(options.data).parent_path().string(),
                                    CocoReader(options.data).read(), false, true);
}

}  // namespace vireo::cli
