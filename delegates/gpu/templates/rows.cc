#include "delegates/gpu/templates/rows.h"

#include "delegates/gpu/templates/rows_body.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kMostKept = 8;

class Rows {
 public:
  Rows(const RowsProblem& problem, const RowsTiling& tiling, const Target& target)
      : problem_(problem), tiling_(tiling), target_(target), numbers_(b_, target) {}

  Dispatch run() {
    Dispatch out;
    out.refusal = refusal();
    if (!out.refusal.empty()) return out;
    const std::string name = "rows" + describe(problem_.prologue) + describe(problem_.epilogue);
    std::vector<size_t> parts;
    fit_rows(&problem_, &parts);
    const int64_t of_group = tiling_.lanes / tiling_.lanes_of_row;
    int64_t rows = 1;
    for (size_t i = 0; i < parts[0]; ++i) rows *= problem_.shape[i];
    out.refusal = cover((rows + of_group - 1) / of_group, target_, &out);
    if (!out.refusal.empty()) return out;
    write(parts, out);
    out.program = std::move(b_.program());
    out.program.name = name;
    out.program.size = {tiling_.lanes, 1, 1};
    out.push = numbers_.words();
    return out;
  }

 private:
  std::string refusal() const {
    std::string why = refuse_rows(problem_, target_);
    for (const Output& o : problem_.epilogue.outputs) {
      const DType type = problem_.epilogue.type_of(o.value);
      if (why.empty() && !can_store(type, target_))
        why = "this GPU cannot write elements of " + std::string(dtype_name(type)) + " one by one";
    }
    return why;
  }

  void write(const std::vector<size_t>& parts, const Dispatch& launch) {
    uint32_t binding = 0;
    RowsBody body(b_, target_, numbers_, problem_, parts, tiling_, &binding);
    Evaluator epilogue(b_, target_, numbers_, problem_.epilogue, &binding);
    epilogue.bind_outputs(numbers_, &binding);
    const int64_t of_row = tiling_.lanes_of_row;
    const Value row = group_number(b_, numbers_, launch) * (tiling_.lanes / of_row) + b_.lane() / of_row;
    body.run(row, [&](const std::vector<Value>& place, Value, const std::vector<Value>& given) {
      epilogue.store(epilogue.at(place, given), place);
    });
  }

  RowsProblem problem_;
  RowsTiling tiling_;
  const Target& target_;
  Builder b_;
  Numbers numbers_;
};

}  // namespace

RowsTiling choose_rows(const RowsProblem& problem, const Target& target) {
  int64_t length = 1, rows = 1;
  const size_t outer = problem.shape.size() - static_cast<size_t>(problem.row_axes);
  for (size_t i = 0; i < problem.shape.size(); ++i) (i < outer ? rows : length) *= problem.shape[i];
  bool along = true;  // a row's elements are neighbours in memory
  for (const Input& in : problem.prologue.inputs) {
    if (!in.given && problem.row_axes > 0) along = along && in.view.strides.back() >= -1 && in.view.strides.back() <= 1;
  }
  RowsTiling t;
  t.lanes = 64;
  while (along && t.lanes * kMostKept < length && t.lanes < 256 && t.lanes * 2 <= target.workgroup_x) t.lanes *= 2;
  t.lanes_of_row = 1;
  const bool many = !along && rows >= 4096;  // enough lanes without sharing rows: neighbours read neighbours
  while (!many && t.lanes_of_row * 4 < length && t.lanes_of_row < t.lanes) t.lanes_of_row *= 2;
  const int64_t each = (length + t.lanes_of_row - 1) / t.lanes_of_row;
  t.kept = each <= kMostKept ? static_cast<uint32_t>(each) : 0;
  while (target.open && (t.kept & (t.kept - 1)) != 0) ++t.kept;
  return t;
}

Dispatch make_rows(const RowsProblem& problem, const RowsTiling& tiling, const Target& target) {
  return Rows(problem, tiling, target).run();
}

}  // namespace vireo::gpu
