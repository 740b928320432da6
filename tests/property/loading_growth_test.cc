// What a file makes of one kind of thing, it makes of eight times as many in some eight times the time: loading a model
// and preparing a session of it have no step that looks at every pair. A quadratic step takes 64 times as long.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "sdk/format/container.h"
#include "sdk/ops/op.h"
#include "tests/fuzz/apart.h"
#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace {

using vireo::Op;
namespace fb = vireo::fb;
using vireo::fuzz::Bytes;

constexpr int kTimes = 8;
constexpr double kMost = 24;  // n log n with caches that overflow takes 8 to 14

struct File {
  fb::ModelT model;
  Bytes segments;

  File() {
    model.major = vireo::kFormatMajor;
    model.minor = vireo::kFormatMinor;
    model.plans.push_back(std::make_unique<fb::PlanT>());
    graph();
  }
  fb::SubgraphT& graph() {
    model.subgraphs.push_back(std::make_unique<fb::SubgraphT>());
    return *model.subgraphs.back();
  }
};

uint32_t tensor(fb::SubgraphT* g, vireo::DType dtype = vireo::DType::kF32) {
  auto t = std::make_unique<fb::TensorT>();
  t->name = "t" + std::to_string(g->tensors.size());
  t->dtype = static_cast<uint8_t>(dtype);
  t->dims = {4};
  g->tensors.push_back(std::move(t));
  return static_cast<uint32_t>(g->tensors.size() - 1);
}

fb::NodeT& node(fb::SubgraphT* g, Op op, std::vector<int32_t> inputs, std::vector<int32_t> outputs) {
  flatbuffers::FlatBufferBuilder attrs;
  attrs.Finish(flatbuffers::Offset<flatbuffers::Table>(attrs.EndTable(attrs.StartTable())));
  auto n = std::make_unique<fb::NodeT>();
  n->op = static_cast<uint16_t>(op);
  n->name = "n" + std::to_string(g->nodes.size());
  n->inputs = std::move(inputs);
  n->outputs = std::move(outputs);
  n->attrs.assign(attrs.GetBufferPointer(), attrs.GetBufferPointer() + attrs.GetSize());
  g->nodes.push_back(std::move(n));
  return *g->nodes.back();
}

// y of the graph's own x.
void identity(fb::SubgraphT* g) {
  const uint32_t x = tensor(g), y = tensor(g);
  g->inputs = {x};
  g->outputs = {y};
  node(g, Op::kIdentity, {static_cast<int32_t>(x)}, {static_cast<int32_t>(y)});
}

// Constants of four strings, each with bytes of its own.
void strings(File* file, int count) {
  fb::SubgraphT& g = *file->model.subgraphs[0];
  identity(&g);
  auto segment = std::make_unique<fb::SegmentT>();
  for (int i = 0; i < count; ++i) {
    fb::TensorT& t = *g.tensors[tensor(&g, vireo::DType::kString)];
    const uint32_t ends[] = {20, 21, 22, 23, 24};
    t.segment = 0;
    t.offset = file->segments.size();
    t.size = 24;
    file->segments.resize(file->segments.size() + 64, 'a');
    std::memcpy(file->segments.data() + t.offset, ends, sizeof(ends));
  }
  segment->size = segment->plain_size = file->segments.size();
  file->model.segments.push_back(std::move(segment));
}

// Constants of 10,000 strings, all in the same bytes.
void shared_strings(File* file, int count) {
  strings(file, 0);
  fb::SubgraphT& g = *file->model.subgraphs[0];
  std::vector<uint32_t> ends(10001, 40004);
  file->segments.resize(40004);
  std::memcpy(file->segments.data(), ends.data(), 40004);
  file->model.segments[0]->size = file->model.segments[0]->plain_size = 40004;
  for (int i = 0; i < count; ++i) {
    fb::TensorT& t = *g.tensors[tensor(&g, vireo::DType::kString)];
    t.dims = {10000};
    t.segment = 0;
    t.size = 40004;
  }
}

// One composite that gives `count` results of as many nodes.
void composite_of_many(File* file, int count) {
  fb::SubgraphT& body = file->graph();
  fb::SubgraphT& g = *file->model.subgraphs[0];
  const auto x = static_cast<int32_t>(tensor(&g)), inner = static_cast<int32_t>(tensor(&body));
  g.inputs = {static_cast<uint32_t>(x)};
  body.inputs = {static_cast<uint32_t>(inner)};
  std::vector<int32_t> results;
  for (int i = 0; i < count; ++i) {
    results.push_back(static_cast<int32_t>(tensor(&g)));
    body.outputs.push_back(tensor(&body));
    node(&body, Op::kRelu, {inner}, {static_cast<int32_t>(body.outputs.back())});
  }
  g.outputs.assign(results.begin(), results.end());
  node(&g, Op::kComposite, {x}, results).subgraphs = {1};
}

