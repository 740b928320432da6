// Small files that ask for much: each converts, or is refused with the limit's name, and soon.
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"

namespace vireo::budget_test {
namespace {

using testing::add_body;
using testing::add_int;
using testing::Folder;
using testing::GraphBuilder;
using testing::ModelBuilder;

// Time of the processor: the machine may have other work. Without the limits each of these models takes minutes or does
// not end.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostSeconds = 150;  // unoptimised, and 40 times as slow where objects are made one by one
#else
constexpr double kMostSeconds = 4;
#endif

struct Result {
  bool converted = false;
  std::string text;  // of the diagnostics
  ConvertReport report;
};

Result convert(const ModelBuilder& m) {
  Folder folder;
  Result out;
  Diagnostics d;
  const std::string path = folder.write("model.onnx", m.bytes());
  const std::clock_t start = std::clock();
  out.converted = convert_file(path, folder.at("out.vireo"), {}, &d, &out.report);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kMostSeconds) << d.text();
  EXPECT_EQ(folder.files(), out.converted ? 2u : 1u);
  out.text = d.text();
  return out;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void import_functions(ModelBuilder& m) {
  auto* import = m.model.add_opset_import();
  import->set_domain("f");
  import->set_version(1);
}

// `levels` functions: each calls the next `calls` times, the last is a chain of Relus.
void add_functions(ModelBuilder& m, int levels, int calls) {
  import_functions(m);
  for (int i = 0; i < levels; ++i) {
    auto* f = m.model.add_functions();
    f->set_name("F" + std::to_string(i));
    f->set_domain("f");
    f->add_input("t0");
    f->add_output("t" + std::to_string(calls));
    for (const auto& row : m.model.opset_import()) *f->add_opset_import() = row;
    for (int k = 0; k < calls; ++k) {
      auto* n = f->add_node();
      const bool last = i + 1 == levels;
      n->set_op_type(last ? "Relu" : "F" + std::to_string(i + 1));
      n->set_domain(last ? "" : "f");
      n->add_input("t" + std::to_string(k));
      n->add_output("t" + std::to_string(k + 1));
    }
  }
}

TEST(Budget, FunctionsThatCallEachOther) {
  for (const auto& [levels, calls] : {std::pair{60, 2}, {8, 20}}) {
    ModelBuilder m;
    add_functions(m, levels, calls);
    m.input("x", {"N"}).output("y").node("F0", {"x"}, {"y"}, "f");
    const Result r = convert(m);
    EXPECT_FALSE(r.converted);
    EXPECT_TRUE(has(r.text, "VC0219") && has(r.text, "131072 nodes that functions and loops unfold to")) << r.text;
    EXPECT_EQ(r.text.find("error"), r.text.rfind("error")) << r.text;
  }
  ModelBuilder few;
  add_functions(few, 4, 4);
  few.input("x", {"N"}).output("y").node("F0", {"x"}, {"y"}, "f");
  EXPECT_TRUE(convert(few).converted);
}

// e = (3 e + 1) / 2 + e / 5: its text doubles with each step.
TEST(Budget, ExtentsThatDouble) {
  ModelBuilder m;
  m.input("x", {"N"}).output("y").ints("one", {1}, {1}).ints("two", {1}, {2}).ints("three", {1}, {3});
  m.ints("five", {1}, {5}).node("Shape", {"x"}, {"e0"});
  const int steps = 60;
  for (int i = 0; i < steps; ++i) {
    const std::string n = std::to_string(i), e = "e" + n;
    m.node("Mul", {e, "three"}, {"a" + n});
    m.node("Add", {"a" + n, "one"}, {"b" + n});
    m.node("Div", {"b" + n, "two"}, {"c" + n});
    m.node("Div", {e, "five"}, {"d" + n});
    m.node("Add", {"c" + n, "d" + n}, {"e" + std::to_string(i + 1)});
  }
  m.node("ConstantOfShape", {"e" + std::to_string(steps)}, {"y"});
  const Result r = convert(m);
  EXPECT_TRUE(r.converted) << r.text;
  ASSERT_EQ(r.report.outputs.size(), 1u);
  EXPECT_LT(r.report.outputs[0].type.size(), 2000u);
  EXPECT_TRUE(has(r.report.outputs[0].type, "... #")) << r.report.outputs[0].type;
}

// c = (c + 1) / 2 + N, again and again: above the limit a run computes it.
TEST(Budget, ExtentsInsideEachOther) {
  ModelBuilder m;
  m.input("x", {"N"}).output("y").ints("one", {1}, {1}).ints("two", {1}, {2}).node("Shape", {"x"}, {"s"});
  const int steps = 5000;
  for (int i = 0; i < steps; ++i) {
    const std::string n = std::to_string(i);
    m.node("Add", {i == 0 ? "s" : "c" + std::to_string(i - 1), "one"}, {"a" + n});
    m.node("Div", {"a" + n, "two"}, {"b" + n});
    m.node("Add", {"b" + n, "s"}, {"c" + n});
  }
  m.node("Expand", {"x", "c" + std::to_string(steps - 1)}, {"y"});
  const Result r = convert(m);
  EXPECT_TRUE(r.converted) << r.text;

  // Where a shape itself goes so deep, there is nothing to go on with.
  ModelBuilder pools;
  pools.input("x", {"1", "1", "W"}).output("y");
  const int levels = 600;
  for (int i = 0; i < levels; ++i) {
    auto* n = pools.node("MaxPool", {i == 0 ? "x" : "p" + std::to_string(i)},
                         {i + 1 == levels ? "y" : "p" + std::to_string(i + 1)});
    testing::add_ints(n, "kernel_shape", {3});
    testing::add_ints(n, "strides", {2});
    testing::add_ints(n, "pads", {2, 2});
  }
  const Result deep = convert(pools);
  EXPECT_FALSE(deep.converted);
  EXPECT_TRUE(has(deep.text, "512 divisions")) << deep.text;
}

TEST(Budget, ExtentsOfManyTerms) {
  ModelBuilder m;
  m.output("y").ints("one", {1}, {1});
  const int inputs = 1500;
  for (int i = 0; i < inputs; ++i) {
    const std::string n = std::to_string(i);
    m.input("x" + n, {"N" + n});
    m.node("Shape", {"x" + n}, {"s" + n});
    if (i != 0) m.node("Add", {i == 1 ? "s0" : "t" + std::to_string(i - 1), "s" + n}, {"t" + n});
  }
  m.node("ConstantOfShape", {"t" + std::to_string(inputs - 1)}, {"y"});
  const Result r = convert(m);
  EXPECT_TRUE(r.converted) << r.text;
}

int64_t file_bytes(const ModelBuilder& m) {
  Folder folder;
  Diagnostics d;
  EXPECT_TRUE(convert_file(folder.write("m.onnx", m.bytes()), folder.at("m.vireo"), {}, &d, nullptr)) << d.text();
  return static_cast<int64_t>(std::filesystem::file_size(folder.at("m.vireo")));
}

TEST(Budget, ConstantsThatDouble) {
  for (const char* op : {"Concat", "Tile"}) {
    ModelBuilder m;
    m.input("x", {"1"}).output("y").floats("c0", {1}, {1}).ints("two", {1}, {2});
    const int steps = 26;
    for (int i = 0; i < steps; ++i) {
      const std::string c = "c" + std::to_string(i), next = "c" + std::to_string(i + 1);
      if (op[0] == 'T') {
        m.node(op, {c, "two"}, {next});
      } else {
        add_int(m.node(op, {c, c}, {next}), "axis", 0);
      }
    }
    m.node("Add", {"x", "c" + std::to_string(steps)}, {"y"});
    const Result r = convert(m);
    EXPECT_TRUE(r.converted) << r.text;
    EXPECT_LT(file_bytes(m), 5 << 20) << op;
  }
}

// 4,000 nodes that fold to 64 KiB each, for the extents of others.
TEST(Budget, ManyConstantsForExtents) {
  ModelBuilder m;
  m.input("x", {"1"}).output("y").ints("n", {1}, {8192}).ints("zero", {1}, {0});
  std::vector<std::string> parts;
  for (int i = 0; i < 4000; ++i) {
    const std::string n = std::to_string(i);
    m.node("Expand", {"zero", "n"}, {"e" + n});
    add_int(m.node("ReduceMax", {"e" + n}, {"r" + n}), "keepdims", 0);
    m.node("Unsqueeze", {"r" + n, "zero"}, {"u" + n});
    m.node("Add", {"u" + n, "n"}, {"a" + n});
    m.node("Expand", {"x", "a" + n}, {"p" + n});
    parts.push_back("p" + n);
  }
  add_int(m.node("Concat", parts, {"y"}), "axis", 0);
  const Result r = convert(m);
  EXPECT_TRUE(r.converted || has(r.text, "terms of extents' expressions")) << r.text;
}

TEST(Budget, WorkOfFolding) {
  for (const char* op : {"MatMulInteger", "MatMul", "Einsum"}) {
    ModelBuilder m;
    const std::string name = op;
    const int64_t wide = name == "Einsum" ? 120 : 2000, n = 120;
    m.input("x", {std::to_string(n), std::to_string(n)}).output("y");
    for (const auto& [tensor, rows, columns] : {std::tuple{"a", n, wide}, {"b", wide, n}}) {
      auto* t = m.model.mutable_graph()->add_initializer();
      t->set_name(tensor);
      t->set_data_type(name == "MatMulInteger" ? 2 : 6);
      t->add_dims(rows);
      t->add_dims(columns);
      t->set_raw_data(std::string(static_cast<size_t>(rows * columns) * (name == "MatMulInteger" ? 1 : 4), '\1'));
    }
    std::vector<std::string> sum{"x"};
    for (int i = 0; i < 100; ++i) {
      const std::string k = std::to_string(i);
      auto* node = m.node(op, {"a", "b"}, {"m" + k});
      if (name == "Einsum") {
        auto* equation = node->add_attribute();
        equation->set_name("equation");
        equation->set_type(::onnx::AttributeProto::STRING);
        equation->set_s("ij,kl->il");
      }
      add_int(m.node("Cast", {"m" + k}, {"f" + k}), "to", 1);
      sum.push_back("f" + k);
    }
    m.node("Sum", sum, {"y"});
    const Result r = convert(m);
    EXPECT_TRUE(r.converted) << r.text;
  }
}

TEST(Budget, ManyNodesOfOneName) {
  ModelBuilder m;
  m.input("x", {"N", "2"}).output("y");
  std::vector<std::string> parts;
  for (int i = 0; i < 4000; ++i) {
    const std::string n = std::to_string(i);
    m.node("NonZero", {"x"}, {"i" + n})->set_name("same");
    m.node("Shape", {"i" + n}, {"s" + n})->set_name("same");
    parts.push_back("s" + n);
  }
  add_int(m.node("Concat", parts, {"y"}), "axis", 0);
  EXPECT_TRUE(convert(m).converted);
}

// A loop whose state widens twice imports its body three times, and that the loops in it.
TEST(Budget, LoopsInsideEachOther) {
  ModelBuilder m;
  m.input("x", {"2", "3"}).output("y").ints("trips", {}, {3});
  GraphBuilder graph = m;
  const int levels = 16;
  for (int i = 0; i < levels; ++i) {
    const std::string n = std::to_string(i);
    auto* loop = graph.node("Loop", {"trips", "", i == 0 ? "x" : "s" + std::to_string(i - 1)},
                            {i == 0 ? "y" : "l" + std::to_string(i - 1)});
    if (i != 0) {
      const std::string outer = std::to_string(i - 1);
      add_int(graph.node("Concat", {"l" + outer, "l" + outer}, {"q" + outer}), "axis", 0);
      add_int(graph.node("Concat", {"q" + outer, "q" + outer}, {"o" + outer}), "axis", 1);
    }
    graph = add_body(loop, "body");
    graph.input("i" + n, {}, 7).input("c" + n, {}, 9).input("s" + n, {"", ""});
    graph.output("k" + n).output("o" + n);
    graph.node("Identity", {"c" + n}, {"k" + n});
  }
  graph.node("Identity", {"s" + std::to_string(levels - 1)}, {"o" + std::to_string(levels - 1)});
  const Result r = convert(m);
  EXPECT_TRUE(r.converted || has(r.text, "VC0219")) << r.text;
}

// A loop that appends x to a sequence each trip, `levels` inside each other.
void append_in_loops(ModelBuilder& m, int levels, int64_t trips) {
  m.input("x", {"1"}).output("y").ints("trips", {}, {trips}).node("SequenceConstruct", {"x"}, {"s"});
  GraphBuilder graph = m;
  std::string from = "s", to = "all";
  for (int i = 0; i < levels; ++i) {
    const std::string n = std::to_string(i);
    graph = add_body(graph.node("Loop", {"trips", "", from}, {to}), "body");
    graph.input("i" + n, {}, 7).input("c" + n, {}, 9).input("s" + n, {}).output("k" + n).output("o" + n);
    graph.proto()->mutable_input(2)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
    graph.proto()->mutable_output(1)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
    graph.node("Identity", {"c" + n}, {"k" + n});
    from = "s" + n;
    to = "o" + n;
  }
  graph.node("SequenceInsert", {from, "x"}, {to});
  add_int(m.node("ConcatFromSequence", {"all"}, {"y"}), "axis", 0);
}

TEST(Budget, UnrolledLoops) {
  ModelBuilder few, many, inside;
  append_in_loops(few, 1, 20);
  EXPECT_TRUE(convert(few).converted);
  append_in_loops(many, 1, 5000);
  const Result trips = convert(many);
  EXPECT_FALSE(trips.converted);
  EXPECT_TRUE(has(trips.text, "runs 5000 times: at most 4096 trips are unrolled")) << trips.text;
  EXPECT_TRUE(has(trips.text, "a scanned output") && has(trips.text, "--elements all=8")) << trips.text;
  append_in_loops(inside, 3, 4096);
  const Result nested = convert(inside);
  EXPECT_FALSE(nested.converted);
  EXPECT_TRUE(has(nested.text, "VC0219")) << nested.text;
}

TEST(Budget, SequencesMadeAgainAndAgain) {
  ModelBuilder m;
  m.input("x", {"1"}).output("y").node("SequenceConstruct", {"x"}, {"s0"});
  const int steps = 12000;
  for (int i = 0; i < steps; ++i)
    m.node("SequenceInsert", {"s" + std::to_string(i), "x"}, {"s" + std::to_string(i + 1)});
  add_int(m.node("ConcatFromSequence", {"s" + std::to_string(steps)}, {"y"}), "axis", 0);
  const Result r = convert(m);
  EXPECT_FALSE(r.converted);
  EXPECT_TRUE(has(r.text, "16777216 elements of sequences")) << r.text;
}

TEST(Budget, SplitIntoManyParts) {
  ModelBuilder m;
  m.input("x", {"1000000"}).output("y").node("SplitToSequence", {"x"}, {"s"});
  add_int(m.node("ConcatFromSequence", {"s"}, {"y"}), "axis", 0);
  const Result r = convert(m);  // an identity: no part is made
  EXPECT_TRUE(r.converted) << r.text;
}

TEST(Budget, OutputsOfOneValue) {
  ModelBuilder m;
  m.input("x", {"4"}).node("Relu", {"x"}, {"y"});
  for (int i = 0; i < 6000; ++i) m.output("y");
  EXPECT_TRUE(convert(m).converted);
}

TEST(Budget, ManyFaults) {
  ModelBuilder m;
  m.input("x", {"4", "4"}).floats("w", {5, 1}, {1, 1, 1, 1, 1});
  for (int i = 0; i < 10000; ++i) {
    m.node("MatMul", {"x", "w"}, {"y" + std::to_string(i)});
    m.output("y" + std::to_string(i));
  }
  EXPECT_FALSE(convert(m).converted);
}

TEST(Budget, LongChains) {
  ModelBuilder m;
  m.input("x", {"N"}).output("y");
  const int nodes = 20000;
  for (int i = 0; i < nodes; ++i)
    m.node(i % 2 == 0 ? "Sin" : "Cos", {i == 0 ? "x" : "t" + std::to_string(i)},
           {i + 1 == nodes ? "y" : "t" + std::to_string(i + 1)});
  EXPECT_TRUE(convert(m).converted);
}

}  // namespace
}  // namespace vireo::budget_test
