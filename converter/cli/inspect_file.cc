// What inspect tells of a .vireo file beyond the C API: provenance in full, plans, segments.
#include <cstring>
#include <set>

#include "c_api/cli/file.h"
#include "converter/cli/verbs.h"
#include "converter/emit/copies.h"
#include "converter/emit/integer_only.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "sdk/format/pack_set.h"
#include "sdk/ops/op.h"

namespace vireo::cli {
namespace {

Json texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* list) {
  Json out = Json::array();
  for (flatbuffers::uoffset_t i = 0; list != nullptr && i < list->size(); ++i) out.push_back(list->Get(i)->str());
  return out;
}

std::string hex(const flatbuffers::Vector<uint8_t>* bytes) {
  std::string out;
  for (flatbuffers::uoffset_t i = 0; bytes != nullptr && i < bytes->size(); ++i) {
    out += "0123456789abcdef"[bytes->Get(i) >> 4];
    out += "0123456789abcdef"[bytes->Get(i) & 15];
  }
  return out;
}

// The session's loader has verified this very file; it is read again because the C API does not hand out all of it.
[[noreturn]] void fail_changed(const std::string& path) {
  throw Failure(path + " changed while it was read", "run vireo inspect again", {"failed", path, "", "", "", ""});
}

FileHeader header_of(const std::string& path, const std::vector<uint8_t>& bytes) {
  FileHeader header;
  Error error;
  if (read_header({bytes.data(), bytes.size()}, bytes.size(), &header, &error) != Status::kOk) fail_changed(path);
  return header;
}

// Of a file that is not enciphered.
const fb::Model* model_of(const std::string& path, const std::vector<uint8_t>& bytes, const FileHeader& header) {
  const uint8_t* start = bytes.data() + header.model_offset;
  flatbuffers::Verifier verifier(start, header.model_size);
  if (!fb::VerifyModelBuffer(verifier)) fail_changed(path);
  return fb::GetModel(start);
}

}  // namespace

std::vector<std::string> kernels_of(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  const FileHeader header = header_of(path, bytes);
  if (header.cipher_offset != 0)
    throw Failure("the graph of " + path + " is enciphered", "list the kernels of the file before vireo encrypt",
                  {"failed", path, "", "", "", ""});
  std::set<std::string> names;
  for (const fb::Subgraph* g : *model_of(path, bytes, header)->subgraphs()) {
    for (const fb::Node* n : *g->nodes()) {
      const Op op = static_cast<Op>(n->op());
      if (op != Op::kComposite) names.insert(op_name(op));  // every build has that one: it runs its body
    }
  }
  return {names.begin(), names.end()};
}

