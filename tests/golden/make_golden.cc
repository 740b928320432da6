// make_golden OUT.vireo WIDE.vireo [OUT.onnx]: all golden vectors of the integer operators as two models with their
// inputs and outputs as a test case inside, so that whatever can load a model, with any delegate, can be held to them:
// `vireo selftest`, or vireo_session_selftest on a device. One node for each vector; what a model has as constants is
// constant. The ONNX file has both as the exporter writes them, for other runtimes: with all operands as constants, and
// the wanted codes as further outputs, "<case>.wanted".
#include <cstdio>
#include <memory>

#include "converter/emit/model_file.h"
#include "converter/export/export.h"
#include "converter/ir/infer.h"
#include "sdk/ops/integer_golden_testing.h"

namespace vireo {
namespace {

// Operands that a model computes: the others are weights, tables and multipliers.
bool is_computed(Op op, size_t i) { return i == 0 || (i == 1 && (op == Op::kIntAdd || op == Op::kIntMul)); }

HostTensor host(DType dtype, const Shape& shape, std::vector<uint8_t> bytes) {
  HostTensor t;
  t.dtype = dtype;
  t.dims.assign(shape.dims, shape.dims + shape.rank);
  t.bytes = std::move(bytes);
  return t;
}

// `test` null: no inputs, and the wanted codes as an output.
bool add_case(const GoldenCase& c, ir::Graph* g, TestCaseOption* test) {
  std::vector<ir::Value*> in;
  const std::vector<TestTensor>& given = c.test.inputs();
  for (size_t i = 0; i < given.size(); ++i) {
    const TestTensor& t = given[i];
    const std::string name = std::string(c.name) + "." + std::to_string(i);
    if (t.type.dtype == DType::kNone) {
      in.push_back(nullptr);
    } else if (test != nullptr && is_computed(c.test.op(), i)) {
      in.push_back(g->add_input(name, t.type));
      test->inputs.push_back(host(t.type.dtype, t.type.shape, t.bytes));
    } else {
      in.push_back(g->add_constant(name, ir::make_constant(t.type, t.bytes)));
    }
  }
  ir::Node* n = g->add_node(c.test.op(), c.test.attrs(), in, 1);
  n->name = c.name;
  n->out()->name = c.name;
  std::string message;
  if (!ok(ir::infer_node(*g, n, nullptr, &message))) {
    std::fprintf(stderr, "make_golden: %s: %s\n", c.name, message.c_str());
    return false;
  }
  g->add_output(n->out(), c.name);
  TestOutput wanted;
  std::vector<uint8_t> codes;
  for (const int code : c.codes) {
    codes.push_back(static_cast<uint8_t>(code));
    if (dtype_bits(c.dtype) == 16) codes.push_back(static_cast<uint8_t>(code >> 8));
  }
  wanted.values = host(c.dtype, make_shape(c.shape), std::move(codes));
  wanted.dims = c.shape;
  if (test != nullptr) {
    test->outputs.push_back(std::move(wanted));
    return true;
  }
  const std::string name = std::string(c.name) + ".wanted";
  const ir::ConstantPtr codes_of_y = ir::make_constant({c.dtype, make_shape(c.shape)}, std::move(wanted.values.bytes));
  g->add_output(g->add_constant(name, codes_of_y), name);
  return true;
}

int make_onnx(const std::string& path) {
  ir::Graph graph(std::make_shared<ir::DimTable>());
  for (const GoldenCase& c : golden_cases()) {
    if (!add_case(c, &graph, nullptr)) return 1;
  }
  Diagnostics diagnostics;
  if (exporter::export_onnx(graph, path, &diagnostics)) return 0;
  std::fprintf(stderr, "make_golden: %s\n", diagnostics.text().c_str());
  return 1;
}

int make(const std::string& path, bool wide) {
  ir::Graph graph(std::make_shared<ir::DimTable>());
  graph.name = wide ? "integer golden vectors of 16 and 4 bits" : "integer golden vectors";
  ConvertOptions options;
  options.tests.emplace_back();
  for (const GoldenCase& c : golden_cases()) {
    if (c.wide == wide && !add_case(c, &graph, &options.tests[0])) return 1;
  }
  emit::separate_outputs(graph);
  Diagnostics diagnostics;
  ConvertReport report;
  emit::Provenance provenance;
  provenance.source = "integer_golden.py";
  const auto file = emit::ModelFile::build(graph, options, provenance, &diagnostics, &report);
  if (file != nullptr && !diagnostics.failed() && file->write(path, &diagnostics)) return 0;
  std::fprintf(stderr, "make_golden: %s\n", diagnostics.text().c_str());
  return 1;
}

}  // namespace
}  // namespace vireo

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: make_golden OUT.vireo WIDE.vireo [OUT.onnx]\n");
    return 2;
  }
  for (const bool wide : {false, true}) {
    const int made = vireo::make(argv[wide ? 2 : 1], wide);
    if (made != 0) return made;
  }
  return argc == 4 ? vireo::make_onnx(argv[3]) : 0;
}
