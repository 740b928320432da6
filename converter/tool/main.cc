// The whole command line: the device verbs and those of the converter.
#include "c_api/tool/app.h"
#include "converter/tool/onnx_source.h"
#include "converter/tool/report_data.h"
#include "converter/tool/verbs.h"
#include "sdk/base/config.h"

int main(int argc, char** argv) {
  vireo::tool::Extensions extensions;
  vireo::tool::ImportOptions import;
  extensions.convert = [&](const std::string& path) { return vireo::tool::convert_in_memory(path, import); };
  extensions.import_options = [&](vireo::tool::Command verb) { vireo::tool::add_import_options(verb, &import); };
  extensions.verbs = {vireo::tool::add_convert, vireo::tool::add_check, vireo::tool::add_conformance,
                      vireo::tool::add_pack, vireo::tool::add_targets};
#if VIREO_TRUST
  for (const auto add : {vireo::tool::add_keygen, vireo::tool::add_sign, vireo::tool::add_encrypt})
    extensions.verbs.emplace_back(add);
#endif
  extensions.inspect_file = vireo::tool::inspect_file;
  extensions.kernels_of = vireo::tool::kernels_of;
  extensions.report = vireo::tool::bench_report;
  return vireo::tool::run_app(argc, argv, std::move(extensions));
}
