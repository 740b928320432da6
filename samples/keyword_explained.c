/* Which word was said?   keyword kws_frontend.vireo kws_dscnn.vireo yes_1.wav
 *
 * Two models in a row: the front end turns one second of sound into log-mel features, the network turns features into
 * one score a word. Both run in their own session of one runtime, and the features go from one to the other without a
 * copy. The models were converted for one sound at a time:
 *
 *     vireo convert kws_frontend.onnx -o kws_frontend.vireo --shape audio=1,16000
 *     vireo convert kws_dscnn.onnx -o kws_dscnn.vireo --shape features=1,1,49,40
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <vireo/vireo.h>

enum { RATE = 16000, SAMPLES = 16000, WORDS = 12 };

/* In the order of the network's outputs. */
static const char* const kWords[WORDS] = {"down",  "go",   "left", "no",  "off",     "on",
                                          "right", "stop", "up",   "yes", "silence", "unknown"};

/* WAV files are little-endian. */
static unsigned u16(const unsigned char* p) { return p[0] | p[1] << 8; }
static unsigned u32(const unsigned char* p) { return u16(p) | u16(p + 2) << 16; }

/* Reads up to one second of 16 kHz mono 16-bit PCM into `audio` (values -1..1); what is missing becomes silence.
 * Returns NULL, or what is wrong with the file. */
static const char* read_samples(FILE* file, float* audio) {
  static unsigned char data[2 * SAMPLES];
  unsigned char head[12], chunk[8], format[16];
  size_t i, got;
  if (fread(head, 1, 12, file) != 12 || memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WAVE", 4) != 0)
    return "is no WAV file";
  while (fread(chunk, 1, 8, file) == 8) {
    unsigned size = u32(chunk + 4);
    if (memcmp(chunk, "data", 4) == 0) {
      got = fread(data, 1, size < sizeof(data) ? size : sizeof(data), file) / 2;
      for (i = 0; i < SAMPLES; ++i) audio[i] = i < got ? (float)(short)u16(data + 2 * i) / 32768.0f : 0.0f;
      return NULL;
    }
    if (memcmp(chunk, "fmt ", 4) == 0) {
      if (size < 16 || fread(format, 1, 16, file) != 16) break;
      if (u16(format) != 1 || u16(format + 2) != 1 || u32(format + 4) != RATE || u16(format + 14) != 16) {
        return "is not 16 kHz mono 16-bit PCM";
      }
      size -= 16;
    }
    if (fseek(file, (long)(size + (size & 1)), SEEK_CUR) != 0) break; /* chunks are padded to even sizes */
  }
  return "has no sound in it";
}

static const char* read_wav(const char* path, float* audio) {
  FILE* file = fopen(path, "rb");
  const char* problem;
  if (file == NULL) return "cannot be opened";
  problem = read_samples(file, audio);
  fclose(file);
  return problem;
}

/* A verified model and a session with all the memory it will ever use. */
static vireo_status load(vireo_runtime* runtime, const char* path, vireo_model** model, vireo_session** session,
                         vireo_error* error) {
  const vireo_status status = vireo_model_load_file(runtime, path, model, error);
  return status != VIREO_OK ? status : vireo_session_create(*model, NULL, session, error);
}

int main(int argc, char** argv) {
  static float audio[SAMPLES];
  vireo_runtime* runtime = NULL;
  vireo_model *front = NULL, *net = NULL;
  vireo_session *front_session = NULL, *net_session = NULL;
  vireo_error error = VIREO_ERROR_INIT;
  const int64_t dims[] = {1, SAMPLES};
  vireo_tensor in, features = {0}, logits = {0};
  vireo_status status;
  const char* problem;
  int i, best = 0;
  float total = 0;

  if (argc != 4) {
    fprintf(stderr, "usage: %s FRONTEND.vireo NET.vireo SOUND.wav\n", argv[0]);
    return 2;
  }
  problem = read_wav(argv[3], audio);
  if (problem != NULL) {
    fprintf(stderr, "error: %s %s\n", argv[3], problem);
    return 2;
  }

  in = vireo_tensor_of(VIREO_FLOAT32, dims, 2, audio, sizeof(audio));

  status = vireo_runtime_create(NULL, &runtime, &error);
  if (status == VIREO_OK) status = load(runtime, argv[1], &front, &front_session, &error);
  if (status == VIREO_OK) status = load(runtime, argv[2], &net, &net_session, &error);
  /* `features` comes back as a view of the front end's memory, [1, 1, 49, 40] ... */
  if (status == VIREO_OK) status = vireo_session_run(front_session, &in, 1, &features, 1, &error);
  /* ... and goes into the network as it is: a tensor is a tensor, whoever owns its memory. */
  if (status == VIREO_OK) status = vireo_session_run(net_session, &features, 1, &logits, 1, &error);

  if (status == VIREO_OK) {
    const float* y = (const float*)logits.data; /* [1, 12], before the softmax */
    for (i = 1; i < WORDS; ++i) best = y[i] > y[best] ? i : best;
    for (i = 0; i < WORDS; ++i) total += expf(y[i] - y[best]); /* softmax of the best: 1 / total */
    printf("%s %.2f\n", kWords[best], 1.0 / (double)total);
  } else {
    fprintf(stderr, "error: %s\n", error.message);
  }

  vireo_session_release(net_session);
  vireo_session_release(front_session);
  vireo_model_release(net);
  vireo_model_release(front);
  vireo_runtime_release(runtime);
  return status == VIREO_OK ? 0 : 1;
}
