// What the targets do with a model that loads: sessions, runs, everything that is handed out read.
#ifndef VIREO_TESTS_FUZZ_SESSIONS_H_
#define VIREO_TESTS_FUZZ_SESSIONS_H_

#include "tests/fuzz/harness.h"
#include "vireo/vireo.h"

namespace vireo::fuzz {

// One for the whole process, of one thread, without plug-ins.
vireo_runtime* plain_runtime();

// A session with every open symbol at `open`, two runs, the file's own tests; models that take much memory are left.
// A failure has a text. Tells `reached` of a session and of a run by these stages.
void run_model(const vireo_model* model, int64_t open, vireo_packing packing, const char* target, Reached* reached,
               size_t session_stage, size_t run_stage);

}  // namespace vireo::fuzz

#endif  // VIREO_TESTS_FUZZ_SESSIONS_H_
