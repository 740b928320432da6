#include "converter/report/origin.h"

#include <gtest/gtest.h>

#include "converter/report/text.h"

namespace vireo::report::origin_test {
namespace {

std::string told(const Origin& origin, const std::string& key) {
  for (const auto& [name, text] : origin.told) {
    if (name == key) return text;
  }
  return "(nothing)";
}

TEST(Origin, WhatPyTorchWrites) {
  const Origin o = origin_of(
      {{"namespace", ": model.Net/layers.0: model.Block/layers.0.fc: torch.nn.Linear/linear: aten.linear.default"},
       {"pkg.torch.onnx.name_scopes", "['', 'layers.0', 'layers.0.fc', 'linear']"},
       {"pkg.torch.onnx.stack_trace", "File \"/m.py\", line 9, in forward\n    return self.fc(x)\n"},
       {"pkg.onnxscript.rewriter.rule_name", "FuseGelu"},
       {"pkg.torch.onnx.fx_node", std::string(500, 'x')}});
  EXPECT_EQ(o.module, "layers/0/fc");
  EXPECT_EQ(told(o, "trace"), "File \"/m.py\", line 9, in forward\n    return self.fc(x)");
  EXPECT_EQ(told(o, "pkg.onnxscript.rewriter.rule_name"), "FuseGelu");
  EXPECT_EQ(told(o, "pkg.torch.onnx.fx_node"), "(nothing)");  // long, and says nothing that the rest does not
}

TEST(Origin, TheNamespaceAlone) {
  EXPECT_EQ(origin_of({{"namespace", ": Net/fc: torch.nn.Linear/linear: aten.linear"}}).module, "fc");
  EXPECT_EQ(origin_of({{"namespace", "linear"}}).module, "");
  EXPECT_EQ(origin_of({{"namespace", ""}}).module, "");
}

TEST(Origin, OldExportersWriteTheInnermostCallFirst) {
  const Origin o =
      origin_of({{"doc_string", "/torch/conv.py(443): _conv_forward\n/torch/conv.py(447): forward\n/m.py(7): f\n"}});
  EXPECT_EQ(told(o, "doc"), "/m.py(7): f\n/torch/conv.py(447): forward\n/torch/conv.py(443): _conv_forward");
}

TEST(Origin, HostileNotesAreBounded) {
  NodeNotes notes = {{"pkg.torch.onnx.stack_trace", std::string(1 << 20, 'a') + "\nlast"},
                     {"pkg.torch.onnx.name_scopes", "['" + std::string(1 << 20, 'b') + "', 'x', 'y"},
                     {"x\u202e", "</script>\u202e"}};
  for (int i = 0; i < 100; ++i) notes.emplace_back("k" + std::to_string(i), "v");
  const Origin o = origin_of(notes);
  EXPECT_LE(o.told.size(), 10u);
  size_t bytes = o.module.size();
  for (const auto& [key, text] : o.told) {
    bytes += key.size() + text.size();
    EXPECT_EQ((key + text).find("\u202e"), std::string::npos);
  }
  EXPECT_LT(bytes, 3 * kMostText);
  EXPECT_NE(told(o, "trace").find("last"), std::string::npos);
}

}  // namespace
}  // namespace vireo::report::origin_test
