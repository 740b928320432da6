// What a signature and a cipher cost: time from the file to the first result, and how much of the file and of memory
// that touches, of the same model plain, signed, encrypted, and both. Each in a process of its own (fork), by turns.
//
//   bench/sealed MODEL.vireo [ROUNDS]
#include <sodium.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "converter/emit/sealed_file.h"
#include "vireo/trust.h"

namespace {

using Bytes = std::vector<uint8_t>;
uint8_t g_open[32], g_secret[64], g_cipher[32];

struct Told {
  double load_ms, session_ms, run_ms;
  double file_mib, peak_mib;  // of the file resident in this process; of all memory above the start
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "sealed: %s\n", what);
  std::exit(1);
}

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Kilobytes of /proc/self/smaps that belong to mappings of `path`.
double resident_mib(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool ours = false;
  double kib = 0;
  while (std::getline(maps, line)) {
    if (line.find('-') < 20 && line.find(' ') != std::string::npos && line.find(':') > line.find(' '))
      ours = line.find(path) != std::string::npos;
    if (ours && line.rfind("Rss:", 0) == 0) kib += std::atof(line.c_str() + 4);
  }
  return kib / 1024;
}

double status_mib(const char* key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind(key, 0) == 0) return std::atof(line.c_str() + std::strlen(key)) / 1024;
  }
  return 0;
}

Told use(const std::string& path) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = 1;
  options.plugins = "";
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  const auto must = [&](vireo_status s) {
    if (s != VIREO_OK) fail(error.message);
  };
  must(vireo_runtime_create(&options, &runtime, &error));
  vireo_trust trust = VIREO_TRUST_INIT;
  trust.public_key = [](void*, const uint8_t*, uint8_t* out) {
    std::memcpy(out, g_open, 32);
    return vireo_status{VIREO_OK};
  };
  trust.secret_key = [](void*, const uint8_t*, uint8_t* out) {
    std::memcpy(out, g_cipher, 32);
    return vireo_status{VIREO_OK};
  };
  must(vireo_runtime_set_trust(runtime, &trust, &error));
  const double before = status_mib("VmRSS:");
  Told told = {};
  auto begin = std::chrono::steady_clock::now();
  must(vireo_model_load_file(runtime, path.c_str(), &model, &error));
  told.load_ms = ms_since(begin);
  begin = std::chrono::steady_clock::now();
  must(vireo_session_create(model, nullptr, &session, &error));
  told.session_ms = ms_since(begin);
  for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
    vireo_tensor x = {};
    must(vireo_session_input(session, i, &x, &error));
    std::memset(x.data, 0, static_cast<size_t>(x.capacity));
  }
  begin = std::chrono::steady_clock::now();
  must(vireo_session_run(session, nullptr, 0, nullptr, 0, &error));
  told.run_ms = ms_since(begin);
  told.file_mib = resident_mib(path);
  told.peak_mib = status_mib("VmHWM:") - before;
  return told;
}

Told in_child(const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) fail("no pipe");
  const pid_t pid = fork();
  if (pid < 0) fail("no process");
  if (pid == 0) {
    const Told told = use(path);
    if (write(ends[1], &told, sizeof(told)) != sizeof(told)) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  Told told = {};
  if (read(ends[0], &told, sizeof(told)) != sizeof(told)) fail("a child ended without figures");
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return told;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("usage: sealed MODEL.vireo [ROUNDS]");
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5;
  if (sodium_init() < 0) fail("libsodium could not be started");
  crypto_sign_ed25519_keypair(g_open, g_secret);
  crypto_aead_xchacha20poly1305_ietf_keygen(g_cipher);
  char folder[] = "/tmp/vireo-sealed-XXXXXX";
  if (mkdtemp(folder) == nullptr) fail("no temporary folder");
  const std::string names[] = {"plain", "signed", "encrypted", "both"};
  {
    std::ifstream in(argv[1], std::ios::binary);
    const Bytes plain{std::istreambuf_iterator<char>(in), {}};
    std::string error;
    const auto sign = [&](const Bytes& file) {
      return vireo::emit::signed_file(
          {file.data(), file.size()}, {},
          [](const vireo::SignedMessage& m, uint8_t* to) {
            crypto_sign_ed25519_detached(to, nullptr, reinterpret_cast<const uint8_t*>(&m), sizeof(m), g_secret);
          },
          &error);
    };
    vireo::CipherTable table = {};
    table.kind = vireo::kCipherXChaCha20Poly1305;
    const Bytes cipher = vireo::emit::encrypted_file(
        {plain.data(), plain.size()}, table,
        [&](const vireo::FileHeader& scope, uint64_t chunk, uint8_t* bytes, size_t size, uint8_t* tag) {
          uint8_t nonce[24] = {};
          std::memcpy(nonce + 16, &chunk, 8);
          crypto_aead_xchacha20poly1305_ietf_encrypt_detached(bytes, tag, nullptr, bytes, size,
                                                              reinterpret_cast<const uint8_t*>(&scope), sizeof(scope),
                                                              nullptr, nonce, g_cipher);
        },
        &error);
    const Bytes files[] = {plain, sign(plain), cipher, sign(cipher)};
    for (int k = 0; k < 4; ++k) {
      if (files[k].empty()) fail(error.c_str());
      std::ofstream out(std::string(folder) + "/" + names[k] + ".vireo", std::ios::binary);
      out.write(reinterpret_cast<const char*>(files[k].data()), static_cast<std::streamsize>(files[k].size()));
    }
  }
  std::vector<Told> all[4];
  for (int r = 0; r < rounds; ++r) {
    for (int k = 0; k < 4; ++k) all[k].push_back(in_child(std::string(folder) + "/" + names[k] + ".vireo"));
  }
  const auto median = [](std::vector<Told> v, double Told::*field) {
    std::sort(v.begin(), v.end(), [field](const Told& a, const Told& b) { return a.*field < b.*field; });
    return v[v.size() / 2].*field;
  };
  std::printf("%-10s %9s %11s %13s %9s %13s %9s\n", "file", "load ms", "session ms", "first run ms", "all ms",
              "of file MiB", "peak MiB");
  for (int k = 0; k < 4; ++k) {
    const double load = median(all[k], &Told::load_ms), session = median(all[k], &Told::session_ms);
    const double run = median(all[k], &Told::run_ms);
    std::printf("%-10s %9.2f %11.1f %13.1f %9.1f %13.1f %9.1f\n", names[k].c_str(), load, session, run,
                load + session + run, median(all[k], &Told::file_mib), median(all[k], &Told::peak_mib));
    unlink((std::string(folder) + "/" + names[k] + ".vireo").c_str());
  }
  rmdir(folder);
  return 0;
}
