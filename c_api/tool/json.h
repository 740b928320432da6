// JSON as text. The parser and the writer are templates that cost seconds in each file that calls them, so they are
// called in json.cc alone. A file that builds or reads values includes <nlohmann/json.hpp> as well.
#ifndef VIREO_C_API_TOOL_JSON_H_
#define VIREO_C_API_TOOL_JSON_H_

#include <stdint.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace vireo::tool {

using Json = nlohmann::ordered_json;

// `indent` spaces for each level; below 0: all on one line.
// Names come from model files: bytes that are no UTF-8 are replaced instead of making the whole output fail.
std::string json_text(const Json& json, int indent);

// Throws nothing for text that is no JSON: the value then is_discarded().
Json parse_json(std::string_view text);
Json parse_json(const std::vector<uint8_t>& bytes);

}  // namespace vireo::tool

#endif  // VIREO_C_API_TOOL_JSON_H_
