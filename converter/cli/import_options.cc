#include "converter/cli/import_options.h"

#include "c_api/cli/failure.h"

namespace vireo::cli {

void add_import_options(Command verb, ImportOptions* options) {
  const char* const kGroup = "For some ONNX files only";
  verb.add_repeated(
          "--elements", options->elements,
          "NAME=3: how many elements a sequence or map has. Input sequence: exactly 3 (inputs NAME.0, NAME.1, "
          "NAME.2); output sequence: at most 3; input map: at most 3 (inputs NAME.keys and NAME.values). NAME=none: "
          "an optional input is empty")
      .group(kGroup);
  verb.add_repeated("--keep-input", options->keep_inputs,
                    "NAME: the caller gives this input in each run, although the ONNX file has a value for it; "
                    "without this option it becomes a constant")
      .group(kGroup);
  verb.add_option("--string-bytes", options->string_bytes,
                  "maximum bytes reserved for each string that a node produces; default 256")
      .range(1u, 1u << 20)
      .group(kGroup);
  verb.add_option("--nchwc-block", options->nchwc_block,
                  "channels in a block of a model that ONNX Runtime saved with ORT_ENABLE_ALL: 16 if that machine had "
                  "AVX-512, 8 on any other x86; needed only if the file does not show it")
      .one_of({8, 16})
      .group(kGroup);
}

void fill_import(const ImportOptions& options, ConvertOptions* convert) {
  for (const std::string& text : options.elements) {
    const size_t at = text.rfind('=');
    const std::string count = at == std::string::npos ? "" : text.substr(at + 1);
    const bool number =
        !count.empty() && count.size() < 7 && count.find_first_not_of("0123456789") == std::string::npos;
    if (at == 0 || (!number && count != "none"))
      throw Failure("--elements " + text + " is no name and number", "write --elements NAME=3, or NAME=none");
    convert->elements.push_back({text.substr(0, at), number ? std::stoll(count) : -1});
  }
  convert->keep_inputs = options.keep_inputs;
  convert->string_bytes = options.string_bytes;
  convert->nchwc_block = options.nchwc_block;
}

void add_texts(const ImportOptions& options, std::vector<std::string>* texts) {
  for (const std::string& s : options.elements) texts->push_back("--elements " + s);
  for (const std::string& s : options.keep_inputs) texts->push_back("--keep-input " + s);
  if (options.string_bytes != kStringBytes) texts->push_back("--string-bytes " + std::to_string(options.string_bytes));
  if (options.nchwc_block != 0) texts->push_back("--nchwc-block " + std::to_string(options.nchwc_block));
}

}  // namespace vireo::cli
