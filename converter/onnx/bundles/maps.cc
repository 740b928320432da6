// Operators over maps (ai.onnx.ml 1): CastMap, DictVectorizer, ZipMap. A map is two tensors here, its keys [E] and its
// values [E]; the maps that ZipMap makes have the same keys, so all of them are keys [C] and values [N, C].
//   DictVectorizer   y[0, i] = the value of vocabulary[i], 0 or "" where the map has none
//   CastMap          DENSE: y[0, :] = the values in the order of rising keys; SPARSE: y[0, key] = value, 0 elsewhere
//   ZipMap           the values are x itself, the keys its labels, the last of equal ones
// Of equal keys of an input the last one counts where it matters (a map has none). Where ONNX is silent, as ONNX
// Runtime: a sparse key below 0 fails the run, one from max_map on is passed over, and the text in place of a value
// that is not there is "0.f". Numbers become text as Cast writes them, where ONNX Runtime writes six decimals.
#include "converter/onnx/bundles/maps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/context.h"
#include "converter/onnx/names.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/label_encoder/label_encoder_generated.h"
#include "sdk/ops/scatter/scatter_generated.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/top_k/top_k_generated.h"

namespace vireo::importer {
namespace {

struct Map {
  Value keys, values;
};

// "string keys" or "int64 keys"
std::string keys_text(DType t) { return std::string(dtype_name(t)) + " keys"; }

// `into` [n + 1] holds `otherwise`; the values are put at their places in it, and what is at n is nobody's.
Value scatter(Steps& s, Value otherwise, int64_t n, Value places, Value values) {
  const Value into = s.expand(otherwise, s.i64({n + 1}));
  return s.one(Op::kScatterElements, pack<attrs::ScatterElements>(attrs::ScatterElementsT{}), {into, places, values});
}

Value zero(ImportContext& ctx, Steps& s, DType t, const char* text) {
  return t == DType::kString ? ctx.add_string_constant({}, {text}) : s.scalar(t, 0);
}

// The first n elements of `v` as a row.
Value row_of(Steps& s, Value v, int64_t n) { return s.unsqueeze(s.slice(v, 0, s.i64({0}), s.i64({n})), {0}); }

// Place by key, so that the work is a search for each key of the map and not one for each word of the vocabulary. Keys
// that the vocabulary does not have go behind its places.
template <class Key>
Value look_up(ImportContext& ctx, const Map& map, const std::vector<Key>& vocabulary,
              std::vector<Key> attrs::LabelEncoderT::*keys) {
  std::map<Key, int64_t> places;  // sorted, as the operator wants its keys
  std::vector<int64_t> place_of;
  for (const Key& key : vocabulary)
    place_of.push_back(places.emplace(key, static_cast<int64_t>(places.size())).first->second);
  const auto n = static_cast<int64_t>(places.size());
  attrs::LabelEncoderT a;
  a.key_type = static_cast<uint8_t>(ctx.type(map.keys).dtype);
  a.value_type = static_cast<uint8_t>(DType::kI64);
  a.default_integer = n;
  for (const auto& [key, place] : places) {
    (a.*keys).push_back(key);
    a.values_integers.push_back(place);
  }
  Steps s(ctx);
  const Value at = s.one(Op::kLabelEncoder, pack<attrs::LabelEncoder>(a), {map.keys});
  const Value found = scatter(s, zero(ctx, s, ctx.type(map.values).dtype, ""), n, at, map.values);
  if (vocabulary.size() == places.size()) return row_of(s, found, n);
  return s.unsqueeze(s.gather(found, s.i64(place_of)), {0});  // a word that comes twice
}

Value dict_vectorizer(ImportContext& ctx, const Map& map) {
  const DType key = ctx.type(map.keys).dtype;
  const std::vector<std::string> strings = ctx.attr_strings("string_vocabulary");
  const std::vector<int64_t> integers = ctx.attr_ints("int64_vocabulary");
  if (strings.empty() == integers.empty()) {
    static_cast<void>(ctx.fail(Status::kInvalidModel,
                               std::string(strings.empty() ? "neither" : "both") + " of string_vocabulary and " +
                                   "int64_vocabulary " + (strings.empty() ? "holds anything" : "are given") +
                                   ", wanted one of them",
                               "keep the one whose type is that of the map's keys"));
    return {};
  }
  if (key != (strings.empty() ? DType::kI64 : DType::kString)) {
    static_cast<void>(
        ctx.fail(Status::kInvalidModel, std::string(strings.empty() ? "int64_vocabulary" : "string_vocabulary") +
                                            " is given for a map with " + keys_text(key)));
    return {};
  }
  return strings.empty() ? look_up(ctx, map, integers, &attrs::LabelEncoderT::keys_integers)
                         : look_up(ctx, map, strings, &attrs::LabelEncoderT::keys_strings);
}

Value cast_map(ImportContext& ctx, const Map& map) {
  const DType key = ctx.type(map.keys).dtype, value = ctx.type(map.values).dtype;
  const std::string to = ctx.attr_string("cast_to", "TO_FLOAT"), form = ctx.attr_string("map_form", "DENSE");
  const int64_t most = ctx.attr_int("max_map", 1);
  const DType type = to == "TO_FLOAT"    ? DType::kF32
                     : to == "TO_STRING" ? DType::kString
                     : to == "TO_INT64"  ? DType::kI64
                                         : DType::kNone;
  const auto refuse = [&](const std::string& what) {
    static_cast<void>(ctx.fail(Status::kInvalidModel, what));
    return Value{};
  };
  if (key != DType::kI64 || (value != DType::kF32 && value != DType::kString))
    return refuse("is given a map with " + keys_text(key) + " and " + dtype_name(value) +
                  " values, wanted int64 keys and float or string values");
  if (type == DType::kNone) return refuse("cast_to '" + to + "' is not TO_FLOAT, TO_STRING or TO_INT64");
  if (form != "DENSE" && form != "SPARSE") return refuse("map_form '" + form + "' is not DENSE or SPARSE");
  Steps s(ctx);
  const Value values = s.cast(map.values, type);
  if (form == "DENSE") {
    attrs::TopKT a;
    a.largest = false;
    if (!values) return {};
    const std::vector<Value> sorted = ctx.emit(Op::kTopK, pack<attrs::TopK>(a), {map.keys, s.shape(map.keys, 0, 1)}, 2);
    return s.unsqueeze(s.gather(values, sorted.size() == 2 ? sorted[1] : Value{}), {0});
  }
  if (most < 1 || most > std::numeric_limits<int32_t>::max())
    return refuse("max_map is " + std::to_string(most) + ", wanted 1 to 2147483647 in the SPARSE form");
  // One above the last place is outside, where a run fails.
  const Value outside = s.scalar(DType::kI64, static_cast<double>(most + 1));
  const Value last = s.one(Op::kMin, pack<attrs::Binary>(attrs::BinaryT{}),
                           {map.keys, s.scalar(DType::kI64, static_cast<double>(most))});
  const Value places = s.where(s.less(map.keys, s.scalar(DType::kI64, 0)), outside, last);
  return row_of(s, scatter(s, zero(ctx, s, type, "0.f"), most, places, values), most);
}

// The labels and the columns that bear them: of equal labels the last one's.
template <class Key>
std::vector<int64_t> last_of_each(std::vector<Key>* labels) {
  std::map<Key, int64_t> column;
  for (size_t i = 0; i < labels->size(); ++i) column[(*labels)[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < labels->size(); ++i) {
    if (column[(*labels)[i]] == static_cast<int64_t>(i)) kept.push_back(static_cast<int64_t>(i));
  }
  std::vector<Key> unique;
  for (const int64_t i : kept) unique.push_back((*labels)[static_cast<size_t>(i)]);
  *labels = std::move(unique);
  return kept;
}

Map zip_map(ImportContext& ctx) {
  std::vector<std::string> strings = ctx.attr_strings("classlabels_strings");
  std::vector<int64_t> integers = ctx.attr_ints("classlabels_int64s");
  const auto refuse = [&](const std::string& what) {
    static_cast<void>(ctx.fail(Status::kInvalidModel, what));
    return Map{};
  };
  if (strings.empty() == integers.empty()) {
    return refuse(std::string(strings.empty() ? "neither" : "both") + " of classlabels_strings and " +
                  "classlabels_int64s " + (strings.empty() ? "holds anything" : "are given") + ", wanted one of them");
  }
  Value x = ctx.input(0);
  const TensorType type = ctx.type(x);
  const int rank = type.shape.rank;
  if (!x || type.dtype != DType::kF32 || rank < 1 || rank > 2)
    return refuse(std::string("its input is ") + dtype_name(type.dtype) + " of rank " + std::to_string(rank) +
                  ", wanted float of rank 1 or 2");
  const auto count = static_cast<int64_t>(std::max(strings.size(), integers.size()));
  const Dim columns = type.shape[rank - 1];
  if (ctx.differ(columns, count))
    return refuse("has " + std::to_string(count) + " labels for an input of " +
                  (is_symbolic(columns) ? "another number of" : std::to_string(columns)) + " columns");
  Steps s(ctx);
  // Where only a run knows how many columns there are, the reshape is what fails when they are not as many as labels.
  if (rank == 1 || columns != count) x = s.reshape(x, {rank == 1 ? 1 : 0, count});
  const std::vector<int64_t> kept = strings.empty() ? last_of_each(&integers) : last_of_each(&strings);
  if (static_cast<int64_t>(kept.size()) != count) x = s.gather(x, s.i64(kept), 1);
  Shape n{1, {static_cast<int64_t>(kept.size())}};
  return {strings.empty() ? s.i64(integers) : ctx.add_string_constant(n, strings), x};
}

}  // namespace

bool is_map_operator(const std::string& domain, const std::string& op) {
  static const char* const kOperators[] = {"CastMap", "DictVectorizer", "ZipMap"};
  return domain == "ai.onnx.ml" && std::find(std::begin(kOperators), std::end(kOperators), op) != std::end(kOperators);
}

void import_map(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, int opset) {
  NodeContext ctx(tools, scope, node, "ai.onnx.ml", opset);
  const auto in_graph = [&](Value v) { return scope.graph->value(v.id); };
  ir::Value* made = nullptr;
  if (node.input_size() != 1 || node.input(0).empty() || node.output_size() != 1) {
    static_cast<void>(ctx.fail(Status::kInvalidModel,
                               "has " + std::to_string(node.input_size()) + " inputs and " +
                                   std::to_string(node.output_size()) + " outputs, wanted 1 of each",
                               ""));
    return tools.names.bind_failed(scope, node);
  }
  const Bundle* b = tools.bundles.find(tools.names.lookup(scope, node.input(0)));
  if (node.op_type() == "ZipMap") {
    const Map map = b == nullptr ? zip_map(ctx) : Map{};
    if (b != nullptr)
      static_cast<void>(
          ctx.fail(Status::kInvalidModel, std::string("its input is ") + kind(*b) + ", wanted a tensor", ""));
    if (map.keys && map.values) {
      Bundle maps;
      maps.map = true;
      maps.elements = {in_graph(map.keys), in_graph(map.values)};
      made = tools.bundles.add(std::move(maps));
    }
  } else if (b == nullptr || !b->map || b->elements[1]->type.shape.rank != 1) {
    static_cast<void>(ctx.fail(Status::kInvalidModel,
                               std::string("its input is ") + (b == nullptr ? "a tensor" : kind(*b)) + ", wanted a map",
                               ""));
  } else {
    const Map map{{b->elements[0]->id}, {b->elements[1]->id}};
    const Value y = node.op_type() == "CastMap" ? cast_map(ctx, map) : dict_vectorizer(ctx, map);
    if (y) made = in_graph(y);
  }
  if (made == nullptr || ctx.failed()) {
    if (!ctx.failed()) static_cast<void>(ctx.fail(Status::kInvalidModel, "is not understood", ""));
    return tools.names.bind_failed(scope, node);
  }
  tools.names.bind(scope, node, node.output(0), made);
}

}  // namespace vireo::importer
