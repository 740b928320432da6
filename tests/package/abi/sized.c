/* A program of another header version. sized_structs_test.py compiles it with today's headers, with headers whose
 * structs lack their last field, and with ones that have a field more (NEWER: `newer`), and runs all three with today's
 * library. Prints a row for each struct; exits with 1 where the library wrote beyond one, or took or refused one
 * wrongly.
 *
 *   sized MODEL.vireo   with one float32 input whose first dimension is open and named batch
 */
#include <stdio.h>
#include <string.h>
#include <vireo/buffer.h>
#include <vireo/fleet.h>
#include <vireo/telemetry.h>
#include <vireo/trust.h>
#include <vireo/vireo.h>

enum { GUARD_BYTES = 512, GUARD = 0xa5 };

static int failures;
static const vireo_bound batch = {"batch", 1, 2};

static vireo_session_options bounded(void) {
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.bounds = &batch;
  options.bound_count = 1;
  return options;
}

static void row(const char* name, size_t bytes, const char* way, int good) {
  printf("%-24s %5lu bytes  %-28s %s\n", name, (unsigned long)bytes, way, good ? "ok" : "WRONG");
  failures += !good;
}

/* A struct with bytes behind it that the library must not touch. */
#define GUARDED(type, name, init)     \
  struct {                            \
    type value;                       \
    unsigned char guard[GUARD_BYTES]; \
  } name = {init, {0}};               \
  memset(name.guard, GUARD, GUARD_BYTES)

static int untouched(const unsigned char* guard) {
  for (int i = 0; i < GUARD_BYTES; ++i) {
    if (guard[i] != GUARD) return 0;
  }
  return 1;
}

#define IS_SIZED(name, type) ((name).value.struct_size == sizeof(type))

