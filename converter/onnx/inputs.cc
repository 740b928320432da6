#include "converter/onnx/inputs.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"

namespace vireo::importer {
namespace {

const char* kind_of(const ::onnx::TypeProto& type) {
  if (type.has_sequence_type())
    return type.sequence_type().elem_type().has_map_type() ? "a sequence of maps" : "a sequence";
  if (type.has_map_type()) return "a map";
  if (type.has_optional_type()) return "an optional";
  if (type.has_sparse_tensor_type()) return "a sparse tensor";
  return "of no type that is known";
}

constexpr int64_t kMostInputs = 4096;

// Exporters write "?", "-1" or "None" where they know no name: these mean nothing, least of all that two extents are
// equal.
bool names_an_extent(const std::string& text) {
  const bool letter =
      std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; });
  return letter && text != "None" && text != "null";
}

// What to do about an input that is no tensor and was not taken apart.
std::string advice(const ::onnx::ValueInfoProto& info) {
  const ::onnx::TypeProto& type = info.type();
  const ::onnx::TypeProto* held = nullptr;
  if (type.has_sequence_type()) held = &type.sequence_type().elem_type();
  if (type.has_optional_type()) held = &type.optional_type().elem_type();
  if (type.has_map_type()) return "a map has keys that are integers or strings, and values that are scalars";
  if (held == nullptr) return "export the model with tensors as inputs";
  if (held->has_map_type()) return "no operator reads such maps: make each map an input of its own";
  return "say how many elements it has with --elements " + info.name() + "=3: each becomes an input";
}

// An input that is a sequence, an optional or a map, as tensors.
struct ElementsOf {
  std::string name;
  std::vector<std::string> names;  // "x.0", "x.1"...; of an optional tensor "x"; of a map "x.keys", "x.values"
  bool tensor = false, empty_optional = false, map = false;
};

// The extent of a map's keys and values: how many entries it has.
std::string size_name(const std::string& map) { return map + ".size"; }

bool take_map_apart(const ::onnx::ValueInfoProto& info, ElementsOf* out, std::deque<::onnx::ValueInfoProto>* tensors) {
  const auto& map = info.type().map_type();
  const int key = map.key_type();
  const bool known = key > 0 && key < kDTypeCount;
  if (!known || (key != static_cast<int>(DType::kString) && !dtype_is_integer(static_cast<DType>(key)))) return false;
  if (!map.value_type().has_tensor_type() || map.value_type().tensor_type().shape().dim_size() != 0) return false;
  out->map = true;
  for (const char* part : {".keys", ".values"}) {
    tensors->emplace_back();
    tensors->back().set_name(info.name() + part);
    auto* type = tensors->back().mutable_type()->mutable_tensor_type();
    type->set_elem_type(out->names.empty() ? key : map.value_type().tensor_type().elem_type());
    type->mutable_shape()->add_dim()->set_dim_param(size_name(info.name()));
    out->names.push_back(tensors->back().name());
  }
  return true;
}

// False: a tensor, a map of what is no scalar, or a sequence of which nothing says how many elements it has (`count` is
// -1; of an optional that means that it is empty, unless it is a tensor, which is taken to be there).
bool take_apart(const ::onnx::ValueInfoProto& info, const ElementsOption* option, ElementsOf* out,
                std::deque<::onnx::ValueInfoProto>* tensors) {
  const ::onnx::TypeProto* type = &info.type();
  out->name = info.name();
  if (type->has_map_type()) return take_map_apart(info, out, tensors);
  const bool optional = type->has_optional_type();
  if (optional) type = &type->optional_type().elem_type();
  if (optional && option != nullptr && option->count < 0) {
    out->empty_optional = true;
    return true;
  }
  if (optional && type->has_tensor_type()) {
    out->tensor = true;
    tensors->emplace_back();
    tensors->back().set_name(info.name());
    *tensors->back().mutable_type() = *type;
    out->names.push_back(info.name());
    return true;
  }
  if (!type->has_sequence_type() || option == nullptr || option->count < 0 || option->count > kMostInputs) return false;
  if (!type->sequence_type().elem_type().has_tensor_type()) return false;
  for (int64_t i = 0; i < option->count; ++i) {
    tensors->emplace_back();
    ::onnx::ValueInfoProto& element = tensors->back();
    element.set_name(info.name() + "." + std::to_string(i));
    *element.mutable_type() = type->sequence_type().elem_type();
    // A name in the declaration is an extent of each element, not one extent of all.
    if (element.type().tensor_type().has_shape()) {
      for (auto& dim : *element.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
        if (!dim.has_dim_value()) dim.clear_value();
      }
    }
    out->names.push_back(element.name());
  }
  return true;
}

