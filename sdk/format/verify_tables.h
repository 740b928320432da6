// What verify.cc knows of model.fbs: a byte a field. A field that is added there is added here, in its place;
// verify_test.cc reads the schema and says where the two differ.
#ifndef VIREO_SDK_FORMAT_VERIFY_TABLES_H_
#define VIREO_SDK_FORMAT_VERIFY_TABLES_H_

#include <stdint.h>

namespace vireo::verify_tables {

// A field: its form, and the bytes of a number or the place of a table in kTables. No field is 0, which ends a table.
inline constexpr uint8_t kNumber = 0x00, kNumbers = 0x40, kTable = 0x80, kText = 0xc0;
inline constexpr uint8_t kForm = 0xc0, kMany = 0x20, kRequired = 0x10, kSize = 0x0f;

enum : uint8_t {
  kModel,
  kExpr,
  kSegment,
  kQuant,
  kTensor,
  kNode,
  kSubgraph,
  kSubgraphPlan,
  kPlan,
  kIo,
  kState,
  kSignature,
  kProvenance,
  kTestTensor,
  kTestCase
};

constexpr uint8_t one(uint8_t table) { return kTable | table; }
constexpr uint8_t many(uint8_t table) { return kTable | kMany | table; }
inline constexpr uint8_t kTexts = kText | kMany;
inline constexpr uint8_t k8 = kNumber | 1, k16 = kNumber | 2, k32 = kNumber | 4, k64 = kNumber | 8;
inline constexpr uint8_t k8s = kNumbers | 1, k32s = kNumbers | 4, k64s = kNumbers | 8;

// In the order of the enum, each with its fields as model.fbs has them.
inline constexpr uint8_t kTables[] = {
    k16,
    k16,
    many(kExpr),
    many(kSegment),
    many(kSubgraph),
    many(kPlan),
    many(kSignature),
    one(kProvenance),
    many(kTestCase),
    k8,
    k32,
    0,  // Model
    k8,
    k64,
    k64,
    kText,
    k64,
    k64,
    k8,
    0,  // Expr
    k64,
    k64,
    k32,
    k8,
    k8,
    k64,
    k8s,
    0,  // Segment
    k32s,
    k32s,
    k32,
    k32,
    0,  // Quant
    kText,
    k8,
    k64s,
    k32,
    k64,
    k64,
    one(kQuant),
    0,  // Tensor
    k16,
    k16,
    kText,
    k32s | kRequired,
    k32s | kRequired,
    k8s | kRequired,
    k32s,
    0,  // Node
    kText,
    many(kTensor) | kRequired,
    k32s | kRequired,
    k32s | kRequired,
    many(kNode) | kRequired,
    0,  // Subgraph
    k32s,
    k64s,
    k64s,
    k64,
    k64,
    0,  // SubgraphPlan
    kText,
    many(kSubgraphPlan),
    k8s,
    0,  // Plan
    kText,
    k8,
    kText,
    kText,
    k32,
    k32,
    k32s,
    k32s,
    kText,
    k32,
    0,  // Io
    k32,
    k32,
    0,  // State
    kText,
    many(kIo),
    many(kIo),
    many(kState),
    0,  // Signature
    kText,
    k8s,
    kText,
    kText,
    kTexts,
    kTexts,
    kTexts,
    0,  // Provenance
    k8,
    k64s,
    k32,
    k64,
    k64,
    k64,
    k32,
    k32,
    0,  // TestTensor
    many(kTestTensor) | kRequired,
    many(kTestTensor) | kRequired,
    0,  // TestCase
};

}  // namespace vireo::verify_tables

#endif  // VIREO_SDK_FORMAT_VERIFY_TABLES_H_
