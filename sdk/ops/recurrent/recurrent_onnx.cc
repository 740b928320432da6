// Opsets 1 to 22 differ in what they spell out, not in what they compute: opset 1's output_sequence only repeats
// whether Y is named, layout came with 14, more types with 22. Names of activations become numbers, each with its own
// alpha and beta.
// com.microsoft DynamicQuantizeLSTM: LSTM whose W and R are codes [directions, columns, 4 hidden], the standard's
// turned, with a scale and a zero point for each direction or each row of a direction. ONNX Runtime rounds what meets
// the weights to 8 bits, with scales of the run. So is x here, and h with the scale of its range, -1 to 1, where the
// weights are constants that int8 holds, the functions are the usual ones and the state begins at 0: products are then
// of integers. Everywhere else the real numbers of the weights meet x and h as they are.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/recurrent/recurrent.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

struct Name {
  const char* name;  // lower case: exporters differ in theirs
  attrs::RecurrentActivation kind;
  bool takes_alpha, takes_beta;
  float alpha, beta;  // defaults of the ONNX operators of these names
};
constexpr Name kNames[] = {
    {"sigmoid", attrs::RecurrentActivation::Sigmoid, false, false, 0, 0},
    {"tanh", attrs::RecurrentActivation::Tanh, false, false, 0, 0},
    {"relu", attrs::RecurrentActivation::Relu, false, false, 0, 0},
    {"affine", attrs::RecurrentActivation::Affine, true, true, 1, 0},
    {"leakyrelu", attrs::RecurrentActivation::LeakyRelu, true, false, 0.01f, 0},
    {"thresholdedrelu", attrs::RecurrentActivation::ThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", attrs::RecurrentActivation::ScaledTanh, true, true, 1, 1},
    {"hardsigmoid", attrs::RecurrentActivation::HardSigmoid, true, true, 0.2f, 0.5f},
    {"elu", attrs::RecurrentActivation::Elu, true, false, 1, 0},
    {"softsign", attrs::RecurrentActivation::Softsign, false, false, 0, 0},
    {"softplus", attrs::RecurrentActivation::Softplus, false, false, 0, 0},
};

Status read_activations(ImportContext& ctx, int want, attrs::RecurrentT* a) {
  const std::vector<std::string> names = ctx.attr_strings("activations");
  if (names.empty()) return Status::kOk;
  if (names.size() != static_cast<size_t>(want)) {
    return ctx.fail(Status::kInvalidModel,
                    "activations names " + std::to_string(names.size()) + " functions, wanted " + std::to_string(want));
  }
  // ONNX: values "are consumed in the order of activation functions", by those functions that have the parameter.
  const std::vector<float> alphas = ctx.attr_floats("activation_alpha"), betas = ctx.attr_floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& spelled : names) {
    std::string name = spelled;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const Name* found =
        std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& n) { return name == n.name; });
    if (found == std::end(kNames)) {
      return ctx.fail(
          Status::kInvalidModel, "activation '" + spelled + "' is not one of ONNX's",
          "use Sigmoid, Tanh, Relu, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign or "
          "Softplus");
    }
    a->activations.push_back(static_cast<uint8_t>(found->kind));
    a->alpha.push_back(found->takes_alpha && next_alpha < alphas.size() ? alphas[next_alpha++] : found->alpha);
    a->beta.push_back(found->takes_beta && next_beta < betas.size() ? betas[next_beta++] : found->beta);
  }
  return Status::kOk;
}

Status read(ImportContext& ctx, int activations_each, attrs::RecurrentT* out) {
  attrs::RecurrentT& a = *out;
  const std::string direction = ctx.attr_string("direction", "forward");
  if (direction == "reverse") {
    a.direction = attrs::RecurrentDirection::Reverse;
  } else if (direction == "bidirectional") {
    a.direction = attrs::RecurrentDirection::Bidirectional;
  } else if (direction != "forward") {
    return ctx.fail(Status::kInvalidModel, "direction '" + direction + "' is not forward, reverse or bidirectional");
  }
  const int directions = a.direction == attrs::RecurrentDirection::Bidirectional ? 2 : 1;
  VIREO_TRY(read_activations(ctx, directions * activations_each, &a));
  a.clip = ctx.attr_float("clip", 0);
  a.input_forget = ctx.attr_int("input_forget", 0) != 0;
  a.linear_before_reset = ctx.attr_int("linear_before_reset", 0) != 0;
  a.batch_first = ctx.attr_int("layout", 0) != 0;
  return Status::kOk;
}

Status import_recurrent(ImportContext& ctx, Op op, int activations_each) {
  attrs::RecurrentT a;
  VIREO_TRY(read(ctx, activations_each, &a));
  const TensorType r = ctx.type(ctx.input(2));
  const int64_t hidden = ctx.attr_int("hidden_size", -1);
  if (hidden >= 0 && r.shape.rank == 3 && !is_symbolic(r.shape[2]) && r.shape[2] != hidden) {
    return ctx.fail(Status::kInvalidModel, "hidden_size is " + std::to_string(hidden) + " but R has " +
                                               std::to_string(r.shape[2]) + " columns");
  }
  return import_direct(ctx, op, pack<attrs::Recurrent>(a));
}

