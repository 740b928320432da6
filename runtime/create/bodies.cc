// Steps of If, Loop and Scan, whose bodies are frames of their own; whether those fit the nodes that own them.
#include "runtime/create/builder.h"

#include "sdk/ops/control/control_generated.h"

namespace vireo {

// What goes into and comes out of a body must be of its owner's types; extents are checked when they are bound.
Status Builder::check_body_types(uint32_t sub, uint32_t n, Error* error) {
  const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
  const auto op = static_cast<Op>(node.op());
  uint32_t want_in = 0, want_out = node.outputs()->size(), skip = 0;
  if (op == Op::kIf) {
    want_in = node.inputs()->size() - 1;
    skip = 1;
  } else if (op == Op::kLoop) {
    const auto& a = *::flatbuffers::GetRoot<attrs::Loop>(node.attrs()->data());
    want_in = node.inputs()->size();
    if (uint64_t{a.carried()} + a.scanned() != want_out || uint64_t{a.carried()} + 2 > want_in) {
      return fail(error, Status::kInvalidModel, "node \"{}\" (Loop): malformed carried values", text_of(node.name()));
    }
    want_out += 1;
  } else {
    const auto& a = *::flatbuffers::GetRoot<attrs::Scan>(node.attrs()->data());
    want_in = node.inputs()->size();
    if (uint64_t{a.carried()} + a.scanned_in() > want_in || a.carried() > want_out || a.scanned_in() == 0 ||
        (a.out_axes() == nullptr ? 0 : a.out_axes()->size()) != want_out - a.carried() ||
        (a.out_reverse() == nullptr ? 0 : a.out_reverse()->size()) != want_out - a.carried()) {
      return fail(error, Status::kInvalidModel, "node \"{}\" (Scan): malformed carried values", text_of(node.name()));
    }
    bool first_axis = true;
    for (const int32_t axis : *a.in_axes()) first_axis = first_axis && axis == 0;
    for (uint32_t k = 0; a.out_axes() != nullptr && k < a.out_axes()->size(); ++k)
      first_axis = first_axis && a.out_axes()->Get(k) == 0;
    if (!first_axis) {
      return fail(error, Status::kUnsupported, "node \"{}\" (Scan): slices along another axis than 0 need a Transpose",
                  text_of(node.name()));
    }
  }
  // Carried values are what they were before the first trip where there is none.
  const uint32_t first = op == Op::kLoop ? 2 : 0;
  const uint32_t carried = op == Op::kIf     ? 0
                           : op == Op::kLoop ? ::flatbuffers::GetRoot<attrs::Loop>(node.attrs()->data())->carried()
                                             : ::flatbuffers::GetRoot<attrs::Scan>(node.attrs()->data())->carried();
  for (uint32_t j = 0; j < carried; ++j) {
    const int32_t x = node.inputs()->Get(first + j), y = node.outputs()->Get(j);
    if (x < 0 || y < 0 || slot(sub, x).tensor->dtype != slot(sub, y).tensor->dtype)
      return fail(error, Status::kInvalidModel, "node \"{}\": a carried value changes its type", text_of(node.name()));
  }
  for (const uint32_t body : *node.subgraphs()) {
    const fb::Subgraph& g = l_.graph(body);
    bool good = g.inputs()->size() == want_in && g.outputs()->size() == want_out;
    for (uint32_t i = skip; good && i < node.inputs()->size(); ++i) {
      const int32_t x = node.inputs()->Get(i);
      const bool cell = op == Op::kLoop && i < 2;
      if (cell) continue;
      good = x >= 0 &&
             slot(sub, x).tensor->dtype == slot(body, static_cast<int32_t>(g.inputs()->Get(i - skip))).tensor->dtype;
    }
    for (uint32_t o = 0; good && o < node.outputs()->size(); ++o) {
      const int32_t y = node.outputs()->Get(o);
      const uint32_t at = o + (op == Op::kLoop ? 1 : 0);
      const Tensor& made = *slot(body, static_cast<int32_t>(g.outputs()->Get(at))).tensor;
      good = y >= 0 ? slot(sub, y).tensor->dtype == made.dtype : op == Op::kIf;
      // The branch writes straight into its owner's output.
      good = good && (op != Op::kIf || y < 0 || slot(sub, y).tensor->capacity >= made.capacity);
    }
    if (!good) return fail(error, Status::kInvalidModel, "node \"{}\": its body does not fit it", text_of(node.name()));
    if (op == Op::kLoop) {
      const Tensor& i = *slot(body, static_cast<int32_t>(g.inputs()->Get(0))).tensor;
      const Tensor& c = *slot(body, static_cast<int32_t>(g.inputs()->Get(1))).tensor;
      const Tensor& again = *slot(body, static_cast<int32_t>(g.outputs()->Get(0))).tensor;
      if (i.dtype != DType::kI64 || i.capacity != 8 || c.dtype != DType::kBool || c.capacity != 1 ||
          again.dtype != DType::kBool || again.capacity != 1) {
        return fail(error, Status::kInvalidModel, "node \"{}\" (Loop): malformed iteration number or condition",
                    text_of(node.name()));
      }
    }
  }
  return Status::kOk;
}

Status Builder::build_control(uint32_t sub, uint32_t n, uint8_t depth, bool shapes_only, Step* step, Error* error) {
  const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
  if (shapes_only)
    return fail(error, Status::kInvalidModel, "node \"{}\": control flow inside a fused node", text_of(node.name()));
  if (real()) {
    const auto op = static_cast<Op>(node.op());
    step->kind = op == Op::kIf ? Step::kIf : op == Op::kLoop ? Step::kLoop : Step::kScan;
    VIREO_TRY(check_body_types(sub, n, error));
  }
  for (uint32_t b = 0; b < node.subgraphs()->size(); ++b) {
    Frame* frame = c_.array<Frame>(1);
    Frame counted;
    if (real()) {
      *frame = Frame{};
      step->bodies[b] = frame;
    }
    VIREO_TRY(build_frame(node.subgraphs()->Get(b), static_cast<uint8_t>(depth + 1), false, real() ? frame : &counted,
                          error));
  }
  return Status::kOk;
}

}  // namespace vireo
