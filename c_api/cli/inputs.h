// From what the user typed (--input NAME=FILE, --shape NAME=...) to what a session takes.
#ifndef VIREO_C_API_CLI_INPUTS_H_
#define VIREO_C_API_CLI_INPUTS_H_

#include <string>
#include <utility>
#include <vector>

#include "c_api/cli/array.h"
#include "c_api/cli/handles.h"
#include "c_api/cli/picture.h"

namespace vireo::cli {

// "NAME=VALUE" divided at the last '='; without one the name is empty.
std::pair<std::string, std::string> split_assignment(const std::string& text);

// One array per input of the model; dtype VIREO_NONE where the carried state is used. Reads .npy, .npz (key NAME, or
// the only array), PNG, JPEG and WAV, told apart by content. A model with one input needs no NAME. Adds the shapes to
// `bounds` and one line per assumption to `assumed`. Throws Failure naming input and file.
std::vector<Array> load_inputs(const Model& model, const std::vector<std::string>& assignments, Bounds* bounds,
                               std::vector<std::string>* assumed);

// What the model's signature says of an input; texts live as long as the model.
vireo_meaning input_meaning(const Model& model, size_t input);

// One file as an input: .npy, .npz (the array of the input's name, or the only one), a picture or a sound, told apart
// by content. `assumed` gets a line where something was decided; `fit`, unless NULL, where a picture went. Throws
// Failure naming file and input.
Array load_file(const std::string& path, const Model& model, size_t input, std::string* assumed,
                PictureFit* fit = nullptr);

// Lets arrays that numpy cannot type stand for what the input takes: uint16 for bfloat16, uint8 for float8, 8-bit
// integers for packed ones. Leaves all others alone.
Array fit_dtype(Array array, vireo_dtype want);

// Throws Failure unless `array` has the input's type.
void require_dtype(const vireo_value_info& info, const Array& array, const std::string& where);

// The model and the files of --input, which no output may replace.
std::vector<std::string> files_read(const std::string& model, const std::vector<std::string>& assignments);

// --shape NAME=1,3,224,224 or NAME=1..8,3,224,224: extents to use are the upper ones. Adds them to `bounds`.
void apply_shapes(const Model& model, const std::vector<std::string>& shapes, Bounds* bounds);

// --bound DIMENSION=8 or DIMENSION=1..8, for dimensions that no input has. Adds them to `bounds`.
void apply_bounds(const std::vector<std::string>& texts, Bounds* bounds);

// Values to run with when there are none: floats uniform in 0..1, integers 0, strings "". Shape: the upper bounds.
Array sample_input(const vireo_value_info& info, const std::vector<int64_t>& dims, uint64_t seed);

// One array per input, as the verbs that measure take them: from `files` (all or none; see load_inputs), else made up.
// Open dimensions get what `shapes` and `bounds_given` say, else 1, and a line in `assumed`.
std::vector<Array> inputs_to_measure(const Model& model, const std::vector<std::string>& files,
                                     const std::vector<std::string>& shapes,
                                     const std::vector<std::string>& bounds_given, Bounds* bounds,
                                     std::vector<std::string>* assumed);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_INPUTS_H_