Status import_lstm(ImportContext& ctx) { return import_recurrent(ctx, Op::kLSTM, 3); }
Status import_gru(ImportContext& ctx) { return import_recurrent(ctx, Op::kGRU, 2); }
Status import_rnn(ImportContext& ctx) { return import_recurrent(ctx, Op::kRNN, 1); }

// Input `codes` with scale and zero point of inputs `scale` and `scale` + 1, as the standard's weights.
Value weights(ImportContext& ctx, int codes, int scale) {
  Steps s(ctx);
  if (!ctx.input(codes) || !ctx.input(scale)) return {};
  // [directions] or [directions, 4 hidden]: beside [directions, columns, 4 hidden].
  const auto beside = [&](Value v) {
    return s.unsqueeze(v, ctx.type(v).shape.rank == 1 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
  };
  Value w = s.cast(ctx.input(codes), DType::kF32);
  if (ctx.input(scale + 1)) w = s.sub(w, beside(s.cast(ctx.input(scale + 1), DType::kF32)));
  return s.transpose(s.mul(w, beside(ctx.input(scale))), {0, 2, 1});
}

// The same as constant int8 [directions, 4 hidden, columns] and a scale for each row; absent where that cannot be.
Value integer_weights(ImportContext& ctx, int codes, int scale) {
  const ConstTensor* const w = ctx.input(codes) ? ctx.constant(ctx.input(codes)) : nullptr;
  const ConstTensor* const s = ctx.input(scale) ? ctx.constant(ctx.input(scale)) : nullptr;
  const ConstTensor* const zero = ctx.input(scale + 1) ? ctx.constant(ctx.input(scale + 1)) : nullptr;
  if (w == nullptr || s == nullptr || (zero == nullptr && ctx.input(scale + 1))) return {};
  const bool is_signed = w->type.dtype == DType::kI8;
  if ((!is_signed && w->type.dtype != DType::kU8) || w->type.shape.rank != 3 || s->type.dtype != DType::kF32 ||
      (zero != nullptr && zero->type.dtype != w->type.dtype))
    return {};
  const int64_t directions = w->type.shape[0], columns = w->type.shape[1], rows = w->type.shape[2];
  const auto fits = [&](const ConstTensor* t) { return t->count() == directions || t->count() == directions * rows; };
  if (columns < 1 || columns > INT32_MAX || !fits(s) || (zero != nullptr && !fits(zero))) return {};
  const auto at = [&](const ConstTensor& t, int64_t i) {
    const uint8_t byte = t.bytes[static_cast<size_t>(i)];
    return is_signed ? static_cast<int32_t>(static_cast<int8_t>(byte)) : static_cast<int32_t>(byte);
  };
  std::vector<uint8_t> turned(w->bytes.size()), scales(static_cast<size_t>(directions * rows) * sizeof(float));
  for (int64_t row = 0; row < directions * rows; ++row) {
    const auto of_row = [&](const ConstTensor& t) { return t.count() == directions ? row / rows : row; };
    std::memcpy(scales.data() + row * static_cast<int64_t>(sizeof(float)),
                s->bytes.data() + of_row(*s) * static_cast<int64_t>(sizeof(float)), sizeof(float));
    const int32_t z = zero == nullptr ? 0 : at(*zero, of_row(*zero));
    for (int64_t c = 0; c < columns; ++c) {
      const int32_t code = at(*w, (row / rows * columns + c) * rows + row % rows) - z;
      if (code < INT8_MIN || code > INT8_MAX) return {};
      turned[static_cast<size_t>(row * columns + c)] = static_cast<uint8_t>(code);
    }
  }
  Shape of_codes = w->type.shape, of_scales = w->type.shape;
  of_codes[1] = of_scales[1] = rows;
  of_codes[2] = columns;
  of_scales[2] = 1;
  attrs::DequantizeLinearT d;
  d.axis = 2;
  d.block_size = static_cast<int32_t>(columns);
  return ctx.emit1(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(d),
                   {ctx.add_constant({DType::kI8, of_codes}, std::move(turned)),
                    ctx.add_constant({DType::kF32, of_scales}, std::move(scales))});
}

bool is_zero(ImportContext& ctx, Value v) {
  const ConstTensor* const t = v ? ctx.constant(v) : nullptr;
  return !v || (t != nullptr && std::all_of(t->bytes.begin(), t->bytes.end(), [](uint8_t b) { return b == 0; }));
}

bool has_usual_functions(const attrs::RecurrentT& a) {
  using attrs::RecurrentActivation;
  constexpr RecurrentActivation kUsual[] = {RecurrentActivation::Sigmoid, RecurrentActivation::Tanh,
                                            RecurrentActivation::Tanh};
  for (size_t i = 0; i < a.activations.size(); ++i) {
    if (a.activations[i] != static_cast<uint8_t>(kUsual[i % 3])) return false;
  }
  return true;
}

// x, W and R in codes, and `a` with the scale of h's; empty where that cannot be.
std::vector<Value> integer_inputs(ImportContext& ctx, attrs::RecurrentT* a) {
  constexpr int kInitialH = 5, kPeepholes = 7;
  if (!has_usual_functions(*a) || a->clip != 0 || a->input_forget || ctx.input(kPeepholes) || !ctx.input(0)) return {};
  if (!is_zero(ctx, ctx.input(kInitialH)) || ctx.type(ctx.input(0)).dtype != DType::kF32) return {};
  const Value w = integer_weights(ctx, 1, 8), r = integer_weights(ctx, 2, 10);
  if (!w || !r) return {};
  const std::vector<Value> x =
      ctx.emit(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}),
               {ctx.input(0)}, 3);
  if (x.empty()) return {};
  a->state_scale = 2.0f / 255;
  a->state_zero = 128;
  return {ctx.emit1(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(attrs::DequantizeLinearT{}), x), w, r};
}

