// What a report holds: converter/report/SCHEMA.md is its schema.
#ifndef VIREO_CONVERTER_CLI_REPORT_DATA_H_
#define VIREO_CONVERTER_CLI_REPORT_DATA_H_

#include <string>
#include <vector>

#include "c_api/cli/app.h"
#include "converter/convert.h"
#include "converter/report/recorder.h"

namespace vireo::cli {

// The graph of a .vireo file, its memory plan and where it came from. `before`: what the passes were seen to do; empty
// where nobody looked on.
Json file_report(const ModelBytes& file, const report::Recorder& before);

constexpr int kReportVersion = 2;  // of the schema

// Adds "latency", from what latency.h has: nodes by their numbers in "after".
void add_latency(const Json& latency, Json* data);

// Per node of "after": device, kernel, reasons, as a session without further options has them.
Json placement_report(const Model& model, const SessionChoice& choice, const Bounds& bounds, const Json& after);

// Finds the nodes that a session lists in "after".
class NodeFinder {
 public:
  explicit NodeFinder(const Json& after);
  int32_t find(uint32_t depth, const std::string& name, const std::string& kind);  // -1: not there

 private:
  struct Entry {
    int32_t id;
    uint32_t depth;
    std::string name, kind;
  };
  std::vector<Entry> list_;
  size_t next_ = 0;
};

// All of the above for a conversion. `bench_seconds`: how long to measure nodes; 0: not at all.
Json conversion_report(const std::string& model, const ModelBytes& file, const report::Recorder& recorder,
                       const ConvertReport& report, const Diagnostics& diagnostics, double bench_seconds);
// What static quantization did (Int8Run::json), for such a report.
void add_quantization(const Json& quantization, Json* data);

// bench --report: Extensions::report.
void bench_report(const Model& model, const std::string& path, const SessionChoice& choice, const Bounds& bounds,
                  const Json& latency);

// eval --report: the page of a model with `evaluation`, as SCHEMA.md has it.
void eval_report(const Model& model, const std::string& path, const SessionChoice& choice, const Bounds& bounds,
                 const Json& evaluation);

ModelBytes mapped(const std::string& path);  // throws Failure

// Writes `data` to `path`: a page where that ends in .html, else JSON.
void write_report(const std::string& path, const Json& data);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_REPORT_DATA_H_
