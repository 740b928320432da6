#include "tests/fuzz/apart.h"

#include <algorithm>
#include <cstring>

#include "converter/emit/sealed_file.h"

namespace vireo::fuzz {
namespace {

// Whether what UnPackTo reads as 64-bit numbers lies as such do: FlatBuffers' verifier asks that of the list's length
// alone.
bool lists_are_aligned(const fb::Model& model) {
  bool good = true;
  const auto look = [&good](const auto* list) {
    good = good && (list == nullptr || reinterpret_cast<uintptr_t>(list->Data()) % 8 == 0);
  };
  const auto each = [](const auto* list, const auto& visit) {
    for (uint32_t i = 0; list != nullptr && i < list->size(); ++i) visit(*list->Get(i));
  };
  each(model.subgraphs(),
       [&](const fb::Subgraph& g) { each(g.tensors(), [&](const fb::Tensor& t) { look(t.dims()); }); });
  each(model.plans(), [&](const fb::Plan& p) {
    each(p.subgraphs(), [&](const fb::SubgraphPlan& s) { look(s.offsets()), look(s.regions()); });
  });
  each(model.tests(), [&](const fb::TestCase& c) {
    each(c.inputs(), [&](const fb::TestTensor& t) { look(t.dims()); });
    each(c.outputs(), [&](const fb::TestTensor& t) { look(t.dims()); });
  });
  return good;
}

}  // namespace

bool take_apart(const uint8_t* data, size_t size, FileHeader* header, fb::ModelT* model, Bytes* segments) {
  Error error;
  if (read_header({data, size}, size, header, &error) != Status::kOk || header->cipher_offset != 0) return false;
  const AlignedCopy table(data + header->model_offset, static_cast<size_t>(header->model_size));
  flatbuffers::Verifier verifier(table.data(), static_cast<size_t>(header->model_size));
  if (!fb::VerifyModelBuffer(verifier) || !lists_are_aligned(*fb::GetModel(table.data()))) return false;
  fb::GetModel(table.data())->UnPackTo(model);
  const uint64_t first = (header->model_offset + header->model_size + 63) / 64 * 64;
  segments->clear();
  if (model->segments.empty()) return true;
  if (first > header->hash_offset) return false;
  segments->assign(data + first, data + header->hash_offset);
  for (const auto& s : model->segments) s->offset -= first;
  return true;
}

Bytes put_together(const FileHeader& old, fb::ModelT* model, const Bytes& segments) {
  const auto build = [model](flatbuffers::FlatBufferBuilder* b) { b->Finish(fb::Model::Pack(*b, model), "VREO"); };
  flatbuffers::FlatBufferBuilder probe;
  build(&probe);  // offsets have eight bytes each, or none where they are 0: twice, because they move with the size
  uint64_t align = 64;  // of the strictest segment, as far as that is worth the bytes
  for (const auto& s : model->segments) align = std::max<uint64_t>(align, std::min<uint32_t>(s->alignment, 4096));
  uint64_t first = (kHeaderBytes + probe.GetSize() + 64 + align - 1) / align * align;
  for (const auto& s : model->segments) s->offset += first;
  flatbuffers::FlatBufferBuilder b;
  build(&b);
  for (const auto& s : model->segments) s->offset -= first;
  Bytes file(std::max<size_t>(kHeaderBytes + b.GetSize(), static_cast<size_t>(first)));
  std::memcpy(file.data() + kHeaderBytes, b.GetBufferPointer(), b.GetSize());
  file.insert(file.end(), segments.begin(), segments.end());
  FileHeader header = old;
  header.model_offset = kHeaderBytes;
  header.model_size = b.GetSize();
  header.signature_offset = header.signature_size = 0;
  emit::end_file(&file, header);
  return file;
}

}  // namespace vireo::fuzz
