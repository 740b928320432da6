// vireo verify-signature: who signed a model, and whether that holds.
#include <iostream>
#include <optional>

#include "c_api/cli/app.h"
#include "c_api/cli/handles.h"
#include "c_api/cli/keys.h"
#include "c_api/cli/options.h"

namespace vireo::cli {
namespace {

struct VerifySignatureOptions {
  std::string model, key;
  uint64_t at_least = 0;
  bool json = false;
};

// Why the file was refused, in the words of this question: the runtime's speak of a policy.
std::string why_refused(const std::string& path, const std::string& told) {
  const bool unsigned_file = told.find("is not signed") != std::string::npos;
  if (!unsigned_file && told.find("by a key that is not trusted") == std::string::npos) return told;
  const std::optional<vireo_signature> s = signature_as_it_stands(path);
  if (!s.has_value()) return told;
  return s->present == 0 ? "it is not signed" : "it is signed by another key, " + hex_text(s->key, sizeof(s->key));
}

void verify_signature(const VerifySignatureOptions& o, Context& context) {
  const Runtime runtime = start_runtime(1);
  // Whatever else is trusted: by this key, and every byte of the file.
  require_keys("--key", o.key);
  const char* const ciphers = getenv("VIREO_KEYS");
  set_trust(runtime.get(), o.key, ciphers == nullptr ? "" : ciphers);
  vireo_error error = VIREO_ERROR_INIT;
  vireo_model* model = nullptr;
  vireo_status status = vireo_model_load_file(runtime.get(), o.model.c_str(), &model, &error);
  vireo_signature s = VIREO_SIGNATURE_INIT;
  if (status == VIREO_OK) status = vireo_model_signature(model, &s, &error);
  if (status == VIREO_OK) status = vireo_model_check_hashes(model, &error);
  vireo_model_release(model);
  const bool old = status == VIREO_OK && s.revision < o.at_least;
  const bool holds = status == VIREO_OK && s.verified != 0 && !old;
  context.exit_status = holds ? 0 : 1;
  const std::string id = s.present != 0 ? hex_text(s.key, sizeof(s.key)) : "";
  const std::string why =
      old                  ? "revision " + std::to_string(s.revision) + " is older than " + std::to_string(o.at_least)
      : status == VIREO_OK ? "it is not signed by this key"
                           : why_refused(o.model, error.message);
  if (o.json)
    return print_json({{"model", o.model},
                       {"holds", holds},
                       {"key", id},
                       {"revision", s.revision},
                       {"encrypted", s.encrypted != 0},
                       {"reason", holds ? "" : why}});
  if (!holds) throw Failure(o.model + ": " + why, "");
  std::cout << o.model << ": signed by key " << id << ", revision " << s.revision
            << (s.encrypted != 0 ? ", encrypted" : "") << ", whole\n";
}

}  // namespace

void add_verify_signature(Command app, Context& context) {
  auto options = std::make_shared<VerifySignatureOptions>();
  Command verb = app.add_verb("verify-signature", "Tell whether a key signed a model, and no byte was changed");
  verb.add_option("model", options->model, "a .vireo file").required().file({".vireo"});
  verb.add_option("--key", options->key, "the public key's file").required().file({".pub"});
  verb.add_option("--at-least", options->at_least, "fail for revisions that are older");
  add_json(verb, &options->json);
  verb.footer("Example:\n  vireo verify-signature model.vireo --key maker.pub --at-least 3");
  verb.callback([options, &context] { verify_signature(*options, context); });
}

}  // namespace vireo::cli
