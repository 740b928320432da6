// The dimension table as the file's expressions, and their bounds as every reader will compute them.
#ifndef VIREO_CONVERTER_EMIT_EXPRS_H_
#define VIREO_CONVERTER_EMIT_EXPRS_H_

#include <map>
#include <memory>
#include <vector>

#include "converter/ir/dim_table.h"
#include "sdk/format/model_generated.h"
#include "sdk/plan/bounds.h"

namespace vireo::emit {

constexpr int64_t kTypicalExtent = 64;

class ExprWriter {
 public:
  explicit ExprWriter(const ir::DimTable& dims) : dims_(dims) {}

  // `d` in the file's encoding; expressions it needs are appended, operands before their users.
  int64_t write(Dim d);
  // Bounds by the same arithmetic over the same expressions as a session uses: plans made here hold there.
  Interval bounds(int64_t written) const { return bound_of(written, {intervals_.data(), intervals_.size()}); }
  // At most this many bytes; -1 when a dimension is open or the product does not fit.
  int64_t bytes_at_most(const TensorType& written) const;
  // The same with kTypicalExtent for whatever is open: for choices that hold at any bound and only pay by size.
  int64_t typical_bytes(const TensorType& written) const;

  std::vector<std::unique_ptr<fb::ExprT>> take() { return std::move(exprs_); }
  const std::vector<std::unique_ptr<fb::ExprT>>& exprs() const { return exprs_; }

 private:
  int64_t append(ExprKind kind, int64_t a, int64_t b);
  int64_t write_atom(uint32_t atom);

  const ir::DimTable& dims_;
  std::vector<std::unique_ptr<fb::ExprT>> exprs_;
  std::vector<Interval> intervals_;
  std::vector<Interval> typical_;
  std::map<Dim, int64_t> written_;
  std::map<uint32_t, int64_t> atoms_;
  std::map<std::pair<std::pair<int, int64_t>, int64_t>, int64_t> operations_;
};

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_EXPRS_H_
