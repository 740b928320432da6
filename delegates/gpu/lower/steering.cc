#include "delegates/gpu/lower/steering.h"

#include <algorithm>
#include <cstring>

#include "sdk/ops/one_hot/one_hot_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

enum class Says : uint8_t {
  kNothing,
  kShape,
  kAxes,
  kBegins,
  kEnds,
  kSteps,
  kPads,
  kFill,
  kRoi,
  kScales,
  kSizes,
  kDepth
};

Says of(uint16_t op, size_t input) {
  if (is_reduction(op)) return input == 1 ? Says::kAxes : Says::kNothing;
  switch (op) {
    case VIREO_OP_CUM_SUM:
    case VIREO_OP_CUM_PROD:
      return input == 1 ? Says::kAxes : Says::kNothing;
    case VIREO_OP_SLICE: {
      constexpr Says kOrder[] = {Says::kNothing, Says::kBegins, Says::kEnds, Says::kAxes, Says::kSteps};
      return input < std::size(kOrder) ? kOrder[input] : Says::kNothing;
    }
    case VIREO_OP_PAD: {
      constexpr Says kOrder[] = {Says::kNothing, Says::kPads, Says::kFill, Says::kAxes};
      return input < std::size(kOrder) ? kOrder[input] : Says::kNothing;
    }
    case VIREO_OP_RESIZE: {
      constexpr Says kOrder[] = {Says::kNothing, Says::kRoi, Says::kScales, Says::kSizes};
      return input < std::size(kOrder) ? kOrder[input] : Says::kNothing;
    }
    case VIREO_OP_ONE_HOT:
      return input == 1 ? Says::kDepth : Says::kNothing;
    case VIREO_OP_RESHAPE:
    case VIREO_OP_SQUEEZE:
    case VIREO_OP_UNSQUEEZE:
    case VIREO_OP_EXPAND:
    case VIREO_OP_TILE:
    case VIREO_OP_SPLIT:
      return input == 1 ? Says::kShape : Says::kNothing;
    default:
      return Says::kNothing;
  }
}

// The first node that a value steers, and how.
struct Use {
  const Node* node = nullptr;
  Says says = Says::kNothing;
};
Use use_of(const Network& network, int value) {
  for (const Node& n : network.nodes) {
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == value && of(n.op, i) != Says::kNothing) return {&n, of(n.op, i)};
    }
  }
  return {};
}

const Datum* at(const Network& network, const std::vector<int>& list, size_t i) {
  return i < list.size() && list[i] >= 0 ? &network.values[static_cast<size_t>(list[i])] : nullptr;
}

// What element k of the value may be.
double assumed(const Network& network, const Use& use, int64_t k) {
  const Datum* const x = at(network, use.node->inputs, 0);
  const Datum* const y = at(network, use.node->outputs, 0);
  const auto axis = static_cast<size_t>(k);
  const double in = x != nullptr && axis < x->dims.size() ? static_cast<double>(x->dims[axis]) : 1;
  const double out = y != nullptr && axis < y->dims.size() ? static_cast<double>(y->dims[axis]) : 1;
  switch (use.says) {
    case Says::kAxes:
      return static_cast<double>(k);
    case Says::kEnds:
      return INT32_MAX;
    case Says::kSteps:
      return 1;
    case Says::kScales:
      return in == 0 ? 1 : out / in;
    case Says::kSizes:
      return out;
    case Says::kDepth: {
      const int64_t given = use.node->attrs<attrs::OneHot>().axis();
      const size_t axes = y == nullptr ? 0 : y->dims.size();
      const size_t depth = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(axes) : given);
      return depth < axes ? static_cast<double>(y->dims[depth]) : 1;
    }
    default:
      return 0;
  }
}

}  // namespace

std::vector<int> steering_values(const Network& network) {
  std::vector<int> found;
  for (const Node& n : network.nodes) {
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const int v = n.inputs[i];
      if (v < 0 || of(n.op, i) == Says::kNothing || network.values[static_cast<size_t>(v)].constant != nullptr)
        continue;
      if (std::find(found.begin(), found.end(), v) == found.end()) found.push_back(v);
    }
  }
  return found;
}

bool says_only_shapes(const Network& network, int value) {
  for (const Node& n : network.nodes) {
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const Says says = n.inputs[i] == value ? of(n.op, i) : Says::kNothing;
      if (says != Says::kNothing && says != Says::kShape) return false;
    }
  }
  return true;
}

std::vector<uint8_t> assumed_contents(const Network& network, int value) {
  const Datum& d = network.values[static_cast<size_t>(value)];
  const Use use = use_of(network, value);
  std::vector<uint8_t> out;
  const auto put = [&out](const auto& v) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&v);
    out.insert(out.end(), bytes, bytes + sizeof(v));
  };
  for (int64_t k = 0; use.node != nullptr && k < d.count(); ++k) {
    const double v = assumed(network, use, k);
    if (d.dtype == DType::kI64) {
      put(static_cast<int64_t>(v));
    } else if (d.dtype == DType::kI32) {
      put(static_cast<int32_t>(v));
    } else if (d.dtype == DType::kF32) {
      put(static_cast<float>(v));
    } else {
      out.resize(static_cast<size_t>(d.bytes()));  // zeros
      break;
    }
  }
  return out;
}

}  // namespace vireo::gpu
