// The verbs that need the converter.
#ifndef VIREO_CONVERTER_CLI_VERBS_H_
#define VIREO_CONVERTER_CLI_VERBS_H_

#include <string>
#include <vector>

#include "c_api/cli/app.h"
#include "converter/convert.h"

namespace vireo::cli {

void add_convert(Command app, Context& context);
void add_quantize(Command app, Context& context);
void add_check(Command app, Context& context);
void add_conformance(Command app, Context& context);
void add_pack(Command app, Context& context);
void add_targets(Command app, Context& context);
void add_eval(Command app, Context& context);
void add_trace(Command app, Context& context);
// seal.cc, with VIREO_TRUST
void add_keygen(Command app, Context& context);
void add_sign(Command app, Context& context);
void add_encrypt(Command app, Context& context);
void add_slot(Command app, Context& context);

// Adds provenance, plans and segments of a .vireo file to what inspect prints. Throws Failure.
void inspect_file(const std::string& path, Json* facts);

// The operators that a build must have to run a .vireo file, those inside composites and bodies too, as VIREO_KERNELS
// names them; sorted. Throws Failure.
std::vector<std::string> kernels_of(const std::string& path);

// --signature FILE.json: fills io, states and signature_name. Throws Failure that names the file and the key.
void read_signature(const std::string& path, ConvertOptions* options);
// --embed-tests REF.npz and --check=REF.npz.
std::vector<TestCaseOption> read_tests(const std::string& path, double atol, double rtol);

std::string code_text(Code code);  // "VC0207"
Json diagnostics_json(const Diagnostics& diagnostics);
// One entry for each reason that a conversion failed, with the nodes that have it.
Json gaps_json(const Diagnostics& diagnostics);
Json report_json(const ConvertReport& report);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_VERBS_H_
