#include "c_api/tool/json.h"

#include <nlohmann/json.hpp>

namespace vireo::tool {

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

Json parse_json(const std::vector<uint8_t>& bytes) { return Json::parse(bytes, nullptr, /*allow_exceptions=*/false); }

}  // namespace vireo::tool
