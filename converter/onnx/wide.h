// Tensors of more dimensions than a tensor of ours has (kMaxRank). Exporters of einsum-like code make them on the way:
// a Reshape splits dimensions, a Transpose changes their order, another Reshape joins them again.
//
// There is none in a graph. A wide tensor is its elements in their order, in a value of any shape, and the list of its
// dimensions. What only changes that list costs nothing. For the rest, neighbouring dimensions that an operator treats
// alike become one, and the operator is imported with what is left, if that is at most kMaxRank.
//
// Weighed: a larger kMaxRank (every shape in a device's memory grows, and every kernel's loops), and a pass over the
// ONNX file that removes such chains (it would have to know the types, which are found on the way).
//
// `WideTensors` owns all that an import makes. Made beside Bundles, before the parts that read names; a node is
// shown to import_wide() before it is imported in any other way. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_WIDE_H_
#define VIREO_CONVERTER_ONNX_WIDE_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/onnx/tools.h"

namespace vireo::importer {

// Its `marker` is what names mean, and stands in no graph.
struct WideTensor {
  ir::Value marker;
  ir::Value* flat = nullptr;  // its elements in row-major order
  std::vector<Dim> dims;      // more than kMaxRank
};

class WideTensors {
 public:
  explicit WideTensors(const ir::DimTable& dims) : dims_(dims) {}

  const WideTensor* find(const ir::Value* v) const;  // null: an ordinary value
  ir::Value* add(ir::Value* flat, std::vector<Dim> dims);
  // "float32[2,3,...]"
  std::string text(const WideTensor& wide) const;

 private:
  const ir::DimTable& dims_;
  std::deque<WideTensor> all_;
  std::map<const ir::Value*, const WideTensor*> markers_;
};

// False: nothing of the node is wide. Else its outputs are bound, or it is refused.
bool import_wide(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, const std::string& domain);
// Records that `what` of the node is `wide`, where no wide tensor can be.
void refuse_wide(const Tools& tools, const Scope& scope, const ::onnx::NodeProto& node, const std::string& what,
                 const WideTensor& wide);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_WIDE_H_
