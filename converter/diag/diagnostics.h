// What is wrong with a model, told whole: a stable code, the place, what was met, what was wanted, a way out. The
// converter goes on after an error to find the next one.
#ifndef VIREO_CONVERTER_DIAG_DIAGNOSTICS_H_
#define VIREO_CONVERTER_DIAG_DIAGNOSTICS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "converter/diag/codes.h"

namespace vireo {

enum class Severity { kError, kWarning };

struct Diagnostic {
  Severity severity = Severity::kError;
  Code code = Code::kNone;
  std::string what;                // one sentence without the place
  std::string op;                  // "Conv", "" where no node is to blame
  std::string node;                // its name in the ONNX file
  std::string tensor;              // "" where no tensor is to blame
  std::vector<std::string> notes;  // how the converter knows
  std::string help;                // what to do; "" where nothing can be done
};

// error VC0207: Conv node "stem/conv1": weights are ...
//   note: ...
//   help: ...
std::string to_text(const Diagnostic& d);

class Diagnostics {
 public:
  void add(Diagnostic d);  // a repetition of one that is already there is dropped
  Diagnostic& error(Code code, std::string what, std::string help = "");
  Diagnostic& warning(Code code, std::string what, std::string help = "");

  bool failed() const { return errors_ != 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  std::string text() const;  // all of them, in the order in which they were found

 private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
};

}  // namespace vireo

#endif  // VIREO_CONVERTER_DIAG_DIAGNOSTICS_H_
