// Static quantization to int8, as the verbs convert and quantize ask for it.
#ifndef VIREO_CONVERTER_CLI_INT8_H_
#define VIREO_CONVERTER_CLI_INT8_H_

#include <memory>
#include <string>

#include "converter/cli/quantization.h"
#include "quant/int8/static_int8.h"

namespace vireo::cli {

class Int8Run final : public Quantization {
 public:
  // Throws Failure for data that cannot be read; what is wrong with them for this model the stage says.
  Int8Run(const QuantizeRequest& request, quant::Recipe recipe, const std::string& model, LoadModel in_float,
          Progress* progress);

  Stages stages() const override;
  // The recipe and the QDQ file.
  bool write(Diagnostics* diagnostics) const override;
  std::string text() const override;
  Json json() const override;  // with the ranges of values
  bool has_page() const override { return true; }

 private:
  Json measured() const;

  void read_kept();
  void write_kept() const;

  const QuantizeRequest request_;
  std::unique_ptr<quant::Kept> kept_;  // null: nothing is kept
  Calibration calibration_;
  std::shared_ptr<quant::StaticInt8> stage_;
};

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_INT8_H_
