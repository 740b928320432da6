// The C API's handles as C++ values, and a model opened the way every verb opens it.
#ifndef VIREO_C_API_CLI_HANDLES_H_
#define VIREO_C_API_CLI_HANDLES_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c_api/cli/array.h"
#include "c_api/cli/failure.h"
#include "vireo/trust.h"
#include "vireo/vireo.h"

namespace vireo::cli {

struct ReleaseHandle {
  void operator()(vireo_runtime* r) const { vireo_runtime_release(r); }
  void operator()(vireo_model* m) const { vireo_model_release(m); }
  void operator()(vireo_session* s) const { vireo_session_release(s); }
};
using Runtime = std::unique_ptr<vireo_runtime, ReleaseHandle>;
// With what was measured of its devices, and the keys that the command line names. `allocator` NULL: the platform's.
// Throws Failure.
Runtime start_runtime(int threads, const vireo_allocator* allocator = nullptr);
using Session = std::unique_ptr<vireo_session, ReleaseHandle>;

// Carries the status besides the text: conformance tells a refusal from a fault by it.
class ApiFailure : public Failure {
 public:
  ApiFailure(vireo_status status, const std::string& what, const std::string& help, ErrorFacts facts)
      : Failure(what, help, std::move(facts)), status_(status) {}
  vireo_status status() const { return status_; }

 private:
  vireo_status status_;
};

constexpr char kDamaged[] = "the file is damaged or of another version: copy it again, or convert the model again";
constexpr char kFixedSizes[] =
    "sizes inside the model were fixed when it was exported, and these inputs do not fit them: give inputs of the "
    "sizes that it was exported with, or export it with these dimensions open";

// Throws ApiFailure unless `status` is VIREO_OK; `doing` says what was tried ("start the runtime").
void check(vireo_status status, const vireo_error& error, const std::string& doing);
// The same of a file, whose name stands behind `doing` ("load"). `if_invalid`: what to do about VIREO_INVALID_MODEL. A
// file that was verified means something else by it than one that is loaded.
void check_file(vireo_status status, const vireo_error& error, const std::string& doing, const std::string& file,
                const std::string& if_invalid = kFixedSizes);

// A .vireo file in memory, aligned to 64.
struct ModelBytes {
  std::shared_ptr<const void> owner;
  const void* data = nullptr;
  size_t size = 0;
};
// Converts an ONNX file in memory; throws Failure. Empty in a binary without the converter.
using ConvertOnnx = std::function<ModelBytes(const std::string& path)>;

// Who signed a file, as it says itself: nobody is trusted here. None where it does not load.
std::optional<vireo_signature> signature_as_it_stands(const std::string& path);

// A verified model with its runtime. Every byte of a .vireo file is checked against its hash tree before it is used.
class Model {
 public:
  // `threads` 0: one per core. `allocator`: of the runtime, NULL the platform's.
  Model(const std::string& path, int threads, const ConvertOnnx& convert, const vireo_allocator* allocator = nullptr);
  // `prepare`, where there is one, sees the runtime before the model is loaded.
  Model(const ModelBytes& bytes, const std::string& name, int threads,
        const std::function<void(vireo_runtime*)>& prepare = {}, const vireo_allocator* allocator = nullptr);
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;

  const vireo_model* get() const { return model_.get(); }
  const vireo_runtime* runtime() const { return runtime_.get(); }
  const std::string& name() const { return name_; }
  bool converted() const { return converted_; }  // it was an ONNX file
  double load_ms() const { return load_ms_; }    // map and verify; the tool's hash check is not in it
  const std::vector<vireo_value_info>& inputs() const { return inputs_; }
  const std::vector<vireo_value_info>& outputs() const { return outputs_; }
  vireo_model_about about() const;

 private:
  void read_values();

  std::string name_;
  bool converted_ = false;
  double load_ms_ = 0;
  ModelBytes bytes_;
  Runtime runtime_;
  std::unique_ptr<vireo_model, ReleaseHandle> model_;
  std::vector<vireo_value_info> inputs_, outputs_;
};

// "float32[batch=1..8,3,n=2..,?]"
std::string type_text(const vireo_value_info& info);
std::vector<int64_t> most_dims(const vireo_value_info& info);  // upper bounds, -1 where open

// Closes open dimensions with the shapes that are going to be used. Declared bounds of the file are left as they are.
class Bounds {
 public:
  // Throws Failure when `dims` does not fit `info`; `where` names the file or option the shape came from.
  void add(const vireo_value_info& info, const std::vector<int64_t>& dims, const std::string& where);
  // The same for an output whose size depends on the data, from an answer that is known: sizes up to that one. Never
  // throws.
  void add_output(const vireo_value_info& info, const std::vector<int64_t>& dims);
  // A dimension by its name.
  void set(const std::string& name, int64_t lo, int64_t hi) { ranges_[name] = {lo, hi}; }
  // Closes what add() left open in `info` with `extent`, or the least that the model takes; returns a
  // line for each that was closed this way.
  std::vector<std::string> close(const vireo_value_info& info, int64_t extent);
  std::vector<vireo_bound> list() const;  // refers to this object
  // Upper bounds of `info` with these bounds in force.
  std::vector<int64_t> dims_of(const vireo_value_info& info) const;

 private:
  std::map<std::string, std::pair<int64_t, int64_t>> ranges_;
};

struct SessionChoice {
  std::string device = {};  // "": auto
  int threads = 0;
  bool profile = false;
  vireo_packing packing = VIREO_PACKING_DEFAULT;
  const vireo_preference* preference = nullptr;  // outlives the session
  std::string cache = {};                        // folder of packed weights; "": none
  std::string require = {};                      // vireo_session_options.require
  std::string target = {};                       // the file's plan; "": the first that fits, "none": none
  vireo_failover failover = VIREO_FAILOVER_DEFAULT;
  vireo_math math = VIREO_MATH_EXACT;
  vireo_priority priority = VIREO_PRIORITY_NORMAL;
  uint64_t slice_ns = 0;
};
// Dimensions that no input's shape closes (data decide them) get the bound kAssumedExtent, and a line on standard error
// says so.
constexpr int64_t kAssumedExtent = 256;
// Of many such dimensions a tensor may be the product: a half, a quarter and so on is assumed where the session would
// take more than this.
constexpr uint64_t kAssumedBytes = uint64_t{1} << 30;
constexpr int64_t kLeastAssumedExtent = 16;
// `bounds` and what is assumed for the rest; `say`: with that line. Refers to `bounds`.
std::vector<vireo_bound> complete(const Model& model, const SessionChoice& choice, const Bounds& bounds, bool say);
// Refers to both.
vireo_session_options options_of(const SessionChoice& choice, const std::vector<vireo_bound>& bounds);
Session make_session(const Model& model, const SessionChoice& choice, const Bounds& bounds);
// Where such a session would run each node; nothing is prepared for it.
void visit_placement(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                     const std::function<void(const vireo_placed_node&)>& visit);
vireo_memory memory_of(const Model& model, const SessionChoice& choice, const Bounds& bounds);

// One run, whose outputs lie in the session until its next one. An input without a value (dtype VIREO_NONE) is read
// from the carried state.
std::vector<vireo_tensor> run_in_place(const Model& model, vireo_session* session, const std::vector<Array>& inputs);
// The same; copies of all outputs.
std::vector<Array> run_once(const Model& model, vireo_session* session, const std::vector<Array>& inputs);

std::vector<vireo_node_info> nodes_of(const vireo_session* session);
// The distinct devices of a session's nodes, control flow left out: "cpu".
std::string devices_of(const vireo_session* session);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_HANDLES_H_
