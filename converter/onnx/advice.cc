// What to say when a model leaves open what a conversion must know.
#include "converter/onnx/advice.h"

#include <set>
#include <utility>
#include <vector>

#include "converter/onnx/scope.h"

namespace vireo::importer {
namespace {

// Names of the symbols in `d`, those inside divisions, minima and maxima too. `seen`: expressions that share parts meet
// each part once.
void collect_symbols(const ir::DimTable& dims, Dim d, std::set<Dim>* seen, std::set<std::string>* out) {
  if (!seen->insert(d).second) return;
  for (const auto& [monomial, coefficient] : dims.polynomial(d)) {
    for (const uint32_t id : monomial) {
      const ir::DimTable::Atom& atom = dims.atoms()[id];
      if (atom.kind == ExprKind::kSymbol) {
        out->insert(atom.symbol.name);
      } else {
        collect_symbols(dims, atom.a, seen, out);
        collect_symbols(dims, atom.b, seen, out);
      }
    }
  }
}

// Operators that models bring from elsewhere, the first row that fits: what they are and what to do.
struct KnownDomain {
  const char* domain;  // one that ends with '.' stands for all that begin so
  const char* op;      // part of the operator's name; "": any
  const char* what;
  const char* help;
};

constexpr char kOptimised[] = "the file was optimised for the machine that saved it";
constexpr char kSaveExtended[] = "save it with ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL, or convert the original";
constexpr char kExtensions[] = "this is a step of onnxruntime-extensions, before or behind the model proper";
constexpr char kCut[] =
    "do it in the application, and cut the model there with onnx.utils.extract_model, which takes the names of the "
    "tensors to begin and to end with";
constexpr char kQonnx[] = "this is QONNX, of Brevitas and FINN";
constexpr char kQcdq[] =
    "export the model as QCDQ (brevitas.export.export_onnx_qcdq), or convert the file with qonnx-convert "
    "--output-style qcdq: QuantizeLinear, Clip and DequantizeLinear are served";
constexpr char kTraining[] = "this is an operator of training";
constexpr char kInference[] = "export the model for inference (model.eval() in PyTorch)";
constexpr char kAten[] = "this is a PyTorch operator that the exporter found no ONNX form for";
constexpr char kNewExporter[] =
    "export with torch.onnx.export(..., dynamo=True) and a newer opset, or replace the operator in the model";
constexpr char kVendor[] = "this is an operator of a vendor's quantizer";
constexpr char kQdq[] = "export the model with ONNX's QuantizeLinear and DequantizeLinear";

constexpr KnownDomain kDomains[] = {
    {"com.microsoft.nchwc", "", kOptimised, kSaveExtended},
    {"com.ms.internal.nhwc", "", kOptimised, kSaveExtended},
    {"ai.onnx.contrib", "", kExtensions, kCut},
    {"com.microsoft.extensions", "", kExtensions, kCut},
    {"com.microsoft", "Tokenizer", "this splits text into tokens by rules of ONNX Runtime", kCut},
    {"com.microsoft", "Search", "this is a whole decoding loop as one operator of ONNX Runtime",
     "export the decoder by itself, and let the application choose the next token"},
    {"com.microsoft", "Sampling", "this is a whole decoding loop as one operator of ONNX Runtime",
     "export the decoder by itself, and let the application choose the next token"},
    {"com.microsoft", "Grad", kTraining, kInference},
    {"com.microsoft", "", "this is an operator of ONNX Runtime that Vireo does not serve",
     "convert the model as it was before ONNX Runtime optimised it, or save it with ORT_ENABLE_BASIC "
     "(sdk/ops/COVERAGE.md lists the ones that are served)"},
    {"com.microsoft.", "", "this domain is ONNX Runtime's own, for one of its parts",
     "export the model with standard operators in its place"},
    {"qonnx.", "", kQonnx, kQcdq},
    {"onnx.brevitas", "", kQonnx, kQcdq},
    {"finn.", "", kQonnx, kQcdq},
    {"ai.onnx.preview.training", "", kTraining, kInference},
    {"ai.onnx.training", "", kTraining, kInference},
    {"org.pytorch.aten", "", kAten, kNewExporter},
    {"aten", "", kAten, kNewExporter},
    {"prim", "", kAten, kNewExporter},
    {"ai.onnx.converters.tensorflow", "", "this is a TensorFlow operator that tf2onnx found no ONNX form for",
     "convert the original with a newer --opset, or replace the operator in the model"},
    {"mmcv", "", "this is an operator of MMCV",
     "export the model with MMDeploy for ONNX Runtime, without custom operators"},
    {"mmdeploy", "", "this is an operator of MMDeploy",
     "export the model for a backend without custom operators, with NonMaxSuppression in place of its own"},
    {"trt.plugins", "", "this is a plug-in of TensorRT",
     "export the model for ONNX Runtime, with NonMaxSuppression or without it"},
    {"com.amd.", "", kVendor, kQdq},
    {"com.vai.", "", kVendor, kQdq},
    {"com.xilinx.", "", kVendor, kQdq},
};

}  // namespace

std::string unknown_operator_advice(const std::string& domain, const std::string& op) {
  for (const KnownDomain& known : kDomains) {
    const std::string name = known.domain;
    const bool family = name.back() == '.' && domain.rfind(name, 0) == 0;
    if ((domain == name || family) && op.find(known.op) != std::string::npos)
      return std::string(known.what) + ": " + known.help;
  }
  if (!domain.empty() && domain != "ai.onnx.ml") {
    return "this domain is no standard one, and Vireo does not know its operators: export the model with standard "
           "operators in their place, or with a model-local function for each, which is taken as it is";
  }
  if (op.size() > 4 && op.compare(op.size() - 4, 4, "_TRT") == 0)
    return "this is a plug-in of TensorRT: export the model for ONNX Runtime, with NonMaxSuppression or without it";
  if (op.find("Sequence") != std::string::npos || op.find("Optional") != std::string::npos)
    return "sequences and optional values are not served: export the model with tensors in their place";
  return "export the model without it, or write it with other operators (sdk/ops/COVERAGE.md lists what is there)";
}

std::string shape_advice(const ir::DimTable& dims, const Scope& scope, const ir::Value* condition) {
  // Back from the condition to where elements are known as expressions over dimensions.
  std::set<std::string> symbols;
  std::set<Dim> met;
  std::set<const ir::Value*> seen;
  std::vector<const ir::Value*> left{condition};
  while (!left.empty()) {
    const ir::Value* v = left.back();
    left.pop_back();
    if (v == nullptr || !seen.insert(v).second || v->constant != nullptr) continue;
    if (v->contents) {
      for (const Dim d : *v->contents) collect_symbols(dims, d, &met, &symbols);
    } else if (v->producer != nullptr) {
      left.insert(left.end(), v->producer->inputs.begin(), v->producer->inputs.end());
    }
  }
  const Scope* model = &scope;
  while (model->outer != nullptr) model = model->outer;
  std::string options;
  for (const ir::Value* input : model->graph->inputs()) {
    std::string shape;
    bool decides = false;
    for (int i = 0; i < input->type.shape.rank; ++i) {
      std::set<std::string> own;
      std::set<Dim> parts;
      collect_symbols(dims, input->type.shape[i], &parts, &own);
      for (const std::string& name : own) decides = decides || symbols.count(name) != 0;
      shape += (i == 0 ? "" : ",") + dims.text(input->type.shape[i]);
    }
    if (decides) options += " --shape " + input->name + "=" + shape;
  }
  if (options.empty())
    return "give the inputs' shapes (--shape) if they decide the condition, or export the model without it";
  return "sizes decide it: convert with" + options + ", numbers in place of the names";
}

}  // namespace vireo::importer
