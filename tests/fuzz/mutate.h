// Graphs for the optimiser's fuzzing, as text (converter/ir/text.h): the graphs of the passes' own tests, which are
// what the passes look for, put together and mutated into what nearly is.
#ifndef VIREO_TESTS_FUZZ_MUTATE_H_
#define VIREO_TESTS_FUZZ_MUTATE_H_

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/text.h"

namespace vireo::fuzz {

struct Draft {
  std::vector<std::pair<std::string, std::string>> inputs;  // name, "f32[2,3]"
  std::vector<ir::Statement> nodes;
  std::vector<std::string> outputs;  // besides the values that nothing uses

  std::string text() const;
};

// Every "case" of the *.test.ir files in `folder`.
std::vector<Draft> read_seeds(const std::string& folder);

class Mutator {
 public:
  Mutator(const std::vector<Draft>& seeds, uint64_t seed) : seeds_(seeds), rng_(seed) {}
  // One to three seeds, joined where types allow it, and up to six mutations. May be no graph at all.
  Draft next();

 private:
  size_t below(size_t n) { return n == 0 ? 0 : rng_() % n; }
  bool chance(int percent) { return static_cast<int>(rng_() % 100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  void append(Draft* d, Draft seed, int number);
  void mutate(Draft* d);
  std::string any_value(const Draft& d, size_t before);
  std::string fresh();
  std::string number(bool real);
  void change_constant(ir::Statement* s, Draft* d, size_t at);
  void change_attributes(ir::Statement* s);
  void change_extent(std::string* type);
  void insert_on_edge(Draft* d, size_t node);

  const std::vector<Draft>& seeds_;
  std::mt19937_64 rng_;
  int count_ = 0;
};

}  // namespace vireo::fuzz

#endif  // VIREO_TESTS_FUZZ_MUTATE_H_
