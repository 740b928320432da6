// The whole command line: the device verbs and those of the converter.
#include "c_api/cli/app.h"
#include "converter/cli/onnx_source.h"
#include "converter/cli/report_data.h"
#include "converter/cli/verbs.h"
#include "sdk/base/config.h"

int main(int argc, char** argv) {
  vireo::cli::Extensions extensions;
  vireo::cli::ImportOptions import;
  extensions.convert = [&](const std::string& path) { return vireo::cli::convert_in_memory(path, import); };
  extensions.import_options = [&](vireo::cli::Command verb) { vireo::cli::add_import_options(verb, &import); };
  extensions.verbs = {vireo::cli::add_convert,     vireo::cli::add_quantize, vireo::cli::add_check,
                      vireo::cli::add_conformance, vireo::cli::add_pack,     vireo::cli::add_targets,
                      vireo::cli::add_eval,        vireo::cli::add_trace};
#if VIREO_TRUST
  for (const auto add : {vireo::cli::add_keygen, vireo::cli::add_sign, vireo::cli::add_encrypt, vireo::cli::add_slot})
    extensions.verbs.emplace_back(add);
#endif
  extensions.inspect_file = vireo::cli::inspect_file;
  extensions.kernels_of = vireo::cli::kernels_of;
  extensions.report = vireo::cli::bench_report;
  return vireo::cli::run_app(argc, argv, std::move(extensions));
}
