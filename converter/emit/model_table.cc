#include "converter/emit/model_table.h"

#include <map>

#include "sdk/format/verify.h"

namespace vireo::emit {
namespace {

using ::flatbuffers::FlatBufferBuilder;
using ::flatbuffers::Offset;

constexpr uint64_t kMostPadding = 8;  // before a list

std::vector<uint8_t> bytes_of(const FlatBufferBuilder& builder) {
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

// Lists of one type, each distinct one once while there are bytes to spare.
template <class T>
class Lists {
 public:
  Lists(FlatBufferBuilder& builder, uint64_t* spare, size_t alignment)
      : builder_(builder), spare_(*spare), alignment_(alignment) {}

  Offset<::flatbuffers::Vector<T>> add(const std::vector<T>& list) {
    const auto found = known_.find(list);
    const uint64_t saved = sizeof(::flatbuffers::uoffset_t) + list.size() * sizeof(T) + kMostPadding;
    if (found != known_.end() && saved <= spare_) {
      spare_ -= saved;
      return found->second;
    }
    builder_.ForceVectorAlignment(list.size(), sizeof(T), alignment_);
    return known_[list] = builder_.CreateVector(list);
  }

 private:
  FlatBufferBuilder& builder_;
  uint64_t& spare_;
  const size_t alignment_;
  std::map<std::vector<T>, Offset<::flatbuffers::Vector<T>>> known_;
};

class Packer {
 public:
  explicit Packer(uint64_t spare) : spare_(spare) {}

  std::vector<uint8_t> pack(const fb::ModelT& model) {
    FlatBufferBuilder& b = builder_;
    const auto exprs = tables<fb::Expr>(model.exprs);
    const auto segments = tables<fb::Segment>(model.segments);
    std::vector<Offset<fb::Subgraph>> made;
    for (const auto& g : model.subgraphs) made.push_back(subgraph(*g));
    const auto subgraphs = made.empty() ? 0 : b.CreateVector(made);
    const auto plans = tables<fb::Plan>(model.plans);
    const auto signatures = tables<fb::Signature>(model.signatures);
    const auto provenance = model.provenance == nullptr ? 0 : fb::Provenance::Pack(b, model.provenance.get());
    const auto tests = tables<fb::TestCase>(model.tests);
    b.Finish(fb::CreateModel(b, model.major, model.minor, exprs, segments, subgraphs, plans, signatures, provenance,
                             tests, model.integer_only, model.packed),
             fb::ModelIdentifier());
    return bytes_of(b);
  }

 private:
  template <class Table, class Object>
  Offset<::flatbuffers::Vector<Offset<Table>>> tables(const std::vector<std::unique_ptr<Object>>& objects) {
    if (objects.empty()) return 0;
    std::vector<Offset<Table>> made;
    for (const auto& o : objects) made.push_back(Table::Pack(builder_, o.get()));
    return builder_.CreateVector(made);
  }

  Offset<::flatbuffers::String> text(const std::string& s) { return s.empty() ? 0 : builder_.CreateString(s); }

  Offset<fb::Subgraph> subgraph(const fb::SubgraphT& g) {
    FlatBufferBuilder& b = builder_;
    std::vector<Offset<fb::Tensor>> tensors;
    for (const auto& t : g.tensors) {
      const auto name = text(t->name);
      const auto dims = t->dims.empty() ? 0 : dims_.add(t->dims);
      const auto quant = t->quant == nullptr ? 0 : fb::Quant::Pack(b, t->quant.get());
      tensors.push_back(fb::CreateTensor(b, name, t->dtype, dims, t->segment, t->offset, t->size, quant));
    }
    std::vector<Offset<fb::Node>> nodes;
    for (const auto& n : g.nodes) {
      const auto name = text(n->name);
      const auto inputs = b.CreateVector(n->inputs);
      const auto outputs = b.CreateVector(n->outputs);
      const auto attrs = attrs_.add(n->attrs);
      const auto bodies = n->subgraphs.empty() ? 0 : b.CreateVector(n->subgraphs);
      nodes.push_back(fb::CreateNode(b, n->op, n->version, name, inputs, outputs, attrs, bodies));
    }
    const auto name = text(g.name);
    const auto tensor_list = b.CreateVector(tensors);
    const auto inputs = b.CreateVector(g.inputs);
    const auto outputs = b.CreateVector(g.outputs);
    return fb::CreateSubgraph(b, name, tensor_list, inputs, outputs, b.CreateVector(nodes));
  }

  uint64_t spare_;
  FlatBufferBuilder builder_{1 << 16};
  Lists<int64_t> dims_{builder_, &spare_, sizeof(int64_t)};
  Lists<uint8_t> attrs_{builder_, &spare_, 8};  // force_align in model.fbs
};

}  // namespace

std::vector<uint8_t> pack_model(const fb::ModelT& model) {
  FlatBufferBuilder builder(1 << 16);
  builder.Finish(fb::Model::Pack(builder, &model), fb::ModelIdentifier());
  return bytes_of(builder);
}

std::vector<uint8_t> pack_model_shared(const fb::ModelT& model) {
  std::vector<uint8_t> apart = pack_model(model);
  ::flatbuffers::Verifier verifier(apart.data(), apart.size(), /*max_depth=*/32,
                                   /*max_tables=*/static_cast<::flatbuffers::uoffset_t>(apart.size() / 4 + 1));
  uint64_t listed = 0;
  if (!verify_model(verifier, apart.data(), &listed) || listed >= apart.size()) return apart;
  return Packer(apart.size() - listed).pack(model);
}

}  // namespace vireo::emit
