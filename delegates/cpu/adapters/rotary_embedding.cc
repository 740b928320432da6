// Rotary position embedding, float32.
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/rotary/rotary.h"
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"

namespace vireo {
namespace {

Status run(const KernelContext& ctx, const void*) {
  const Tensor &x = *ctx.in(0), &cosines = *ctx.in(1);
  cpu::RotaryF32 r;
  r.packed = x.shape.rank == 3;
  r.neighbours = ctx.attrs<attrs::RotaryEmbedding>().interleaved();
  r.batch = x.shape[0];
  r.heads = r.packed ? ctx.attrs<attrs::RotaryEmbedding>().heads() : x.shape[1];
  r.tokens = x.shape[r.packed ? 1 : 2];
  r.head = r.packed ? x.shape[2] / r.heads : x.shape[3];
  r.half = cosines.shape[cosines.shape.rank - 1];
  if (const Tensor* ids = ctx.in(3)) {
    r.positions = ids->as<const int64_t>();
    for (int64_t i = 0; i < r.batch * r.tokens; ++i) {
      if (r.positions[i] >= 0 && r.positions[i] < cosines.shape[0]) continue;
      return ctx.fail(Status::kInvalidArgument, "position_ids[{}] is {}, but the tables hold {} positions", i,
                      r.positions[i], cosines.shape[0]);
    }
  }
  cpu::rotary_f32(r, x.as<const float>(), cosines.as<const float>(), ctx.in(2)->as<const float>(),
                  ctx.out(0)->as<float>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kRotary = {"rotary_f32", 0, nullptr, nullptr, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for float32 alone";
  if (q.inputs[0].type.dtype != DType::kF32) return nullptr;
  *reason = "";
  return &kRotary;
}

}  // namespace

extern const CpuOp kCpuOp_rotary_embedding;
const CpuOp kCpuOp_rotary_embedding = {"rotary_embedding", choose};

}  // namespace vireo
