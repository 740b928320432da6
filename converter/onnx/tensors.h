// Constants of an ONNX file: TensorProto in all its spellings, sparse tensors, and data kept in other files.
#ifndef VIREO_CONVERTER_ONNX_TENSORS_H_
#define VIREO_CONVERTER_ONNX_TENSORS_H_

#include <map>
#include <memory>
#include <string>

#include "converter/diag/diagnostics.h"
#include "converter/ir/budget.h"
#include "converter/ir/constant.h"
#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

class TensorReader {
 public:
  // `model_path`: external data must lie in its folder or below.
  // `budget`: what sparse tensors take from when they are made dense; weights that are read add to it.
  TensorReader(std::string model_path, Diagnostics* diagnostics, ir::Budget* budget)
      : model_path_(std::move(model_path)), diagnostics_(diagnostics), budget_(budget) {}

  // A tensor of more than kMaxRank dimensions comes with all of them as one (WideTensors).
  // Null with a diagnostic when the tensor cannot be read. Takes raw_data out of `tensor` instead of copying it, and
  // remembers the answer: asking twice is fine. `name`: what to call it in messages.
  ir::ConstantPtr read(::onnx::TensorProto& tensor, const std::string& name);
  ir::ConstantPtr read(::onnx::SparseTensorProto& tensor, const std::string& name);

  // What was read from `tensor`; null: nothing.
  ir::ConstantPtr known(const void* tensor) const {
    const auto it = known_.find(tensor);
    return it == known_.end() ? nullptr : it->second;
  }

 private:
  ir::ConstantPtr read_new(::onnx::TensorProto& tensor, const std::string& name);
  // `bytes`: what the tensor takes in the file.
  ir::ConstantPtr read_external(const ::onnx::TensorProto& tensor, const TensorType& type, int64_t bytes,
                                const std::string& name);
  ir::ConstantPtr read_sparse(::onnx::SparseTensorProto& tensor, const std::string& name);
  std::shared_ptr<ir::MappedFile> map(const std::string& location, const std::string& name);
  ir::ConstantPtr fail(Code code, const std::string& name, std::string what, std::string help = "");

  std::string model_path_;
  Diagnostics* diagnostics_;
  ir::Budget* budget_;
  std::map<const void*, ir::ConstantPtr> known_;
  std::map<std::string, std::shared_ptr<ir::MappedFile>> files_;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_TENSORS_H_