Status import_dynamic(ImportContext& ctx) {
  attrs::RecurrentT a;
  VIREO_TRY(read(ctx, 3, &a));
  std::vector<Value> inputs = integer_inputs(ctx, &a);
  if (inputs.empty()) inputs = {ctx.input(0), weights(ctx, 1, 8), weights(ctx, 2, 10)};
  if (!inputs[0] || !inputs[1] || !inputs[2])
    return ctx.fail(Status::kInvalidModel, "weights or their scales are missing");
  for (int i = 3; i < 8; ++i) inputs.push_back(ctx.input(i));
  while (!inputs.back()) inputs.pop_back();
  const std::vector<Value> y = ctx.emit(Op::kLSTM, pack<attrs::Recurrent>(a), std::move(inputs), ctx.output_count());
  if (y.empty()) return Status::kInvalidModel;
  for (int i = 0; i < ctx.output_count(); ++i) {
    if (ctx.wants_output(i)) ctx.set_output(i, y[static_cast<size_t>(i)]);
  }
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kLSTMOnnx;
const OnnxImport kLSTMOnnx = {"", "LSTM", import_lstm};
extern const OnnxImport kGRUOnnx;
const OnnxImport kGRUOnnx = {"", "GRU", import_gru};
extern const OnnxImport kRNNOnnx;
const OnnxImport kRNNOnnx = {"", "RNN", import_rnn};
extern const OnnxImport kDynamicQuantizeLSTMOnnx;
const OnnxImport kDynamicQuantizeLSTMOnnx = {"com.microsoft", "DynamicQuantizeLSTM", import_dynamic};

// state_scale has no place in ONNX: the exported operator multiplies h as it is (quant/DESIGN.md has what that moves).
Status export_recurrent(ExportContext& ctx) {
  const char* const directions[] = {"forward", "reverse", "bidirectional"};
  const char* const names[] = {"Sigmoid",    "Tanh",        "Relu", "Affine",   "LeakyRelu", "ThresholdedRelu",
                               "ScaledTanh", "HardSigmoid", "Elu",  "Softsign", "Softplus"};
  const auto& a = ctx.attrs<attrs::Recurrent>();
  OnnxNode n = ctx.same().text("direction", directions[static_cast<size_t>(a.direction())]);
  const Dim hidden = ctx.input_type(2).shape[2];
  if (is_symbolic(hidden)) return ctx.fail(Status::kUnsupported, "recurrent weights of a size that is not known");
  n.number("hidden_size", hidden);
  if (a.activations() != nullptr && a.activations()->size() != 0) {
    std::vector<std::string> list;
    std::vector<float> alpha, beta;  // of those functions that have the parameter
    for (unsigned i = 0; i < a.activations()->size(); ++i) {
      const uint8_t kind = a.activations()->Get(i);
      list.emplace_back(names[kind]);
      const auto& row = *std::find_if(std::begin(kNames), std::end(kNames),
                                      [&](const Name& entry) { return static_cast<uint8_t>(entry.kind) == kind; });
      if (row.takes_alpha) alpha.push_back(a.alpha()->Get(i));
      if (row.takes_beta) beta.push_back(a.beta()->Get(i));
    }
    n.set("activations", std::move(list));
    if (!alpha.empty()) n.set("activation_alpha", std::move(alpha));
    if (!beta.empty()) n.set("activation_beta", std::move(beta));
  }
  if (a.clip() != 0) n.real("clip", a.clip());
  if (ctx.op() == Op::kLSTM && a.input_forget()) n.flag("input_forget", true);
  if (ctx.op() == Op::kGRU) n.flag("linear_before_reset", a.linear_before_reset());
  return ctx.done(n.flag("layout", a.batch_first()));
}

}  // namespace vireo
