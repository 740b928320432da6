// Small models whose answers are known because the CPU gives them: what a probe and `vireo delegate-test` run on a
// device.
#ifndef VIREO_C_API_CLI_PROBE_KNOWN_H_
#define VIREO_C_API_CLI_PROBE_KNOWN_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "vireo/vireo.h"

namespace vireo::cli {

struct KnownModel {
  std::string name;
  std::shared_ptr<const void> owner;
  const void* data = nullptr;  // a .vireo file, aligned to 64
  size_t size = 0;
  bool integer = false;  // the answers are equal to the bit
  float slack = 1e-2f;   // otherwise within 1e-3 and this share of each
  uint32_t runs = 2;     // in a third one values have any size, and 1e-3 is a share of the largest
};

// Five that a probe runs in some milliseconds; `all`: chains of one, two and eight operators in several sizes and
// types, some of sizes that fill no vector, some with a broadcast operand, with a slack of 1e-3 and a third run, on
// values of any size. "integer operators" holds forty-two nodes of twelve kinds.
std::vector<KnownModel> known_models(bool all);

// What a device did wrong.
struct Wrong {
  std::string why;
};

using Values = std::vector<std::vector<uint8_t>>;  // of each output
using Runs = std::vector<Values>;

// The runs of one session with these options, each on values of its own, which depend on nothing; the second one reads
// them in memory of the caller. `options.device` gets ",cpu" behind it. Returns how many nodes ran on `device`. Throws
// Wrong where a session or a run fails, with their words, and where a run changes an input.
uint32_t run_known(const vireo_runtime* runtime, const KnownModel& model, const std::string& device,
                   vireo_session_options options, Runs* out);
// Throws Wrong where they differ, with the first place.
void require_same(const KnownModel& model, const std::string& device, const Values& got, const Values& want,
                  uint32_t run = 0);
void require_same(const KnownModel& model, const std::string& device, const Runs& got, const Runs& want);

// The last error that a driver logged.
class DriverLog {
 public:
  static void write(void* self, vireo_log_level level, const char* text);  // for vireo_runtime_options.log
  std::string take();  // " (it logged: ...)", or "" where there is nothing new

 private:
  std::mutex lock_;
  std::string last_;
};

// A session's inputs filled as run_known() fills them in its run of this number. Throws Wrong.
void fill_inputs(const vireo_model* model, vireo_session* session, bool integer, uint32_t run = 0);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_PROBE_KNOWN_H_
