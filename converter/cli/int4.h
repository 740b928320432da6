// Weights in 4 bits by sample data, as the verbs convert and quantize ask for them.
#ifndef VIREO_CONVERTER_CLI_INT4_H_
#define VIREO_CONVERTER_CLI_INT4_H_

#include <memory>
#include <string>

#include "converter/cli/quantization.h"
#include "quant/int4/calibrated_int4.h"

namespace vireo::cli {

class Int4Run final : public Quantization {
 public:
  // Throws Failure for data that cannot be read; what is wrong with them for this model the stage says.
  Int4Run(const QuantizeRequest& request, quant::Recipe recipe, const std::string& model, LoadModel in_float,
          Progress* progress);

  // With the bodies of nodes, whose weights get the nearest codes.
  Stages stages() const override;
  bool write(Diagnostics* diagnostics) const override;  // the recipe
  std::string text() const override;
  Json json() const override;
  bool has_page() const override { return false; }  // it has each tensor's signal to noise

 private:
  const QuantizeRequest request_;
  Calibration calibration_;
  std::shared_ptr<quant::CalibratedInt4> stage_;
};

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_INT4_H_
