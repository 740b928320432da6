// What a line of text cannot show: the size rule counts bytes.
#include "converter/passes/simplify/fold_constants.h"

#include <gtest/gtest.h>

#include "converter/ir/text.h"

namespace vireo::passes::fold_constants_test {
namespace {

TEST(FoldConstants, KeepsWhatWouldBlowTheFileUp) {
  std::string error;
  const auto g =
      ir::parse_graph("input %x f32[64,64]\n%big = Expand(f32[1]{1}, i64[2]{64,64})\n%y = Add(%x, %big)\n", &error);
  ASSERT_NE(g, nullptr) << error;
  PassLog log;
  kFoldConstants.run(*g, log);
  EXPECT_EQ(log.changes, 0u);
  ASSERT_EQ(log.declined.size(), 1u);
  EXPECT_NE(log.declined[0].second.find("16384 bytes"), std::string::npos) << log.declined[0].second;
}

TEST(FoldConstants, FoldsWhatStaysAsLarge) {
  std::string error;
  const auto g =
      ir::parse_graph("input %x f32[2,64]\n%t = Transpose(w[128,64]) {perm:[1,0]}\n%y = MatMul(%x, %t)\n", &error);
  ASSERT_NE(g, nullptr) << error;
  PassLog log;
  kFoldConstants.run(*g, log);
  EXPECT_EQ(log.changes, 1u);
  EXPECT_EQ(g->nodes().size(), 1u);
}

// Kernels read scales of blocks as they are stored; another reader wants numbers.
TEST(FoldConstants, ScalesOfBlocksStayFloat16) {
  for (const bool blocks : {true, false}) {
    std::string error;
    const auto g = ir::parse_graph(
        std::string("input %x f32[2,4]\n%s = Cast(s:f16[6,2]) {to:1}\n%w = ") +
            (blocks ? "DequantizeLinear(w:i8[6,4], %s) {block_size:2}\n" : "Expand(%s, i64[2]{6,2})\n") +
            "%y = Identity(%w)\n",
        &error);
    ASSERT_NE(g, nullptr) << error;
    PassLog log;
    kFoldConstants.run(*g, log);
    EXPECT_EQ(log.changes == 0, blocks);
  }
}

}  // namespace
}  // namespace vireo::passes::fold_constants_test
