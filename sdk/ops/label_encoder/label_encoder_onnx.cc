// ai.onnx.ml 1 maps the strings of one list to their indices, or back; 2 and 4 map keys to values. Keys are sorted
// here, the last of equal ones kept (opset 4: "the last key takes precedence"), so that the kernel can search by
// halves.
#include <algorithm>
#include <numeric>

#include "sdk/ops/label_encoder/label_encoder.h"
#include "sdk/ops/label_encoder/label_encoder_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

struct List {
  DType type = DType::kNone;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> strings;

  size_t size() const {
    return type == DType::kString ? strings.size() : (dtype_is_float(type) ? reals.size() : integers.size());
  }
  bool is_label() const {
    return type == DType::kString || type == DType::kI64 || type == DType::kI32 || type == DType::kI16 ||
           type == DType::kF32 || type == DType::kF64;
  }
  bool before(size_t a, size_t b) const {
    if (type == DType::kString) return strings[a] < strings[b];  // bytes as unsigned, like StringRef
    return dtype_is_float(type) ? real_key_before(reals[a], reals[b]) : integers[a] < integers[b];
  }
  List pick(const std::vector<size_t>& order) const {
    List out;
    out.type = type;
    for (size_t k : order) {
      if (type == DType::kString) {
        out.strings.push_back(strings[k]);
      } else if (dtype_is_float(type)) {
        out.reals.push_back(reals[k]);
      } else {
        out.integers.push_back(integers[k]);
      }
    }
    return out;
  }
};

List from_tensor(const ConstTensor& t) {
  List l;
  l.type = t.type.dtype;
  l.strings = t.strings;
  for (int64_t i = 0; i < t.count() && l.type != DType::kString; ++i) {
    if (dtype_is_float(l.type)) {
      l.reals.push_back(read_real(l.type, t.bytes.data(), i));
    } else {
      l.integers.push_back(read_integer(l.type, t.bytes.data(), i));
    }
  }
  return l;
}

// <prefix>_strings, _int64s, _floats or _tensor.
Status read_list(ImportContext& ctx, const std::string& prefix, List* out) {
  int found = 0;
  if (ctx.has_attr(prefix + "_strings")) {
    ++found;
    out->type = DType::kString;
    out->strings = ctx.attr_strings(prefix + "_strings");
  }
  if (ctx.has_attr(prefix + "_int64s")) {
    ++found;
    out->type = DType::kI64;
    out->integers = ctx.attr_ints(prefix + "_int64s");
  }
  if (ctx.has_attr(prefix + "_floats")) {
    ++found;
    out->type = DType::kF32;
    for (float v : ctx.attr_floats(prefix + "_floats")) out->reals.push_back(static_cast<double>(v));
  }
  if (const ConstTensor* t = ctx.attr_tensor(prefix + "_tensor")) {
    ++found;
    *out = from_tensor(*t);
  }
  if (found != 1) {
    return ctx.fail(Status::kInvalidModel,
                    std::to_string(found) + " of the attributes " + prefix + "_* are given, wanted one");
  }
  if (!out->is_label()) {
    return ctx.fail(Status::kUnsupported, prefix + "_tensor of type " + dtype_name(out->type),
                    "use strings, int16, int32, int64, float or double");
  }
  return Status::kOk;
}

Status read_default(ImportContext& ctx, attrs::LabelEncoderT* a, DType value_type) {
  a->default_integer = ctx.attr_int("default_int64", -1);
  a->default_real = static_cast<double>(ctx.attr_float("default_float", -0.0f));
  a->default_string = ctx.attr_string("default_string", "_Unused");
  const ConstTensor* t = ctx.attr_tensor("default_tensor");
  if (t == nullptr) return Status::kOk;
  const List l = from_tensor(*t);
  if (l.type != value_type || l.size() != 1) {
    return ctx.fail(Status::kInvalidModel, std::string("default_tensor holds ") + std::to_string(l.size()) + " of " +
                                               dtype_name(l.type) + ", wanted one " + dtype_name(value_type));
  }
  if (l.type == DType::kString) {
    a->default_string = l.strings[0];
  } else if (dtype_is_float(l.type)) {
    a->default_real = l.reals[0];
  } else {
    a->default_integer = l.integers[0];
  }
  return Status::kOk;
}

// Sorts, drops repeated keys, emits.
Status emit_map(ImportContext& ctx, List keys, List values);

// CategoryMapper: integers and strings of equal places, in the direction that the input's type asks for.
Status import_mapper(ImportContext& ctx) {
  List integers, strings;
  integers.type = DType::kI64;
  integers.integers = ctx.attr_ints("cats_int64s");
  strings.type = DType::kString;
  strings.strings = ctx.attr_strings("cats_strings");
  const bool from_strings = ctx.type(ctx.input(0)).dtype == DType::kString;
  return from_strings ? emit_map(ctx, std::move(strings), std::move(integers))
                      : emit_map(ctx, std::move(integers), std::move(strings));
}

Status import_label_encoder(ImportContext& ctx) {
  List keys, values;
  if (ctx.opset() == 1) {
    List names, places;
    names.type = DType::kString;
    names.strings = ctx.attr_strings("classes_strings");
    places.type = DType::kI64;
    places.integers.resize(names.strings.size());
    std::iota(places.integers.begin(), places.integers.end(), int64_t{0});
    const bool from_strings = ctx.type(ctx.input(0)).dtype == DType::kString;
    keys = from_strings ? names : places;
    values = from_strings ? places : names;
  } else {
    VIREO_TRY(read_list(ctx, "keys", &keys));
    VIREO_TRY(read_list(ctx, "values", &values));
  }
  return emit_map(ctx, std::move(keys), std::move(values));
}

