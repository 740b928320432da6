#include "converter/emit/model_table.h"

#include <memory>

#include "gtest/gtest.h"
#include "sdk/format/verify.h"

namespace vireo::model_table_test {
namespace {

// `count` nodes of one kind, each with `attribute_bytes` of attributes and a result of one shape.
fb::ModelT model_of(size_t count, size_t attribute_bytes) {
  fb::ModelT model;
  auto g = std::make_unique<fb::SubgraphT>();
  for (size_t i = 0; i <= count; ++i) {
    auto t = std::make_unique<fb::TensorT>();
    t->dtype = 1;
    t->dims = {1, 16, 40, 40};
    g->tensors.push_back(std::move(t));
  }
  for (size_t i = 0; i < count; ++i) {
    auto n = std::make_unique<fb::NodeT>();
    n->op = 7;
    n->name = "node " + std::to_string(i);
    n->inputs = {static_cast<int32_t>(i)};
    n->outputs = {static_cast<int32_t>(i + 1)};
    n->attrs.assign(attribute_bytes, 3);
    g->nodes.push_back(std::move(n));
  }
  g->inputs = {0};
  g->outputs = {static_cast<uint32_t>(count)};
  model.subgraphs.push_back(std::move(g));
  return model;
}

uint64_t listed_by(const std::vector<uint8_t>& table) {
  ::flatbuffers::Verifier verifier(table.data(), table.size());
  uint64_t listed = 0;
  EXPECT_TRUE(verify_model(verifier, table.data(), &listed));
  return listed;
}

// What either of them says is the same, to the byte.
void expect_same(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  fb::ModelT from_a, from_b;
  fb::GetModel(a.data())->UnPackTo(&from_a);
  fb::GetModel(b.data())->UnPackTo(&from_b);
  EXPECT_EQ(emit::pack_model(from_a), emit::pack_model(from_b));
}

TEST(ModelTable, EqualShapesAndAttributesStandOnce) {
  fb::ModelT model = model_of(12, 16);
  // Tables without lists leave bytes to share.
  for (int i = 0; i < 100; ++i) model.segments.push_back(std::make_unique<fb::SegmentT>());
  for (const auto& s : model.segments) s->offset = 64;
  const std::vector<uint8_t> apart = emit::pack_model(model), shared = emit::pack_model_shared(model);
  // Of each tensor and node but the first, a shape and attributes.
  EXPECT_LE(shared.size() + 12 * 32 + 11 * 16, apart.size());
  const auto& nodes = *fb::GetModel(shared.data())->subgraphs()->Get(0)->nodes();
  EXPECT_EQ(nodes.Get(0)->attrs(), nodes.Get(11)->attrs());
  for (const auto* n : nodes) EXPECT_EQ((n->attrs()->data() - shared.data()) % 8, 0);
  EXPECT_LE(listed_by(shared), shared.size());
  expect_same(shared, apart);
}

TEST(ModelTable, ListsAreSharedAsFarAsTheLoaderTakesThem) {
  // Shared altogether they would be listed as 100,000 bytes, of a buffer of a tenth of that.
  const fb::ModelT model = model_of(100, 1000);
  const std::vector<uint8_t> apart = emit::pack_model(model), shared = emit::pack_model_shared(model);
  EXPECT_LT(shared.size(), apart.size());
  EXPECT_LE(listed_by(shared), shared.size());
  expect_same(shared, apart);
}

TEST(ModelTable, DifferentAttributesStayApart) {
  fb::ModelT model = model_of(2, 16);
  model.subgraphs[0]->nodes[1]->attrs.back() = 4;
  const std::vector<uint8_t> shared = emit::pack_model_shared(model);
  const auto& nodes = *fb::GetModel(shared.data())->subgraphs()->Get(0)->nodes();
  EXPECT_NE(nodes.Get(0)->attrs(), nodes.Get(1)->attrs());
  expect_same(shared, emit::pack_model(model));
}

}  // namespace
}  // namespace vireo::model_table_test
