#include "converter/firmware/emit.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "converter/firmware/kernel_numbers.h"
#include "converter/firmware/manifests.h"
#include "converter/firmware/sources.h"
#include "converter/firmware/templates.h"
#include "delegates/mcu/plan/plan.h"

namespace vireo::firmware {
namespace {

struct Board {
  const char* name;
  const char* family;  // the folder of its startup code and linker script
  const char* qemu;
  const char* flash;
  const char* ram;
};
constexpr Board kBoards[] = {
    {"mps2-an385", "cortex-m", "qemu-system-arm -M mps2-an385", "4M", "256K"},
    {"mps2-an386", "cortex-m", "qemu-system-arm -M mps2-an386", "4M", "256K"},
    {"mps2-an500", "cortex-m", "qemu-system-arm -M mps2-an500", "4M", "256K"},
    {"mps3-an547", "cortex-m", "qemu-system-arm -M mps3-an547", "512K", "256K"},
    {"riscv-virt", "riscv", "qemu-system-riscv32 -M virt -bios none", "4M", "256K"},
};
const Board* find_board(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kBoards), std::end(kBoards), [&](const Board& b) { return name == b.name; });
  return found == std::end(kBoards) ? nullptr : found;
}

using Json = nlohmann::ordered_json;

constexpr struct {
  uint16_t number;
  const char* name;
} kKernels[] = {
#define VIREO_MCU_KERNEL(number, name) {number, #name},
#include "delegates/mcu/plan/kernels.def"
#undef VIREO_MCU_KERNEL
};

// What a kernel brings along.
struct KernelSources {
  uint16_t number;
  std::vector<const char*> plan, kernels;
};
const std::vector<KernelSources>& kernel_sources() {
  const std::vector<const char*> product = {"call_product.c", "conv_bounds.c"},
                                 codes = {"call_codes.c", "parameters.h"}, reals = {"call_reals.c"};
  const std::vector<const char*> wide = {"wide_codes.c", "wide.h"},
                                 wide_product = {"wide_product.c", "wide_codes.c", "wide.h", "product.h",
                                                 "tile_sums.h"};
  const std::vector<const char*> rows = {"pool_rows.c", "pool_rows.h", "pool_sums.h"},
                                 functions = {"real_functions.c", "reals.h", "real_bits.h"},
                                 more = {"real_more.c", "parts.h",      "real_functions.c",
                                         "reals.h",     "reals_more.h", "real_bits.h"},
                                 lines = {"real_reduce.c", "real_more.c",  "parts.h",    "real_functions.c",
                                          "reals.h",       "reals_more.h", "real_bits.h"};
  static const std::vector<KernelSources> list = {
      {k_conv, product, {"product.c", "product.h", "tile_sums.h"}},
      {k_depthwise, {"call_depthwise.c", "conv_bounds.c"}, {"depthwise.c", "depthwise.h", "product.h"}},
      {k_gemm, product, {"product.c", "product.h", "tile_sums.h"}},
      {k_average, {"call_pool.c"}, {"pool.c", "pool.h", "pool_sums.h"}},
      {k_max, {"call_pool.c"}, {"pool.c", "pool.h", "pool_sums.h"}},
      {k_add, codes, {"codes.c", "codes.h"}},
      {k_mul, codes, {"codes.c", "codes.h"}},
      {k_table, codes, {"codes.c", "codes.h"}},
      {k_softmax, codes, {"codes.c", "codes.h"}},
      {k_quantize, codes, {"codes.c", "codes.h"}},
      {k_dequantize, codes, {"codes.c", "codes.h"}},
      {k_conv_reals, {"call_reals_product.c"}, {"real_product.c", "reals.h", "real_bits.h"}},
      {k_depthwise_reals, {"call_reals_product.c"}, {"real_product.c", "real_depthwise.c", "reals.h", "real_bits.h"}},
      {k_gemm_reals, {"call_reals_product.c"}, {"real_product.c", "reals.h", "real_bits.h"}},
      {k_matmul_reals, {"call_reals_product.c"}, {"real_product.c", "reals.h", "real_bits.h"}},
      {k_average_reals, reals, functions},
      {k_max_reals, reals, functions},
      {k_binary_reals, reals, functions},
      {k_function, reals, functions},
      {k_softmax_reals, reals, functions},
      {k_conv_wide, {"call_wide_product.c"}, wide_product},
      {k_gemm_wide, {"call_wide_product.c"}, wide_product},
      {k_average_wide, {"call_wide.c"}, wide},
      {k_binary_wide, {"call_wide.c"}, wide},
      {k_quantize_wide, {"call_wide.c"}, wide},
      {k_dequantize_wide, {"call_wide.c"}, wide},
      {k_move, {"call_moves.c"}, {"moves.c", "moves.h"}},
      {k_join, {"call_moves.c"}, {"moves.c", "moves.h"}},
      {k_pick, {"call_picks.c"}, {"picks.c", "picks.h", "parts.h"}},
      {k_choose, {"call_picks.c"}, {"picks.c", "picks.h", "parts.h"}},
      {k_integers, {"call_integers.c"}, {"integers.c", "integers.h", "parts.h"}},
      {k_cast, {"call_integers.c"}, {"integers.c", "integers.h", "parts.h"}},
      {k_greatest, {"call_integers.c"}, {"integers.c", "integers.h", "parts.h"}},
      {k_pairs, {"call_reals_more.c"}, more},
      {k_more_function, {"call_reals_more.c"}, more},
      {k_reduce_reals, {"call_reals_more.c"}, lines},
      {k_norm_reals, {"call_reals_more.c"}, lines},
      {k_resample, {"call_reals_more.c"}, lines},
      {k_average_rows, {"call_pool_rows.c"}, rows},
      {k_average_rows_reals, {"call_pool_rows.c"}, rows},
      {k_recurrent,
       {"call_recurrent.c"},
       {"real_recurrent.c", "real_functions.c", "reals.h", "reals_more.h", "real_bits.h"}},
  };
  return list;
}

