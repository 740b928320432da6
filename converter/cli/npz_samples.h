// Sample data of a quantizer in an .npz file: one array for each input of the model, by its name, with samples along
// the first dimension. Samples are unpacked one by one, in order; the file is never in memory as a whole.
#ifndef VIREO_CONVERTER_CLI_NPZ_SAMPLES_H_
#define VIREO_CONVERTER_CLI_NPZ_SAMPLES_H_

#include <string>
#include <vector>

#include "c_api/cli/npy.h"
#include "quant/calibrate/samples.h"

namespace vireo::cli {

class NpzSamples final : public quant::Samples {
 public:
  // Throws Failure for what is no such archive.
  explicit NpzSamples(std::string path);

  // Throws Failure where an input has no array, or one of another type or shape.
  void fit(const ir::Graph& graph) override;
  size_t count() const override { return count_; }
  std::vector<HostTensor> read(size_t i) override;

 private:
  // An array, read from front to back.
  struct Column {
    std::string name;
    NpyRows rows;
    int64_t each = 1;  // rows of one sample
    size_t next = 0;   // the sample that the stream stands before
  };

  Column open(const std::string& input) const;
  void fit_input(const ir::Value& input, const ir::DimTable& dims);

  const std::string path_;
  const NpzFile file_;
  std::vector<Column> columns_;
  size_t count_ = 0;
};

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_NPZ_SAMPLES_H_