std::string text_of(const DimRange& d) {
  if (!d.name.empty()) return in_quotes(d.name);
  return std::to_string(d.lo) + (d.lo == d.hi ? "" : ".." + std::to_string(d.hi));
}

struct NamedBounds {
  DimRange range;
  std::string from;  // the input whose --shape says so
};

// The extent that the file declares for dimension `i`; -1: it is open.
int64_t declared_extent(const ::onnx::ValueInfoProto& info, int i) {
  const auto& shape = info.type().tensor_type().shape();
  return i < shape.dim_size() && shape.dim(i).has_dim_value() && shape.dim(i).dim_value() > 0 ? shape.dim(i).dim_value()
                                                                                              : -1;
}

constexpr int kDefaultsSinceIr = 4;  // before, a file lists each of its initialisers as an input
constexpr size_t kMostNamed = 4;

class InputReader {
 public:
  InputReader(const Tools& tools, Scope& scope) : tools_(tools), state_(tools.state), scope_(scope) {}

  // A name means one extent wherever it stands, so what --shape says about one input holds for all. Bounds are set
  // before any expression is built, because simplification uses them.
  void read() {
    read_options();
    list_inputs();
    check_option_names();
    bound_maps();
    for (const auto* info : inputs_) bound_dimensions(*info);
    for (const auto* info : inputs_) {
      ir::Value*& bound = scope_.names[info->name()];
      TensorType type;
      Diagnostic refusal;
      if (read_type(*info, &type, &refusal)) {
        bound = scope_.graph->add_input(info->name(), type);
      } else {
        bound = &state_.poison;
        refusal.tensor = info->name();
        state_.diagnostics.add(std::move(refusal));
      }
    }
    for (const ElementsOf& parts : apart_) put_together(parts);
  }

 private:
  void read_options() {
    for (const ShapeOption& s : state_.options.shapes) {
      if (options_.emplace(s.input, &s).second) continue;
      state_.diagnostics.error(Code::kBadShapeOption, "--shape is given twice for input " + in_quotes(s.input));
    }
  }

  // Before any input is bound.
  bool is_constant_input(const std::string& name) const { return scope_.names.count(name) != 0; }

  void list_inputs() {
    std::vector<const ::onnx::ValueInfoProto*> declared;
    for (const auto& info : state_.model.graph().input()) {
      if (is_constant_input(info.name())) continue;
      ElementsOf parts;
      const ElementsOption* option =
          info.type().has_tensor_type() ? nullptr : tools_.bundles.elements_option(info.name());
      if (!take_apart(info, option, &parts, &tensors_)) {
        declared.push_back(&info);
        continue;
      }
      for (size_t i = tensors_.size() - parts.names.size(); i < tensors_.size(); ++i) declared.push_back(&tensors_[i]);
      apart_.push_back(std::move(parts));
    }
    for (const auto* info : declared) {
      if (names_.insert(info->name()).second) {
        inputs_.push_back(info);
      } else {
        state_.diagnostics.error(Code::kDuplicateName, "two inputs of the model are named " + in_quotes(info->name()));
      }
    }
  }

  void check_option_names() const {
    std::string all;
    for (const auto* info : inputs_) all += (all.empty() ? "" : ", ") + info->name();
    for (const auto& [name, option] : options_) {
      if (names_.count(name) != 0) continue;
      if (is_constant_input(name)) {
        state_.diagnostics.error(
            Code::kBadShapeOption,
            "--shape names input " + in_quotes(name) + ", which is a constant: the file has a value for it",
            "--keep-input " + name + " keeps it as an input");
        continue;
      }
      std::string help = all.empty() ? "the model has no inputs" : "its inputs are: " + all;
      if (option->dims.size() == 1 && option->dims[0].name.empty())
        help += "; a dimension gets its bound from --bound " + name + "=" + text_of(option->dims[0]);
      state_.diagnostics.error(Code::kBadShapeOption,
                               "--shape names input " + in_quotes(name) + ", which the model does not have", help);
    }
  }

  // ---- dimensions ----

  // The name that --shape gives dimension `i`; "": none.
  std::string given_name(const ::onnx::ValueInfoProto& info, int i) const {
    const auto option = options_.find(info.name());
    const size_t at = static_cast<size_t>(i);
    return option == options_.end() || at >= option->second->dims.size() ? "" : option->second->dims[at].name;
  }

