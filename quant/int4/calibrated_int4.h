// Weights in 4 bits by sample data, as a stage of the converter: each matrix is rounded by what its product loses on
// what really comes in, once all before it is rounded.
#ifndef VIREO_QUANT_INT4_CALIBRATED_INT4_H_
#define VIREO_QUANT_INT4_CALIBRATED_INT4_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "converter/stage/stage.h"
#include "quant/calibrate/samples.h"
#include "quant/int8/recipe.h"

namespace vireo::quant {

struct Int4Options {
  Recipe recipe;                   // of format w4/32
  Samples* samples = nullptr;      // null: the recipe needs none
  Evaluator* evaluator = nullptr;  // not null
  uint64_t memory = 0;             // most bytes that a pass over the data takes, with those held; 0: no ceiling
  std::function<uint64_t()> held;  // bytes that the program holds now; empty: they do not count
  // Says what goes on, and which share of it is behind. May be empty.
  std::function<void(const std::string& step, double share)> tell;
};

// A matrix that was rounded by what its product loses.
struct Int4Layer {
  std::string name;    // of the product
  double sqnr_db = 0;  // of its result, by its own rounding
  double gain_db = 0;  // against nearest codes
};

struct Int4Report {
  Recipe recipe;
  size_t samples = 0, rounds = 0;                            // passes over the data, a step of the way each
  std::vector<Int4Layer> layers;                             // in the order of the graph; a table first
  std::vector<std::string> eight_bits;                       // layers whose matrix has 8 bits
  std::vector<std::pair<std::string, std::string>> nearest;  // products with nearest codes for all that, and why
  size_t gains_moved = 0, gains_fitted = 0;                  // normalisations
  std::vector<std::pair<std::string, double>> seconds;       // of each step
};

class CalibratedInt4 final : public Stage {
 public:
  explicit CalibratedInt4(Int4Options options) : options_(std::move(options)) {}

  StagePlace place() const override { return StagePlace::kBeforeFusion; }
  const std::string& name() const override { return name_; }
  const std::string& title() const override { return title_; }
  const char* unit() const override { return "products"; }
  double check_atol() const override { return 0.5; }
  bool visits_bodies() const override { return false; }
  void run(ir::Graph& graph, PassLog& log) override;

  const Int4Report& report() const { return report_; }
  const Recipe& recipe() const { return options_.recipe; }
  // The graph that run() had; null before it.
  const ir::Graph* graph() const { return graph_; }

 private:
  const Int4Options options_;
  const std::string name_ = "quantize_int4", title_ = "quantize to int4";
  Int4Report report_;
  const ir::Graph* graph_ = nullptr;
};

// What stands in the bodies of nodes, behind the other stage: no data come by there, so codes are the nearest ones.
class Int4InBodies final : public Stage {
 public:
  explicit Int4InBodies(std::shared_ptr<const CalibratedInt4> model) : model_(std::move(model)) {}

  StagePlace place() const override { return StagePlace::kBeforeFusion; }
  const std::string& name() const override { return name_; }
  const std::string& title() const override { return model_->title(); }
  const char* unit() const override { return nullptr; }
  double check_atol() const override { return 0.5; }
  void run(ir::Graph& graph, PassLog& log) override;

 private:
  const std::shared_ptr<const CalibratedInt4> model_;
  const std::string name_ = "quantize_int4_bodies";
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT4_CALIBRATED_INT4_H_
