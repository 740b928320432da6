// Bytes of a .vireo file: load, sessions, runs, the file's own tests. The mutator changes the model as it stands in the
// schema (a tensor's dimensions, where a node's inputs come from, a plan's offsets, bytes of attributes and of packed
// weights) and writes the file anew with hashes that fit, so that what is behind the verifier gets to see it.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "converter/emit/sealed_file.h"
#include "sdk/base/dtype.h"
#include "sdk/base/shape.h"
#include "sdk/format/model_generated.h"
#include "tests/fuzz/apart.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/sealed.h"
#include "tests/fuzz/sessions.h"
#include "tests/support/roots.h"
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
    static const std::string plugin = vireo::tests::build_path("plugins/libvireo_npu.so");
    if (access(plugin.c_str(), R_OK) != 0) return nullptr;
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.plugins = plugin.c_str();
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
    if (e == nullptr || rng_() % 8 == 0) {  // a symbol, or expressions of the ones in front
      const auto handle = [this] { return handle_of(static_cast<uint32_t>(below(m_.exprs.size()))); };
      for (size_t n = e == nullptr ? 1 : 1 + below(70); n > 0; --n) {
        auto made = std::make_unique<fb::ExprT>();
        made->name = "n";
        if (e != nullptr) {
          made->kind = static_cast<fb::ExprKind>(1 + rng_() % 6);
          made->a = rng_() % 4 == 0 ? handle() : handle_of(static_cast<uint32_t>(m_.exprs.size() - 1));
          made->b = rng_() % 2 == 0 ? handle() : made->a;
        }
        m_.exprs.push_back(std::move(made));
      }
      fb::SubgraphT* const g = graph();
      fb::TensorT* const t = g == nullptr ? nullptr : any(g->tensors);
      if (t != nullptr && !t->dims.empty())
        t->dims[below(t->dims.size())] = handle_of(static_cast<uint32_t>(m_.exprs.size() - 1));
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
  // A test vector that fits the graph as it stands: bytes of the first segment, of outputs perhaps the first value
  // alone.
  void add_test() {
    if (m_.subgraphs.empty()) return;
    const fb::SubgraphT& g = *m_.subgraphs[0];
    auto test = std::make_unique<fb::TestCaseT>();
    for (const bool out : {false, true}) {
      for (const int32_t number : out ? g.outputs : g.inputs) {
        if (number < 0 || static_cast<size_t>(number) >= g.tensors.size()) return;
        const fb::TensorT& from = *g.tensors[static_cast<size_t>(number)];
        auto t = std::make_unique<fb::TestTensorT>();
        t->dtype = from.dtype;
        int64_t count = 1;
        for (const int64_t d : from.dims) {
          t->dims.push_back(is_symbolic(d) ? 1 : d);
          if (__builtin_mul_overflow(count, t->dims.back(), &count)) return;
        }
        if (out && rng_() % 2 == 0) {
          t->step = UINT64_MAX;
          count = std::min<int64_t>(count, 1);
        }
        if (from.dtype >= kDTypeCount) return;
        t->size = static_cast<uint64_t>(std::max<int64_t>(0, dtype_bytes(static_cast<DType>(from.dtype), count)));
        (out ? test->outputs : test->inputs).push_back(std::move(t));
      }
    }
    m_.tests.push_back(std::move(test));
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
        if (m_.tests.empty())
          add_test();
        else
          list_of_tables(&m_.tests);
        break;
      case 3:
        list_of_tables(&m_.segments);
        break;
      default:
        if (fb::TestCaseT* const c = any(m_.tests); c != nullptr) {
          fb::TestTensorT* const t = any(rng_() % 2 == 0 ? c->inputs : c->outputs);
          if (t == nullptr) return;
          switch (rng_() % 4) {
            case 0:
              return number(&t->size);
            case 1:
              return list_of_numbers(&t->dims);
            case 2:
              return number(&t->step);
            default:
              return number(&t->offset);
          }
        }
    }
  }

  fb::ModelT& m_;
  Bytes& segments_;
  std::mt19937 rng_;
};

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
  // One that no file has: the refusal lists those that are there.
  vireo_session_options nowhere = VIREO_SESSION_OPTIONS_INIT;
  nowhere.target = "\x1f";
  vireo_memory memory = VIREO_MEMORY_INIT;
  (void)vireo_model_memory(model, &nowhere, &memory, &error);
  if (vireo_model_check_hashes(model, &error) == VIREO_OK) reached(kHashes);
  run_model(model, 1, VIREO_PACKING_ALWAYS, nullptr, &reached, kSession, kRan);
  run_model(model, 3, VIREO_PACKING_NEVER, "", &reached, kSession, kRan);
  vireo_model_release(model);
  if (for_npu) run_npu(file.data(), size);
  if (reached.saw(kRan)) arrived.keep(data, size);
  if (reached.saw(kNpuRan)) arrived_at_npu.keep(data, size);
  return 0;
}