Status emit_map(ImportContext& ctx, List keys, List values) {
  if (keys.size() != values.size()) {
    return ctx.fail(Status::kInvalidModel,
                    std::to_string(keys.size()) + " keys but " + std::to_string(values.size()) + " values");
  }
  std::vector<size_t> order(keys.size()), kept;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys.before(a, b); });
  for (size_t i = 0; i < order.size(); ++i) {
    if (i + 1 == order.size() || keys.before(order[i], order[i + 1])) kept.push_back(order[i]);
  }
  keys = keys.pick(kept);
  values = values.pick(kept);

  // Written by hand: the object API leaves empty vectors out, and a table without a single key is still a table.
  attrs::LabelEncoderT d;
  VIREO_TRY(read_default(ctx, &d, values.type));
  ::flatbuffers::FlatBufferBuilder b;
  const auto ki = b.CreateVector(keys.integers), vi = b.CreateVector(values.integers);
  const auto kr = b.CreateVector(keys.reals), vr = b.CreateVector(values.reals);
  const auto ks = b.CreateVectorOfStrings(keys.strings), vs = b.CreateVectorOfStrings(values.strings);
  const auto text = b.CreateString(d.default_string);
  b.Finish(attrs::CreateLabelEncoder(b, static_cast<uint8_t>(keys.type), static_cast<uint8_t>(values.type), ki, kr, ks,
                                     vi, vr, vs, d.default_integer, d.default_real, text));
  return import_direct(ctx, Op::kLabelEncoder,
                       std::vector<uint8_t>(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()));
}

// Lists that have an attribute of their own type go there (opset 2), others into a tensor (opset 4).
template <class Integers, class Reals, class Strings>
void export_list(OnnxNode* n, const std::string& prefix, DType type, const Integers* integers, const Reals* reals,
                 const Strings* strings) {
  if (type == DType::kString) {
    std::vector<std::string> list;
    for (const auto* s : *strings) list.push_back(s->str());
    n->set((prefix + "_strings").c_str(), std::move(list));
  } else if (type == DType::kI64) {
    n->set((prefix + "_int64s").c_str(), std::vector<int64_t>(integers->begin(), integers->end()));
  } else if (type == DType::kF32) {
    std::vector<float> list;
    for (const double v : *reals) list.push_back(static_cast<float>(v));
    n->set((prefix + "_floats").c_str(), std::move(list));
  } else {
    const auto count = static_cast<int64_t>(dtype_is_float(type) ? reals->size() : integers->size());
    OnnxTensor t{{type, Shape{1, {count}}}, {}, {}};
    t.bytes.resize(static_cast<size_t>(dtype_bytes(type, count)));
    for (int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<unsigned>(i);
      const auto put = [&](auto v) {
        std::memcpy(t.bytes.data() + i * static_cast<int64_t>(sizeof(v)), &v, sizeof(v));
      };
      if (type == DType::kF64) put(reals->Get(k));
      if (type == DType::kI32) put(static_cast<int32_t>(integers->Get(k)));
      if (type == DType::kI16) put(static_cast<int16_t>(integers->Get(k)));
    }
    n->set((prefix + "_tensor").c_str(), std::move(t));
    n->needs(4);
  }
}

}  // namespace

extern const OnnxImport kLabelEncoderOnnx;
const OnnxImport kLabelEncoderOnnx = {"ai.onnx.ml", "LabelEncoder", import_label_encoder};
extern const OnnxImport kCategoryMapperOnnx;
const OnnxImport kCategoryMapperOnnx = {"ai.onnx.ml", "CategoryMapper", import_mapper};

Status export_label_encoder(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::LabelEncoder>();
  const auto key = static_cast<DType>(a.key_type()), value = static_cast<DType>(a.value_type());
  OnnxNode n = ctx.same();
  n.domain = "ai.onnx.ml";
  export_list(&n, "keys", key, a.keys_integers(), a.keys_reals(), a.keys_strings());
  export_list(&n, "values", value, a.values_integers(), a.values_reals(), a.values_strings());
  if (value == DType::kString && a.default_string() != nullptr) n.text("default_string", a.default_string()->str());
  if (value == DType::kI64) n.number("default_int64", a.default_integer());
  if (value == DType::kF32) n.real("default_float", static_cast<float>(a.default_real()));
  if (value == DType::kF64 || value == DType::kI32 || value == DType::kI16) {
    OnnxTensor t{{value, Shape{1, {1}}}, {}, {}};
    const auto put = [&](auto v) {
      t.bytes.resize(sizeof(v));
      std::memcpy(t.bytes.data(), &v, sizeof(v));
    };
    if (value == DType::kF64) put(a.default_real());
    if (value == DType::kI32) put(static_cast<int32_t>(a.default_integer()));
    if (value == DType::kI16) put(static_cast<int16_t>(a.default_integer()));
    n.set("default_tensor", std::move(t)).needs(4);
  }
  return ctx.done(std::move(n));
}

}  // namespace vireo
