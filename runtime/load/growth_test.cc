// How the format grows (sdk/format/COMPATIBILITY.md), on artificial changes: a schema with an appended field and table
// (generated from model.fbs at build time), files for targets nobody knows, another minor version.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "runtime/load/model_next_generated.h"
#include "runtime/load/program.h"
#include "sdk/base/checked.h"
#include "sdk/format/sha256.h"
#include "sdk/ops/op.h"

namespace vireo {
namespace {

std::vector<uint8_t> bytes_of(const ::flatbuffers::FlatBufferBuilder& b) {
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

// A model of one Identity.
template <class Model, class Subgraph, class Tensor, class Node, class Plan, class SubgraphPlan>
void fill(Model* m, uint16_t minor) {
  m->major = kFormatMajor;
  m->minor = minor;
  auto g = std::make_unique<Subgraph>();
  for (const char* name : {"x", "y"}) {
    auto t = std::make_unique<Tensor>();
    t->name = name;
    t->dtype = 1;
    t->dims = {4};
    g->tensors.push_back(std::move(t));
  }
  ::flatbuffers::FlatBufferBuilder attrs;
  attrs.Finish(::flatbuffers::Offset<::flatbuffers::Table>(attrs.EndTable(attrs.StartTable())));
  auto n = std::make_unique<Node>();
  n->op = static_cast<uint16_t>(Op::kIdentity);
  n->inputs = {0};
  n->outputs = {1};
  n->attrs.assign(attrs.GetBufferPointer(), attrs.GetBufferPointer() + attrs.GetSize());
  g->nodes.push_back(std::move(n));
  g->inputs = {0};
  g->outputs = {1};
  m->subgraphs.push_back(std::move(g));
  auto plan = std::make_unique<Plan>();
  auto sub = std::make_unique<SubgraphPlan>();
  sub->offsets = {0, 64};
  sub->bytes = sub->lower_bound = 128;
  plan->subgraphs.push_back(std::move(sub));
  m->plans.push_back(std::move(plan));
}

fb::ModelT today(uint16_t minor = kFormatMinor) {
  fb::ModelT m;
  fill<fb::ModelT, fb::SubgraphT, fb::TensorT, fb::NodeT, fb::PlanT, fb::SubgraphPlanT>(&m, minor);
  return m;
}

// Around a FlatBuffer: the container.
std::vector<uint8_t> wrap(const std::vector<uint8_t>& buffer) {
  const size_t body = align_up(buffer.size(), 64);
  std::vector<uint8_t> file(kHeaderBytes + body + kHashBytes);
  std::memcpy(file.data() + kHeaderBytes, buffer.data(), buffer.size());
  FileHeader h = {};
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.major = kFormatMajor;
  h.minor = kFormatMinor;
  h.header_bytes = kHeaderBytes;
  h.file_size = file.size();
  h.model_offset = kHeaderBytes;
  h.model_size = buffer.size();
  h.hash_offset = kHeaderBytes + body;
  h.hash_size = kHashBytes;
  h.chunk_bytes = kChunkBytes;
  h.hash_kind = kHashSha256;
  std::memcpy(file.data(), &h, sizeof(h));
  return file;
}

struct Opened {
  Status status;
  Program program;
  Error error;
  std::vector<uint8_t> file;
  std::vector<uint64_t> buffer;  // aligned
};

void open(const std::vector<uint8_t>& model, Opened* out) {
  out->file = wrap(model);
  FileHeader header;
  const Span<const uint8_t> file(out->file.data(), out->file.size());
  out->status = read_header(file, file.size(), &header, &out->error);
  if (!ok(out->status)) return;
  out->buffer.assign(model.size() / 8 + 1, 0);
  std::memcpy(out->buffer.data(), model.data(), model.size());
  std::vector<uint8_t> work(Program::workspace_bytes(model.size()));
  out->status =
      out->program.open(file, header, Span<const uint8_t>(reinterpret_cast<uint8_t*>(out->buffer.data()), model.size()),
                        Span<uint8_t>(work.data(), work.size()), &out->error);
}

TEST(FormatGrowth, OldReaderIgnoresAppendedFieldsAndTables) {
  fbnext::ModelT next;
  fill<fbnext::ModelT, fbnext::SubgraphT, fbnext::TensorT, fbnext::NodeT, fbnext::PlanT, fbnext::SubgraphPlanT>(
      &next, kFormatMinor);
  next.appended = std::make_unique<fbnext::AppendedT>();
  next.appended->note = "from a later version";
  next.appended_number = 7;
  ::flatbuffers::FlatBufferBuilder b;
  fbnext::FinishModelBuffer(b, fbnext::Model::Pack(b, &next));
  Opened o;
  open(bytes_of(b), &o);
  ASSERT_EQ(o.status, Status::kOk) << o.error.message;
  EXPECT_STREQ(text_of(o.program.subgraph(0).tensors()->Get(0)->name()), "x");
}

TEST(FormatGrowth, NewReaderSeesDefaultsInOldFiles) {
  const fb::ModelT m = today();
  ::flatbuffers::FlatBufferBuilder b;
  fb::FinishModelBuffer(b, fb::Model::Pack(b, &m));
  const std::vector<uint8_t> bytes = bytes_of(b);
  ::flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  ASSERT_TRUE(fbnext::VerifyModelBuffer(verifier));
  const fbnext::Model* next = fbnext::GetModel(bytes.data());
  EXPECT_EQ(next->appended(), nullptr);
  EXPECT_EQ(next->appended_number(), 3u);
  EXPECT_EQ(next->subgraphs()->Get(0)->tensors()->Get(0)->dims()->Get(0), 4);
}

TEST(FormatGrowth, AnotherMinorVersionIsRefusedByName) {
  const fb::ModelT m = today(kFormatMinor + 1);
  ::flatbuffers::FlatBufferBuilder b;
  fb::FinishModelBuffer(b, fb::Model::Pack(b, &m));
  Opened o;
  open(bytes_of(b), &o);
  EXPECT_EQ(o.status, Status::kUnsupported);
  EXPECT_NE(std::strstr(o.error.message, "convert the model again"), nullptr) << o.error.message;
}

TEST(FormatGrowth, PlansForUnknownTargetsAreIgnored) {
  fb::ModelT m = today();
  auto foreign = std::make_unique<fb::PlanT>();
  foreign->target = "a device of another year";
  m.plans.push_back(std::move(foreign));
  ::flatbuffers::FlatBufferBuilder b;
  fb::FinishModelBuffer(b, fb::Model::Pack(b, &m));
  Opened o;
  open(bytes_of(b), &o);
  EXPECT_EQ(o.status, Status::kOk) << o.error.message;
}

// Read as often as something refers to it, a list that all nodes share would make a small file a long job.
TEST(FormatGrowth, ListsThatNodesShareAreRefused) {
  fb::ModelT m = today();
  m.subgraphs[0]->nodes[0]->inputs.assign(1000, 0);
  for (int i = 1; i < 3; ++i) m.subgraphs[0]->nodes.push_back(std::make_unique<fb::NodeT>(*m.subgraphs[0]->nodes[0]));
  for (const bool shared : {false, true}) {
    ::flatbuffers::FlatBufferBuilder b;
    if (shared) {
      for (int i = 1; i < 3; ++i) m.subgraphs[0]->nodes[static_cast<size_t>(i)]->inputs.clear();
    }
    fb::FinishModelBuffer(b, fb::Model::Pack(b, &m));
    std::vector<uint8_t> bytes = bytes_of(b);
    if (shared) {
      const auto* const nodes = fb::GetModel(bytes.data())->subgraphs()->Get(0)->nodes();
      auto* const entries = const_cast<uint8_t*>(nodes->Data());
      const auto first = ::flatbuffers::ReadScalar<uint32_t>(entries);
      for (uint32_t i = 1; i < 3; ++i) ::flatbuffers::WriteScalar(entries + 4 * i, first - 4 * i);
    }
    Opened o;
    open(bytes, &o);
    EXPECT_EQ(o.status, Status::kInvalidModel);
    EXPECT_EQ(std::strstr(o.error.message, "does not verify") != nullptr, shared) << o.error.message;
  }
}

TEST(FormatGrowth, CompressedAndEncryptedSegmentsAreRefusedByName) {
  for (int which = 0; which < 2; ++which) {
    fb::ModelT m = today();
    auto s = std::make_unique<fb::SegmentT>();
    s->offset = kHeaderBytes;
    (which == 0 ? s->codec : s->cipher) = 1;
    m.segments.push_back(std::move(s));
    ::flatbuffers::FlatBufferBuilder b;
    fb::FinishModelBuffer(b, fb::Model::Pack(b, &m));
    Opened o;
    open(bytes_of(b), &o);
    EXPECT_EQ(o.status, Status::kUnsupported);
    EXPECT_NE(std::strstr(o.error.message, which == 0 ? "codec 1" : "cipher 1"), nullptr) << o.error.message;
  }
}

}  // namespace
}  // namespace vireo
