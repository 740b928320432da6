#include "converter/convert.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

#include "converter/check.h"
#include "converter/emit/model_file.h"
#include "converter/export/export.h"
#include "converter/ir/graph.h"
#include "converter/ir/random.h"
#include "converter/onnx/import.h"
#include "converter/onnx/load.h"
#include "converter/passes/pipeline.h"

namespace vireo {

FileBytes::~FileBytes() { std::free(data_); }
FileBytes::FileBytes(FileBytes&& other) noexcept : data_(other.data_), size_(other.size_) {
  other.data_ = nullptr;
  other.size_ = 0;
}
FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
void FileBytes::resize(size_t size) {
  std::free(data_);
  size_ = 0;
  data_ = static_cast<uint8_t*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
  if (data_ == nullptr) throw std::bad_alloc();
  size_ = size;
}

bool parse_shape_option(const std::string& text, ShapeOption* out, std::string* error) {
  const size_t eq = text.rfind('=');
  if (eq == std::string::npos || eq == 0) {
    *error = "wanted NAME=1,3,224,224 or NAME=1..8,3,224,224, got \"" + text + "\"";
    return false;
  }
  out->input = text.substr(0, eq);
  out->dims.clear();
  const std::string list = text.substr(eq + 1);
  size_t at = 0;
  const auto number = [&](int64_t* n) {
    const size_t begin = at;
    *n = 0;
    while (at < list.size() && list[at] >= '0' && list[at] <= '9') {
      if (at - begin > 17) return false;
      *n = *n * 10 + (list[at++] - '0');
    }
    return at > begin;
  };
  while (!list.empty()) {
    DimRange r;
    if (std::isalpha(static_cast<unsigned char>(list[at])) != 0) {
      r.name = list.substr(at, list.find(',', at) - at);
      at += r.name.size();
    } else {
      if (!number(&r.lo)) break;
      r.hi = r.lo;
      if (list.compare(at, 2, "..") == 0) {
        at += 2;
        if (!number(&r.hi) || r.hi < r.lo) break;
      }
    }
    out->dims.push_back(r);
    if (at == list.size()) return true;
    if (list[at++] != ',') break;
  }
  if (list.empty()) return true;
  *error = "in \"" + text + "\": wanted whole numbers, bounds like 1..8 or names, divided by commas";
  return false;
}

bool parse_bound_option(const std::string& text, BoundOption* out) {
  ShapeOption one;
  std::string error;
  if (!parse_shape_option(text, &one, &error) || one.dims.size() != 1 || !one.dims[0].name.empty()) return false;
  const DimRange& range = one.dims[0];
  *out = {one.input, range.lo == range.hi ? 0 : range.lo, range.hi};
  return true;
}

namespace {

// Passes see the bounds; import has been, and what it made is right for wider ones.
bool apply_bounds(const std::vector<BoundOption>& bounds, const std::vector<importer::HeldExtent>& held,
                  ir::DimTable& dims, Diagnostics* diagnostics) {
  for (const BoundOption& bound : bounds) {
    const auto known = std::find_if(held.begin(), held.end(),
                                    [&](const importer::HeldExtent& h) { return h.name == bound.dimension; });
    if (known != held.end()) {
      if (bound.lo <= known->extent && known->extent <= bound.hi) continue;
      diagnostics->error(Code::kBadShapeOption, "--bound gives dimension \"" + bound.dimension +
                                                    "\" other extents than " + std::to_string(known->extent) +
                                                    ", and " + known->op + " node \"" + known->node +
                                                    "\" takes nothing else");
      continue;
    }
    bool found = false;
    std::string all;
    for (const ir::DimTable::Atom& atom : dims.atoms()) {
      if (atom.kind != ExprKind::kSymbol || atom.symbol.data_dependent) continue;
      found = found || atom.symbol.name == bound.dimension;
      all += (all.empty() ? "" : ", ") + atom.symbol.name;
    }
    if (!found) {
      diagnostics->error(Code::kBadShapeOption,
                         "--bound names dimension \"" + bound.dimension + "\", which is not there",
                         all.empty() ? "the model has no open dimensions" : "the open dimensions are: " + all);
    } else if (!dims.narrow(dims.symbol(bound.dimension), bound.lo, bound.hi, dims.atoms().size())) {
      const Interval own = dims.interval(dims.symbol(bound.dimension));
      diagnostics->error(Code::kBadShapeOption, "--bound gives dimension \"" + bound.dimension + "\" at most " +
                                                    std::to_string(bound.hi) + ", and it is at least " +
                                                    std::to_string(own.lo));
    }
  }
  return !diagnostics->failed();
}

std::string type_text(const ir::DimTable& dims, const TensorType& t) {
  std::string out = dtype_name(t.dtype);
  out += "[";
  for (int i = 0; i < t.shape.rank; ++i) {
    const Dim d = t.shape[i];
    out += (i == 0 ? "" : ",") + dims.text(d);
    const Interval range = dims.interval(d);
    uint32_t atom = 0;
    if (!dims.is_symbol(d, &atom) || (range.open() && range.lo <= 0)) continue;
    out += "=" + std::to_string(range.lo) + ".." + (range.open() ? "" : std::to_string(range.hi));
  }
  return out + "]";
}

// The model is read anew for each import, which takes it apart.
bool read_model(const std::string& path, const std::string* bytes, ::onnx::ModelProto* model,
                emit::Provenance* provenance, Diagnostics* found) {
  if (bytes == nullptr) return importer::load_model(path, model, &provenance->source_hash, found);
  if (model->ParseFromString(*bytes)) return true;
  found->error(Code::kNotOnnx, "these bytes do not parse as an ONNX model");
  return false;
}

// Once more with the extents that the graph holds, and again while that shows others. What it said is replaced.
void import_held(const std::string& path, const std::string* bytes, const ConvertOptions& options,
                 importer::Guess guess, emit::Provenance* provenance, importer::ImportedModel* kept, Diagnostics* said,
                 std::vector<importer::HeldExtent>* held) {
  std::map<std::string, int64_t> known;
  while (kept->graph != nullptr && !kept->held.empty()) {
    const std::vector<importer::HeldExtent> more = kept->held;
    for (const importer::HeldExtent& h : more) known[h.name] = h.extent;
    Diagnostics found;
    ::onnx::ModelProto model;
    if (!read_model(path, bytes, &model, provenance, &found)) return;
    importer::ImportedModel again = importer::import_model(model, path, options, guess, &found, known);
    if (again.graph == nullptr || again.assumption_failed) return;
    *kept = std::move(again);
    *said = std::move(found);
    held->insert(held->end(), more.begin(), more.end());
  }
}

// Import, once more with another guess where one about ranks does not give what the model declares.
importer::ImportedModel import(const std::string& path, const std::string* bytes, const ConvertOptions& options,
                               emit::Provenance* provenance, Diagnostics* diagnostics,
                               std::vector<importer::HeldExtent>* held) {
  importer::ImportedModel kept;
  Diagnostics said;
  importer::Guess taken = importer::kGuesses[0];
  for (const importer::Guess guess : importer::kGuesses) {
    Diagnostics found;
    ::onnx::ModelProto model;
    if (!read_model(path, bytes, &model, provenance, &found)) {
      for (const Diagnostic& d : found.all()) diagnostics->add(d);
      return {};
    }
    importer::ImportedModel imported = importer::import_model(model, path, options, guess, &found);
    const bool better = imported.graph != nullptr && !imported.assumption_failed;
    if (guess == importer::kGuesses[0] || better) {
      kept = std::move(imported);
      said = std::move(found);
      taken = guess;
    }
    if (better || !kept.assumption_failed) break;
  }
  if (!kept.assumption_failed) import_held(path, bytes, options, taken, provenance, &kept, &said, held);
  for (const Diagnostic& d : said.all()) diagnostics->add(d);
  for (const importer::HeldExtent& h : *held) {
    const std::string extent = std::to_string(h.extent);
    diagnostics->warning(Code::kDeclaredOtherwise,
                         "dimension \"" + h.name + "\" of the inputs is declared as open, and " + h.op + " node \"" +
                             h.node + "\" takes nothing but " + extent + ": the file has " + extent,
                         "to have it open, export the model with this dimension dynamic: a shape or a weight inside "
                         "counts on " +
                             extent);
  }
  return kept;
}

// The check, and whoever else wants to see what passes do.
class Watch final : public passes::Observer {
 public:
  Watch(passes::Observer* check, passes::Observer* other) : check_(check), other_(other) {}
  bool begin(const ir::Graph& graph) override {
    return (other_ == nullptr || other_->begin(graph)) && (check_ == nullptr || check_->begin(graph));
  }
  bool after(const char* pass, const ir::Graph& graph, PassLog* report) override {
    return (other_ == nullptr || other_->after(pass, graph, report)) &&
           (check_ == nullptr || check_->after(pass, graph, report));
  }

