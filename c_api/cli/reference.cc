#include "c_api/cli/reference.h"

#include <stdio.h>

#include <algorithm>

#include "c_api/cli/failure.h"
#include "c_api/cli/npy.h"

namespace vireo::cli {
namespace {

int64_t whole_number(const Array& a, int64_t i, const std::string& key) {
  if (i >= a.count() || dtype_is_float(a.dtype) || a.dtype == VIREO_STRING)
    throw Failure("key " + key + " must hold whole numbers");
  return static_cast<int64_t>(real_at(a, i));
}

}  // namespace

Arrays read_reference(const std::string& path) {
  Arrays arrays = at_file(path, "", [&] { return read_npz(path); });
  if (cases_of(arrays).empty()) {
    throw Failure(path + " holds no cases",
                  "name its arrays c0_in0, c0_in1, .., c0_out0, .. in the order of the graph's inputs and outputs",
                  {"failed", path, "", "", "", ""});
  }
  return arrays;
}

const Array* find(const Arrays& arrays, const std::string& key) {
  const auto it = arrays.find(key);
  return it == arrays.end() ? nullptr : &it->second;
}

// From keys like c0_in0 and c0_out1_sub.
std::vector<int> cases_of(const Arrays& arrays) {
  std::vector<int> cases;
  for (const auto& [key, array] : arrays) {
    int number = 0, used = 0;
    if (sscanf(key.c_str(), "c%d_in%n", &number, &used) != 1 || used == 0) {
      used = 0;
      if (sscanf(key.c_str(), "c%d_out%n", &number, &used) != 1 || used == 0) continue;
    }
    cases.push_back(number);
  }
  std::sort(cases.begin(), cases.end());
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
  return cases;
}

Expected stored(const Arrays& arrays, const std::string& key, const std::string& sampling) {
  Expected e;
  e.values = find(arrays, key);
  if (e.values != nullptr) {
    e.dims = e.values->dims;
    return e;
  }
  e.values = find(arrays, key + "_sub");
  if (e.values == nullptr) return e;
  const Array* step = find(arrays, key + "_step");
  const Array* dims = find(arrays, key + "_shape");
  if (step == nullptr) step = find(arrays, sampling + "_step");
  if (dims == nullptr) dims = find(arrays, sampling + "_shape");
  if (step == nullptr || dims == nullptr)
    throw Failure("key " + key + "_sub stands without " + key + "_step and " + key + "_shape");
  e.step = whole_number(*step, 0, key + "_step");
  if (e.step < 1) throw Failure("key " + key + "_step must be at least 1");
  for (int64_t i = 0; i < dims->count(); ++i) e.dims.push_back(whole_number(*dims, i, key + "_shape"));
  return e;
}

}  // namespace vireo::cli
