// Rows of the arrays of an .npz file.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "c_api/cli/inputs.h"
#include "c_api/cli/nearest.h"
#include "c_api/cli/npy.h"
#include "converter/cli/dataset.h"

namespace vireo::cli {
namespace {

std::string list_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (text.empty() ? "" : ", ") + names[i];
  return text + (names.size() > kShown ? " and " + std::to_string(names.size() - kShown) + " more" : "");
}

int64_t whole_at(const Array& array, int64_t i) { return static_cast<int64_t>(real_at(array, i)); }

class NpzData final : public Dataset {
 public:
  NpzData(const DataOptions& options, const Model& model) : model_(model), file_(options.data), path_(options.data) {
    std::map<std::string, std::string> keys;
    for (const std::string& text : options.inputs) {
      const auto [input, key] = split_assignment(text);
      if (input.empty() || key.empty())
        throw Failure("--input " + text + " is not understood", "write --input NAME=KEY: an array of " + path_);
      keys[input] = key;
    }
    for (size_t i = 0; i < model.inputs().size(); ++i) {
      const vireo_value_info& info = model.inputs()[i];
      const auto given = keys.find(info.name);
      if (given == keys.end() && info.state_of >= 0) {
        inputs_.push_back(nullptr);
        continue;
      }
      inputs_.push_back(open(given == keys.end() ? info.name : given->second, "input '" + std::string(info.name) + "'",
                             "--input " + std::string(info.name) + "=KEY"));
      if (given != keys.end()) keys.erase(given);
    }
    if (!keys.empty()) {
      std::vector<std::string> names;
      for (const vireo_value_info& info : model.inputs()) names.emplace_back(info.name);
      throw Failure(model.name() + " has no input '" + keys.begin()->first + "'",
                    did_you_mean(keys.begin()->first, names) + "its inputs: " + list_text(names));
    }
    if (!options.labelled) return;
    const std::string label = options.label.empty() ? "label" : options.label;
    if (has_key(label) || !options.label.empty()) label_ = open(label, "the labels", "--label KEY");
    if (has_key("boxes") && has_key("labels")) {
      boxes_ = open("boxes", "", "");
      classes_ = open("labels", "", "");
      require_boxes();
    }
    if (label_ != nullptr && !has(quant::Needs::kText)) require_whole(*label_);
  }

  uint64_t size() const override { return rows_; }
  bool has(quant::Needs what) const override {
    const bool text = label_ != nullptr && label_->rows.dtype() == VIREO_STRING;
    if (what == quant::Needs::kText) return text;
    if (what == quant::Needs::kLabel) return label_ != nullptr && !text && labels_of_row() == 1;
    if (what == quant::Needs::kPixels) return label_ != nullptr && !text && labels_of_row() != 1;
    if (what == quant::Needs::kBoxes) return boxes_ != nullptr;
    return false;
  }

  Item next() override {
    Item item;
    item.name = "row " + std::to_string(at_++);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == nullptr) {
        item.inputs.emplace_back();
        continue;
      }
      std::string line;
      item.inputs.push_back(fit_input(inputs_[i]->rows.next(), model_, i, inputs_[i]->where, &line));
      assume(line);
    }
    if (label_ != nullptr) {
      const Array row = label_->rows.next();
      for (const std::string& text : row.strings) item.text += (item.text.empty() ? "" : " ") + text;
      for (int64_t i = 0; i < row.count() && row.strings.empty(); ++i) item.labels.push_back(whole_at(row, i));
    }
    if (boxes_ != nullptr) read_boxes(&item.boxes);
    return item;
  }

 private:
  struct Column {
    std::string where;  // "data.npz (label)"
    NpyRows rows;
  };

  int64_t labels_of_row() const {
    const std::vector<int64_t>& dims = label_->rows.dims();
    return std::accumulate(dims.begin() + 1, dims.end(), int64_t{1}, std::multiplies<>());
  }

  bool has_key(const std::string& key) const {
    return std::find(file_.names().begin(), file_.names().end(), key) != file_.names().end();
  }

  // `what` is read from there, and `option` would name another key.
  std::unique_ptr<Column> open(const std::string& key, const std::string& what, const std::string& option) {
    if (!has_key(key)) {
      throw Failure(path_ + " has no array '" + key + "' for " + what, did_you_mean(key, file_.names()) +
                                                                           "it has: " + list_text(file_.names()) +
                                                                           "; " + option + " names another one");
    }
    auto column = std::make_unique<Column>(Column{path_ + " (" + key + ")", file_.rows(key)});
    const auto rows = static_cast<uint64_t>(column->rows.dims()[0]);
    if (first_.empty()) {
      first_ = column->where;
      rows_ = rows;
    }
    if (rows != rows_) {
      throw Failure(
          column->where + " has " + std::to_string(rows) + " rows, but " + first_ + " has " + std::to_string(rows_),
          "every array needs one row for each sample");
    }
    return column;
  }

  static void require_whole(const Column& column) {
    const vireo_dtype dtype = column.rows.dtype();
    if (dtype_is_float(dtype) || dtype_is_complex(dtype) || dtype == VIREO_STRING)
      throw Failure(column.where + " holds " + vireo_dtype_text(dtype) + ", but labels are whole numbers",
                    "write the number of the class, from 0 on, as int64, or a text");
  }

  void require_boxes() const {
    const std::vector<int64_t>&b = boxes_->rows.dims(), &c = classes_->rows.dims();
    require_whole(*classes_);
    if (b.size() == 3 && c.size() == 2 && b[2] == 4 && b[1] == c[1]) return;
    throw Failure(boxes_->where + " is " + shape_text(b) + " and " + classes_->where + " is " + shape_text(c),
                  "boxes are (samples, most boxes, 4) as x0 y0 x1 y1 in pixels, labels (samples, most boxes), -1 where "
                  "there is no box");
  }

  void read_boxes(std::vector<quant::Box>* boxes) {
    const Array corners = boxes_->rows.next(), classes = classes_->rows.next();
    for (int64_t i = 0; i < classes.count(); ++i) {
      const int64_t label = whole_at(classes, i);
      if (label < 0) continue;
      const auto at = [&](int64_t k) { return static_cast<float>(real_at(corners, 4 * i + k)); };
      boxes->push_back({at(0), at(1), at(2), at(3), 1, static_cast<int32_t>(label)});
    }
  }

  const Model& model_;
  NpzFile file_;
  std::string path_, first_;  // first_: the array that rows_ comes from
  uint64_t rows_ = 0, at_ = 0;
  std::vector<std::unique_ptr<Column>> inputs_;
  std::unique_ptr<Column> label_, boxes_, classes_;
};

}  // namespace

std::unique_ptr<Dataset> open_npz(const DataOptions& options, const Model& model) {
  return std::make_unique<NpzData>(options, model);
}

}  // namespace vireo::cli