void inspect_file(const std::string& path, Json* facts) {
  const std::vector<uint8_t> bytes = read_file(path);
  const FileHeader header = header_of(path, bytes);
  (*facts)["signed"] = header.signature_offset != 0;
  (*facts)["encrypted"] = header.cipher_offset != 0;
  if (header.cipher_offset != 0) return;  // what the C API tells is all that is told
  const fb::Model* model = model_of(path, bytes, header);

  if (const fb::Provenance* from = model->provenance()) {
    (*facts)["provenance"] = {{"source", from->source() != nullptr ? from->source()->str() : ""},
                              {"source_sha256", hex(from->source_hash())},
                              {"producer", from->producer() != nullptr ? from->producer()->str() : ""},
                              {"converter", from->converter() != nullptr ? from->converter()->str() : ""},
                              {"options", texts(from->options())},
                              {"opset", texts(from->opset())},
                              {"passes", texts(from->passes())}};
  }
  Json plans = Json::array(), segments = Json::array();
  for (flatbuffers::uoffset_t i = 0; model->plans() != nullptr && i < model->plans()->size(); ++i) {
    const fb::Plan* plan = model->plans()->Get(i);
    Json entry = {{"target", plan->target() != nullptr ? plan->target()->str() : ""}};
    if (entry["target"] == "") entry["target"] = "portable";
    if (plan->subgraphs() != nullptr && plan->subgraphs()->size() > 0) {
      entry["tensor_bytes"] = plan->subgraphs()->Get(0)->bytes();
      entry["lower_bound_bytes"] = plan->subgraphs()->Get(0)->lower_bound();
      if (i == 0) {
        const emit::CopyReport copies = emit::count_copies(*model, bytes.data());
        entry["copies_saved"] = copies.saved;
        entry["copies_saved_bytes"] = copies.saved_bytes;
      }
    } else if (i == 0) {
      entry["planned"] = "by the session: a bound is open";
    }
    const fb::TargetPlan* made = nullptr;
    if (const auto* nested = plan->made_for(); nested != nullptr && nested->size() != 0) {
      flatbuffers::Verifier inner(nested->data(), nested->size());
      if (inner.VerifyBuffer<fb::TargetPlan>(nullptr)) made = flatbuffers::GetRoot<fb::TargetPlan>(nested->data());
    }
    for (flatbuffers::uoffset_t k = 0; made != nullptr && made->devices() != nullptr && k < made->devices()->size();
         ++k) {
      const fb::PlanDevice* d = made->devices()->Get(k);
      const auto text = [](const flatbuffers::String* s) { return s != nullptr ? s->str() : ""; };
      entry["devices"].push_back({{"name", text(d->name())},
                                  {"delegate", text(d->delegate())},
                                  {"vendor", text(d->vendor())},
                                  {"family", text(d->family())},
                                  {"driver", text(d->driver())}});
    }
    for (flatbuffers::uoffset_t k = 0; made != nullptr && made->bounds() != nullptr && k < made->bounds()->size();
         ++k) {
      const fb::PlanBound* b = made->bounds()->Get(k);
      entry["bounds"].push_back({{"name", b->name()->str()}, {"lo", b->lo()}, {"hi", b->hi()}});
    }
    plans.push_back(entry);
  }
  for (flatbuffers::uoffset_t i = 0; model->segments() != nullptr && i < model->segments()->size(); ++i) {
    const fb::Segment* s = model->segments()->Get(i);
    segments.push_back({{"offset", s->offset()},
                        {"bytes", s->size()},
                        {"alignment", s->alignment()},
                        {"sha256", hex(s->content_hash())}});
    if (i + 1 != model->packed()) continue;
    segments.back()["packed_weights"] = true;
    PackSet set;
    if (s->size() > bytes.size() || s->offset() > bytes.size() - s->size() ||
        !set.open({bytes.data() + s->offset(), static_cast<size_t>(s->size())}))
      continue;
    Json parts = Json::array();
    for (uint32_t k = 0; k < set.count(); ++k) {
      PackEntry e;
      CompiledHead head;
      if (!set.entry(k, &e) || e.kind != kCompiledPart || !read_compiled_head(set.contents(e), e.bytes, &head))
        continue;
      parts.push_back({{"delegate", std::string(e.delegate, strnlen(e.delegate, sizeof(e.delegate)))},
                       {"subgraph", e.constant >> 32},
                       {"first", e.constant & 0xffffffffu},
                       {"nodes", e.sizes[0]},
                       {"bytes", e.bytes - sizeof(head)},
                       {"time_ns", head.time_ns},
                       {"refused", head.refused != 0 ? Json(head.reason) : Json()}});
    }
    segments.back()["compiled_parts"] = parts;
  }
  Json floats = Json::array();
  for (const fb::Node* n : emit::float_nodes(*model)) {
    floats.push_back(
        {{"name", n->name() != nullptr ? n->name()->str() : ""}, {"op", op_name(static_cast<Op>(n->op()))}});
  }
  (*facts)["float_nodes"] = floats;
  (*facts)["quantized"] = emit::is_quantized(*model);
  (*facts)["plan_list"] = plans;
  (*facts)["segment_list"] = segments;
  (*facts)["signed"] = header.signature_size != 0;
}

}  // namespace vireo::cli
