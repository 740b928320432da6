#include "converter/emit/model_file.h"

#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "converter/emit/exprs.h"
#include "converter/emit/integer_only.h"
#include "converter/emit/model_table.h"
#include "converter/emit/plans.h"
#include "sdk/base/checked.h"
#include "sdk/files/whole_file.h"
#include "sdk/format/container.h"
#include "sdk/format/sha256.h"
#include "sdk/ops/identity/identity_generated.h"
#include "sdk/ops/shared/weight_tables.h"
#include "vireo/vireo.h"

namespace vireo::emit {
namespace {

std::string names_of(const ir::Graph& graph) {
  std::string names;
  for (const ir::Value* v : graph.inputs()) names += (names.empty() ? "" : ", ") + v->name;
  for (size_t i = 0; i < graph.output_names().size(); ++i) names += (i == 0 ? "; " : ", ") + graph.output_names()[i];
  return names;
}

class Builder {
 public:
  Builder(const ConvertOptions& options, const ir::Graph& graph, Segments* segments, Diagnostics* diagnostics)
      : options_(options), graph_(graph), segments_(segments), diagnostics_(diagnostics), exprs_(graph.dims()) {}

  bool build(const Provenance& provenance, fb::ModelT* model, ConvertReport* report) {
    model->major = kFormatMajor;
    model->minor = kFormatMinor;
    model_ = model;
    if (!countable(graph_)) return false;
    subgraph(graph_);
    if (!signature() || !tests()) return false;
    const auto constant_of = [this](size_t s, int32_t t) -> const void* {
      const ir::Constant* c = constants_[s][static_cast<size_t>(t)];
      return c == nullptr ? nullptr : c->tensor.bytes.data();
    };
    CopyReport copies;
    auto plan = make_plan(model, exprs_, constant_of, diagnostics_, &copies, !options_.stages.empty(), options_.brief);
    if (plan == nullptr) return false;
    report->planned = !plan->subgraphs.empty();
    if (report->planned) {
      report->copies_saved = copies.saved;
      report->copies_saved_bytes = copies.saved_bytes;
      report->copies_left_bytes = copies.left_bytes;
      report->copies_left.assign(copies.reasons.begin(), copies.reasons.end());
      report->arena_bytes = plan->subgraphs[0]->bytes;
      report->arena_lower_bound = plan->subgraphs[0]->lower_bound;
    }
    for (const auto& e : exprs_.exprs()) {
      if (e->kind == fb::ExprKind::Symbol && !e->data_dependent && e->hi < 0)
        report->open_dimensions.push_back(e->name);
    }
    model->plans.push_back(std::move(plan));
    model->exprs = exprs_.take();
    model->segments = segments_->finish();
    report->constant_bytes = segments_->total_bytes() + table_bytes_;
    auto p = std::make_unique<fb::ProvenanceT>();
    p->source = provenance.source;
    p->source_hash.assign(provenance.source_hash.begin(), provenance.source_hash.end());
    p->producer = provenance.producer;
    p->converter = "vireo " + std::to_string(VIREO_VERSION_MAJOR) + "." + std::to_string(VIREO_VERSION_MINOR) + "." +
                   std::to_string(VIREO_VERSION_PATCH);
    p->options = options_.option_texts;
    p->opset = provenance.opsets;
    p->passes = provenance.passes;
    model->provenance = std::move(p);
    return true;
  }

 private:
  // Whether the loader can count the bytes of each tensor. Inference sees to that node by node; a cast that importer or
  // passes add may widen what just fitted.
  bool countable(const ir::Graph& g) {
    for (const ir::Node& n : g.nodes()) {
      for (const auto& body : n.bodies) {
        if (!countable(*body)) return false;
      }
      for (const ir::Value* v : n.outputs) {
        if (v == nullptr || !v->type.shape.is_static() || tensor_bytes(v->type) >= 0) continue;
        Diagnostic d;
        d.code = Code::kShapeOverflow;
        d.op = n.def().name;
        d.node = n.name;
        d.what = "its output \"" + v->name + "\" of shape " + g.dims().text(v->type.shape) +
                 " has more bytes than can be counted";
        diagnostics_->add(std::move(d));
        return false;
      }
    }
    return true;
  }