  std::string dim_name(const ::onnx::ValueInfoProto& info, int i) const {
    if (std::string given = given_name(info, i); !given.empty()) return given;
    const auto& shape = info.type().tensor_type().shape();
    if (i < shape.dim_size() && names_an_extent(shape.dim(i).dim_param())) return shape.dim(i).dim_param();
    return info.name() + "." + std::to_string(i);
  }

  // By --elements.
  void bound_maps() {
    for (const ElementsOf& parts : apart_) {
      const ElementsOption* option = parts.map ? tools_.bundles.elements_option(parts.name) : nullptr;
      if (option == nullptr) continue;
      if (option->count < 0) {
        state_.diagnostics.error(Code::kBadShapeOption,
                                 "--elements says none of " + in_quotes(parts.name) + ", which is a map",
                                 "say how many entries it has at most: --elements " + parts.name + "=8");
      } else {
        bounds_.emplace(size_name(parts.name), NamedBounds{{0, option->count}, parts.name});
      }
    }
  }

  // By --shape.
  void bound_dimensions(const ::onnx::ValueInfoProto& info) {
    const auto it = options_.find(info.name());
    if (it == options_.end() || !info.type().has_tensor_type()) return;
    const auto& declared = info.type().tensor_type();
    const std::vector<DimRange>& dims = it->second->dims;
    if (declared.has_shape() && declared.shape().dim_size() != static_cast<int>(dims.size())) {
      state_.diagnostics.error(Code::kBadShapeOption,
                               "--shape gives input " + in_quotes(info.name()) + " " + std::to_string(dims.size()) +
                                   " dimensions, the model declares " + std::to_string(declared.shape().dim_size()),
                               "give one number, range or name for each dimension");
      return;
    }
    for (size_t i = 0; i < dims.size(); ++i) bound_dimension(info, static_cast<int>(i), dims[i]);
  }

  void bound_dimension(const ::onnx::ValueInfoProto& info, int i, const DimRange& range) {
    const int64_t number = declared_extent(info, i);
    if (number >= 0 && (range.lo != number || range.hi != number)) {
      state_.diagnostics.warning(Code::kBadShapeOption,
                                 "--shape gives dimension " + std::to_string(i) + " of input " +
                                     in_quotes(info.name()) + " as " + text_of(range) +
                                     ", which the model declares as " + std::to_string(number),
                                 "where nodes of the model count on " + std::to_string(number) +
                                     ", they are refused or fail in a run: export the model with the dimension open");
    }
    if (!range.name.empty()) return;
    const std::string name = dim_name(info, i);
    if (range.hi == 0 && number != 0) {
      state_.diagnostics.warning(Code::kBadShapeOption,
                                 "--shape gives dimension " + std::to_string(i) + " of input " +
                                     in_quotes(info.name()) + " as 0: the input has no elements",
                                 "to leave a dimension open, write a name or a range in its place, such as n or 1..8");
    }
    const auto [at, fresh] = bounds_.emplace(name, NamedBounds{range, info.name()});
    const NamedBounds& known = at->second;
    if (fresh || number >= 0 || (known.range.lo == range.lo && known.range.hi == range.hi)) return;
    state_.diagnostics.error(
        Code::kBadShapeOption,
        "--shape gives dimension " + in_quotes(name) + " two extents: by input " + in_quotes(known.from) +
            " and by input " + in_quotes(info.name()),
        "dimensions of one name are one extent: give both the same, or one another name with --shape " + info.name() +
            "=NAME");
  }

  Dim extent(const ::onnx::ValueInfoProto& info, int i) {
    const std::string name = dim_name(info, i);
    const int64_t number = declared_extent(info, i);
    const auto at = bounds_.find(name);
    const bool declared = at == bounds_.end() && number >= 0 && given_name(info, i).empty();
    const auto known = state_.known.find(name);
    if (!declared && known != state_.known.end()) return known->second;
    if (at == bounds_.end()) return declared ? number : state_.dims->symbol(name);
    const DimRange& range = at->second.range;
    if (range.lo == range.hi) return range.lo;
    const Dim symbol = state_.dims->symbol(name);
    state_.dims->set_bounds(name, range.lo, range.hi);
    return symbol;
  }

  // ---- values ----

