// The folder that builds a flat plan into an image: sources, board, self-test, budgets.
#ifndef VIREO_CONVERTER_FIRMWARE_EMIT_H_
#define VIREO_CONVERTER_FIRMWARE_EMIT_H_

#include <functional>
#include <string>
#include <vector>

#include "converter/firmware/flat_plan.h"

namespace vireo::firmware {

// What a slot holds (delegates/mcu/update/vireo_mcu_update.h): a header and a plan's bytes. `sign` fills 64 bytes with
// the signature of a message. make_slot returns "", or the reason why it made no slot.
struct SlotFacts {
  uint32_t product = 0, revision = 0, oldest = 0;
};
std::string make_slot(const std::vector<uint8_t>& plan, const SlotFacts& facts,
                      const std::function<void(const uint8_t* message, size_t size, uint8_t* signature)>& sign,
                      std::vector<uint8_t>* out);

// How images for a target are made; of its profile (converter/target).
struct Target {
  std::string name, core, compiler, flags, board;
};
// The boards that there are, with commas.
std::string board_names();
bool has_board(const std::string& name);

// What the self-test feeds: cases that are kept as they are, then `made_up` ones, which test_inputs() makes.
struct SelfTest {
  std::vector<std::vector<std::vector<uint8_t>>> cases;  // the bytes of each input of each case that is kept as it is
  uint32_t made_up = 0;
  std::vector<float> amplitudes;  // of each input, where it is of float32: values lie in +-this, a power of two
  uint32_t hash = 0;              // of all outputs of all cases, the kept ones first
  std::vector<uint32_t> layers;   // the hash of each step's output in the last case (vireo_mcu_trace.h)
};
// The inputs of a case that is made up.
std::vector<std::vector<uint8_t>> test_inputs(const FlatPlan& plan, const std::vector<float>& amplitudes,
                                              uint32_t index);
// FNV-1a, 32 bits, as the self-test counts.
constexpr uint32_t kEmptyTestHash = 2166136261u;
uint32_t test_hash(uint32_t so_far, const void* bytes, size_t count);

struct File {
  std::string path;  // in the folder
  std::string text;
};

// `name`: of the model, a C identifier; `source`: the file it was made from; `earlier`: "", or the manifest of a folder
// that gets this model beside those that it has. Returns "", or why the model cannot be added.
std::string firmware_folder(const FlatPlan& plan, const Target& target, const std::string& name,
                            const std::string& source, const std::string& version, const SelfTest& test,
                            const std::string& earlier, std::vector<File>* out);

// `text` as a C identifier in lower case.
std::string identifier(const std::string& text);
// A model's name from that of its file: an identifier that no file of a folder has already.
std::string model_name(const std::string& text);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_EMIT_H_
