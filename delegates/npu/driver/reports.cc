#include "delegates/npu/driver/reports.h"

#include <cstdio>

#include "delegates/npu/compiler/report.h"

namespace vireo::npu {
namespace {

bool ends(const std::string& s, const char* with) {
  const std::string end = with;
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

bool Reports::open(const char* path) {
  path_ = path;
  return path_.empty() || write();
}

bool Reports::add(const Graph& graph, const Compiled& compiled, const MachineConfig& config) {
  if (path_.empty()) return true;
  if (!text_.empty()) text_ += ends(path_, ".json") ? ",\n" : "\n";
  text_ += ends(path_, ".json")      ? report_json(graph, compiled, config)
           : ends(path_, ".listing") ? listing(graph, compiled)
                                     : report_text(graph, compiled, config);
  return write();
}

bool Reports::write() const {
  std::FILE* const file = std::fopen(path_.c_str(), "w");
  if (file == nullptr) return false;
  const std::string whole = ends(path_, ".json") ? "[\n" + text_ + "]\n" : text_;
  const bool good = std::fwrite(whole.data(), 1, whole.size(), file) == whole.size();
  return std::fclose(file) == 0 && good;
}

}  // namespace vireo::npu