/* An output: filled without an error, no byte behind it written, struct_size kept. */
#define OUTPUT(type, INIT, call)                                                                             \
  do {                                                                                                       \
    GUARDED(type, out, INIT);                                                                                \
    const vireo_status status = (call);                                                                      \
    row(#type, sizeof(type), "written",                                                                      \
        (status == VIREO_OK || status == VIREO_UNSUPPORTED) && untouched(out.guard) && IS_SIZED(out, type)); \
    NEWER_IS_ZERO(type, out);                                                                                \
    out.value.struct_size = 0;                                                                               \
    row(#type, sizeof(type), "size not set", (call) == VIREO_INVALID_ARGUMENT);                              \
  } while (0)

#if NEWER
#define NEWER_IS_ZERO(type, out) row(#type, sizeof(type), "new field is 0", (out).value.newer == 0)
/* An input: what a newer header added is taken while it is 0. */
#define INPUT(type, variable, call)                                                    \
  do {                                                                                 \
    row(#type, sizeof(type), "read, new field 0", (call) == VIREO_OK);                 \
    (variable).newer = 1;                                                              \
    row(#type, sizeof(type), "read, new field set", (call) == VIREO_INVALID_ARGUMENT); \
    (variable).newer = 0;                                                              \
  } while (0)
#else
#define NEWER_IS_ZERO(type, out) (void)0
#define INPUT(type, variable, call) row(#type, sizeof(type), "read", (call) == VIREO_OK)
#endif

struct seen {
  unsigned nodes, verdicts;
};
static void see(void* context, const vireo_placed_node* node) {
  struct seen* to = context;
  ++to->nodes;
  to->verdicts += node->verdicts != NULL && node->verdicts[0]->device[0] != 0;
}

static int32_t first(void* context, const vireo_candidate* candidate) {
  (void)context;
  return candidate->node == NULL ? 1 : 0;
}

static void options_of(const vireo_model* model) {
  vireo_session_options options = bounded();
  vireo_preference preference = VIREO_PREFERENCE_INIT;
  vireo_limits limits = VIREO_LIMITS_INIT;
  vireo_memory memory = VIREO_MEMORY_INIT;
  struct seen seen = {0, 0};
  const vireo_placement_visitor visitor = {&seen, see};
  INPUT(vireo_session_options, options, vireo_model_memory(model, &options, &memory, NULL));
  INPUT(vireo_session_options, options, vireo_model_placement(model, &options, &visitor, NULL));
  row("vireo_placed_node", sizeof(vireo_placed_node), "handed to a callback",
      seen.nodes > 0 && seen.verdicts == seen.nodes);
  preference.rank = first;
  options.preference = &preference;
  INPUT(vireo_preference, preference, vireo_model_memory(model, &options, &memory, NULL));
  options.preference = NULL;
  OUTPUT(vireo_memory, VIREO_MEMORY_INIT, vireo_model_memory(model, &options, &out.value, NULL));
  {
    struct {
      vireo_device_choice all[2];
      unsigned char guard[GUARD_BYTES];
    } choices = {{VIREO_DEVICE_CHOICE_INIT, VIREO_DEVICE_CHOICE_INIT}, {0}};
    uint32_t count = 0;
    memset(choices.guard, GUARD, GUARD_BYTES);
    INPUT(vireo_limits, limits, vireo_model_devices(model, &options, &limits, choices.all, 2, &count, NULL));
    row("vireo_device_choice", sizeof(vireo_device_choice), "array written",
        count > 0 && untouched(choices.guard) && choices.all[0].devices[0] != 0 &&
            (count < 2 || choices.all[1].devices[0] != 0));
  }
}

static void runtime_of(vireo_runtime* runtime) {
  vireo_rates rates = VIREO_RATES_INIT;
  vireo_trust trust = VIREO_TRUST_INIT;
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  vireo_runtime* made = NULL;
  options.threads = 1;
  INPUT(vireo_runtime_options, options,
        vireo_runtime_create(&options, &made, NULL) == VIREO_OK ? (vireo_runtime_release(made), VIREO_OK)
                                                                : VIREO_INVALID_ARGUMENT);
  INPUT(vireo_rates, rates, vireo_runtime_set_rates(runtime, 0, &rates, NULL));
  INPUT(vireo_trust, trust, vireo_runtime_set_trust(runtime, &trust, NULL));
  OUTPUT(vireo_device_info, VIREO_DEVICE_INFO_INIT, vireo_runtime_device(runtime, 0, &out.value, NULL));
  OUTPUT(vireo_telemetry, VIREO_TELEMETRY_INIT, vireo_runtime_telemetry(runtime, 0, &out.value, NULL));
  {
    GUARDED(vireo_error, error, VIREO_ERROR_INIT);
    const vireo_status status = vireo_runtime_device(runtime, 1000, NULL, &error.value);
    row("vireo_error", sizeof(vireo_error), "written",
        status == VIREO_INVALID_ARGUMENT && error.value.status == status && error.value.message[0] != 0 &&
            untouched(error.guard));
  }
}

static void model_of(const vireo_model* model) {
  OUTPUT(vireo_value_info, VIREO_VALUE_INFO_INIT, vireo_model_input(model, 0, &out.value, NULL));
  OUTPUT(vireo_value_info, VIREO_VALUE_INFO_INIT, vireo_model_output(model, 0, &out.value, NULL));
  OUTPUT(vireo_meaning, VIREO_MEANING_INIT, vireo_model_input_meaning(model, 0, &out.value, NULL));
  OUTPUT(vireo_model_about, VIREO_MODEL_ABOUT_INIT, vireo_model_describe(model, &out.value, NULL));
  OUTPUT(vireo_dimension, VIREO_DIMENSION_INIT, vireo_model_dimension(model, 0, &out.value, NULL));
  OUTPUT(vireo_plan_info, VIREO_PLAN_INFO_INIT, vireo_model_plan(model, 0, &out.value, NULL));
  OUTPUT(vireo_signature, VIREO_SIGNATURE_INIT, vireo_model_signature(model, &out.value, NULL));
}

static void session_of(const vireo_model* model) {
  const vireo_session_options options = bounded();
  vireo_session* session = NULL;
  row("vireo_session_options", sizeof options, "creates a session",
      vireo_session_create(model, &options, &session, NULL) == VIREO_OK);
  OUTPUT(vireo_node_info, VIREO_NODE_INFO_INIT, vireo_session_node(session, 0, &out.value, NULL));
  row("vireo_session_run", 0, "runs", vireo_session_run(session, NULL, 0, NULL, 0, NULL) == VIREO_OK);
  if (vireo_model_packed_count(model) > 0)
    OUTPUT(vireo_packed_copy, VIREO_PACKED_COPY_INIT, vireo_model_packed(model, 0, &out.value, NULL));
  vireo_session_release(session);
}

static vireo_status make_pipeline(const vireo_model* model, const vireo_pipeline_options* options) {
  vireo_pipeline* made = NULL;
  const vireo_status status = vireo_pipeline_create(model, options, &made, NULL);
  vireo_pipeline_release(made);
  return status;
}

static vireo_status make_split(const vireo_model* model, const vireo_split_options* options) {
  vireo_split* made = NULL;
  const vireo_status status = vireo_split_create(model, options, &made, NULL);
  vireo_split_release(made);
  return status;
}

static void fleet_of(const vireo_model* model) {
  const char* const devices[] = {"cpu"};
  vireo_session_options session = bounded();
  vireo_pipeline_options pipeline = VIREO_PIPELINE_OPTIONS_INIT;
  vireo_split_options split = VIREO_SPLIT_OPTIONS_INIT;
  vireo_split* made = NULL;
  struct {
    vireo_load all[2];
    unsigned char guard[GUARD_BYTES];
  } loads = {{VIREO_LOAD_INIT, VIREO_LOAD_INIT}, {0}};
  memset(loads.guard, GUARD, GUARD_BYTES);
  pipeline.session = &session;
  INPUT(vireo_pipeline_options, pipeline, make_pipeline(model, &pipeline));
  INPUT(vireo_session_options, session, make_pipeline(model, &pipeline));
  split.session = NULL; /* the batch has no other bound than the split's */
  split.devices = devices;
  split.device_count = 1;
  split.batch = 2;
  INPUT(vireo_split_options, split, make_split(model, &split));
  OUTPUT(vireo_estimate, VIREO_ESTIMATE_INIT, vireo_fleet_estimate(model, &session, 0, &out.value, loads.all, 2, NULL));
  row("vireo_load", sizeof(vireo_load), "array written", loads.all[0].device[0] != 0 && untouched(loads.guard));
  if (vireo_split_create(model, &split, &made, NULL) == VIREO_OK)
    OUTPUT(vireo_share, VIREO_SHARE_INIT, vireo_split_share(made, 0, &out.value, NULL));
  vireo_split_release(made);
}

static void finished_of(const vireo_model* model, vireo_session_options* session) {
  vireo_pipeline_options options = VIREO_PIPELINE_OPTIONS_INIT;
  vireo_pipeline* pipeline = NULL;
  vireo_value_info input = VIREO_VALUE_INFO_INIT;
  static float zeros[1 << 16];
  vireo_tensor in;
  int64_t dims[VIREO_MAX_RANK];
  options.session = session;
  if (vireo_pipeline_create(model, &options, &pipeline, NULL) != VIREO_OK ||
      vireo_model_input(model, 0, &input, NULL) != VIREO_OK) {
    row("vireo_finished", sizeof(vireo_finished), "a pipeline", 0);
    return;
  }
  for (int i = 0; i < input.rank; ++i) dims[i] = input.max_dims[i] < 0 || i == 0 ? 1 : input.max_dims[i];
  in = vireo_tensor_of(input.dtype, dims, input.rank, zeros, sizeof zeros);
  for (int i = 0; i < 2; ++i)
    row("vireo_pipeline_submit", 0, "submits",
        vireo_pipeline_submit(pipeline, &in, 1, NULL, 0, NULL, VIREO_WHEN_FULL_WAIT, NULL) == VIREO_OK);
  OUTPUT(vireo_finished, VIREO_FINISHED_INIT, vireo_pipeline_wait(pipeline, UINT64_MAX, &out.value, NULL));
  vireo_pipeline_release(pipeline);
}

int main(int argc, char** argv) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime* runtime = NULL;
  vireo_model* model = NULL;
  vireo_session_options options = bounded();
  if (argc != 2 || vireo_runtime_create(NULL, &runtime, &error) != VIREO_OK ||
      vireo_model_load_file(runtime, argv[1], &model, &error) != VIREO_OK) {
    fprintf(stderr, "sized: %s\n", error.message);
    return 2;
  }
  runtime_of(runtime);
  model_of(model);
  options_of(model);
  session_of(model);
  fleet_of(model);
  finished_of(model, &options);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return failures != 0;
}
