#include "sdk/format/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "sdk/format/verify_tables.h"
#include "tests/support/roots.h"

namespace vireo::verify_test {
namespace {

// One of every field: two entries a list.
std::unique_ptr<fb::IoT> io(const char* name) {
  auto v = std::make_unique<fb::IoT>();
  v->name = name;
  v->meaning = fb::Meaning::Image;
  v->layout = "NCHW";
  v->color = "RGB";
  v->range_lo = 1;
  v->range_hi = 2;
  v->mean = {1, 2, 3};
  v->std = {4, 5, 6};
  v->resize = "stretch";
  v->sample_rate = 16000;
  return v;
}
std::unique_ptr<fb::TestTensorT> test_tensor() {
  auto v = std::make_unique<fb::TestTensorT>();
  v->dtype = 1;
  v->dims = {2, 3};
  v->segment = 1;
  v->offset = 64;
  v->size = 24;
  v->step = 2;
  v->atol = 0.5f;
  v->rtol = 0.25f;
  return v;
}

template <class T, class Make>
void two(std::vector<std::unique_ptr<T>>* list, Make make) {
  for (int i = 0; i < 2; ++i) list->push_back(make());
}

std::vector<uint8_t> everything() {
  fb::ModelT m;
  m.major = 1;
  m.minor = 2;
  m.integer_only = true;
  m.packed = 2;
  two(&m.exprs, [] {
    auto v = std::make_unique<fb::ExprT>();
    v->kind = fb::ExprKind::Add;
    v->a = v->b = 3;
    v->name = "batch";
    v->lo = 1;
    v->hi = 9;
    v->data_dependent = true;
    return v;
  });
  two(&m.segments, [] {
    auto v = std::make_unique<fb::SegmentT>();
    v->offset = 4096;
    v->size = v->plain_size = 100;
    v->alignment = 128;
    v->codec = v->cipher = 1;
    v->content_hash.assign(32, 7);
    return v;
  });
  two(&m.subgraphs, [] {
    auto v = std::make_unique<fb::SubgraphT>();
    v->name = "main";
    v->inputs = {0, 1};
    v->outputs = {1};
    two(&v->tensors, [] {
      auto t = std::make_unique<fb::TensorT>();
      t->name = "x";
      t->dtype = 1;
      t->dims = {1, 2, 3};
      t->segment = 0;
      t->offset = 64;
      t->size = 24;
      t->quant = std::make_unique<fb::QuantT>();
      t->quant->scale = {1, 2};
      t->quant->zero_point = {3, 4};
      t->quant->axis = 0;
      t->quant->block = 32;
      return t;
    });
    two(&v->nodes, [] {
      auto n = std::make_unique<fb::NodeT>();
      n->op = 5;
      n->version = 2;
      n->name = "conv";
      n->inputs = {0, -1};
      n->outputs = {1};
      n->attrs.assign(24, 1);
      n->subgraphs = {1};
      return n;
    });
    return v;
  });
  two(&m.plans, [] {
    auto v = std::make_unique<fb::PlanT>();
    v->target = "board";
    v->made_for.assign(40, 2);
    two(&v->subgraphs, [] {
      auto s = std::make_unique<fb::SubgraphPlanT>();
      s->order = {0, 1};
      s->offsets = {0, 64};
      s->regions = {128};
      s->bytes = 256;
      s->lower_bound = 200;
      return s;
    });
    return v;
  });
  two(&m.signatures, [] {
    auto v = std::make_unique<fb::SignatureT>();
    v->name = "serve";
    two(&v->inputs, [] { return io("in"); });
    two(&v->outputs, [] { return io("out"); });
    two(&v->states, [] {
      auto s = std::make_unique<fb::StateT>();
      s->input = 1;
      s->output = 2;
      return s;
    });
    return v;
  });
  m.provenance = std::make_unique<fb::ProvenanceT>();
  m.provenance->source = "a.onnx";
  m.provenance->source_hash.assign(32, 9);
  m.provenance->producer = "test";
  m.provenance->converter = "vireo";
  m.provenance->options = {"-O", "x"};
  m.provenance->opset = {"ai.onnx 17"};
  m.provenance->passes = {"fuse", "fold"};
  two(&m.tests, [] {
    auto v = std::make_unique<fb::TestCaseT>();
    two(&v->inputs, test_tensor);
    two(&v->outputs, test_tensor);
    return v;
  });
  ::flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  fb::FinishModelBuffer(builder, fb::Model::Pack(builder, &m));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

class Verify : public ::testing::Test {
 protected:
  // At an address as the loader has it, and of exactly this size.
  void hold(const std::vector<uint8_t>& bytes) {
    held_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64)));
    memcpy(held_.get(), bytes.data(), bytes.size());
    size_ = bytes.size();
  }
  bool ours(::flatbuffers::uoffset_t depth = 32, ::flatbuffers::uoffset_t tables = 1000) {
    ::flatbuffers::Verifier v(held_.get(), size_, depth, tables);
    return verify_model(v, held_.get(), &listed_);
  }
  bool generated(::flatbuffers::uoffset_t depth = 32, ::flatbuffers::uoffset_t tables = 1000) {
    ::flatbuffers::Verifier v(held_.get(), size_, depth, tables);
    return fb::VerifyModelBuffer(v);
  }
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint8_t, Free> held_;
  size_t size_ = 0;
  uint64_t listed_ = 0;
};

