// Static quantization to int8, as the verbs convert and quantize ask for it.
#ifndef VIREO_CONVERTER_CLI_INT8_H_
#define VIREO_CONVERTER_CLI_INT8_H_

#include <memory>
#include <string>
#include <vector>

#include "c_api/cli/progress.h"
#include "converter/cli/sample_data.h"
#include "converter/cli/session_evaluator.h"
#include "converter/diag/diagnostics.h"
#include "quant/int8/static_int8.h"
#include "sdk/json/json.h"

namespace vireo::cli {

struct Int8Request {
  std::string data, recipe;         // what is read; "": nothing
  std::string format;               // "w8a8", "w8a16" or "w4a8"; "": what the recipe says, else w8a8
  std::string save_recipe, qdq;     // files that are written; "": none
  std::string memory;               // "2G", "500M" or a number of bytes; "": twice the model, at least 512 MB
  std::vector<std::string> inputs;  // NAME=KEY, of the data
  std::string tokenizer;            // of a text
  int64_t window = 0;               // tokens a sample
  bool asked() const { return !data.empty() || !recipe.empty(); }
};

// One quantization. Throws Failure for a recipe or data that cannot be read; what is wrong with them for this model the
// stage says.
class Int8Run {
 public:
  // `in_float` gives the model as it is, for data that have to be fitted to it.
  Int8Run(const Int8Request& request, const std::string& model, LoadModel in_float, Progress* progress);

  Stages stages() const;
  // The recipe and the QDQ file, once the conversion went well. False with diagnostics where one cannot be written.
  bool write(Diagnostics* diagnostics) const;
  std::string text() const;  // lines for people: what was done, and the layers that lost most
  Json json() const;         // what was measured, and the ranges of values

 private:
  Json measured() const;

  const Int8Request request_;
  SessionEvaluator evaluator_;
  std::unique_ptr<SampleData> samples_;
  std::shared_ptr<quant::StaticInt8> stage_;
};

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_INT8_H_