  uint32_t subgraph(const ir::Graph& g) {
    const uint32_t index = static_cast<uint32_t>(model_->subgraphs.size());
    model_->subgraphs.push_back(std::make_unique<fb::SubgraphT>());
    constants_.emplace_back();
    auto out = std::make_unique<fb::SubgraphT>();
    out->name = g.name;
    std::map<const ir::Value*, int32_t> ids;
    const auto tensor = [&](const ir::Value* v) -> int32_t {
      if (v == nullptr) return -1;
      const auto it = ids.find(v);
      if (it != ids.end()) return it->second;
      const int32_t id = static_cast<int32_t>(out->tensors.size());
      ids[v] = id;
      constants_[index].push_back(v->constant.get());
      auto t = std::make_unique<fb::TensorT>();
      t->name = v->name;
      t->dtype = static_cast<uint8_t>(v->type.dtype);
      for (int i = 0; i < v->type.shape.rank; ++i) t->dims.push_back(exprs_.write(v->type.shape[i]));
      if (v->constant != nullptr) {
        const Place place = segments_->add(v->constant);
        t->segment = place.segment;
        t->offset = place.offset;
        t->size = place.size;
      }
      out->tensors.push_back(std::move(t));
      return id;
    };
    for (const ir::Value* v : g.inputs()) out->inputs.push_back(static_cast<uint32_t>(tensor(v)));
    for (const ir::Node& n : g.nodes()) {
      auto node = std::make_unique<fb::NodeT>();
      node->op = static_cast<uint16_t>(n.op);
      node->version = n.version;
      node->name = n.name;
      node->attrs = n.attrs;
      if (has_weight_tables(n.op)) table_bytes_ += n.attrs.size();
      for (const ir::Value* v : n.inputs) node->inputs.push_back(tensor(v));
      // Absent operands at the end go, but a Loop has both of its own even so.
      while (node->inputs.size() > n.def().min_inputs && node->inputs.back() == -1) node->inputs.pop_back();
      const OpDef& def = n.def();
      for (size_t i = 0; i < n.outputs.size(); ++i) {
        const ir::Value* v = n.outputs[i];
        // What a body gives is its owner's memory: none of it may be missing.
        const bool wanted = v != nullptr && (!v->unused() || i < def.min_outputs || !n.bodies.empty());
        node->outputs.push_back(wanted ? tensor(v) : -1);
      }
      for (const auto& body : n.bodies) node->subgraphs.push_back(subgraph(*body));
      out->nodes.push_back(std::move(node));
    }
    for (size_t i = 0; i < g.outputs().size(); ++i) {
      const int32_t id = tensor(g.outputs()[i]);
      out->outputs.push_back(static_cast<uint32_t>(id));
      // A pass may have put another value in the place of the one that bore the output's name.
      out->tensors[static_cast<size_t>(id)]->name = g.output_names()[i];
    }
    model_->subgraphs[index] = std::move(out);
    return index;
  }

  bool signature() {
    static const std::map<std::string, fb::Meaning> kMeanings = {
        {"", fb::Meaning::Unspecified},  {"image", fb::Meaning::Image},       {"audio", fb::Meaning::Audio},
        {"tokens", fb::Meaning::Tokens}, {"features", fb::Meaning::Features}, {"state", fb::Meaning::State}};
    auto s = std::make_unique<fb::SignatureT>();
    s->name = options_.signature_name;
    std::set<std::string> used;
    bool good = true;
    const auto io = [&](const std::string& name) {
      auto t = std::make_unique<fb::IoT>();
      t->name = name;
      for (const IoMeaning& m : options_.io) {
        if (m.name != name) continue;
        used.insert(name);
        const auto meaning = kMeanings.find(m.meaning);
        if (meaning == kMeanings.end()) {
          diagnostics_->error(Code::kBadSignature, "the meaning of \"" + name + "\" is \"" + m.meaning + "\"",
                              "use image, audio, tokens, features or state");
          good = false;
          continue;
        }
        t->meaning = meaning->second;
        t->layout = m.layout;
        t->color = m.color;
        t->range_lo = m.range_lo;
        t->range_hi = m.range_hi;
        t->mean = m.mean;
        t->std = m.std;
        t->resize = m.resize;
        t->sample_rate = m.sample_rate;
      }
      return t;
    };
    std::map<std::string, uint32_t> inputs, outputs;
    for (const ir::Value* v : graph_.inputs()) {
      inputs[v->name] = static_cast<uint32_t>(s->inputs.size());
      s->inputs.push_back(io(v->name));
    }
    for (const std::string& name : graph_.output_names()) {
      outputs[name] = static_cast<uint32_t>(s->outputs.size());
      s->outputs.push_back(io(name));
    }
    for (const IoMeaning& m : options_.io) {
      if (used.count(m.name) != 0) continue;
      diagnostics_->error(Code::kBadSignature,
                          "the signature names \"" + m.name + "\", which is neither an input nor an output");
      good = false;
    }
    for (const auto& [output, input] : options_.states) {
      if (inputs.count(input) == 0 || outputs.count(output) == 0) {
        diagnostics_->error(Code::kBadSignature,
                            "state \"" + output + "\" to \"" + input + "\": there is no such output or input");
        good = false;
        continue;
      }
      const uint32_t in = inputs[input], out = outputs[output];
      const TensorType& a = graph_.inputs()[in]->type;
      const TensorType& b = graph_.outputs()[out]->type;
      if (a != b) {
        const auto text = [this](const TensorType& t) {
          std::string made = dtype_name(t.dtype);
          for (int d = 0; d < t.shape.rank; ++d) made += (d == 0 ? "[" : ",") + graph_.dims().text(t.shape[d]);
          return made + (t.shape.rank == 0 ? "" : "]");
        };
        diagnostics_->error(
            Code::kBadSignature,
            "state \"" + output + "\" to \"" + input + "\": the output is " + text(b) + ", the input " + text(a),
            "what a session carries has one type and shape; feed it back yourself, or fix shapes with --shape");
        good = false;
        continue;
      }
      auto state = std::make_unique<fb::StateT>();
      state->input = in;
      state->output = out;
      s->states.push_back(std::move(state));
    }
    model_->signatures.push_back(std::move(s));
    return good;
  }