// The schema as its text has it, field by field.
TEST(VerifyTables, AreThoseOfTheSchema) {
  std::ifstream file(tests::source_path("sdk/format/model.fbs"));
  std::stringstream read;
  read << file.rdbuf();
  const std::string text = std::regex_replace(read.str(), std::regex("//[^\n]*"), "");
  const std::vector<std::string> names = {"Model", "Expr",      "Segment",      "Quant",      "Tensor",
                                          "Node",  "Subgraph",  "SubgraphPlan", "Plan",       "Io",
                                          "State", "Signature", "Provenance",   "TestTensor", "TestCase"};
  std::map<std::string, int> sizes = {{"ubyte", 1}, {"bool", 1},  {"ushort", 2}, {"int", 4},
                                      {"uint", 4},  {"float", 4}, {"long", 8},   {"ulong", 8}};
  const std::regex enumeration("enum (\\w+) : ubyte"), table("table (\\w+) \\{([^}]*)\\}");
  const std::regex field("\\s*\\w+:(\\[?)(\\w+)\\]?([^;]*);");
  for (std::sregex_iterator e(text.begin(), text.end(), enumeration), end; e != end; ++e) sizes[(*e)[1]] = 1;
  std::map<std::string, std::vector<uint8_t>> tables;
  for (std::sregex_iterator t(text.begin(), text.end(), table), end; t != end; ++t) {
    const std::string fields = (*t)[2];
    for (std::sregex_iterator f(fields.begin(), fields.end(), field); f != end; ++f) {
      const bool list = (*f)[1].length() != 0;
      const std::string type = (*f)[2], more = (*f)[3];
      const auto place = std::find(names.begin(), names.end(), type) - names.begin();
      int byte = 0;
      if (sizes.count(type) != 0) {
        byte = (list ? verify_tables::kNumbers : verify_tables::kNumber) | sizes[type];
      } else if (type == "string") {
        byte = verify_tables::kText | (list ? verify_tables::kMany : 0);
      } else {
        byte = verify_tables::kTable | (list ? verify_tables::kMany : 0) | static_cast<int>(place);
      }
      if (more.find("required") != std::string::npos) byte |= verify_tables::kRequired;
      tables[(*t)[1]].push_back(static_cast<uint8_t>(byte));
    }
  }
  const uint8_t* at = verify_tables::kTables;
  for (const std::string& name : names) {
    std::vector<uint8_t> ours;
    while (*at != 0) ours.push_back(*at++);
    ++at;
    EXPECT_EQ(ours, tables[name]) << name;
    tables.erase(name);
  }
  EXPECT_EQ(at, std::end(verify_tables::kTables));
  // A plan for a target is a FlatBuffer of its own, which flatc's code verifies.
  for (const char* name : {"PlanDevice", "NodeDevices", "PlanBound", "TargetPlan"})
    EXPECT_EQ(tables.erase(name), 1u) << name;
  EXPECT_TRUE(tables.empty()) << tables.begin()->first;
}

