#include "sdk/base/error.h"

#include "sdk/base/shape.h"

namespace vireo {
namespace {

// Appends to a fixed buffer and cuts what does not fit. Not snprintf: on bare metal that links the heap.
class Writer {
 public:
  Writer(char* out, size_t size) : out_(out), left_(size - 1) {}
  void put(char c) {
    if (left_ == 0) return;
    *out_++ = c;
    --left_;
  }
  void put(const char* s) {
    for (; s != nullptr && *s != 0; ++s) put(*s);
  }
  void put(int64_t v) {
    char digits[20];
    int n = 0;
    uint64_t u = v < 0 ? ~static_cast<uint64_t>(v) + 1 : static_cast<uint64_t>(v);
    if (v < 0) put('-');
    do {
      digits[n++] = static_cast<char>('0' + u % 10);
      u /= 10;
    } while (u != 0);
    while (n > 0) put(digits[--n]);
  }
  void put(const Shape& s) {
    put('[');
    for (int i = 0; i < s.rank; ++i) {
      if (i > 0) put(',');
      if (is_symbolic(s[i])) {
        put('?');
      } else {
        put(s[i]);
      }
    }
    put(']');
  }
  void finish() { *out_ = 0; }

 private:
  char* out_;
  size_t left_;
};

}  // namespace

Status fail_args(Error* error, Status status, const char* format, const ErrorArg* args, int count) {
  if (error == nullptr || !ok(error->status)) return status;
  error->status = status;
  Writer w(error->message, sizeof(error->message));
  int next = 0;
  for (const char* p = format; *p != 0; ++p) {
    if (p[0] != '{' || p[1] != '}') {
      w.put(*p);
      continue;
    }
    ++p;
    if (next >= count) continue;
    const ErrorArg& a = args[next++];
    switch (a.kind) {
      case ErrorArg::Kind::kInt:
        w.put(a.number);
        break;
      case ErrorArg::Kind::kText:
        w.put(a.text);
        break;
      case ErrorArg::Kind::kShape:
        w.put(*a.shape);
        break;
    }
  }
  w.finish();
  return status;
}

}  // namespace vireo
