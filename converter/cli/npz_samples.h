// Sample data of a quantizer in an .npz file: one array for each input of the model, by its name, with samples along
// the first dimension. Samples are unpacked one by one, in order; the file is never in memory as a whole.
#ifndef VIREO_CONVERTER_CLI_NPZ_SAMPLES_H_
#define VIREO_CONVERTER_CLI_NPZ_SAMPLES_H_

#include <memory>
#include <string>
#include <vector>

#include "quant/calibrate/samples.h"

struct zip;       // libzip's
struct zip_file;  // libzip's

namespace vireo::cli {

class NpzSamples final : public quant::Samples {
 public:
  // Throws Failure for what is no such archive.
  explicit NpzSamples(std::string path);
  ~NpzSamples() override;
  NpzSamples(const NpzSamples&) = delete;
  NpzSamples& operator=(const NpzSamples&) = delete;

  // Throws Failure where an input has no array, or one of another type or shape.
  void fit(const ir::Graph& graph) override;
  size_t count() const override { return count_; }
  std::vector<HostTensor> read(size_t i) override;

 private:
  // An array, read from front to back.
  struct Column {
    std::string name, head, descr;  // head: of an .npy file of one sample
    std::vector<int64_t> dims;      // of one sample
    uint64_t index = 0, start = 0, item_bytes = 0;
    DType type = DType::kNone;
    zip_file* file = nullptr;
    size_t next = 0;  // the sample that the stream stands before
  };

  Column open(const std::string& name) const;
  void fit_input(const ir::Value& input, const ir::DimTable& dims);
  void rewind(Column* column) const;
  void unpack(Column* column, uint8_t* to, uint64_t bytes) const;
  void close();

  const std::string path_;
  zip* archive_ = nullptr;
  std::vector<Column> columns_;
  size_t count_ = 0;
};

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_NPZ_SAMPLES_H_
