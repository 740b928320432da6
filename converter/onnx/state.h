// What all parts of an import share. Private to this folder.
//
// Owns the dimensions, the constants that were read of the file and those that were found in the graph, the model's
// functions by name, and the value that stands for what failed. Made before every other part. Members that a single
// part needs are in that part.
#ifndef VIREO_CONVERTER_ONNX_STATE_H_
#define VIREO_CONVERTER_ONNX_STATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "converter/ir/infer.h"
#include "converter/onnx/import.h"
#include "converter/onnx/tensors.h"

namespace vireo::importer {

struct Scope;

struct ImportState {
  // Two functions of one name are an error.
  ImportState(::onnx::ModelProto& model, const std::string& model_path, const ConvertOptions& options, Guess guess,
              const std::map<std::string, int64_t>& known, Diagnostics* diagnostics);
  ImportState(const ImportState&) = delete;
  ImportState& operator=(const ImportState&) = delete;

  // From the conversion's budget. False: nothing is left, which is recorded once.
  bool spend(ir::Budget::Kind kind, int64_t amount, const ::onnx::NodeProto* node = nullptr,
             const Scope* scope = nullptr);
  // Null: the model defines none of this name.
  ::onnx::FunctionProto* function(const std::string& domain, const std::string& op,
                                  const std::string& overload = "") const;
  // What `name` means in `scope` or around it, without handing anything in. Null: it is not known there, or what makes
  // it failed.
  const ir::Value* meaning(const Scope& scope, const std::string& name) const;

  ::onnx::ModelProto& model;
  const ConvertOptions& options;
  const Guess guess;
  const std::map<std::string, int64_t>& known;  // extents of dimensions of the inputs
  Diagnostics& diagnostics;
  std::shared_ptr<ir::DimTable> dims = std::make_shared<ir::DimTable>();
  TensorReader tensors;
  ir::ConstantFinder finder{&dims->budget()};
  // Stands for the outputs of nodes that failed, so that their followers are left in peace.
  ir::Value poison;
  const ir::Graph* main = nullptr;  // its nodes run in every run
  size_t input_atoms = 0;           // symbols the inputs brought

 private:
  std::map<std::pair<std::string, std::string>, ::onnx::FunctionProto*> functions_;  // (domain, "name:overload")
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_STATE_H_