// Bytes of code of a source on a core with vectors, and on the widest of the others, by gcc 12; a twentieth more.
constexpr struct {
  const char* source;
  uint32_t with_vectors, without;
} kCode[] = {{"bounds.c", 80, 100},
             {"call_codes.c", 610, 760},
             {"call_depthwise.c", 90, 110},
             {"call_pool.c", 340, 430},
             {"call_pool_rows.c", 400, 500},
             {"call_product.c", 310, 380},
             {"codes.c", 1000, 1420},
             {"conv_bounds.c", 510, 555},
             {"depthwise.c", 5090, 2700},
             {"pool.c", 1060, 1080},
             {"pool_rows.c", 700, 700},
             {"product.c", 8270, 5860},
             {"requantize.c", 760, 1820},
             {"call_reals.c", 960, 1220},
             {"call_reals_product.c", 940, 1150},
             {"real_product.c", 5010, 4810},
             {"real_depthwise.c", 4100, 4100},
             {"real_functions.c", 3620, 3730},
             {"strips.c", 3180, 3820},
             {"call_moves.c", 560, 640},
             {"moves.c", 640, 700},
             {"picks.c", 700, 800},
             {"call_picks.c", 520, 600},
             {"integers.c", 2700, 3000},
             {"call_integers.c", 560, 700},
             {"real_more.c", 2800, 3200},
             {"real_reduce.c", 1750, 2200},
             {"call_reals_more.c", 1100, 1300},
             {"real_recurrent.c", 2200, 2600},
             {"call_recurrent.c", 560, 640},
             {"call_wide.c", 980, 1170},
             {"call_wide_product.c", 780, 920},
             {"wide_codes.c", 1450, 1920},
             {"wide_product.c", 6660, 6440}};
// The executor, the self-test, startup code, and memory's functions; what a compiler's library computes of a sum and of
// softmax for cores without a floating-point unit.
constexpr uint32_t kBaseCode = 2300, kFloatLibrary = 2048, kFloatLibraryOfArmv6 = 4096;
constexpr uint32_t kCodeOfModel = 400, kTables = 1024, kTablesOfStrips = 128;
// Of the deepest path: 730 to 1032 bytes by gcc 12; 792 where stack_budget() knows it. Of a call's parameters.
constexpr uint32_t kStack = 1152, kStackOfReals = 832, kStackOfStrips = 304;

// A source of the repository, whose includes are now beside it, and which rounds whatever flags it is compiled with.
File copied(const std::string& folder, const std::string& file, const std::string& to) {
  std::string text = source_text((folder + file).c_str());
  text = replaced(std::move(text), "#include \"delegates/mcu/kernels/", "#include \"");
  text = replaced(std::move(text), "#include \"delegates/mcu/plan/", "#include \"");
  text = replaced(std::move(text), "#include \"sdk/plan/rows/", "#include \"");
  text = replaced(std::move(text), "#include \"delegates/mcu/update/", "#include \"");
  if (file.compare(file.size() - 2, 2, ".c") == 0) text = "#include \"rounding.h\"\n" + text;
  return {to + file, std::move(text)};
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return text;
}

std::string hex(uint32_t word) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08xu", word);
  return text;
}

std::string exact(float value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  std::string number = text;
  if (number.find_first_of(".en") == std::string::npos) number += ".0";
  return number + "f";
}

const char* c_type(DType t) {
  switch (t) {
    case DType::kF32:
      return "float";
    case DType::kI8:
      return "int8_t";
    case DType::kU8:
      return "uint8_t";
    case DType::kI16:
      return "int16_t";
    case DType::kI32:
      return "int32_t";
    default:
      return "uint8_t";
  }
}

