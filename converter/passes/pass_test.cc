// Runs every <pass>.test.ir in the folders beside this file.
//
//   case name                     one case; its graph follows, in the form of converter/ir/text.h
//     ...
//   expect                        the graph that comes out: the nodes in order, under any names; attributes are
//     ...                         compared where given, constants by type and shape (a ' says that the contents are
//                                 new), literals by value
//   expect unchanged "reason"     nothing happens, and the pass says why (no reason given: it has none to say)
//
// Whatever changes is also run: the graph before and after must agree on random inputs (interpret.h), and the pass must
// find nothing more to do when it runs again; a repeated one must have lowered the measure of measure.h. A composite is
// written as hint[Op,Op,...](arguments).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "converter/ir/interpret.h"
#include "converter/ir/text.h"
#include "converter/passes/pipeline.h"
#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/measure.h"
#include "sdk/ops/shared/value_reader.h"
#include "tests/support/roots.h"

namespace vireo::passes::pass_test {
namespace {

struct Case {
  std::string file, name, before;
  std::vector<std::string> expected;
  bool unchanged = false;
  std::string reason;
  bool loose = false;  // outputs may differ by float rounding
};

std::string trim(const std::string& s) {
  const size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t\r");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

std::vector<Case> read_cases() {
  std::vector<Case> out;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests::source_path("converter/passes"))) {
    const std::string name = entry.path().filename().string();
    if (name.size() > 8 && name.substr(name.size() - 8) == ".test.ir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    const std::string stem = path.filename().string();
    std::ifstream in(path);
    std::string line;
    bool expecting = false;
    while (std::getline(in, line)) {
      const std::string t = trim(line);
      if (t.empty() || t[0] == '#') continue;
      if (t.rfind("case ", 0) == 0) {
        out.push_back({});
        out.back().file = stem.substr(0, stem.size() - 8);
        out.back().name = trim(t.substr(5));
        expecting = false;
      } else if (t.rfind("expect", 0) == 0) {
        expecting = true;
        out.back().unchanged = t.find("unchanged") != std::string::npos;
        const size_t q = t.find('"');
        if (q != std::string::npos) out.back().reason = t.substr(q + 1, t.rfind('"') - q - 1);
      } else if (expecting) {
        out.back().expected.push_back(t);
      } else {
        out.back().before += t + "\n";
      }
    }
  }
  return out;
}

// Attributes that `wanted` gives ("{axis:1}") are those of the node.
void compare_attributes(const ir::Node& n, const std::string& wanted) {
  if (wanted.empty()) return;
  std::vector<uint8_t> bytes;
  std::string error;
  ASSERT_TRUE(ir::parse_attributes(n.op, wanted, &bytes, &error)) << error;
  EXPECT_EQ(ir::print_attributes(n.op, n.attrs), ir::print_attributes(n.op, bytes)) << n.name;
}

std::string op_text(const ir::Node& n) {
  if (n.op != Op::kComposite) return op_name(n.op);
  std::string out = kind_of(n) + "[";
  for (const ir::Node& inner : n.bodies[0]->nodes())
    out += (out.back() == '[' ? "" : ",") + std::string(op_name(inner.op));
  return out + "]";
}

void compare(const ir::Graph& g, const Case& c) {
  ASSERT_EQ(g.nodes().size(), c.expected.size()) << ir::print_graph(g);
  std::map<std::string, const ir::Value*> names;
  for (const ir::Value* v : g.inputs()) names[v->name] = v;
  size_t at = 0;
  for (const ir::Node& n : g.nodes()) {
    ir::Statement s;
    std::string error;
    ASSERT_TRUE(ir::parse_statement(c.expected[at++], &s, &error)) << error;
    EXPECT_EQ(s.op, op_text(n)) << ir::print_graph(g);
    ASSERT_EQ(s.arguments.size(), n.inputs.size()) << ir::print_graph(g);
    for (size_t i = 0; i < s.arguments.size(); ++i) {
      const std::string& a = s.arguments[i];
      const ir::Value* v = n.inputs[i];
      if (a == "_") {
        EXPECT_EQ(v, nullptr);
      } else if (a[0] == '%') {
        ASSERT_EQ(names.count(a.substr(1)), 1u) << a << "\n" << ir::print_graph(g);
        EXPECT_EQ(v, names[a.substr(1)]) << a << "\n" << ir::print_graph(g);
      } else {
        ASSERT_TRUE(v != nullptr && v->constant != nullptr) << a << "\n" << ir::print_graph(g);
        const ir::ConstantPtr wanted = ir::parse_constant(a, &error);
        ASSERT_NE(wanted, nullptr) << error;
        EXPECT_EQ(v->type, wanted->tensor.type) << a;
        // A plain name keeps its contents; a primed one has others.
        const bool primed = a.find('\'') != std::string::npos;
        if (primed) continue;
        EXPECT_TRUE(ir::same_content(*v->constant, *wanted)) << a << "\n" << ir::print_graph(g);
      }
    }
    compare_attributes(n, s.attributes);
    ASSERT_EQ(s.results.size(), n.outputs.size()) << ir::print_graph(g);
    for (size_t i = 0; i < s.results.size(); ++i) {
      if (s.results[i] == "_") {
        EXPECT_EQ(n.outputs[i], nullptr) << ir::print_graph(g);
      } else {
        names[s.results[i]] = n.outputs[i];
      }
    }
  }
}

std::vector<ir::ConstantPtr> random_inputs(const ir::Graph& g) {
  std::mt19937 rng(3);
  std::vector<ir::ConstantPtr> out;
  for (const ir::Value* v : g.inputs()) {
    TensorType t = v->type;
    for (int i = 0; i < t.shape.rank; ++i) {
      if (is_symbolic(t.shape[i])) t.shape[i] = 2;
    }
    std::vector<uint8_t> bytes(static_cast<size_t>(tensor_bytes(t)));
    for (int64_t i = 0; i < element_count(t.shape); ++i) {
      const float x = static_cast<float>(static_cast<int>(rng() % 257) - 128) / 32;
      if (t.dtype == DType::kF32) {
        std::memcpy(bytes.data() + i * 4, &x, 4);
      } else {
        bytes[static_cast<size_t>(i * (dtype_bits(t.dtype) / 8))] = static_cast<uint8_t>(rng() % 2);
      }
    }
    out.push_back(ir::make_constant(t, std::move(bytes)));
  }
  return out;
}

class PassTest : public ::testing::TestWithParam<Case> {};

TEST_P(PassTest, Case) {
  const Case& c = GetParam();
  const Pass* pass = find_pass(c.file);
  ASSERT_NE(pass, nullptr) << c.file;
  std::string error;
  const auto g = ir::parse_graph(c.before, &error);
  ASSERT_NE(g, nullptr) << error;
  const auto before = g->clone();
  const std::string text = ir::print_graph(*g);
  PassLog log;
  run_pass(*g, *pass, log);
  ASSERT_EQ(g->validate(), "");
  if (c.unchanged) {
    EXPECT_EQ(log.changes, 0u);
    EXPECT_EQ(ir::print_graph(*g), text);
    bool said = c.reason.empty();
    std::string reasons;
    for (const auto& [node, reason] : log.declined) {
      said = said || reason == c.reason;
      reasons += reason + "; ";
    }
    EXPECT_TRUE(said) << "wanted \"" << c.reason << "\", it said: " << reasons;
    return;
  }
  EXPECT_GT(log.changes, 0u);
  EXPECT_TRUE(!is_repeated(*pass) || measure(*g) < measure(*before)) << ir::print_graph(*g);
  compare(*g, c);
  for (const ir::Node& n : g->nodes()) {
    if (n.op == Op::kComposite) {
      EXPECT_EQ(composite_fault(n), "") << ir::print_graph(*g);
    }
  }
  const std::string once = ir::print_graph(*g);
  PassLog second;
  run_pass(*g, *pass, second);
  EXPECT_EQ(second.changes, 0u) << "not idempotent:\n" << ir::print_graph(*g);
  EXPECT_EQ(ir::print_graph(*g), once);

  const std::vector<ir::ConstantPtr> inputs = random_inputs(*g);
  std::vector<ir::ConstantPtr> a, b;
  ASSERT_TRUE(ir::interpret(*before, inputs, &a, &error)) << error;
  ASSERT_TRUE(ir::interpret(*g, inputs, &b, &error)) << error;
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i]->tensor.type, b[i]->tensor.type);
    if (a[i]->tensor.type.dtype != DType::kF32) {
      EXPECT_TRUE(ir::same_content(*a[i], *b[i]));
      continue;
    }
    double top = 1e-3;
    for (int64_t k = 0; k < a[i]->tensor.count(); ++k) top = std::fmax(top, std::fabs(a[i]->tensor.as<float>()[k]));
    for (int64_t k = 0; k < a[i]->tensor.count(); ++k) {
      // Sums here have at most 72 terms of like size: 72 roundings of 2^-24 of the largest.
      EXPECT_NEAR(a[i]->tensor.as<float>()[k], b[i]->tensor.as<float>()[k], top * 72 * 6e-8)
          << "output " << i << " element " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, PassTest, ::testing::ValuesIn(read_cases()),
                         [](const auto& one) { return one.param.file + "_" + one.param.name; });

}  // namespace
}  // namespace vireo::passes::pass_test
