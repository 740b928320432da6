#include "c_api/cli/plugins_beside.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <system_error>

namespace vireo::cli {
namespace {

// What follows an option, in one word with it or in the next one.
std::vector<std::string> values_of(const std::vector<std::string>& words, const std::string& option) {
  std::vector<std::string> found;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) found.push_back(words[i + 1]);
    if (words[i].rfind(option + "=", 0) == 0) found.push_back(words[i].substr(option.size() + 1));
  }
  return found;
}

// "vulkan1" is the second device of "vulkan". "": no name of a delegate.
std::string delegate_of(std::string device) {
  while (!device.empty() && device.back() >= '0' && device.back() <= '9') device.pop_back();
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return std::all_of(device.begin(), device.end(), is_letter) ? device : "";
}

}  // namespace

std::string plugins_beside(const std::vector<std::string>& words, const std::filesystem::path& program) {
  std::set<std::string> names;
  for (const char* option : {"--device", "--split"}) {
    for (const std::string& value : values_of(words, option)) {
      std::istringstream list(value);
      for (std::string device; std::getline(list, device, ',');) names.insert(delegate_of(device));
    }
  }
  names.erase("");
  const std::filesystem::path root = program.parent_path().parent_path();
  std::string found;
  for (const std::string& name : names) {
    for (const char* folder : {"plugins", "lib/vireo/plugins"}) {
      const std::filesystem::path file = root / folder / ("libvireo_" + name + ".so");
      std::error_code error;
      if (!std::filesystem::is_regular_file(file, error)) continue;
      found += (found.empty() ? "" : ":") + file.string();
      break;
    }
  }
  return found;
}

}  // namespace vireo::cli
