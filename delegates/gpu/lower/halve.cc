#include "delegates/gpu/lower/halve.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace vireo::gpu {
namespace {

constexpr int64_t kNeighbours = 8;  // halves that are read at once

constexpr int64_t kManyRows = 64;  // in some run

bool in_eights(const Extents& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n % kNeighbours == 0; });
}

// Whether lines of a matrix are read eight halves at once. Fewer would be slower than four floats.
bool reads_eights(const MatrixView& v, int64_t rows, int64_t columns) {
  Extents others = v.batch;
  others.push_back(v.offset);
  if (v.column == 1) {
    others.push_back(columns);
    if (rows > 1) others.push_back(v.row);
  } else if (v.row == 1) {
    others.push_back(rows);
    if (columns > 1) others.push_back(v.column);
  } else {
    return false;
  }
  return in_eights(others);
}
bool reads_eights(const ConvolutionProblem& p) {
  const ImageView& x = p.x;
  return x.channel == 1 && p.w.channel == 1 &&
         in_eights({p.channels, x.offset, x.image, x.spatial[0], x.spatial[1], x.spatial[2]});
}

// The types of a work's operands, where a matrix unit may read those as halves; else none.
std::vector<DType*> operand_types(Problem& problem, const Target& target) {
  std::vector<DType*> out;
  const auto narrow = [&out](DType* type, bool reads) {
    out.push_back(reads && *type == DType::kF32 ? type : nullptr);
  };
  if (auto* const p = std::get_if<ProductProblem>(&problem)) {
    if (target.open && p->made_w) return out;  // its extents are no multiples in some run
    ProductProblem many = *p;
    if (target.open) many.m = std::max(p->m, kManyRows);
    if (choose_product(many, target).unit.m == 0) return out;
    narrow(&p->x.dtype, reads_eights(p->x, p->m, p->k));
    narrow(&p->w.dtype, reads_eights(p->w, p->k, p->n));
  } else if (auto* const c = std::get_if<ConvolutionProblem>(&problem)) {
    if (choose_convolution(*c, target).unit.m == 0) return out;
    narrow(&c->x_dtype, reads_eights(*c));
    out.push_back(nullptr);  // weights of a run are few
  } else if (auto* const a = std::get_if<AttentionProblem>(&problem)) {
    narrow(&a->q.dtype, reads_eights(a->q, a->queries, a->head));
    narrow(&a->k.dtype, reads_eights(a->k, a->keys, a->head));
    narrow(&a->v.dtype, reads_eights(a->v, a->keys, a->value_head));
  }
  return out;
}

// Who reads a memory as operands that may be halves, and whether anybody reads it otherwise.
struct Readers {
  std::vector<DType*> types;
  std::vector<int*> operands;
  bool others = false;
};

class Halving {
 public:
  explicit Halving(Lowering* l) : l_(*l) {}

  void run() {
    for (size_t m = 0, count = l_.memories.size(); m < count; ++m) {
      if (l_.memories[m].where == Where::kInner) halve(static_cast<int>(m));
    }
  }

 private:
  void halve(int memory) {
    Readers readers;
    std::vector<Work*> writers;
    for (Work& w : l_.works) {
      const bool reads = std::count(w.operands.begin(), w.operands.end(), memory) != 0;
      const std::vector<DType*> types = reads ? operand_types(w.problem, l_.target()) : std::vector<DType*>();
      for (size_t i = 0; i < w.operands.size(); ++i) {
        if (w.operands[i] != memory) continue;
        if (i < types.size() && types[i] != nullptr) {
          readers.types.push_back(types[i]);
          readers.operands.push_back(&w.operands[i]);
        } else {
          readers.others = true;
        }
      }
      readers.others = readers.others || std::count(w.reads.begin(), w.reads.end(), memory) != 0;
      if (std::count(w.writes.begin(), w.writes.end(), memory) != 0) writers.push_back(&w);
    }
    if (readers.types.empty() || writers.empty()) return;
    std::vector<Problem> changed;
    for (Work* w : writers) {
      changed.push_back(w->problem);
      if (!narrow(*w, memory, readers.others, &changed.back())) return;
    }
    int halves = memory;
    if (readers.others) {
      halves = l_.make_memory(l_.memories[static_cast<size_t>(memory)].bytes / 2);
    } else {
      l_.memories[static_cast<size_t>(memory)].bytes /= 2;
    }
    for (size_t i = 0; i < writers.size(); ++i) {
      writers[i]->problem = std::move(changed[i]);
      // In the order of the outputs that narrow() appended.
      for (size_t o = 0, count = writers[i]->writes.size(); readers.others && o < count; ++o) {
        if (writers[i]->writes[o] == memory) writers[i]->writes.push_back(halves);
      }
    }
    for (DType* type : readers.types) *type = DType::kF16;
    for (int* operand : readers.operands) *operand = halves;
  }

  // Makes the outputs of `p` to the memory halves, or appends such. False: it cannot.
  bool narrow(const Work& w, int memory, bool both, Problem* p) const {
    if (expressions_of(*p).empty()) return false;
    Expression& e = last_expression(*p);
    const size_t count = w.writes.size();
    if (e.outputs.size() != count) return false;
    ExpressionBuilder b(&e);
    for (size_t o = 0; o < count; ++o) {
      if (w.writes[o] != memory) continue;
      if (e.type_of(e.outputs[o].value) != DType::kF32) return false;
      const int half = b.function(Function::kCast, DType::kF16, e.outputs[o].value);
      if (both) {
        const View view = e.outputs[o].view;
        b.output(half, view);
      } else {
        e.outputs[o].value = half;
      }
    }
    return dispatch_of(*p, l_.target()).refusal.empty();
  }

  Lowering& l_;
};

}  // namespace

void halve(Lowering* lowering) {
  const Target& target = lowering->target();
  if (target.half_products && target.storage16 && target.stage_bytes != 0) Halving(lowering).run();
}

}  // namespace vireo::gpu
