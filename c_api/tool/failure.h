// How the command line fails: one exception type whose text is printed as it stands.
#ifndef VIREO_C_API_TOOL_FAILURE_H_
#define VIREO_C_API_TOOL_FAILURE_H_

#include <stdexcept>
#include <string>
#include <utility>

namespace vireo::tool {

// what() says what was met and where (file, node, tensor); help says what to do next.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& what, std::string help = "") : std::runtime_error(what), help_(std::move(help)) {}
  const std::string& help() const { return help_; }

 private:
  std::string help_;
};

}  // namespace vireo::tool

#endif  // VIREO_C_API_TOOL_FAILURE_H_
