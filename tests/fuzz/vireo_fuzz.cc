// Bytes of a .vireo file: load, sessions, runs, the file's own tests. The mutator changes the model as it stands in the
// schema (a tensor's dimensions, where a node's inputs come from, a plan's offsets, bytes of attributes and of packed
// weights) and writes the file anew with hashes that fit, so that what is behind the verifier gets to see it.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "converter/emit/sealed_file.h"
#include "sdk/format/model_generated.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/sealed.h"
#include "tests/fuzz/sessions.h"
#include "vireo/vireo.h"

namespace vireo::fuzz {
namespace {

Reached reached{"loaded", "tensors read", "session", "ran", "hashes good", "session with the npu", "ran with it"};
enum { kLoaded, kRead, kSession, kRan, kHashes, kNpuSession, kNpuRan };
Arrived arrived, arrived_at_npu;  // few seeds have a plan for it, and most changes end one

vireo_runtime* trusting_runtime() {
  static vireo_runtime* const one = [] {
    trust_test_keys(plain_runtime());
    return plain_runtime();
  }();
  return one;
}

// With the plug-in that the seeds' compiled parts are for; null where it is not built.
vireo_runtime* npu_runtime() {
  static vireo_runtime* const one = []() -> vireo_runtime* {
    const char* const plugin = VIREO_BINARY_ROOT "/plugins/libvireo_npu.so";
    if (access(plugin, R_OK) != 0) return nullptr;
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.plugins = plugin;
    options.probe = VIREO_PROBE_NEVER;
    vireo_runtime* made = nullptr;
    VIREO_FUZZ_CHECK(vireo_runtime_create(&options, &made, nullptr) == VIREO_OK);
    trust_test_keys(made);
    return made;
  }();
  return one;
}

// Its plan for the npu, if it has one, with what is compiled for it.
void run_npu(const uint8_t* data, size_t size) {
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  if (npu_runtime() == nullptr) return;
  VIREO_FUZZ_CHECK(vireo_model_load_memory(npu_runtime(), data, size, &model, &error) == VIREO_OK);
  run_model(model, 1, VIREO_PACKING_DEFAULT, "npu", &reached, kNpuSession, kNpuRan);
  vireo_model_release(model);
}

// ---- the mutator ---------------------------------------------------------------------------------------------------

class Mutator {
 public:
  Mutator(fb::ModelT* model, Bytes* segments, unsigned seed) : m_(*model), segments_(*segments), rng_(seed) {}

  void change() {
    switch (rng_() % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
        return change_tensor();
      case 4:
      case 5:
      case 6:
      case 7:
        return change_node();
      case 8:
        return change_graph();
      case 9:
        return change_expression();
      case 10:
      case 11:
        return change_plan();
      case 12:
        return change_segment();
      case 13:
        return change_signature();
      case 14:
        return change_bytes(&segments_);
      default:
        return change_head();
    }
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : rng_() % n; }
  template <class T>
  auto* any(T& list) {  // of pointers; null where there is none
    return list.empty() ? nullptr : list[below(list.size())].get();
  }
  template <class T>
  void number(T* value) {
    *value = static_cast<T>(odd_number(rng_));
  }
  // Mostly one of the numbers below `n`, as indices are.
  template <class T>
  void index(T* value, size_t n) {
    *value = rng_() % 8 == 0 ? static_cast<T>(odd_number(rng_)) : static_cast<T>(below(n));
  }
  template <class T>
  void list_of_numbers(std::vector<T>* list, size_t n = 0) {
    switch (list->empty() ? 2 : rng_() % 6) {
      case 0:
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(below(list->size())));
        break;
      case 1:
        std::swap(list->front(), (*list)[below(list->size())]);
        break;
      case 2:
        list->insert(list->begin() + static_cast<std::ptrdiff_t>(below(list->size() + 1)), T{});
        break;
      case 3:
        list->push_back(list->front());
        break;
      default:
        if (n > 0)
          index(&(*list)[below(list->size())], n);
        else
          number(&(*list)[below(list->size())]);
    }
  }
  template <class T>
  void list_of_tables(std::vector<std::unique_ptr<T>>* list) {
    if (list->empty()) return;
    const size_t at = below(list->size());
    switch (rng_() % 4) {
      case 0:
        list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        std::swap(list->front(), (*list)[at]);
        break;
      case 2:
        list->push_back(std::make_unique<T>(*(*list)[at]));
        break;
      default:
        std::swap(list->back(), (*list)[at]);
    }
  }
  void text(std::string* s) {
    if (rng_() % 3 == 0)
      s->clear();
    else if (rng_() % 2 == 0)
      s->append(below(40), static_cast<char>(rng_()));
    else if (!s->empty())
      (*s)[below(s->size())] = static_cast<char>(rng_());
  }
  void change_bytes(Bytes* bytes) {
    if (bytes->empty()) return;
    const size_t at = below(bytes->size()), n = std::min(bytes->size() - at, size_t{1} << below(4));
    const int64_t v = odd_number(rng_);
    std::memcpy(bytes->data() + at, &v, n);
  }
  fb::SubgraphT* graph() { return any(m_.subgraphs); }

