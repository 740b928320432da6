// A SPIR-V module as it grows: sections of words, and one id for each type and constant however often it is asked for.
// Numbers are those of the SPIR-V specification, version 1.6.
#ifndef VIREO_DELEGATES_GPU_SPIRV_MODULE_H_
#define VIREO_DELEGATES_GPU_SPIRV_MODULE_H_

#include <stdint.h>

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace vireo::gpu::spirv {

enum Opcode : uint32_t {
  kOpExtension = 10,
  kOpExtInstImport = 11,
  kOpExtInst = 12,
  kOpMemoryModel = 14,
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeVoid = 19,
  kOpTypeBool = 20,
  kOpTypeInt = 21,
  kOpTypeFloat = 22,
  kOpTypeVector = 23,
  kOpTypeArray = 28,
  kOpTypeRuntimeArray = 29,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpTypeFunction = 33,
  kOpConstantTrue = 41,
  kOpConstantFalse = 42,
  kOpConstant = 43,
  kOpConstantComposite = 44,
  kOpFunction = 54,
  kOpFunctionEnd = 56,
  kOpVariable = 59,
  kOpLoad = 61,
  kOpStore = 62,
  kOpAccessChain = 65,
  kOpDecorate = 71,
  kOpMemberDecorate = 72,
  kOpCompositeConstruct = 80,
  kOpCompositeExtract = 81,
  kOpConvertFToU = 109,
  kOpConvertFToS = 110,
  kOpConvertSToF = 111,
  kOpConvertUToF = 112,
  kOpUConvert = 113,
  kOpSConvert = 114,
  kOpBitcast = 124,
  kOpIAdd = 128,
  kOpFAdd = 129,
  kOpISub = 130,
  kOpFSub = 131,
  kOpIMul = 132,
  kOpFMul = 133,
  kOpUDiv = 134,
  kOpSDiv = 135,
  kOpFDiv = 136,
  kOpUMod = 137,
  kOpUMulExtended = 151,
  kOpLogicalEqual = 164,
  kOpLogicalNotEqual = 165,
  kOpLogicalOr = 166,
  kOpLogicalAnd = 167,
  kOpLogicalNot = 168,
  kOpSelect = 169,
  kOpIEqual = 170,
  kOpINotEqual = 171,
  kOpULessThan = 176,
  kOpSLessThan = 177,
  kOpULessThanEqual = 178,
  kOpSLessThanEqual = 179,
  kOpFOrdEqual = 180,
  kOpFUnordNotEqual = 183,
  kOpFOrdLessThan = 184,
  kOpFOrdLessThanEqual = 188,
  kOpShiftRightLogical = 194,
  kOpShiftRightArithmetic = 195,
  kOpShiftLeftLogical = 196,
  kOpBitwiseOr = 197,
  kOpBitwiseXor = 198,
  kOpBitwiseAnd = 199,
  kOpNot = 200,
  kOpControlBarrier = 224,
  kOpLoopMerge = 246,
  kOpSelectionMerge = 247,
  kOpLabel = 248,
  kOpBranch = 249,
  kOpBranchConditional = 250,
  kOpReturn = 253,
  kOpTypeCooperativeMatrixKHR = 4456,
  kOpCooperativeMatrixLoadKHR = 4457,
  kOpCooperativeMatrixStoreKHR = 4458,
  kOpCooperativeMatrixMulAddKHR = 4459,
};

enum StorageClass : uint32_t { kInput = 1, kWorkgroup = 4, kFunction = 7, kPushConstant = 9, kStorageBuffer = 12 };

using Words = std::vector<uint32_t>;

class Module {
 public:
  uint32_t fresh() { return bound_++; }

  void capability(uint32_t number);
  void extension(const char* name);
  void execution_mode(std::initializer_list<uint32_t> operands) { put(&modes_, kOpExecutionMode, operands); }
  void decorate(std::initializer_list<uint32_t> operands) { put(&decorations_, kOpDecorate, operands); }
  void decorate_member(std::initializer_list<uint32_t> operands) { put(&decorations_, kOpMemberDecorate, operands); }

  // The type that `opcode` makes of its operands.
  uint32_t type(Opcode opcode, std::initializer_list<uint32_t> operands = {});
  // As above, but another one at each call: structs and arrays that are decorated.
  uint32_t own_type(Opcode opcode, std::initializer_list<uint32_t> operands);
  uint32_t pointer(StorageClass storage, uint32_t to) { return type(kOpTypePointer, {storage, to}); }
  // low and, for 64-bit types, high word.
  uint32_t constant(uint32_t type, std::initializer_list<uint32_t> value);
  uint32_t boolean(bool value);
  uint32_t composite(uint32_t type, uint32_t constant) { return keyed(kOpConstantComposite, {type, constant}, 1); }
  uint32_t global(uint32_t pointer_type, StorageClass storage);

  void op(Opcode opcode, std::initializer_list<uint32_t> operands) { put(&code_, opcode, operands); }
  // With a result of `type`.
  uint32_t value(Opcode opcode, uint32_t type, std::initializer_list<uint32_t> operands);
  // An instruction of GLSL.std.450.
  uint32_t extended(uint32_t number, uint32_t type, std::initializer_list<uint32_t> operands);
  Words& code() { return code_; }

  void memory_model(uint32_t model) { memory_model_ = model; }
  // The whole; `entry` is the function, `interface` its input variables.
  Words finish(uint32_t entry, const Words& interface);
  static void put(Words* out, Opcode opcode, const Words& operands);

 private:
  uint32_t keyed(Opcode opcode, Words operands, size_t result_at);

  uint32_t bound_ = 1;
  uint32_t glsl_ = 0, memory_model_ = 1;  // GLSL450
  Words capabilities_, extensions_, modes_, decorations_, types_, code_;
  std::map<Words, uint32_t> known_;
};

}  // namespace vireo::gpu::spirv

#endif  // VIREO_DELEGATES_GPU_SPIRV_MODULE_H_
