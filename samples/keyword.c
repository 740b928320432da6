/* Which word was said?   keyword kws_frontend.vireo kws_dscnn.vireo yes_1.wav */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vireo/vireo.h>

enum { SAMPLES = 16000, WORDS = 12 };
static const char* const kWords[WORDS] = {"down",  "go",   "left", "no",  "off",     "on",
                                          "right", "stop", "up",   "yes", "silence", "unknown"};

static unsigned u32(const unsigned char* p) { return p[0] | p[1] << 8 | p[2] << 16 | (unsigned)p[3] << 24; }

/* One second of 16 kHz mono 16-bit PCM. Returns NULL, or why the file is not that. */
static const char* read_wav(const char* path, float* audio) {
  static unsigned char data[2 * SAMPLES];
  unsigned char head[12], chunk[8], format[16];
  FILE* file = fopen(path, "rb");
  const char* problem = "cannot be read";
  size_t i;
  if (file != NULL && fread(head, 1, 12, file) == 12 && memcmp(head, "RIFF", 4) == 0 &&
      memcmp(head + 8, "WAVE", 4) == 0) {
    problem = "has no sound in it";
    while (fread(chunk, 1, 8, file) == 8) {
      unsigned size = u32(chunk + 4);
      if (memcmp(chunk, "data", 4) == 0) {
        const size_t got = fread(data, 1, size < sizeof(data) ? size : sizeof(data), file) / 2;
        for (i = 0; i < SAMPLES; ++i)
          audio[i] = i < got ? (float)(short)(data[2 * i] | data[2 * i + 1] << 8) / 32768.0f : 0.0f;
        problem = NULL;
        break;
      }
      if (memcmp(chunk, "fmt ", 4) == 0 && size >= 16 && fread(format, 1, 16, file) == 16) {
        if (u32(format) != (1u | 1u << 16) || u32(format + 4) != 16000 || format[14] != 16) {
          problem = "is not 16 kHz mono 16-bit PCM";
          break;
        }
        size -= 16;
      }
      fseek(file, (long)(size + (size & 1)), SEEK_CUR);
    }
  }
  if (file != NULL) fclose(file);
  return problem;
}

static int load(vireo_runtime* runtime, const char* path, vireo_model** model, vireo_session** session,
                vireo_error* error) {
  return vireo_model_load_file(runtime, path, model, error) || vireo_session_create(*model, NULL, session, error);
}

int main(int argc, char** argv) {
  static float audio[SAMPLES];
  vireo_runtime* runtime = NULL;
  vireo_model *front = NULL, *net = NULL;
  vireo_session *front_session = NULL, *net_session = NULL;
  vireo_error error = VIREO_ERROR_INIT;
  const int64_t dims[] = {1, SAMPLES};
  vireo_tensor in = vireo_tensor_of(VIREO_FLOAT32, dims, 2, audio, sizeof(audio)), features = {0}, logits = {0};
  const char* problem = argc == 4 ? read_wav(argv[3], audio) : "";
  int i, best = 0;
  float total = 0;
  if (problem != NULL) {
    fprintf(stderr, problem[0] ? "error: %s %s\n" : "usage: keyword FRONTEND.vireo NET.vireo SOUND.wav%s%s\n",
            problem[0] ? argv[3] : "", problem);
    return 2;
  }
  if (vireo_runtime_create(NULL, &runtime, &error) || load(runtime, argv[1], &front, &front_session, &error) ||
      load(runtime, argv[2], &net, &net_session, &error) ||
      vireo_session_run(front_session, &in, 1, &features, 1, &error) ||
      vireo_session_run(net_session, &features, 1, &logits, 1, &error)) {
    fprintf(stderr, "error: %s\n", error.message);
  } else {
    const float* y = (const float*)logits.data;
    for (i = 1; i < WORDS; ++i) best = y[i] > y[best] ? i : best;
    for (i = 0; i < WORDS; ++i) total += expf(y[i] - y[best]);
    printf("%s %.2f\n", kWords[best], 1.0 / (double)total);
  }
  vireo_session_release(net_session), vireo_session_release(front_session);
  vireo_model_release(net), vireo_model_release(front);
  vireo_runtime_release(runtime);
  return error.status != VIREO_OK;
}
