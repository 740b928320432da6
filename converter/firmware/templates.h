// Texts that go into folders, with words filled in.
#ifndef VIREO_CONVERTER_FIRMWARE_TEMPLATES_H_
#define VIREO_CONVERTER_FIRMWARE_TEMPLATES_H_

#include <string>
#include <utility>
#include <vector>

#include "converter/firmware/sources.h"

namespace vireo::firmware {

using Words = std::vector<std::pair<std::string, std::string>>;  // @WORD@, and what stands for it

inline std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

// A file of templates/.
inline std::string filled(const std::string& path, const Words& words) {
  std::string text = source_text(("converter/firmware/templates/" + path).c_str());
  for (const auto& [word, value] : words) text = replaced(std::move(text), word, value);
  return text;
}

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_TEMPLATES_H_
