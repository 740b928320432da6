// The portable plan: where every tensor of every subgraph lies, at the upper bounds of the dimensions.
#ifndef VIREO_CONVERTER_EMIT_PLANS_H_
#define VIREO_CONVERTER_EMIT_PLANS_H_

#include <memory>
#include <vector>

#include "converter/diag/diagnostics.h"
#include "converter/emit/copies.h"
#include "converter/emit/exprs.h"
#include "sdk/format/model_generated.h"

namespace vireo::emit {

// Plans all subgraphs of `model`, bodies before their owners, and puts the nodes of each into the order that gives the
// smallest arena. When a bound is open the order is the one for typical extents, and the plan has no subgraphs: the
// session plans. Null with a diagnostic when the planner refuses. Parts lie inside their wholes as far as the arena
// does not grow by it; `copies` says what that spares, and why the rest is copied.
// With products that were `quantized`, composites' bodies keep their order, which says that they do not work in place,
// and the plan has no subgraphs either: it would keep room for weights that bodies widen, on devices whose kernels
// never do.
// `brief`: without a search for a smaller arena, which may take longer than a few runs.
std::unique_ptr<fb::PlanT> make_plan(fb::ModelT* model, const ExprWriter& exprs, const ConstantOf& constant_of,
                                     Diagnostics* diagnostics, CopyReport* copies, bool quantized, bool brief);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_PLANS_H_