 private:
  passes::Observer* check_;
  passes::Observer* other_;
};

// Import, passes, layout: everything but writing the .vireo file. Null on failure. `bytes`: the model, where it is in
// no file.
std::unique_ptr<emit::ModelFile> prepare(const std::string& path, const std::string* bytes,
                                         const ConvertOptions& options, Diagnostics* diagnostics,
                                         ConvertReport* report) {
  const auto tell = [&](const char* stage) {
    if (options.progress) options.progress(stage, kUnknownShare);
  };
  emit::Provenance provenance;
  const size_t slash = path.find_last_of('/');
  provenance.source = slash == std::string::npos ? path : path.substr(slash + 1);
  tell("import");
  std::vector<importer::HeldExtent> held;
  importer::ImportedModel imported = import(path, bytes, options, &provenance, diagnostics, &held);
  report->nodes_passed_over = imported.nodes_passed_over;
  if (imported.graph == nullptr) return nullptr;
  ir::Graph& graph = *imported.graph;
  if (!apply_bounds(options.bounds, held, graph.dims(), diagnostics)) return nullptr;
  provenance.producer = imported.producer;
  provenance.opsets = imported.opsets;
  report->nodes_imported = ir::count_nodes(graph);
  tell("optimise");
  PassChecker checker(options, diagnostics);
  Watch watch(options.check == nullptr ? nullptr : &checker, options.observer);
  if (!passes::run_pipeline(graph, options, &watch, diagnostics, report)) return nullptr;
  if (options.check != nullptr && options.check_layers) {
    tell("compare layers");
    checker.layers(&report->layers, &report->layers_failed);
  }
  for (const PassLog& p : report->passes) {
    if (p.changes > 0) provenance.passes.push_back(p.name + " " + std::to_string(p.changes));
  }
  const std::unique_ptr<ir::Graph> standard = options.emit_onnx.empty() ? nullptr : graph.clone();
  emit::separate_outputs(graph);
  report->nodes = ir::count_nodes(graph);
  std::map<std::string, size_t> ops;
  for (const ir::Node& n : graph.nodes()) ++ops[passes::kind_of(n)];
  report->ops.assign(ops.begin(), ops.end());
  for (const ir::Value* v : graph.inputs())
    report->inputs.push_back({v->name, type_text(graph.dims(), v->type), false});
  const std::vector<bool> random = ir::random_outputs(graph);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    report->outputs.push_back({graph.output_names()[i], type_text(graph.dims(), graph.outputs()[i]->type), random[i]});
  }
  tell("plan");
  std::unique_ptr<emit::ModelFile> file = emit::ModelFile::build(graph, options, provenance, diagnostics, report);
  // No file before everything that may be refused has been.
  if (file == nullptr || diagnostics->failed() || standard == nullptr) return file;
  return exporter::export_onnx(*standard, options.emit_onnx, diagnostics) ? std::move(file) : nullptr;
}

template <class Finish>
bool convert(const std::string& path, const std::string* bytes, const ConvertOptions& options, Diagnostics* diagnostics,
             ConvertReport* report, const Finish& finish) {
  const auto start = std::chrono::steady_clock::now();
  ConvertReport own;
  if (report == nullptr) report = &own;
  *report = {};
  bool good = false;
  try {
    const std::unique_ptr<emit::ModelFile> file = prepare(path, bytes, options, diagnostics, report);
    if (file != nullptr && options.progress) options.progress("write", kUnknownShare);
    good = file != nullptr && !diagnostics->failed() && finish(*file);
  } catch (const std::bad_alloc&) {
    diagnostics->error(Code::kFileTooLarge, "there is not enough memory to convert \"" + path + "\"",
                       "keep the weights in external data, which is mapped and not loaded");
  }
  report->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return good;
}

}  // namespace

bool convert_file(const std::string& onnx_path, const std::string& vireo_path, const ConvertOptions& options,
                  Diagnostics* diagnostics, ConvertReport* report) {
  return convert(onnx_path, nullptr, options, diagnostics, report,
                 [&](const emit::ModelFile& file) { return file.write(vireo_path, diagnostics); });
}

bool convert_to_memory(const std::string& onnx_path, const ConvertOptions& options, FileBytes* out,
                       Diagnostics* diagnostics, ConvertReport* report) {
  return convert(onnx_path, nullptr, options, diagnostics, report, [&](const emit::ModelFile& file) {
    file.write(out);
    return true;
  });
}

bool check_model(const std::string& onnx_path, const ConvertOptions& options, Diagnostics* diagnostics,
                 ConvertReport* report) {
  return convert(onnx_path, nullptr, options, diagnostics, report, [](const emit::ModelFile&) { return true; });
}

bool check_bytes(const std::string& onnx, const ConvertOptions& options, Diagnostics* diagnostics,
                 ConvertReport* report) {
  return convert("", &onnx, options, diagnostics, report, [](const emit::ModelFile&) { return true; });
}

}  // namespace vireo
