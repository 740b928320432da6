// Static quantization to int8 as a stage of the converter: statistics on sample data, ranges, repairs, codes, and an
// account of what each layer lost.
#ifndef VIREO_QUANT_INT8_STATIC_INT8_H_
#define VIREO_QUANT_INT8_STATIC_INT8_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "converter/stage/stage.h"
#include "quant/calibrate/kept.h"
#include "quant/calibrate/samples.h"
#include "quant/int8/account.h"
#include "quant/int8/recipe.h"
#include "quant/int8/share.h"
#include "quant/repair/equalise.h"

namespace vireo::quant {

struct Int8Options {
  Recipe recipe;
  Samples* samples = nullptr;      // null: the recipe has all ranges
  Evaluator* evaluator = nullptr;  // not null
  uint64_t memory = 0;             // most bytes that a pass over the data takes, with those held; 0: no ceiling
  uint64_t shared = 0;             // of a pass on several values, beyond one value's; 0: up to the ceiling
  // Bytes that the program holds now. Empty: they do not count.
  std::function<uint64_t()> held;
  bool account = true;   // measure what each layer lost
  Kept* kept = nullptr;  // what earlier quantizations saw on the data, and what this one does; null: nothing
  // Says what goes on, and which share of it is behind. May be empty.
  std::function<void(const std::string& step, double share)> tell;
};

struct Int8Report {
  Recipe recipe;  // with all that was decided: the same again gives the same file
  size_t samples = 0, values = 0;
  size_t runs = 0;                                        // of the model on a sample, or of a part, to observe values
  MultiplyAdds multiply_adds;                             // on an input like the first sample
  std::vector<LayerAccount> layers;                       // in the order of the graph
  std::vector<std::pair<std::string, std::string>> left;  // products that stay in float, and why
  std::vector<std::string> never_fires;                   // values that are 0 on all samples
  std::vector<EqualisedValue> equalised;
  size_t biases_corrected = 0;
  double rounding_gain_db = 0;  // of what weights' rounding costs their products, by coordinate descent
  std::vector<std::pair<std::string, double>> seconds;  // of each step
};

class StaticInt8 final : public Stage {
 public:
  explicit StaticInt8(Int8Options options);

  StagePlace place() const override { return StagePlace::kBeforeQuantized; }
  const std::string& name() const override { return name_; }
  const std::string& title() const override { return title_; }
  const char* unit() const override { return "values"; }
  double check_atol() const override { return 0.5; }
  bool visits_bodies() const override { return false; }
  void run(ir::Graph& graph, PassLog& log) override;

  const Int8Report& report() const { return report_; }
  // The graph with its pairs, before anything folds them: what other tools take. Null before run().
  const ir::Graph* annotated() const { return annotated_.get(); }

 private:
  const Int8Options options_;
  const std::string name_ = "quantize_int8", title_ = "quantize to int8";
  Int8Report report_;
  std::unique_ptr<ir::Graph> annotated_;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_STATIC_INT8_H_