  std::unique_ptr<fb::TestTensorT> test_tensor(const HostTensor& h) {
    auto t = std::make_unique<fb::TestTensorT>();
    t->dtype = static_cast<uint8_t>(h.dtype);
    t->dims = h.dims;
    if (h.dtype == DType::kNone) return t;
    const ir::ConstantPtr c =
        h.dtype == DType::kString ? ir::make_strings({}, h.strings) : ir::make_constant({DType::kU8, {}}, h.bytes);
    const Place place = segments_->add(c);
    t->segment = static_cast<uint32_t>(place.segment);
    t->offset = place.offset;
    t->size = place.size;
    return t;
  }

  // Why no session could take such an input; empty when one can. Bounds may be those that import assumed.
  std::string misfit(const ir::Value& input, const HostTensor& given) const {
    const Shape& shape = input.type.shape;
    const std::string has = "input \"" + input.name + "\" has ";
    if (static_cast<size_t>(shape.rank) != given.dims.size())
      return has + "rank " + std::to_string(given.dims.size()) + ", the model wants " + std::to_string(shape.rank);
    for (int d = 0; d < shape.rank; ++d) {
      const Interval range = graph_.dims().interval(shape[d]);
      const int64_t extent = given.dims[static_cast<size_t>(d)];
      if (extent >= range.lo && extent <= range.hi) continue;
      return has + std::to_string(extent) + " as dimension " + std::to_string(d) + ", the model takes " +
             std::to_string(range.lo) +
             (range.open()           ? " and more"
              : range.lo == range.hi ? ""
                                     : " to " + std::to_string(range.hi));
    }
    return "";
  }

  bool tests() {
    for (size_t i = 0; i < options_.tests.size(); ++i) {
      const TestCaseOption& given = options_.tests[i];
      if (given.inputs.size() != graph_.inputs().size() || given.outputs.size() != graph_.outputs().size()) {
        diagnostics_->error(Code::kBadTestCase,
                            "test case " + std::to_string(i) + " has " + std::to_string(given.inputs.size()) +
                                " inputs and " + std::to_string(given.outputs.size()) + " outputs, the model " +
                                std::to_string(graph_.inputs().size()) + " and " +
                                std::to_string(graph_.outputs().size()),
                            "give an array for each, in this order: " + names_of(graph_));
        return false;
      }
      std::string wrong;
      for (size_t k = 0; k < given.inputs.size(); ++k) {
        if (given.inputs[k].dtype != graph_.inputs()[k]->type.dtype) {
          diagnostics_->error(Code::kBadTestCase, "test case " + std::to_string(i) + ": input \"" +
                                                      graph_.inputs()[k]->name + "\" is " +
                                                      dtype_name(given.inputs[k].dtype) + ", the model wants " +
                                                      dtype_name(graph_.inputs()[k]->type.dtype));
          return false;
        }
        if (wrong.empty()) wrong = misfit(*graph_.inputs()[k], given.inputs[k]);
      }
      if (!wrong.empty()) {
        diagnostics_->warning(Code::kBadTestCase, "test case " + std::to_string(i) + " is left out: " + wrong,
                              "say with --shape what the model is to take, if the case is right");
        continue;
      }
      auto c = std::make_unique<fb::TestCaseT>();
      for (const HostTensor& input : given.inputs) c->inputs.push_back(test_tensor(input));
      for (const TestOutput& o : given.outputs) {
        auto t = test_tensor(o.values);
        if (!o.dims.empty()) t->dims = o.dims;
        t->step = o.step;
        t->atol = o.atol;
        t->rtol = o.rtol;
        c->outputs.push_back(std::move(t));
      }
      model_->tests.push_back(std::move(c));
    }
    if (!options_.tests.empty() && model_->tests.empty()) {
      diagnostics_->error(Code::kBadTestCase, "the model takes none of the test cases",
                          "the warnings say why; --shape says what the model is to take");
      return false;
    }
    return true;
  }

