// Names that nothing looks up: those of constants and of values between nodes. Nodes, inputs and outputs keep theirs.
// They are a fortieth of the file of a small model whose weights are codes.
#ifndef VIREO_QUANT_INT8_UNNAMED_H_
#define VIREO_QUANT_INT8_UNNAMED_H_

#include <string>

#include "converter/stage/stage.h"

namespace vireo::quant {

// Names for values that have none, such as a pass leaves: ranges of a recipe go by names.
void name_values(ir::Graph& graph);

class Unnamed final : public Stage {
 public:
  StagePlace place() const override { return StagePlace::kAfterFusion; }
  const std::string& name() const override { return name_; }
  const std::string& title() const override { return title_; }
  const char* unit() const override { return nullptr; }  // of no interest to people
  double check_atol() const override { return 0; }
  void run(ir::Graph& graph, PassLog& log) override;

 private:
  const std::string name_ = "drop_names", title_ = "leave names out";
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_UNNAMED_H_
