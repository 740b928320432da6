// The converter's only entry: an ONNX file in, a .vireo file (or its bytes) and a report out.
#ifndef VIREO_CONVERTER_CONVERT_H_
#define VIREO_CONVERTER_CONVERT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "converter/diag/diagnostics.h"
#include "converter/stage/evaluator.h"
#include "converter/stage/stage.h"
#include "sdk/base/span.h"

namespace vireo {

// One dimension of --shape: a number (lo == hi), bounds, inclusive, or a name, which leaves it open.
struct DimRange {
  int64_t lo = 0;
  int64_t hi = 0;
  std::string name = {};  // "": numbers
};
struct ShapeOption {
  std::string input;
  std::vector<DimRange> dims;
};
// Reads "NAME=1,3,224,224", "NAME=1..8,3,224,224" and "NAME=batch,3,224,224"; NAME may hold '=' (the last one divides),
// an empty list is a scalar. On failure: false, and `error` says what was wanted.
bool parse_shape_option(const std::string& text, ShapeOption* out, std::string* error);

// --bound: what a dimension can be, by its name: of inputs, or of an extent that data decide.
struct BoundOption {
  std::string dimension;
  int64_t lo = 0;
  int64_t hi = 0;
};
// Reads "NAME=8" (at most) and "NAME=1..8"; NAME may hold '='. False: neither.
bool parse_bound_option(const std::string& text, BoundOption* out);

// --elements: how many elements an input that is a sequence has, or at most may be in an output; -1 for an optional
// that is empty.
struct ElementsOption {
  std::string name;
  int64_t count = 0;
};

// --string-bytes: the most bytes of a string of an input or a result, where memory is reserved for text.
constexpr uint32_t kStringBytes = 256;

// What an input or output means; the fields are those of vireo.fb.Io in the file.
struct IoMeaning {
  std::string name;     // of the graph's input or output
  std::string meaning;  // "", "image", "audio", "tokens", "features", "state"
  std::string layout, color, resize;
  float range_lo = 0, range_hi = 1;
  std::vector<float> mean, std;
  uint32_t sample_rate = 0;
};

// A test case that the file carries. Inputs in the order of the graph's inputs.
struct TestOutput {
  HostTensor values;          // dtype kNone: random by design, only shape and type are checked
  std::vector<int64_t> dims;  // the whole output's shape, where `values` keeps every step-th element only
  uint64_t step = 1;
  float atol = 1e-5f, rtol = 1e-4f;  // |d| <= atol * max|ref| + rtol * |ref|
};
struct TestCaseOption {
  std::vector<HostTensor> inputs;
  std::vector<TestOutput> outputs;
};

namespace passes {
class Observer;
}
namespace target {
struct KernelCosts;
}

// Is called when a stage begins, and now and then while it goes on: what is done ("optimise, fold_constants"), and
// which share of that stage is behind, 0 to 1.
using TellProgress = std::function<void(const std::string& stage, double share)>;
constexpr double kUnknownShare = -1;

// What the exporter wrote beside a node: its metadata_props, and "doc_string". Names of nodes as messages have them.
using NodeNotes = std::vector<std::pair<std::string, std::string>>;
using NotesReader = std::function<void(const std::string& node, const NodeNotes& notes)>;

struct ConvertOptions {
  std::vector<ShapeOption> shapes;  // the elements of a sequence "x" are inputs "x.0", "x.1"...
  std::vector<ElementsOption> elements;
  uint32_t string_bytes = kStringBytes;  // --string-bytes
  int nchwc_block = 0;                   // --nchwc-block: of the saved model's NCHWc forms; 0: find it
  std::vector<std::string> keep_inputs;  // --keep-input: inputs that stay inputs though the file has values for them
  bool optimize = true;                  // false: import, fold nothing, fuse nothing
  std::vector<std::string> skip;         // passes left out, by name
  Stages stages;                         // what runs among the passes besides: a quantizer (quant/schemes/)
  std::string emit_onnx;                 // write the optimised graph as ONNX to this file, too; "": no
  std::vector<IoMeaning> io;
  std::string signature_name = "main";
  std::vector<std::pair<std::string, std::string>> states;  // (output, input): carried from run to run
  std::vector<TestCaseOption> tests;
  std::vector<std::string> option_texts;       // the command line's, for the file's provenance
  const target::KernelCosts* costs = nullptr;  // of the target's kernels; null: target::default_costs()
  // --check: after each pass that changed something, the graph is compared with the one before it.
  Evaluator* check = nullptr;                         // null: no check
  std::vector<std::vector<HostTensor>> check_inputs;  // empty: one set of random inputs
  double check_atol = 1e-4, check_rtol = 1e-3;        // as TestOutput, for float32
  bool check_layers = false;                          // with `check`: compare values inside the model, too
  TellProgress progress;                              // may be empty
  NotesReader notes;  // called for each node that has notes, before the observer sees the graph; may be empty
  passes::Observer* observer = nullptr;  // sees the graph before the passes and after each; null: nobody
  std::vector<BoundOption> bounds;
  bool brief = false;  // the file is run a few times and thrown away: no search for a smaller arena
};

struct ValueReport {
  std::string name;
  std::string type;     // "float32[batch=1..8,3,224,224]"
  bool random = false;  // outputs: random operators have a part in it
};
// A value inside the model as the imported graph and the converted one compute it, over all inputs of the check.
struct LayerReport {
  std::string value;
  double max_abs = 0;    // largest |d|
  double max_value = 0;  // largest |value| of the imported graph's
  double sqnr_db = 0;    // 10 log10(sum r^2 / sum d^2); infinite: no difference
};
struct ConvertReport {
  std::vector<ValueReport> inputs, outputs;
  size_t nodes_imported = 0, nodes = 0;
  size_t nodes_passed_over = 0;  // of a model that was refused: nodes that read what failed ones make
  std::vector<std::pair<std::string, size_t>> ops;  // of the final graph, by name; a composite counts by its hint
  std::vector<PassLog> passes;  // one a pass or stage, however often it ran; what the last run declined
  uint64_t constant_bytes = 0;  // in the file, each content once
  uint64_t file_bytes = 0;
  bool planned = false;      // false: a bound is open, so sessions plan
  uint64_t arena_bytes = 0;  // of the portable plan
  uint64_t arena_lower_bound = 0;
  // Parts of Slice, Split, Concat and Gather that lie in their whole under the portable plan, the bytes that a run need
  // not copy and those it does; why parts are copied, with counts.
  size_t copies_saved = 0;
  uint64_t copies_saved_bytes = 0, copies_left_bytes = 0;
  std::vector<std::pair<std::string, size_t>> copies_left;
  std::vector<LayerReport> layers;           // with check_layers, worst first
  std::string layers_failed;                 // why there are none
  std::vector<std::string> open_dimensions;  // need a bound when a session is created
  double seconds = 0;
};

// Memory aligned to 64 bytes, as vireo_model_load_memory wants it.
class FileBytes {
 public:
  FileBytes() = default;
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  void resize(size_t size);  // contents are undefined
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// Converts `onnx_path` into the file `vireo_path`, which appears whole or not at all. True: written; problems, also
// those of a conversion that went well (warnings), are in `diagnostics`. `report` may be null.
bool convert_file(const std::string& onnx_path, const std::string& vireo_path, const ConvertOptions& options,
                  Diagnostics* diagnostics, ConvertReport* report);
// The same into memory: what `vireo run model.onnx` loads.
bool convert_to_memory(const std::string& onnx_path, const ConvertOptions& options, FileBytes* out,
                       Diagnostics* diagnostics, ConvertReport* report);
// Everything but writing: what `vireo check` tells.
bool check_model(const std::string& onnx_path, const ConvertOptions& options, Diagnostics* diagnostics,
                 ConvertReport* report);
// The same for a serialised model without external data.
bool check_bytes(const std::string& onnx, const ConvertOptions& options, Diagnostics* diagnostics,
                 ConvertReport* report);
// Says more of each node that was refused (explain.cc): which small change of it converts, by trying, where its
// diagnostic does not know better. `folder`: where each such node is written as a model of one node; "": nowhere.
// False: a file could not be written.
bool explain_refusals(const std::string& folder, Diagnostics* diagnostics);

}  // namespace vireo

#endif  // VIREO_CONVERTER_CONVERT_H_