  const ConvertOptions& options_;
  const ir::Graph& graph_;
  Segments* segments_;
  Diagnostics* diagnostics_;
  ExprWriter exprs_;
  fb::ModelT* model_ = nullptr;
  uint64_t table_bytes_ = 0;                                 // of weights in attributes
  std::vector<std::vector<const ir::Constant*>> constants_;  // per subgraph and tensor; null: none
};

}  // namespace

void separate_outputs(ir::Graph& g) {
  for (ir::Node& n : g.nodes()) {
    for (auto& body : n.bodies) separate_outputs(*body);
  }
  std::set<const ir::Value*> seen;
  for (size_t i = 0; i < g.outputs().size(); ++i) {
    ir::Value* v = g.outputs()[i];
    if (v->producer != nullptr && seen.insert(v).second) continue;
    ir::Node* copy = g.add_node(Op::kIdentity, pack<attrs::Identity>(attrs::IdentityT{}), {v}, 1);
    copy->name = g.output_names()[i];
    copy->outputs[0]->name = g.output_names()[i];
    copy->outputs[0]->type = v->type;
    copy->outputs[0]->contents = v->contents;
    g.set_output(i, copy->outputs[0]);
  }
}

std::unique_ptr<ModelFile> ModelFile::build(const ir::Graph& graph, const ConvertOptions& options,
                                            const Provenance& provenance, Diagnostics* diagnostics,
                                            ConvertReport* report) {
  std::unique_ptr<ModelFile> file(new ModelFile());
  fb::ModelT model;
  if (!Builder(options, graph, &file->segments_, diagnostics).build(provenance, &model, report)) return nullptr;
  // Segments stand behind the FlatBuffer, whose size does not depend on the offsets' values as long as none is the
  // default 0: pack once to learn it, once for real.
  for (auto& s : model.segments) s->offset = 1;
  const auto table_of = options.brief ? pack_model : pack_model_shared;
  file->model_ = table_of(model);
  model.integer_only = float_nodes(*fb::GetModel(file->model_.data())).empty();
  if (model.integer_only) file->model_ = table_of(model);
  uint64_t at = align_up(kHeaderBytes, kSegmentAlignment) + file->model_.size();
  for (auto& s : model.segments) {
    at = align_up(at, s->alignment);
    s->offset = at;
    file->segment_offsets_.push_back(at);
    at += s->size;
  }
  const size_t size = file->model_.size();
  file->model_ = table_of(model);
  if (file->model_.size() != size) {
    diagnostics->error(Code::kWriteFailed,
                       "the model's table changed its size while it was laid out; this is an error of the converter");
    return nullptr;
  }
  file->hash_offset_ = at;
  const uint64_t body = at - kHeaderBytes;
  file->hash_size_ = (body + kChunkBytes - 1) / kChunkBytes * kHashBytes;
  file->file_bytes_ = at + file->hash_size_;
  report->file_bytes = file->file_bytes_;
  return file;
}

// Gives the file's bytes behind the header to `sink`, in order, and makes the header, which holds the hash over all of
// them.
template <class Sink>
bool ModelFile::stream(Sink&& sink, std::vector<uint8_t>* header) const {
  std::vector<uint8_t> hashes;
  Sha256 sha;
  uint64_t position = kHeaderBytes;
  const auto put = [&](const void* data, size_t n) {
    const auto* p = static_cast<const uint8_t*>(data);
    size_t left = n;
    while (left > 0) {
      const uint64_t in_chunk = (position - kHeaderBytes) % kChunkBytes;
      const size_t step = left < kChunkBytes - in_chunk ? left : static_cast<size_t>(kChunkBytes - in_chunk);
      sha.update(p, step);
      p += step;
      left -= step;
      position += step;
      if ((position - kHeaderBytes) % kChunkBytes == 0 || position == hash_offset_) {
        hashes.resize(hashes.size() + kHashBytes);
        sha.finish(hashes.data() + hashes.size() - kHashBytes);
        sha.reset();
      }
    }
    return sink(data, n);
  };
  if (!put(model_.data(), model_.size())) return false;
  static const uint8_t kZeros[4096] = {};
  for (size_t i = 0; i < segment_offsets_.size(); ++i) {
    while (position < segment_offsets_[i]) {
      const uint64_t gap = segment_offsets_[i] - position;
      if (!put(kZeros, static_cast<size_t>(gap < sizeof(kZeros) ? gap : sizeof(kZeros)))) return false;
    }
    if (!segments_.write(i, put)) return false;
  }
  FileHeader h = this->header();
  sha.reset();
  sha.update(&h, sizeof(h));
  sha.update(hashes.data(), hashes.size());
  sha.finish(h.root);
  header->assign(reinterpret_cast<const uint8_t*>(&h), reinterpret_cast<const uint8_t*>(&h) + sizeof(h));
  return sink(hashes.data(), hashes.size());
}

FileHeader ModelFile::header() const {
  FileHeader h;
  std::memset(&h, 0, sizeof(h));
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.major = kFormatMajor;
  h.minor = kFormatMinor;
  h.header_bytes = kHeaderBytes;
  h.file_size = file_bytes_;
  h.model_offset = kHeaderBytes;
  h.model_size = model_.size();
  h.hash_offset = hash_offset_;
  h.hash_size = hash_size_;
  h.chunk_bytes = kChunkBytes;
  h.hash_kind = kHashSha256;
  return h;
}

void ModelFile::write_sketch(FileBytes* out) const {
  out->resize(static_cast<size_t>(file_bytes_));
  const FileHeader h = header();
  std::memcpy(out->data(), &h, sizeof(h));
  std::memcpy(out->data() + kHeaderBytes, model_.data(), model_.size());
  for (size_t i = 0; i < segment_offsets_.size(); ++i) {
    size_t at = static_cast<size_t>(segment_offsets_[i]);
    if (segments_.is_large(i)) continue;
    segments_.write(i, [&](const void* data, size_t n) {
      std::memcpy(out->data() + at, data, n);
      at += n;
      return true;
    });
  }
}

void ModelFile::write(FileBytes* out) const {
  if (out->size() != file_bytes_) out->resize(static_cast<size_t>(file_bytes_));
  size_t at = kHeaderBytes;
  std::vector<uint8_t> header;
  stream(
      [&](const void* data, size_t n) {
        if (n > 0) std::memcpy(out->data() + at, data, n);
        at += n;
        return true;
      },
      &header);
  std::memcpy(out->data(), header.data(), header.size());
}

bool ModelFile::write(const std::string& path, Diagnostics* diagnostics) const {
  files::WholeFile out(path);
  std::vector<uint8_t> header(kHeaderBytes);
  const auto write = [&out](const void* data, size_t n) { return out.write(data, n); };
  if (write(header.data(), header.size()) && stream(write, &header) && out.write_over(header.data(), header.size()) &&
      out.finish() && out.appear()) {
    return true;
  }
  diagnostics->error(
      Code::kWriteFailed,
      "cannot write \"" + path + "\" (" + std::to_string(file_bytes_) + " bytes): " + std::strerror(out.error()),
      files::what_to_do(path, out.error()));
  return false;
}

std::unique_ptr<ModelFile> build_with_taps(const ir::Graph& graph, const std::vector<const ir::Value*>& taps,
                                           std::string* error) {
  const std::unique_ptr<ir::Graph> copy = graph.clone();
  for (const ir::Value* tap : taps) copy->add_output(copy->value(tap->id), "tap:" + tap->name);
  separate_outputs(*copy);
  Diagnostics problems;
  ConvertReport unused;
  ConvertOptions options;
  options.brief = true;
  std::unique_ptr<ModelFile> file = ModelFile::build(*copy, options, Provenance{}, &problems, &unused);
  if (file == nullptr) *error = problems.text();
  return file;
}

bool write_with_taps(const ir::Graph& graph, const std::vector<const ir::Value*>& taps, FileBytes* out,
                     std::string* error) {
  const std::unique_ptr<ModelFile> file = build_with_taps(graph, taps, error);
  if (file == nullptr) return false;
  file->write(out);
  return true;
}

}  // namespace vireo::emit
