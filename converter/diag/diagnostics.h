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
  // Of a node: where its operator is from, and the node alone as an ONNX model (serialised; "": there is none), with
  // what a conversion of it must be told ("--shape x=1..8,3").
  std::string domain;
  int opset = 0;
  std::string reproducer;
  std::vector<std::string> reproducer_options;
};

// One gap for all errors of nodes that say the same of the same operator: how many nodes, and the first of them.
struct Gap {
  const Diagnostic* first = nullptr;
  std::vector<std::string> nodes;
};
std::vector<Gap> gaps(const std::vector<Diagnostic>& all);

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
  Diagnostic& at(size_t i) { return all_[i]; }  // to say more about it
  std::string text() const;                     // all of them, in the order in which they were found
  // The same with one entry for each gap: "  and 11 more nodes: ...".
  std::string summary() const;

 private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
};

}  // namespace vireo

#endif  // VIREO_CONVERTER_DIAG_DIAGNOSTICS_H_
