// What quantizations by sample data share, as the verbs convert and quantize ask for them.
#ifndef VIREO_CONVERTER_CLI_QUANTIZATION_H_
#define VIREO_CONVERTER_CLI_QUANTIZATION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "c_api/cli/progress.h"
#include "converter/cli/sample_data.h"
#include "converter/cli/session_evaluator.h"
#include "converter/diag/diagnostics.h"
#include "converter/stage/stage.h"
#include "quant/int8/recipe.h"
#include "sdk/json/json.h"

namespace vireo::cli {

struct QuantizeRequest {
  std::string data, recipe;         // what is read; "": nothing
  std::string format;               // of quant::format_names(); "": what the recipe says, else w8a8
  std::string save_recipe, qdq;     // files that are written; "": none
  std::string stats;                // a file that is read where it is there, and written; "": none
  std::string memory;               // "2G", "500M" or a number of bytes; "": twice the model, at least 512 MB
  std::vector<std::string> inputs;  // NAME=KEY, of the data
  std::string tokenizer;            // of a text
  int64_t window = 0;               // tokens a sample
  bool asked() const { return !data.empty() || !recipe.empty(); }
};

// The recipe that a request names, else the default one, with the request's format. Throws Failure for one that cannot
// be read or is for another model.
quant::Recipe recipe_of(const QuantizeRequest& request, const std::string& model);

// One quantization.
class Quantization {
 public:
  virtual ~Quantization() = default;
  virtual Stages stages() const = 0;
  // The files besides the model, once the conversion went well. False with diagnostics where one cannot be written.
  virtual bool write(Diagnostics* diagnostics) const = 0;
  virtual std::string text() const = 0;  // lines for people: what was done, and the layers that lost most
  virtual Json json() const = 0;         // what was measured
  virtual bool has_page() const = 0;     // whether the report's page shows json()
};

// The data of a quantization and how its graphs are run, within a ceiling of memory.
class Calibration {
 public:
  // `recipe` gets the name and the digest of the data. `in_float` gives the model as it is, for data that have to be
  // fitted to it. Throws Failure for data that cannot be read.
  Calibration(const QuantizeRequest& request, const std::string& model, LoadModel in_float, Progress* progress,
              quant::Recipe* recipe);

  // What a stage that reads data gets in its options.
  template <class Options>
  void fill(Options* options) {
    options->samples = samples_.get();  // null: none are given
    options->evaluator = &evaluator_;
    options->memory = memory_;
    options->held = held;
    options->tell = tell_;
  }
  std::vector<std::string> assumed() const;

 private:
  static uint64_t held();

  SessionEvaluator evaluator_;
  std::unique_ptr<SampleData> samples_;
  uint64_t memory_ = 0;
  std::function<void(const std::string&, double)> tell_;
};

// `measured`, and what made the recipe, into the file that the request names; "": nothing.
void save_recipe(const QuantizeRequest& request, const quant::Recipe& recipe, const Json& measured);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_QUANTIZATION_H_