void composites(File* file, int count) {
  for (int i = 0; i < count; ++i) identity(&file->graph());
  fb::SubgraphT& g = *file->model.subgraphs[0];
  uint32_t x = tensor(&g);
  g.inputs = {x};
  for (int i = 0; i < count; ++i) {
    const uint32_t y = tensor(&g);
    node(&g, Op::kComposite, {static_cast<int32_t>(x)}, {static_cast<int32_t>(y)}).subgraphs = {
        static_cast<uint32_t>(i) + 1};
    x = y;
  }
  g.outputs = {x};
}

// `count` nodes, one behind the other, in place where that may be; or all of x, all results alive at once.
void nodes(File* file, int count, bool chain) {
  fb::SubgraphT& g = *file->model.subgraphs[0];
  auto x = static_cast<int32_t>(tensor(&g));
  g.inputs = {static_cast<uint32_t>(x)};
  for (int i = 0; i < count; ++i) {
    const auto y = static_cast<int32_t>(tensor(&g));
    node(&g, Op::kRelu, {x}, {y});
    if (chain) {
      x = y;
      g.outputs = {static_cast<uint32_t>(y)};
    } else {
      g.outputs.push_back(static_cast<uint32_t>(y));
    }
  }
}
void chain(File* file, int count) { nodes(file, count, true); }
void alive_at_once(File* file, int count) { nodes(file, count, false); }

void inputs(File* file, int count) {
  fb::SubgraphT& g = *file->model.subgraphs[0];
  identity(&g);
  for (int i = 0; i < count; ++i) g.inputs.push_back(tensor(&g));
}

Bytes written(void (*make)(File*, int), int count) {
  File file;
  make(&file, count);
  const Bytes any = vireo::fuzz::read_whole(vireo::tests::build_path("models/kws_smoke.vireo"));
  vireo::FileHeader header;
  std::memcpy(&header, any.data(), sizeof(header));
  return vireo::fuzz::put_together(header, &file.model, file.segments);
}

double seconds_used() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class LoadingGrowth : public ::testing::Test {
 protected:
  void SetUp() override {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.plugins = "";
    ASSERT_EQ(vireo_runtime_create(&options, &runtime_, nullptr), VIREO_OK);
  }
  void TearDown() override { vireo_runtime_release(runtime_); }

  // Processor time of this thread, the least of several tries: what else the machine does is not counted.
  double seconds(const Bytes& bytes) {
    double least = 1e9;
    const vireo::fuzz::AlignedCopy file(bytes.data(), bytes.size());
    for (int i = 0; i < 3; ++i) {
      const double begin = seconds_used();
      vireo_error error = VIREO_ERROR_INIT;
      vireo_model* model = nullptr;
      EXPECT_EQ(vireo_model_load_memory(runtime_, file.data(), bytes.size(), &model, &error), VIREO_OK)
          << error.message;
      if (model == nullptr) return 0;
      vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
      options.device = "cpu";
      vireo_session* session = nullptr;
      EXPECT_EQ(vireo_session_create(model, &options, &session, &error), VIREO_OK) << error.message;
      vireo_session_release(session);
      vireo_model_release(model);
      least = std::min(least, seconds_used() - begin);
    }
    return least;
  }

  void grows(void (*make)(File*, int), int count) {
    const Bytes small = written(make, count), large = written(make, kTimes * count);
    const double few = seconds(small), many = seconds(large);
    EXPECT_LT(many, kMost * few) << few << " s for " << count << ", " << many << " s for " << kTimes * count;
  }

  vireo_runtime* runtime_ = nullptr;
};

TEST_F(LoadingGrowth, Strings) { grows(strings, 4000); }
TEST_F(LoadingGrowth, StringsThatConstantsShareAreLimited) {
  for (const int count : {10, 1000}) {
    const Bytes bytes = written(shared_strings, count);
    const vireo::fuzz::AlignedCopy file(bytes.data(), bytes.size());
    vireo_error error = VIREO_ERROR_INIT;
    vireo_model* model = nullptr;
    EXPECT_EQ(vireo_model_load_memory(runtime_, file.data(), bytes.size(), &model, &error),
              count == 10 ? VIREO_OK : VIREO_INVALID_MODEL);
    EXPECT_EQ(std::string(error.message).find("64 times") == std::string::npos, count == 10) << error.message;
    vireo_model_release(model);
  }
}
TEST_F(LoadingGrowth, ResultsOfOneComposite) { grows(composite_of_many, 4000); }
TEST_F(LoadingGrowth, Composites) { grows(composites, 1000); }
TEST_F(LoadingGrowth, Chain) { grows(chain, 4000); }
TEST_F(LoadingGrowth, TensorsAliveAtOnce) { grows(alive_at_once, 4000); }
TEST_F(LoadingGrowth, Inputs) { grows(inputs, 4000); }

}  // namespace
