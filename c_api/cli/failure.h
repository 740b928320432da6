// How the command line fails: one exception type whose text is printed as it stands.
#ifndef VIREO_C_API_CLI_FAILURE_H_
#define VIREO_C_API_CLI_FAILURE_H_

#include <stdexcept>
#include <string>
#include <utility>

namespace vireo::cli {

// What programs read of an error (--json); "" where it is not known. README.md says what stands where.
struct ErrorFacts {
  std::string code = "failed";
  std::string file, node, tensor;
  std::string message, help;  // "": as people read them
};

// what() says what was met and where (file, node, tensor); help says what to do next.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& what, std::string help = "", ErrorFacts facts = {})
      : std::runtime_error(what), help_(std::move(help)), facts_(std::move(facts)) {}
  const std::string& help() const { return help_; }
  ErrorFacts facts() const {
    ErrorFacts all = facts_;
    if (all.message.empty()) all.message = what();
    if (all.help.empty()) all.help = help_;
    return all;
  }
  // Names the file and the tensor where the failure names none.
  void at(const std::string& file, const std::string& tensor = "") {
    if (facts_.file.empty()) facts_.file = file;
    if (facts_.tensor.empty()) facts_.tensor = tensor;
  }

 private:
  std::string help_;
  ErrorFacts facts_;
};

// What `read` returns. Its failures are those of `file`, and of the input or output `tensor`.
template <class Read>
auto at_file(const std::string& file, const std::string& tensor, const Read& read) {
  try {
    return read();
  } catch (Failure& failure) {
    failure.at(file, tensor);
    throw;
  }
}

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_FAILURE_H_