std::string shape_text(const PlanValue& v) {
  std::string text = std::string(dtype_name(v.dtype)) + " [";
  for (size_t i = 0; i < v.dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(v.dims[i]);
  return text + "]";
}

// Names of values as C identifiers, each once.
std::vector<std::string> value_names(const FlatPlan& plan) {
  std::vector<std::string> names;
  std::set<std::string> taken = {"plan", "arena", "open", "test_inputs"};
  for (const auto* side : {&plan.inputs, &plan.outputs}) {
    for (const PlanValue& v : *side) {
      const std::string base = identifier(v.name);
      std::string name = base;
      for (int i = 2; !taken.insert(name).second; ++i) name = base + "_" + std::to_string(i);
      names.push_back(name);
    }
  }
  return names;
}

// A folder holds models, each as its manifest describes it. One of them is made here; others may be there already.
class Folder {
 public:
  Folder(const FlatPlan& plan, const Target& target, const std::string& name, const std::string& source,
         const std::string& version, const SelfTest& test)
      : plan_(plan),
        target_(target),
        board_(*find_board(target.board)),
        name_(name),
        up_(upper(name)),
        source_(source),
        version_(version),
        test_(test),
        values_(value_names(plan)) {}

  std::string add_to(const std::string& manifest) {
    const Json earlier = Json::parse(manifest, nullptr, false);
    if (!earlier.is_object() || !earlier.contains("models") || !earlier["models"].is_array())
      return "its manifest.json is not one that this version writes";
    if (earlier.value("converter", "") != converter())
      return "another version wrote it: " + earlier.value("converter", "nobody knows which");
    if (earlier.value("target", Json()) != target_json())
      return "it is for another target: " + earlier["target"].value("name", "");
    for (const Json& model : earlier["models"]) {
      if (model.value("name", "") != name_) models_.push_back(model);
    }
    return "";
  }

  std::vector<File> run() {
    models_.push_back(model_json());
    sources();
    files_.push_back({"model/" + name_ + ".h", header()});
    files_.push_back({"model/" + name_ + ".c", constants()});
    files_.push_back({"model/" + name_ + "_arena.c", arena()});
    files_.push_back({"model/" + name_ + "_tests.h", tests_header()});
    files_.push_back({"model/" + name_ + "_tests.c", tests()});
    files_.push_back({"model/one_arena.c", one_arena()});
    files_.push_back(
        {"model/" + name_ + ".plan", std::string(reinterpret_cast<const char*>(plan_.words.data()), plan_.bytes())});
    const Words words = this->words();
    const std::string board = std::string("board/") + board_.name + "/";
    files_.push_back({board + "startup.c", filled(std::string(board_.family) + "/startup.c", words)});
    files_.push_back({board + "link.ld", filled(std::string(board_.family) + "/link.ld", words)});
    files_.push_back({"board/board.h", filled("board.h", words)});
    files_.push_back({"board/semihosting.h", filled("semihosting.h", words)});
    files_.push_back({"board/libc/string.h", filled("libc/string.h", words)});
    files_.push_back({"board/libc/memory.c", filled("libc/memory.c", words)});
    files_.push_back({"test/selftest.c", filled("test/selftest.c", words)});
    files_.push_back({"test/models.h", test_models()});
    files_.push_back({"tools/budget.awk", filled("budget.awk", words)});
    files_.push_back({"Makefile", filled("Makefile", words)});
    files_.push_back({"CMakeLists.txt", filled("CMakeLists.txt", words)});
    for (File& file : manifests({library(), target_.core, names(), library_sources()}, words))
      files_.push_back(std::move(file));
    files_.push_back({"README.md", filled("README.in", words)});
    files_.push_back({"LICENSES/LICENSE", source_text("LICENSE")});
    files_.push_back({"manifest.json", manifest()});
    return std::move(files_);
  }

 private:
  std::string converter() const { return "vireo " + version_; }
  std::string library() const { return models_[0]["name"].get<std::string>(); }  // the first model's

  std::set<std::string> kernels() const {
    std::set<std::string> all;
    for (const Json& model : models_) {
      for (const Json& kernel : model["kernels"]) all.insert(kernel.get<std::string>());
    }
    return all;
  }
  bool strips() const {
    return std::any_of(models_.begin(), models_.end(), [](const Json& model) { return model.value("strips", false); });
  }
  uint32_t sum(const char* what) const {
    uint32_t bytes = 0;
    for (const Json& model : models_) bytes += model["bytes"][what].get<uint32_t>();
    return bytes;
  }
  uint32_t largest_arena() const {
    uint32_t most = 0;
    for (const Json& model : models_) most = std::max(most, model["bytes"]["arena"].get<uint32_t>());
    return most;
  }
  size_t most_layers() const {
    size_t most = 0;
    for (const Json& model : models_) most = std::max(most, model["layers"].size());
    return most;
  }
  // A text of each model, with NAME and UP as its names.
  std::string each(const std::string& text) const {
    std::string all;
    for (const Json& model : models_) {
      const std::string name = model["name"].get<std::string>();
      all += replaced(replaced(text, "NAME", name), "UP", upper(name));
    }
    return all;
  }

  void sources() {
    std::set<std::string> of_plan = {"bounds.c", "call.h", "kernels.def", "plan.h", "trace.c", "vireo_mcu.c"};
    std::set<std::string> of_kernels = {"lanes.h", "product.h", "requantize.c", "requantize.h"};
    std::string cases;
    const std::set<std::string> linked = kernels();
    for (const auto& kernel : kKernels) {
      if (linked.count(kernel.name) == 0) continue;
      cases += "    case " + std::to_string(kernel.number) + ": return &vireo_mcu_" + kernel.name + "_kernel;\n";
      for (const KernelSources& k : kernel_sources()) {
        if (k.number != kernel.number) continue;
        of_plan.insert(k.plan.begin(), k.plan.end());
        of_kernels.insert(k.kernels.begin(), k.kernels.end());
      }
    }
    if (strips()) {
      of_plan.insert({"strips.c", "strips.h"});
      files_.push_back(copied("sdk/plan/rows/", "strip_rows.h", "src/"));
    }
    for (const std::string& f : of_plan) files_.push_back(copied("delegates/mcu/plan/", f, "src/"));
    for (const std::string& f : of_kernels) files_.push_back(copied("delegates/mcu/kernels/", f, "src/"));
    files_.push_back(copied("delegates/mcu/plan/", "vireo_mcu.h", "include/"));
    files_.push_back(copied("delegates/mcu/plan/", "vireo_mcu_trace.h", "include/"));
    for (const char* f : {"ed25519.c", "ed25519.h", "vireo_mcu_update.c"})
      files_.push_back(copied("delegates/mcu/update/", f, "src/"));
    files_.push_back(copied("delegates/mcu/update/", "vireo_mcu_update.h", "include/"));
    files_.push_back({"src/rounding.h", source_text("converter/firmware/templates/rounding.h")});
    files_.push_back({"src/plan_features.h",
                      "/* What the executor can do besides single records: what this folder's plans need. */\n"
                      "#ifndef VIREO_PLAN_FEATURES_H_\n#define VIREO_PLAN_FEATURES_H_\n\n#define VIREO_MCU_STRIPS " +
                          std::string(strips() ? "1" : "0") + "\n\n#endif\n"});
    files_.push_back({"src/linked.c",
                      "/* The kernels of this folder's plans: others are not linked. */\n"
                      "#include <stddef.h>\n\n#include \"call.h\"\n\n"
                      "const vireo_mcu_kernel* vireo_mcu_kernel_of(uint32_t number) {\n"
                      "  switch (number) {\n" +
                          cases + "    default: return NULL;\n  }\n}\n"});
  }

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const Json& model : models_) list.push_back(model["name"].get<std::string>());
    return list;
  }

  std::vector<std::string> library_sources() const {
    std::set<std::string> list = {"model/one_arena.c"};
    for (const Json& model : models_) {
      const std::string base = "model/" + model["name"].get<std::string>();
      list.insert({base + ".c", base + "_arena.c"});
    }
    for (const File& f : files_) {
      if (f.path.compare(0, 4, "src/") == 0 && f.path.compare(f.path.size() - 2, 2, ".c") == 0) list.insert(f.path);
    }
    return {list.begin(), list.end()};
  }
  std::string joined_sources() const {
    std::string text;
    for (const std::string& path : library_sources()) text += (text.empty() ? "" : " ") + path;
    return text;
  }

  // ---- The model

  std::string title() const {
    return "/* " + name_ + " for " + target_.name + ": made by vireo " + version_ + " from " + source_ + ". */\n";
  }

  std::string about(const PlanValue& v, const char* what) const {
    std::string text = std::string("\n/* ") + what + " \"" + replaced(v.name, "*/", "* /") + "\": " + shape_text(v);
    if (v.quantized) text += ", real = " + exact(v.scale) + " * (code - " + std::to_string(v.zero) + ")";
    return text + " */\n";
  }

  std::string header() const {
    std::string text = title();
    text += "#ifndef VIREO_MODEL_" + up_ + "_H_\n#define VIREO_MODEL_" + up_ + "_H_\n\n#include \"vireo_mcu.h\"\n\n" +
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    text += "#define " + up_ + "_PLAN_BYTES " + std::to_string(plan_.bytes()) + "u\n";
    text += "#define " + up_ + "_ARENA_BYTES " + std::to_string(plan_.arena_bytes) + "u\n";
    text += "#define " + up_ + "_STACK_BYTES " + std::to_string(stack_budget()) +
            "u /* at most, of a call of vireo_mcu_run and of the self-test */\n";
    text += "#define " + up_ + "_MODEL " + hex(plan_.model) + " /* which model this is */\n";
    text += "#define " + up_ + "_INPUTS " + std::to_string(plan_.inputs.size()) + "u\n";
    text += "#define " + up_ + "_OUTPUTS " + std::to_string(plan_.outputs.size()) + "u\n\n";
    text += "extern const uint32_t " + name_ + "_plan[" + up_ + "_PLAN_BYTES / 4];\n";
    text +=
        "/* Models whose runs never overlap can share an arena: of the size of the largest. */\n#ifdef "
        "VIREO_MCU_ONE_ARENA\n"
        "extern uint64_t vireo_mcu_arena[];\n#define " +
        name_ + "_arena vireo_mcu_arena\n#else\nextern uint64_t " + name_ + "_arena[" + up_ +
        "_ARENA_BYTES / 8];\n#endif\n\n";
    text += "/* Once, before the first run. The session and the arena serve no other model meanwhile. */\n";
    text += "static inline vireo_mcu_status " + name_ +
            "_open(vireo_mcu_session* session) {\n  return vireo_mcu_open(session, " + name_ + "_plan, " + up_ +
            "_PLAN_BYTES, " + name_ + "_arena, " + up_ + "_ARENA_BYTES);\n}\n";
    size_t n = 0;
    for (const auto* side : {&plan_.inputs, &plan_.outputs}) {
      const bool input = side == &plan_.inputs;
      for (const PlanValue& v : *side) {
        const std::string& value = values_[n++];
        const std::string type = c_type(v.dtype);
        const uint32_t size = static_cast<uint32_t>(std::max<size_t>(1, dtype_bits(v.dtype) / 8));
        text += about(v, input ? "Input" : "Output");
        text += "#define " + up_ + "_" + upper(value) + "_COUNT " + std::to_string(v.bytes / size) + "u\n";
        text += std::string("static inline ") + (input ? "" : "const ") + type + "* " + name_ + "_" + value +
                "(void) {\n  return (" + (input ? "" : "const ") + type + "*)(void*)((uint8_t*)" + name_ + "_arena + " +
                std::to_string(v.offset) + ");\n}\n";
      }
    }
    return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  }

  std::string constants() const {
    std::string text =
        title() + "#include \"" + name_ + ".h\"\n\n" +
        "#ifndef VIREO_MCU_FLASH\n#define VIREO_MCU_FLASH /* where plans lie: a section attribute */\n#endif\n\n" +
        "VIREO_MCU_FLASH const uint32_t " + name_ + "_plan[" + up_ + "_PLAN_BYTES / 4] = {\n";
    for (size_t i = 0; i < plan_.words.size(); ++i) {
      text += (i % 8 == 0 ? "    " : " ") + hex(plan_.words[i]) + ",";
      if (i % 8 == 7 || i + 1 == plan_.words.size()) text += "\n";
    }
    return text + "};\n";
  }

  static std::string ram_section() {
    return "#ifndef VIREO_MCU_RAM\n#define VIREO_MCU_RAM /* where arenas lie: a section attribute */\n#endif\n\n";
  }
  std::string arena() const {
    return title() + "#include \"" + name_ + ".h\"\n\n" + ram_section() + "#ifndef VIREO_MCU_ONE_ARENA\n" +
           "VIREO_MCU_RAM uint64_t " + name_ + "_arena[" + up_ + "_ARENA_BYTES / 8];\n#endif\n";
  }
  std::string one_arena() const {
    return "/* The arena of all models, where their runs never overlap: make ARENA=one, or -DVIREO_MCU_ONE_ARENA. */\n"
           "#include <stdint.h>\n\n" +
           ram_section() + "#ifdef VIREO_MCU_ONE_ARENA\nextern uint64_t vireo_mcu_arena[];\n" +
           "VIREO_MCU_RAM uint64_t vireo_mcu_arena[" + std::to_string(largest_arena()) + " / 8];\n#endif\n";
  }

  // ---- The self-test

  std::string test_models() const {
    return "/* The models of this folder, as the self-test runs them. */\n#ifndef TEST_MODELS_H_\n#define "
           "TEST_MODELS_H_\n\n" +
           each("#include \"NAME.h\"\n#include \"NAME_tests.h\"\n") + "\n#define IMAGE_STACK_BYTES " +
           std::to_string(stack_budget()) + "u\n#define MODELS(M)" + each(" M(NAME, UP)") + "\n\n#endif\n";
  }

  std::string tests_header() const {
    const auto cases = static_cast<uint32_t>(test_.cases.size()) + test_.made_up;
    return title() + "#ifndef VIREO_MODEL_" + up_ + "_TESTS_H_\n#define VIREO_MODEL_" + up_ +
           "_TESTS_H_\n\n#include \"" + name_ + ".h\"\n\n#define " + up_ + "_TEST_CASES " + std::to_string(cases) +
           "u\n#define " + up_ + "_TEST_HASH " + std::to_string(test_.hash) +
           "u /* FNV-1a of all outputs of all cases */\n\n" + "void " + name_ +
           "_test_inputs(vireo_mcu_session* session, uint32_t index);\n\n#endif\n";
  }

  std::string tests() const {
    std::string text = title() + "#include \"" + name_ + "_tests.h\"\n\n#include <string.h>\n";
    for (size_t c = 0; c < test_.cases.size(); ++c) {
      for (size_t i = 0; i < test_.cases[c].size(); ++i) {
        const std::vector<uint8_t>& bytes = test_.cases[c][i];
        text += "\nstatic const uint8_t kCase" + std::to_string(c) + "_" + std::to_string(i) + "[] = {";
        for (size_t b = 0; b < bytes.size(); ++b)
          text += (b % 24 == 0 ? "\n    " : " ") + std::to_string(bytes[b]) + ",";
        text += "\n};\n";
      }
    }
    text += R"(
static uint32_t state;
static uint32_t next(void) { /* Numerical Recipes' linear congruence; its high bits */
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
static void fill_codes(uint8_t* to, uint32_t count) {
  while (count-- > 0) *to++ = (uint8_t)(next() >> 4);
}
static void fill_integers(uint8_t* to, uint32_t count, uint32_t size, uint32_t below) {
  for (; count > 0; --count, to += size) {
    uint32_t words[2] = {next() % below, 0};
    memcpy(to, words, size);
  }
}
static void fill_divisors(uint8_t* to, uint32_t count) {
  while (count-- > 0) *to++ = (uint8_t)(next() >> 4 | 1u);
}
static void fill_reals(uint32_t* to, uint32_t count, uint32_t exponent) { /* i * 2^(exponent - 150), |i| <= 2^15 */
  for (; count > 0; --count, ++to) {
    const uint32_t i = next() & 0xFFFFu;
    uint32_t size = i < 32768u ? 32768u - i : i - 32768u, e = exponent;
    for (; size != 0 && (size & 0x800000u) == 0; size <<= 1) --e;
    *to = size == 0 ? 0u : (i < 32768u ? 0x80000000u : 0u) | e << 23 | (size & 0x7FFFFFu);
  }
}

)";
    text += "void " + name_ + "_test_inputs(vireo_mcu_session* session, uint32_t index) {\n";
    if (!test_.cases.empty()) {
      text += "  switch (index) {\n";
      for (size_t c = 0; c < test_.cases.size(); ++c) {
        text += "    case " + std::to_string(c) + ":\n";
        for (size_t i = 0; i < test_.cases[c].size(); ++i) {
          const std::string which = "kCase" + std::to_string(c) + "_" + std::to_string(i);
          text += "      memcpy(vireo_mcu_input(session, " + std::to_string(i) + ", NULL), " + which + ", sizeof " +
                  which + ");\n";
        }
        text += "      return;\n";
      }
      text += "    default: break;\n  }\n";
    }
    text += "  state = index - " + std::to_string(test_.cases.size()) + "u + 1u;\n";
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const PlanValue& v = plan_.inputs[i];
      const std::string to = "vireo_mcu_input(session, " + std::to_string(i) + ", NULL)";
      if (v.dtype == DType::kF32)
        text += "  fill_reals((uint32_t*)" + to + ", " + std::to_string(v.bytes / 4) + ", " +
                std::to_string(std::ilogb(test_.amplitudes[i]) + 135) + "u);\n";
      else if (v.below != 0)
        text += "  fill_integers((uint8_t*)" + to + ", " + std::to_string(v.bytes * 8 / dtype_bits(v.dtype)) + ", " +
                std::to_string(dtype_bits(v.dtype) / 8) + ", " + std::to_string(v.below) + "u);\n";
      else
        text += std::string("  fill_") + (v.never_0 ? "divisors" : "codes") + "((uint8_t*)" + to + ", " +
                std::to_string(v.bytes) + ");\n";
    }
    text += "  (void)session, (void)fill_codes, (void)fill_integers, (void)fill_divisors, (void)fill_reals;\n}\n";
    return text;
  }

  // ---- Budgets

  uint32_t stack_budget() const {
    static const std::set<std::string> shallow = {"conv_reals", "depthwise_reals", "gemm_reals", "average_reals",
                                                  "average_rows_reals"};
    bool reals = target_.core == "cortex-m4";
    for (const std::string& name : kernels()) reals = reals && shallow.count(name) != 0;
    return (reals ? kStackOfReals : kStack) + (strips() ? kStackOfStrips : 0);
  }
  // Code, and initial data.
  uint32_t text_budget() const {
    const std::set<std::string> linked = kernels();
    const bool real = linked.count("add") + linked.count("softmax") != 0, vectors = target_.core == "cortex-m55";
    uint32_t bytes = kBaseCode + static_cast<uint32_t>(models_.size()) * kCodeOfModel;
    if (real) bytes += target_.core == "cortex-m0plus" ? kFloatLibraryOfArmv6 : kFloatLibrary;
    for (const auto& code : kCode) {
      const bool here = std::any_of(files_.begin(), files_.end(),
                                    [&](const File& f) { return f.path == std::string("src/") + code.source; });
      bytes += !here ? 0 : vectors ? code.with_vectors : code.without;
    }
    return bytes;
  }
  // Plans with their weights, inputs of tests that are kept, tables and texts.
  uint32_t rodata_budget() const { return sum("plan") + sum("tests") + kTables + (strips() ? kTablesOfStrips : 0); }
  uint32_t ram_budget(uint32_t arenas) const { return arenas + stack_budget() + 64; }

  std::string usage() const {
    std::string text;
    for (size_t i = 0; i < plan_.inputs.size(); ++i)
      text += "  /* write " + up_ + "_" + upper(values_[i]) + "_COUNT numbers of " + c_type(plan_.inputs[i].dtype) +
              " to " + name_ + "_" + values_[i] + "(): before each run */\n";
    text += "  vireo_mcu_run(&session);\n";
    for (size_t o = 0; o < plan_.outputs.size(); ++o)
      text += "  /* read " + name_ + "_" + values_[plan_.inputs.size() + o] + "() */\n";
    return text;
  }

  Words words() const {
    const bool arm = std::string(board_.family) == "cortex-m";
    const Words words = {
        {"NAME", name_},
        {"LIBRARY", library()},
        {"TARGET", target_.name},
        {"VERSION", version_},
        {"SOURCE", source_},
        {"TEST_SOURCES", each(" model/NAME_tests.c")},
        {"BOARD", board_.name},
        {"FLASH", board_.flash},
        {"RAM", board_.ram},
        {"STACK_RESERVED", std::to_string(stack_budget())},
        {"COMPILER", target_.compiler},
        {"FLAGS", target_.flags},
        // A Cortex-M0+ has little flash: there all is small but the loops of products.
        {"SMALL", target_.core == "cortex-m0plus" ? "$(BUILD)/pool.o $(BUILD)/codes.o $(BUILD)/requantize.o"
                  : target_.core == "cortex-m3"   ? "$(BUILD)/requantize.o"  // 412 bytes for a thousandth of the time
                                                  : ""},
        {"QEMU", std::string(board_.qemu) + " -nographic -semihosting-config enable=on,target=native"},
        {"FLASH_COMMAND", std::string(arm ? "openocd -f board/YOURS.cfg" : "openocd -f YOURS.cfg") +
                              " -c \"program build/selftest.elf verify reset exit\"   # with a board of your own"},
        {"LIBRARY_SOURCES", joined_sources()},
        {"UP", upper(library())},
        {"PACK_LINE", arm ? "- CMSIS-Pack (`Vireo." + library() + ".pdsc`): zip the folder as a `.pack` file.\n" : ""},
        {"TEXT_BUDGET", std::to_string(text_budget())},
        {"RODATA_BUDGET", std::to_string(rodata_budget())},
        {"RAM_BUDGET", std::to_string(ram_budget(sum("arena")))},
        {"ONE_ARENA_RAM_BUDGET", std::to_string(ram_budget(largest_arena()))},
        {"STACK_BUDGET", std::to_string(stack_budget())},
        {"MODEL_ROWS", model_rows()},
        {"TRACE_ENTRIES", std::to_string(most_layers())},
        {"USAGE", usage()}};
    Words marked;
    for (const auto& [word, value] : words) marked.emplace_back("@" + word + "@", value);
    return marked;
  }

  Json values_json(const std::vector<PlanValue>& list, size_t first) const {
    Json out = Json::array();
    for (size_t i = 0; i < list.size(); ++i) {
      Json v = {{"name", list[i].name}, {"c_name", values_[first + i]}, {"type", dtype_name(list[i].dtype)},
                {"dims", list[i].dims}, {"offset", list[i].offset},     {"bytes", list[i].bytes}};
      if (list[i].quantized) v["scale"] = list[i].scale, v["zero"] = list[i].zero;
      out.push_back(std::move(v));
    }
    return out;
  }

  std::string model_rows() const {
    std::string rows;
    for (const Json& model : models_)
      rows += "| `" + model["name"].get<std::string>() + "` of `" + model["source"].get<std::string>() + "` | " +
              std::to_string(model["bytes"]["plan"].get<uint32_t>()) + " | " +
              std::to_string(model["bytes"]["arena"].get<uint32_t>()) + " | " +
              std::to_string(model["selftest"]["hash"].get<uint32_t>()) + " |\n";
    return rows;
  }

  Json target_json() const {
    return {{"name", target_.name},
            {"core", target_.core},
            {"compiler", target_.compiler},
            {"flags", target_.flags},
            {"board", target_.board}};
  }

  Json model_json() const {
    size_t tests = 0;
    for (const auto& inputs : test_.cases) {
      for (const auto& input : inputs) tests += input.size() + 32;
    }
    Json out;
    out["name"] = name_;
    out["source"] = source_;
    out["model_hash"] = hex(plan_.model);
    out["bytes"] = {{"plan", plan_.bytes()},
                    {"constants", plan_.constant_bytes},
                    {"arena", plan_.arena_bytes},
                    {"arena_lower_bound", plan_.lower_bound_bytes},
                    {"tests", tests}};
    out["inputs"] = values_json(plan_.inputs, 0);
    out["outputs"] = values_json(plan_.outputs, plan_.inputs.size());
    std::set<std::string> kernels;
    Json layers = Json::array();
    uint64_t all = 0;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlanStep& s = plan_.steps[i];
      kernels.insert(s.kernel);
      all += s.instructions;
      Json layer = {{"node", s.node},
                    {"op", s.op},
                    {"kernel", s.kernel},
                    {"products", s.products},
                    {"instructions", s.instructions},
                    {"scratch", s.scratch_bytes},
                    {"output", {{"offset", s.output_offset}, {"bytes", s.output_bytes}}}};
      layer["record"] = s.record;
      layer["trace"] = test_.layers[i];
      if (s.in_strip != 0) layer["segment"] = s.record, layer["rows_a_call"] = s.in_strip;
      layers.push_back(std::move(layer));
    }
    out["kernels"] = kernels;
    out["strips"] = plan_.segments != 0;
    out["instructions"] = all;
    out["layers"] = layers;
    out["selftest"] = {{"hash", test_.hash}, {"cases", test_.cases.size() + test_.made_up}};
    return out;
  }

  std::string manifest() const {
    Json out;
    out["library"] = library();
    out["converter"] = converter();
    out["target"] = target_json();
    out["plan_version"] = VIREO_PLAN_VERSION;
    out["kernels"] = kernels();
    out["bytes"] = {{"plans", sum("plan")}, {"arenas", sum("arena")}, {"one_arena", largest_arena()}};
    out["budgets"] = {{"text", text_budget()},
                      {"rodata", rodata_budget()},
                      {"ram", ram_budget(sum("arena"))},
                      {"ram_one_arena", ram_budget(largest_arena())},
                      {"stack", stack_budget()}};
    out["models"] = models_;
    return out.dump(2) + "\n";
  }

  const FlatPlan& plan_;
  const Target& target_;
  const Board& board_;
  const std::string name_, up_, source_, version_;
  const SelfTest& test_;
  const std::vector<std::string> values_;
  std::vector<Json> models_;  // in the order in which they came
  std::vector<File> files_;
};

}  // namespace

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += std::isalnum(static_cast<unsigned char>(c)) != 0
               ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
               : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out = "m_" + out;
  return out;
}

