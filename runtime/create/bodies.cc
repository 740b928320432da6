// Steps of If, Loop and Scan, whose bodies are frames of their own; whether those fit the nodes that own them.
#include "runtime/create/builder.h"

#include "sdk/ops/control/control_generated.h"

namespace vireo {

namespace {

// What a body takes and gives, by its owner's attributes.
struct Calling {
  uint32_t inputs = 0, outputs = 0;
  uint32_t skipped = 0;        // the owner's first inputs that no body gets
  uint32_t cells = 0;          // a body's first inputs that no tensor of the owner is: iteration number and condition
  uint32_t first_carried = 0;  // among the owner's inputs; as outputs they come first
  uint32_t carried = 0;
  uint32_t conditions = 0;  // a body's first outputs that the owner does not have
};

Status read_loop(const fb::Node& node, Calling* c, Error* error) {
  const auto& a = *::flatbuffers::GetRoot<attrs::Loop>(node.attrs()->data());
  if (uint64_t{a.carried()} + a.scanned() != node.outputs()->size() || uint64_t{a.carried()} + 2 > c->inputs)
    return fail(error, Status::kInvalidModel, "node \"{}\" (Loop): malformed carried values", text_of(node.name()));
  c->cells = c->first_carried = 2;
  c->carried = a.carried();
  c->conditions = 1;
  c->outputs += 1;
  return Status::kOk;
}

Status read_scan(const fb::Node& node, Calling* c, Error* error) {
  const auto& a = *::flatbuffers::GetRoot<attrs::Scan>(node.attrs()->data());
  if (uint64_t{a.carried()} + a.scanned_in() > c->inputs || a.carried() > c->outputs || a.scanned_in() == 0 ||
      (a.out_axes() == nullptr ? 0 : a.out_axes()->size()) != c->outputs - a.carried() ||
      (a.out_reverse() == nullptr ? 0 : a.out_reverse()->size()) != c->outputs - a.carried()) {
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
  c->carried = a.carried();
  return Status::kOk;
}

Status read_calling(const fb::Node& node, Calling* c, Error* error) {
  c->inputs = node.inputs()->size();
  c->outputs = node.outputs()->size();
  const auto op = static_cast<Op>(node.op());
  if (op == Op::kLoop) return read_loop(node, c, error);
  if (op == Op::kScan) return read_scan(node, c, error);
  c->skipped = 1;
  c->inputs -= 1;
  return Status::kOk;
}

bool is_one(const Tensor& t, DType type, int64_t bytes) { return t.dtype == type && t.capacity == bytes; }

}  // namespace

// What goes into and comes out of a body must be of its owner's types; extents are checked when they are bound.
Status Builder::check_body_types(uint32_t sub, uint32_t n, Error* error) {
  const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
  const auto op = static_cast<Op>(node.op());
  Calling c;
  VIREO_TRY(read_calling(node, &c, error));
  // If no trip runs, carried values keep what they were.
  for (uint32_t j = 0; j < c.carried; ++j) {
    const int32_t x = node.inputs()->Get(c.first_carried + j), y = node.outputs()->Get(j);
    if (x < 0 || y < 0 || slot(sub, x).tensor->dtype != slot(sub, y).tensor->dtype)
      return fail(error, Status::kInvalidModel, "node \"{}\": a carried value changes its type", text_of(node.name()));
  }
  for (const uint32_t body : *node.subgraphs()) {
    const fb::Subgraph& g = l_.graph(body);
    const auto takes = [&](uint32_t i) -> const Tensor& {
      return *slot(body, static_cast<int32_t>(g.inputs()->Get(i))).tensor;
    };
    const auto gives = [&](uint32_t o) -> const Tensor& {
      return *slot(body, static_cast<int32_t>(g.outputs()->Get(o))).tensor;
    };
    bool good = g.inputs()->size() == c.inputs && g.outputs()->size() == c.outputs;
    for (uint32_t i = c.skipped + c.cells; good && i < node.inputs()->size(); ++i) {
      const int32_t x = node.inputs()->Get(i);
      good = x >= 0 && slot(sub, x).tensor->dtype == takes(i - c.skipped).dtype;
    }
    for (uint32_t o = 0; good && o < node.outputs()->size(); ++o) {
      const int32_t y = node.outputs()->Get(o);
      const Tensor& made = gives(o + c.conditions);
      good = y >= 0 ? slot(sub, y).tensor->dtype == made.dtype : op == Op::kIf;
      // The branch writes straight into its owner's output.
      good = good && (op != Op::kIf || y < 0 || slot(sub, y).tensor->capacity >= made.capacity);
    }
    if (!good) return fail(error, Status::kInvalidModel, "node \"{}\": its body does not fit it", text_of(node.name()));
    if (c.cells != 0 &&
        !(is_one(takes(0), DType::kI64, 8) && is_one(takes(1), DType::kBool, 1) && is_one(gives(0), DType::kBool, 1))) {
      return fail(error, Status::kInvalidModel, "node \"{}\" (Loop): malformed iteration number or condition",
                  text_of(node.name()));
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
