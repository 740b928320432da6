// A stage of the converter's pipeline that its caller hands in, because the converter works without any: a quantizer's
// halves, and what calibrates, prunes or searches. One that decides by what graphs compute holds an Evaluator.
#ifndef VIREO_CONVERTER_STAGE_STAGE_H_
#define VIREO_CONVERTER_STAGE_STAGE_H_

#include <memory>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/stage/log.h"

namespace vireo {

enum class StagePlace : uint8_t {
  kBeforeQuantized,  // patterns are recognised; regions that the stage marks become integer operators after it
  kBeforeFusion,     // layouts are chosen, and operators still stand by themselves
  kAfterFusion,      // composites are made, and nothing recognises anything any more
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual StagePlace place() const = 0;
  virtual const std::string& name() const = 0;   // in reports, beside the passes: "quantize_bf16"
  virtual const std::string& title() const = 0;  // while it goes on: "quantize to bf16"
  virtual const char* unit() const = 0;          // what it counts as changes: "products"; null: not shown
  // Of an output's largest value: what a comparison with the unchanged graph must allow at least, from here on.
  virtual double check_atol() const = 0;
  // False: it is for the model's graph only, not for the bodies of its nodes.
  virtual bool visits_bodies() const { return true; }
  // Changes one graph; the pipeline visits bodies itself. It keeps the promises of ir/graph.h, gives a reason for each
  // node that it looked at and left, and finds nothing to do when it runs again.
  virtual void run(ir::Graph& graph, PassLog& log) = 0;
};

// In the order they run at their places.
using Stages = std::vector<std::shared_ptr<Stage>>;

}  // namespace vireo

#endif  // VIREO_CONVERTER_STAGE_STAGE_H_
