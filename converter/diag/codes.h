// The codes of diagnostics. Scripts and documentation hold on to them: append, retire, never renumber.
#ifndef VIREO_CONVERTER_DIAG_CODES_H_
#define VIREO_CONVERTER_DIAG_CODES_H_

namespace vireo {

enum class Code {
  kNone = 0,
  // 01xx: the file
  kFileUnreadable = 101,  // missing, a folder, no permission
  kFileTooLarge = 102,    // a protobuf ends at 2 GiB
  kNotOnnx = 103,         // the bytes do not parse as an ONNX model
  kVersionTooNew = 104,   // opset or IR version above what is known
  kExternalData = 105,    // missing, too short, or leading outside the model's folder
  kTensorData = 106,      // a constant whose bytes do not fit its shape and type
  kNoGraph = 107,         // parses, but holds no graph or no outputs
  // 02xx: the graph
  kDuplicateName = 201,  // two inputs, or two nodes' outputs, with one name
  kMissingValue = 202,   // a node or output refers to a value that nothing makes
  kCycle = 203,
  kUnknownOperator = 204,
  kUnknownDomain = 205,      // a node of a domain that the model does not import, or one imported in two versions
  kBadFunction = 206,        // a model-local function that is there twice, calls itself, or is called with too much
  kBadNode = 207,            // a node whose inputs or attributes are wrong
  kUnsupportedNode = 208,    // a valid node that this version cannot serve
  kUnsupportedType = 209,    // a graph input or constant that is not a tensor, or of an unknown element type
  kUnknownRank = 210,        // an input without a declared rank
  kShapeOverflow = 211,      // a tensor of more bytes than can be addressed
  kBranchMismatch = 212,     // If branches, or loop states, whose types cannot be reconciled
  kBadAttribute = 213,       // missing, there twice, none of the operator's, or of another type
  kAssumedShape = 214,       // warning: says what is assumed, as of a rank that only a run knows
  kNotLookedAt = 215,        // retired: the report counts nodes behind failed ones
  kDeclaredOtherwise = 216,  // warning: an output is listed twice, or a value declared as another type than is made
  kBeyondStandard = 217,     // warning: a node that the standard does not allow; says how it is read
  kConstantInput = 218,      // warning: inputs that the file has values for, which are constants here
  kAboveLimit = 219,         // the model unfolds to more than a conversion makes (ir/budget.h)
  // 03xx: what the caller asked for
  kBadShapeOption = 301,
  kBadSignature = 302,
  kBadTestCase = 303,
  kCheckFailed = 304,     // a pass changed what the graph computes
  kCannotEvaluate = 305,  // a check was asked for that cannot be made
  kUnknownPass = 306,     // asked to be skipped
  kRoundsEnded = 307,     // warning: the optimiser stopped while passes still changed the graph
  kRoundedAway = 308,     // warning: quantized weights that lost most of their digits
  kCannotQuantize = 309,  // data, a recipe or the graph do not let it be
  // 04xx: writing
  kWriteFailed = 401,
  kPlanFailed = 402,
  kCannotExport = 403,  // a node that ONNX has no spelling for
};

}  // namespace vireo

#endif  // VIREO_CONVERTER_DIAG_CODES_H_
