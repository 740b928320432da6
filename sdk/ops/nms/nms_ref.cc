#include "sdk/base/sizes.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/nms/nms_generated.h"
#include "sdk/ops/shared/sort.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

struct Box {
  float y1, x1, y2, x2;  // y1 <= y2, x1 <= x2
  float area() const { return (y2 - y1) * (x2 - x1); }
};

Box read_box(const float* p, bool center) {
  if (center) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  const bool y = p[0] <= p[2], x = p[1] <= p[3];
  return {y ? p[0] : p[2], x ? p[1] : p[3], y ? p[2] : p[0], x ? p[3] : p[1]};
}

bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = (a.y2 < b.y2 ? a.y2 : b.y2) - (a.y1 > b.y1 ? a.y1 : b.y1);
  const float width = (a.x2 < b.x2 ? a.x2 : b.x2) - (a.x1 > b.x1 ? a.x1 : b.x1);
  if (!(height > 0) || !(width > 0)) return false;
  const float both = height * width, either = a.area() + b.area() - both;
  if (!(both > 0) || !(a.area() > 0) || !(b.area() > 0) || !(either > 0)) return false;
  return both / either > threshold;
}

Status run_nms(const KernelContext& ctx) {
  const Tensor& boxes = *ctx.in(0);
  const Tensor& scores = *ctx.in(1);
  const Tensor* limit = ctx.in(2);
  const Tensor* iou = ctx.in(3);
  const Tensor* floor = ctx.in(4);
  Tensor& y = *ctx.out(0);
  const bool center = ctx.attrs<attrs::NonMaxSuppression>().center_point_box();
  const int64_t batches = boxes.shape[0], n = boxes.shape[1], classes = scores.shape[1];
  const int64_t most = limit == nullptr ? 0 : read_integer(limit->dtype, limit->data, 0);
  const float threshold = iou == nullptr ? 0.0f : iou->as<const float>()[0];
  int64_t* order = reinterpret_cast<int64_t*>(ctx.scratch.data());
  int64_t* kept = order + n;
  int64_t* row = y.as<int64_t>();
  y.shape[0] = 0;
  if (n == 0 || classes == 0) return Status::kOk;  // batches of no bytes may be of any number
  for (int64_t b = 0; b < batches; ++b) {
    const float* box = boxes.as<const float>() + b * n * 4;
    for (int64_t c = 0; c < classes; ++c) {
      const float* score = scores.as<const float>() + (b * classes + c) * n;
      int64_t candidates = 0, selected = 0;
      for (int64_t i = 0; i < n; ++i) {
        if (floor == nullptr || score[i] > floor->as<const float>()[0]) order[candidates++] = i;
      }
      heap_sort(order, candidates, [&](int64_t p, int64_t q) {
        if (total_less(score[q], score[p])) return true;
        return !total_less(score[p], score[q]) && p < q;
      });
      for (int64_t k = 0; k < candidates && selected < most; ++k) {
        const Box a = read_box(box + order[k] * 4, center);
        bool free = true;
        for (int64_t j = 0; j < selected && free; ++j)
          free = !overlap(a, read_box(box + kept[j] * 4, center), threshold);
        if (!free) continue;
        kept[selected++] = order[k];
        row[0] = b;
        row[1] = c;
        row[2] = order[k];
        row += 3;
      }
      y.shape[0] += selected;
    }
  }
  return Status::kOk;
}

int64_t scratch_bytes(const KernelQuery& query) { return size_product(query.inputs[0].shape[1], 2 * sizeof(int64_t)); }

}  // namespace

extern const RefKernel kNonMaxSuppressionRef;
const RefKernel kNonMaxSuppressionRef = {run_nms, scratch_bytes};

}  // namespace vireo