  void change_tensor() {
    fb::SubgraphT* const g = graph();
    fb::TensorT* const t = g == nullptr ? nullptr : any(g->tensors);
    if (t == nullptr) return;
    switch (rng_() % 9) {
      case 0:
        index(&t->dtype, 30);
        break;
      case 1:
      case 2:
      case 3:
        list_of_numbers(&t->dims);
        break;
      case 4:
        index(&t->segment, m_.segments.size() + 1);
        break;
      case 5:
        number(&t->offset);
        break;
      case 6:
        number(&t->size);
        break;
      case 7:
        if (t->quant == nullptr) t->quant = std::make_unique<fb::QuantT>();
        if (rng_() % 2 == 0)
          list_of_numbers(&t->quant->scale);
        else if (rng_() % 2 == 0)
          list_of_numbers(&t->quant->zero_point);
        else if (rng_() % 2 == 0)
          number(&t->quant->axis);
        else
          number(&t->quant->block);
        break;
      default:
        text(&t->name);
    }
  }
  void change_node() {
    fb::SubgraphT* const g = graph();
    fb::NodeT* const n = g == nullptr ? nullptr : any(g->nodes);
    if (n == nullptr) return;
    switch (rng_() % 8) {
      case 0:
        index(&n->op, 400);
        break;
      case 1:
        number(&n->version);
        break;
      case 2:
      case 3:
        list_of_numbers(&n->inputs, g->tensors.size());
        break;
      case 4:
        list_of_numbers(&n->outputs, g->tensors.size());
        break;
      case 5:
        list_of_numbers(&n->subgraphs, m_.subgraphs.size());
        break;
      default:
        change_bytes(&n->attrs);
    }
  }
  void change_graph() {
    fb::SubgraphT* const g = graph();
    if (g == nullptr) return;
    switch (rng_() % 5) {
      case 0:
        list_of_numbers(&g->inputs, g->tensors.size());
        break;
      case 1:
        list_of_numbers(&g->outputs, g->tensors.size());
        break;
      case 2:
        list_of_tables(&g->nodes);
        break;
      case 3:
        list_of_tables(&g->tensors);
        break;
      default:
        list_of_tables(&m_.subgraphs);
    }
  }
  void change_expression() {
    fb::ExprT* const e = any(m_.exprs);
    if (e == nullptr) {
      auto made = std::make_unique<fb::ExprT>();
      made->name = "n";
      m_.exprs.push_back(std::move(made));
      return;
    }
    switch (rng_() % 6) {
      case 0:
        e->kind = static_cast<fb::ExprKind>(rng_() % 8);
        break;
      case 1:
        number(&e->a);
        break;
      case 2:
        number(&e->b);
        break;
      case 3:
        number(&e->lo);
        break;
      case 4:
        number(&e->hi);
        break;
      default:
        e->data_dependent = !e->data_dependent;
    }
  }
  void change_plan() {
    fb::PlanT* const p = any(m_.plans);
    if (p == nullptr) return;
    if (rng_() % 4 == 0) {
      if (rng_() % 2 == 0 && !p->made_for.empty()) return change_bytes(&p->made_for);
      return rng_() % 2 == 0 ? text(&p->target) : list_of_tables(&m_.plans);
    }
    fb::SubgraphPlanT* const s = any(p->subgraphs);
    if (s == nullptr) return;
    switch (rng_() % 5) {
      case 0:
        list_of_numbers(&s->order, 16);
        break;
      case 1:
      case 2:
        if (!s->offsets.empty())
          s->offsets[below(s->offsets.size())] = s->offsets[below(s->offsets.size())] + rng_() % 3 * 64 - 64;
        break;
      case 3:
        list_of_numbers(&s->regions);
        break;
      default:
        number(&s->bytes);
    }
  }
  void change_segment() {
    fb::SegmentT* const s = any(m_.segments);
    if (s == nullptr) return;
    switch (rng_() % 6) {
      case 0:
        number(&s->offset);
        break;
      case 1:
        number(&s->size);
        break;
      case 2:
        number(&s->alignment);
        break;
      case 3:
        number(&s->codec);
        break;
      case 4:
        number(&s->plain_size);
        break;
      default:
        index(&m_.packed, m_.segments.size() + 2);
    }
  }
  void change_signature() {
    fb::SignatureT* const s = any(m_.signatures);
    if (s == nullptr) return;
    if (rng_() % 3 == 0) {
      auto state = std::make_unique<fb::StateT>();
      index(&state->input, 4);
      index(&state->output, 4);
      s->states.push_back(std::move(state));
      return;
    }
    auto& list = rng_() % 2 == 0 ? s->inputs : s->outputs;
    fb::IoT* const io = any(list);
    if (io == nullptr) return;
    switch (rng_() % 4) {
      case 0:
        io->meaning = static_cast<fb::Meaning>(rng_() % 8);
        break;
      case 1:
        list_of_numbers(&io->mean);
        break;
      case 2:
        text(&io->layout);
        break;
      default:
        list_of_tables(&list);
    }
  }
  void change_head() {
    switch (rng_() % 5) {
      case 0:
        number(&m_.major);
        break;
      case 1:
        number(&m_.minor);
        break;
      case 2:
        list_of_tables(&m_.tests);
        break;
      case 3:
        list_of_tables(&m_.segments);
        break;
      default:
        if (fb::TestCaseT* const c = any(m_.tests); c != nullptr) {
          fb::TestTensorT* const t = any(rng_() % 2 == 0 ? c->inputs : c->outputs);
          if (t == nullptr) return;
          if (rng_() % 3 == 0)
            number(&t->size);
          else if (rng_() % 2 == 0)
            list_of_numbers(&t->dims);
          else
            number(&t->offset);
        }
    }
  }

