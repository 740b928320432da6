#include "converter/ir/on_disk.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "converter/ir/text.h"

namespace vireo::on_disk_test {
namespace {

// Two large matrices and a small one.
std::unique_ptr<ir::Graph> matrices() {
  std::string error;
  std::unique_ptr<ir::Graph> g = ir::parse_graph(
      "input %x f32[1,256]\n%a = MatMul(%x, w[256,256])\n%b = MatMul(%a, u[256,256])\n%y = MatMul(%b, v[256,2])\n"
      "output %y",
      &error);
  EXPECT_NE(g, nullptr) << error;
  return g;
}

std::vector<uint8_t> weights_of(const ir::Graph& g, const char* name) {
  for (const ir::Node& n : g.nodes()) {
    if (n.in(1)->name != name) continue;
    const Span<const uint8_t> bytes = n.in(1)->constant->tensor.bytes;
    return {bytes.begin(), bytes.end()};
  }
  return {};
}

TEST(OnDisk, LargeConstantsAreMappedAndTheSame) {
  const std::unique_ptr<ir::Graph> g = matrices();
  const std::vector<uint8_t> w = weights_of(*g, "w"), v = weights_of(*g, "v");
  EXPECT_EQ(ir::bytes_in_memory(*g), 2 * w.size());
  ASSERT_TRUE(ir::move_to_disk(*g));
  EXPECT_EQ(ir::bytes_in_memory(*g), 0u);
  EXPECT_TRUE(g->nodes().front().in(1)->constant->mapped);
  EXPECT_FALSE(g->nodes().back().in(1)->constant->mapped);
  ir::forget_pages(*g);
  EXPECT_EQ(weights_of(*g, "w"), w);
  EXPECT_EQ(weights_of(*g, "v"), v);
  ASSERT_TRUE(ir::move_to_disk(*g));  // once more: nothing is left to move
}

TEST(OnDisk, OneConstantHasAFileOfItsOwnWhereItIsLarge) {
  const std::unique_ptr<ir::Graph> g = matrices();
  const ir::ConstantPtr large = g->nodes().front().in(1)->constant, small = g->nodes().back().in(1)->constant;
  const ir::ConstantPtr moved = ir::on_disk(large);
  EXPECT_TRUE(moved->mapped);
  EXPECT_TRUE(ir::same_content(*moved, *large));
  EXPECT_EQ(ir::on_disk(moved), moved);
  EXPECT_EQ(ir::on_disk(small), small);
}

TEST(OnDisk, WithoutAFolderTheyStayInMemory) {
  const std::unique_ptr<ir::Graph> g = matrices();
  const uint64_t before = ir::bytes_in_memory(*g);
  const char* const was = getenv("TMPDIR");
  const std::string kept = was == nullptr ? "" : was;
  setenv("TMPDIR", "/proc", 1);  // where nothing can be written
  EXPECT_FALSE(ir::move_to_disk(*g));
  const ir::ConstantPtr large = g->nodes().front().in(1)->constant;
  EXPECT_EQ(ir::on_disk(large), large);
  if (was == nullptr) {
    unsetenv("TMPDIR");
  } else {
    setenv("TMPDIR", kept.c_str(), 1);
  }
  EXPECT_EQ(ir::bytes_in_memory(*g), before);
}

}  // namespace
}  // namespace vireo::on_disk_test