  // False where the input has no type that is served: `refusal` says why.
  bool read_type(const ::onnx::ValueInfoProto& info, TensorType* type, Diagnostic* refusal) {
    const auto refuse = [&](Code code, std::string what, std::string help = "") {
      refusal->code = code;
      refusal->what = std::move(what);
      refusal->help = std::move(help);
      return false;
    };
    if (!info.type().has_tensor_type()) {
      return refuse(Code::kUnsupportedType, std::string("this input is ") + kind_of(info.type()) + ", not a tensor",
                    advice(info));
    }
    const auto& declared = info.type().tensor_type();
    if (declared.elem_type() <= 0 || declared.elem_type() >= kDTypeCount) {
      return refuse(Code::kUnsupportedType,
                    "element type " + std::to_string(declared.elem_type()) + " is not one that ONNX defines");
    }
    type->dtype = static_cast<DType>(declared.elem_type());
    const auto option = options_.find(info.name());
    if (!declared.has_shape() && option == options_.end()) {
      return refuse(Code::kUnknownRank, "this input has no declared shape",
                    "give it one, for example --shape " + info.name() + "=1,3,224,224");
    }
    const size_t rank =
        declared.has_shape() ? static_cast<size_t>(declared.shape().dim_size()) : option->second->dims.size();
    if (rank > static_cast<size_t>(kMaxRank)) {
      return refuse(Code::kUnsupportedType, "this input has " + std::to_string(rank) + " dimensions, at most " +
                                                std::to_string(kMaxRank) + " are supported");
    }
    type->shape.rank = static_cast<int32_t>(rank);
    for (int i = 0; i < type->shape.rank; ++i) type->shape[i] = extent(info, i);
    if (type->shape.is_static() && tensor_bytes(*type) < 0) {
      return refuse(Code::kShapeOverflow,
                    "shape " + state_.dims->text(type->shape) + " has more bytes than can be counted");
    }
    return true;
  }

  // The bundle of an input that was taken apart.
  void put_together(const ElementsOf& parts) {
    Bundle b;
    b.optional = parts.empty_optional;
    b.map = parts.map;
    bool whole = true;
    for (const std::string& name : parts.names) {
      b.elements.push_back(scope_.names[name]);
      whole = whole && b.elements.back() != &state_.poison;
    }
    // An optional tensor that is there is a tensor.
    const bool tensor = parts.tensor && !parts.empty_optional;
    scope_.names[parts.name] = !whole ? &state_.poison : tensor ? b.elements[0] : tools_.bundles.add(std::move(b));
  }

  const Tools& tools_;
  ImportState& state_;
  Scope& scope_;
  std::map<std::string, const ShapeOption*> options_;  // by input
  std::deque<::onnx::ValueInfoProto> tensors_;         // inputs that are no tensors are taken apart into these
  std::vector<ElementsOf> apart_;
  std::vector<const ::onnx::ValueInfoProto*> inputs_;
  std::set<std::string> names_;                // of them
  std::map<std::string, NamedBounds> bounds_;  // of dimensions
};

}  // namespace

std::set<std::string> kept_inputs(ImportState& state) {
  std::set<std::string> values, inputs, kept;
  for (const auto& t : state.model.graph().initializer()) values.insert(t.name());
  for (const auto& t : state.model.graph().sparse_initializer()) values.insert(t.values().name());
  for (const auto& info : state.model.graph().input()) inputs.insert(info.name());
  for (const std::string& name : state.options.keep_inputs) {
    if (inputs.count(name) != 0) {
      if (values.count(name) != 0) kept.insert(name);
      continue;
    }
    state.diagnostics.error(
        Code::kBadShapeOption, "--keep-input names " + in_quotes(name) + ", which the model does not list as an input",
        values.count(name) == 0 ? "" : "the file has a value of this name: list it as an input too");
  }
  std::vector<std::string> constants;
  for (const auto& info : state.model.graph().input()) {
    if (values.count(info.name()) != 0 && kept.count(info.name()) == 0) constants.push_back(info.name());
  }
  if (constants.empty() || state.model.ir_version() < kDefaultsSinceIr) return kept;
  const std::string names = names_text(constants, kMostNamed);
  state.diagnostics.warning(Code::kConstantInput,
                            (constants.size() == 1 ? "input " : "inputs ") + names +
                                (constants.size() == 1 ? " has a value in the file: it is a constant"
                                                       : " have values in the file: they are constants"),
                            "where a run should give another value, keep it as an input: --keep-input " + constants[0]);
  return kept;
}

void add_inputs(const Tools& tools, Scope& scope) { InputReader(tools, scope).read(); }

}  // namespace vireo::importer
