// What the tests of all schemes share.
#ifndef VIREO_QUANT_SCHEMES_TESTING_H_
#define VIREO_QUANT_SCHEMES_TESTING_H_

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "converter/ir/text.h"
#include "quant/schemes/scheme.h"
#include "sdk/ops/op.h"

namespace vireo::quant::testing {

inline std::unique_ptr<ir::Graph> graph(const std::string& text) {
  std::string error;
  auto g = ir::parse_graph(text, &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

inline std::string ops(const ir::Graph& g) {
  std::string out;
  for (const ir::Node& n : g.nodes()) out += (out.empty() ? "" : " ") + std::string(op_name(n.op));
  return out;
}

inline std::vector<float> floats(const ir::Constant& c) {
  std::vector<float> out(c.tensor.bytes.size() / sizeof(float));
  std::memcpy(out.data(), c.tensor.bytes.data(), c.tensor.bytes.size());
  return out;
}

// `scheme` changes nothing in `text`, whose input is x f32[1,4,4,4], and says `reason` once; "": it says nothing.
inline void expect_left(const Scheme& scheme, const std::string& text, const std::string& reason) {
  SCOPED_TRACE(text);
  const auto g = graph("input %x f32[1,4,4,4]\n" + text);
  ASSERT_NE(g, nullptr);
  const std::string before = ir::print_graph(*g);
  PassLog log;
  scheme.run(*g, log);
  EXPECT_EQ(log.changes, 0u);
  EXPECT_EQ(ir::print_graph(*g), before);
  ASSERT_EQ(log.declined.size(), reason.empty() ? 0u : 1u);
  EXPECT_EQ(log.declined.empty() ? "" : log.declined[0].second, reason);
}

}  // namespace vireo::quant::testing

#endif  // VIREO_QUANT_SCHEMES_TESTING_H_
