#include "sdk/ops/shared/broadcast.h"

namespace vireo {

Broadcast::Broadcast(const Shape& out, const Shape* const* operands, int count) {
  if (count > kMaxOperands) count = kMaxOperands;
  rank_ = 0;
  int64_t dense[kMaxOperands] = {1, 1, 1};
  int64_t dims[kMaxRank], stride[kMaxOperands][kMaxRank] = {};
  // From the last dimension to the first, so that each merge looks at its inner neighbour.
  for (int i = out.rank - 1; i >= 0; --i) {
    if (out[i] == 1) continue;
    int64_t s[kMaxOperands] = {};
    bool merges = rank_ > 0;
    for (int k = 0; k < count; ++k) {
      const int axis = i - (out.rank - operands[k]->rank);
      const int64_t d = axis < 0 ? 1 : operands[k]->dims[axis];
      s[k] = d == 1 ? 0 : dense[k];
      dense[k] *= d;
      if (rank_ > 0 && s[k] != stride[k][rank_ - 1] * dims[rank_ - 1]) merges = false;
    }
    if (merges) {
      dims[rank_ - 1] *= out[i];
      continue;
    }
    dims[rank_] = out[i];
    for (int k = 0; k < count; ++k) stride[k][rank_] = s[k];
    ++rank_;
  }
  if (rank_ == 0) {
    dims[0] = 1;
    rank_ = 1;
  }
  for (int i = 0; i < rank_; ++i) {
    dims_[i] = dims[rank_ - 1 - i];
    for (int k = 0; k < count; ++k) stride_[k][i] = stride[k][rank_ - 1 - i];
    if (i < rank_ - 1) rows_ *= dims_[i];
  }
}

int64_t Broadcast::offset(int operand, int64_t r) const {
  int64_t at = 0;
  for (int i = rank_ - 2; i >= 0; --i) {
    at += r % dims_[i] * stride_[operand][i];
    r /= dims_[i];
  }
  return at;
}

}  // namespace vireo
