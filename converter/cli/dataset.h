// Labelled data as samples for a model, one after the other: no more than one of them is in memory.
#ifndef VIREO_CONVERTER_CLI_DATASET_H_
#define VIREO_CONVERTER_CLI_DATASET_H_

#include <memory>
#include <string>
#include <vector>

#include "c_api/cli/array.h"
#include "c_api/cli/handles.h"
#include "quant/metrics/metric.h"

namespace vireo::cli {

struct DataOptions {
  std::string data;                 // --data
  std::vector<std::string> inputs;  // --input NAME=KEY
  std::string label;                // key of the labels; "": "label"
  std::string tokenizer;            // tokenizer.json, for a text
  int64_t window = 0;               // tokens a sample; 0: 256 of a text, and no tokens otherwise
  std::string classes;              // names in the order of the model's classes: a file or a list; "": sorted
  bool labelled = true;             // false: sample data, which need no labels
};

// A sample: what the model takes, and what the metrics need to know of it.
struct Item {
  std::string name;           // "row 12", "cats/1.png"
  std::vector<Array> inputs;  // in the model's order; dtype VIREO_NONE: carried state
  std::vector<int64_t> labels;
  std::vector<quant::Box> boxes;
  std::string text;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual uint64_t size() const = 0;  // samples
  virtual bool has(quant::Needs what) const = 0;
  // The next sample, fewer than size() times. Throws Failure that names file and key.
  virtual Item next() = 0;
  // What was assumed of pictures and sounds, once each.
  const std::vector<std::string>& assumed() const { return assumed_; }

 protected:
  void assume(const std::string& line);

 private:
  std::vector<std::string> assumed_;
};

// By what lies at options.data. Refers to `model`. Throws Failure.
std::unique_ptr<Dataset> open_dataset(const DataOptions& options, const Model& model);

std::unique_ptr<Dataset> open_npz(const DataOptions& options, const Model& model);
std::unique_ptr<Dataset> open_folder(const DataOptions& options, const Model& model);
std::unique_ptr<Dataset> open_tokens(const DataOptions& options, const Model& model);
std::unique_ptr<Dataset> open_coco(const DataOptions& options, const Model& model);

// `array` as the input takes it: dimensions of 1 are added where they are missing, numbers become its type where
// that keeps them, bytes become numbers as those of pictures do. `where` names the file and the key. Adds a line to
// `assumed` for what was decided. Throws Failure.
Array fit_input(const Array& array, const Model& model, size_t input, const std::string& where, std::string* assumed);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_DATASET_H_
