// What tests of static quantization share: graphs from text, and their plans.
#ifndef VIREO_QUANT_INT8_TESTING_H_
#define VIREO_QUANT_INT8_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "converter/ir/text.h"
#include "quant/int8/plan.h"

namespace vireo::quant::testing {

inline std::unique_ptr<ir::Graph> parsed(const std::string& text) {
  std::string error;
  auto g = ir::parse_graph(text, &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

// Of a recipe that keeps no layer.
inline Plan plan_of(ir::Graph& g) {
  return make_plan(g, [](const ir::Node&) { return false; });
}

}  // namespace vireo::quant::testing

#endif  // VIREO_QUANT_INT8_TESTING_H_
