// Rounding with feedback: what one weight of a product is off by is taken back by those that are rounded after it, as
// far as the rows that they multiply are alike. Source: Frantar et al. 2022, arXiv:2210.17323, section 3, in the order
// of the columns. All in float64, in a fixed order.
#ifndef VIREO_QUANT_SCHEMES_FEEDBACK_H_
#define VIREO_QUANT_SCHEMES_FEEDBACK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vireo::quant {

// A symmetric matrix whose diagonal is raised by a share of its mean, H, with U, upper, so that inverse(H) = U^T U.
class Moment {
 public:
  // `values` [size, size]; without any, or of zeros, it is the unit matrix.
  Moment(std::vector<double> values, int64_t size, double damping);

  int64_t size() const { return size_; }
  double at(int64_t i, int64_t j) const { return values_[static_cast<size_t>(i * size_ + j)]; }
  const double* diagonal() const { return diagonal_.data(); }
  // to += factor times row i of H.
  void add_row(int64_t i, double factor, double* to) const;
  // error^T H error.
  double of(const double* error) const;
  // inverse(H) b, in place.
  void solve(double* b) const;
  // Row i of U, of which the elements from i on count.
  const double* feedback(int64_t i) const { return upper_.data() + i * size_; }

 private:
  void factorise();

  int64_t size_;
  std::vector<double> values_, diagonal_, upper_;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_FEEDBACK_H_