// A field that the description lacks, or has as something else, is one whose damage only one of the two sees.
TEST_F(Verify, AnswersAsTheGeneratedCode) {
  const std::vector<uint8_t> whole = everything();
  hold(whole);
  EXPECT_TRUE(ours());
  EXPECT_TRUE(generated());
  std::mt19937 rng(1);
  int refused = 0;
  const auto agree = [&](size_t at) {
    const bool good = generated();
    refused += good ? 0 : 1;
    ASSERT_EQ(ours(), good) << "byte " << at << " of " << whole.size();
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x40, 0x80, 0xff}) {
      held_.get()[at] = static_cast<uint8_t>(whole[at] ^ change);
      ASSERT_NO_FATAL_FAILURE(agree(at));
    }
    held_.get()[at] = whole[at];
  }
  for (int turn = 0; turn < 20000; ++turn) {  // words: offsets and lengths that lead elsewhere in the buffer
    hold(whole);
    for (unsigned k = 0; k <= rng() % 3; ++k) {
      const size_t at = rng() % (whole.size() / 4) * 4;
      const uint32_t word = rng() % 4 == 0 ? rng() : rng() % static_cast<uint32_t>(whole.size());
      memcpy(held_.get() + at, &word, sizeof(word));
      ASSERT_NO_FATAL_FAILURE(agree(at));
    }
  }
  EXPECT_GT(refused, 1000);
  for (size_t size = 8; size < whole.size(); ++size) {
    hold({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_EQ(ours(), generated()) << size << " bytes";
  }
}

TEST_F(Verify, CountsTablesAndDepth) {
  hold(everything());
  for (::flatbuffers::uoffset_t n = 0; n < 64; ++n) {
    EXPECT_EQ(ours(n), generated(n)) << n;
    EXPECT_EQ(ours(32, n), generated(32, n)) << n;
  }
}

// Lists that lie in the buffer once are no larger than it; a list that two tables refer to counts twice.
TEST_F(Verify, CountsWhatIsListed) {
  fb::ModelT m;
  m.subgraphs.push_back(std::make_unique<fb::SubgraphT>());
  m.plans.push_back(std::make_unique<fb::PlanT>());
  for (int i = 0; i < 2; ++i) {
    m.subgraphs[0]->nodes.push_back(std::make_unique<fb::NodeT>());
    m.subgraphs[0]->nodes[i]->inputs.assign(1000, 0);
  }
  ::flatbuffers::FlatBufferBuilder builder;
  fb::FinishModelBuffer(builder, fb::Model::Pack(builder, &m));
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  hold(bytes);
  ASSERT_TRUE(ours());
  EXPECT_GT(listed_, 8000u);
  EXPECT_LE(listed_, bytes.size());
  const auto nodes = [&](uint8_t* data) {
    return const_cast<::flatbuffers::Vector<::flatbuffers::Offset<fb::Node>>*>(
        fb::GetModel(data)->subgraphs()->Get(0)->nodes());
  };
  auto* const list = nodes(bytes.data());
  const ::flatbuffers::uoffset_t first = ::flatbuffers::ReadScalar<::flatbuffers::uoffset_t>(list->Data());
  for (uint32_t i = 0; i < 2; ++i)
    ::flatbuffers::WriteScalar(const_cast<uint8_t*>(list->Data()) + 4 * i, first - 4 * i);  // both the first one
  hold(bytes);
  ASSERT_TRUE(ours());
  EXPECT_GT(listed_, 8000u);
}

// Each is absent in turn, as in files of before it, and as a damaged vtable has it: only some are required.
TEST_F(Verify, AbsentFields) {
  const std::vector<uint8_t> whole = everything();
  for (size_t at = 0; at + 2 <= whole.size(); at += 2) {
    hold(whole);
    memset(held_.get() + at, 0, 2);
    ASSERT_EQ(ours(), generated()) << "byte " << at;
  }
}

}  // namespace
}  // namespace vireo::verify_test