  fb::ModelT& m_;
  Bytes& segments_;
  std::mt19937 rng_;
};

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

// The file taken apart: the model, and the bytes of all segments, whose offsets then count from the first of them.
bool take_apart(const uint8_t* data, size_t size, FileHeader* header, fb::ModelT* model, Bytes* segments) {
  Error error;
  if (read_header({data, size}, size, header, &error) != Status::kOk || header->cipher_offset != 0) return false;
  const AlignedCopy table(data + header->model_offset, static_cast<size_t>(header->model_size));
  flatbuffers::Verifier verifier(table.data(), static_cast<size_t>(header->model_size));
  if (!fb::VerifyModelBuffer(verifier) || !lists_are_aligned(*fb::GetModel(table.data()))) return false;
  fb::GetModel(table.data())->UnPackTo(model);
  const uint64_t first = (header->model_offset + header->model_size + 63) / 64 * 64;
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

}  // namespace
}  // namespace vireo::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  using namespace vireo;
  using namespace vireo::fuzz;
  std::mt19937 rng(seed);
  size = (rng() % 8 == 0 ? arrived_at_npu : arrived).instead_of(data, size, most, rng);
  FileHeader header;
  fb::ModelT model;
  Bytes segments;
  if (rng() % 10 == 0 || !take_apart(data, size, &header, &model, &segments)) {
    size = LLVMFuzzerMutate(data, size, most);
    Error error;
    if (rng() % 2 == 0 && read_header({data, size}, size, &header, &error) == Status::kOk &&
        header.signature_offset == 0) {
      Bytes file(data, data + header.hash_offset);
      emit::end_file(&file, header);
      if (file.size() <= most) {
        std::memcpy(data, file.data(), file.size());
        size = file.size();
      }
    }
    return size;
  }
  Mutator mutator(&model, &segments, seed);
  for (unsigned changes = 1 + rng() % 3; changes > 0; --changes) mutator.change();
  Bytes file = put_together(header, &model, segments);
  if (rng() % 16 == 0) file = sealed(file, static_cast<Seal>(rng() % 3));
  if (file.size() > most) return size;
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vireo::fuzz;
  reached.begin();
  const AlignedCopy file(data, size);
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  if (vireo_model_load_memory(trusting_runtime(), file.data(), size, &model, &error) != VIREO_OK) {
    VIREO_FUZZ_CHECK(error.message[0] != 0 && model == nullptr);
    return 0;
  }
  reached(kLoaded);
  for (uint32_t i = 0; i < vireo_model_input_count(model) + vireo_model_output_count(model); ++i) {
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    vireo_meaning meaning = VIREO_MEANING_INIT;
    const uint32_t inputs = vireo_model_input_count(model);
    VIREO_FUZZ_CHECK((i < inputs ? vireo_model_input(model, i, &info, &error)
                                 : vireo_model_output(model, i - inputs, &info, &error)) == VIREO_OK);
    VIREO_FUZZ_CHECK((i < inputs ? vireo_model_input_meaning(model, i, &meaning, &error)
                                 : vireo_model_output_meaning(model, i - inputs, &meaning, &error)) == VIREO_OK);
  }
  reached(kRead);
  bool for_npu = false;
  for (uint32_t i = 0; i < vireo_model_plan_count(model); ++i) {
    vireo_plan_info info = VIREO_PLAN_INFO_INIT;
    VIREO_FUZZ_CHECK(vireo_model_plan(model, i, &info, &error) == VIREO_OK);
    for_npu = for_npu || std::strcmp(info.target, "npu") == 0;
  }
  if (vireo_model_check_hashes(model, &error) == VIREO_OK) reached(kHashes);
  run_model(model, 1, VIREO_PACKING_ALWAYS, nullptr, &reached, kSession, kRan);
  run_model(model, 3, VIREO_PACKING_NEVER, "", &reached, kSession, kRan);
  vireo_model_release(model);
  if (for_npu) run_npu(file.data(), size);
  if (reached.saw(kRan)) arrived.keep(data, size);
  if (reached.saw(kNpuRan)) arrived_at_npu.keep(data, size);
  return 0;
}