std::string board_names() {
  std::string list;
  for (const Board& b : kBoards) list += (list.empty() ? "" : ", ") + std::string(b.name);
  return list;
}
bool has_board(const std::string& name) { return find_board(name) != nullptr; }

std::vector<std::vector<uint8_t>> test_inputs(const FlatPlan& plan, const std::vector<float>& amplitudes,
                                              uint32_t index) {
  std::vector<std::vector<uint8_t>> out;
  uint32_t state = index + 1;
  const auto next = [&state] {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  };
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanValue& v = plan.inputs[i];
    std::vector<uint8_t>& bytes = out.emplace_back(v.bytes);
    if (v.dtype == DType::kF32) {
      const float most = amplitudes[i] / 32768.0f;
      for (uint32_t k = 0; k < v.bytes / 4; ++k) {
        const float value = (static_cast<float>(next() & 0xFFFFu) - 32768.0f) * most;
        std::memcpy(bytes.data() + 4 * k, &value, 4);
      }
    } else if (v.below != 0) {
      const uint32_t size = static_cast<uint32_t>(dtype_bits(v.dtype) / 8);
      for (uint32_t k = 0; k < v.bytes; k += size) {
        const uint64_t value = next() % v.below;  // little-endian on both sides
        std::memcpy(bytes.data() + k, &value, size);
      }
    } else {
      for (uint8_t& b : bytes) b = static_cast<uint8_t>(next() >> 4 | (v.never_0 ? 1 : 0));
    }
  }
  return out;
}

uint32_t test_hash(uint32_t so_far, const void* bytes, size_t count) {
  const auto* p = static_cast<const uint8_t*>(bytes);
  for (; count > 0; --count) so_far = (so_far ^ *p++) * 16777619u;
  return so_far;
}

std::string firmware_folder(const FlatPlan& plan, const Target& target, const std::string& name,
                            const std::string& source, const std::string& version, const SelfTest& test,
                            const std::string& earlier, std::vector<File>* out) {
  Folder folder(plan, target, name, source, version, test);
  if (!earlier.empty()) {
    if (std::string why = folder.add_to(earlier); !why.empty()) return why;
  }
  *out = folder.run();
  return "";
}

}  // namespace vireo::firmware
