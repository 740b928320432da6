#include "converter/report/page.h"

#include "converter/report/text.h"
#include "report_base_js.h"
#include "report_colours_js.h"
#include "report_compare_js.h"
#include "report_css.h"
#include "report_data_js.h"
#include "report_details_js.h"
#include "report_draw_js.h"
#include "report_evaluation_js.h"
#include "report_front_js.h"
#include "report_graph_js.h"
#include "report_html.h"
#include "report_lists_js.h"
#include "report_main_js.h"
#include "report_plots_js.h"
#include "report_quantization_js.h"
#include "report_scene_js.h"
#include "report_search_js.h"
#include "report_time_js.h"
#include "sdk/format/sha256.h"

namespace vireo::report {
namespace {

template <size_t kSize>
std::string text_of(const unsigned char (&bytes)[kSize]) {
  return {reinterpret_cast<const char*>(bytes), kSize};
}

// One script, so that one hash lets it run.
std::string script_of_page() {
  std::string out = "\n";
  for (const std::string& part :
       {text_of(report_base_js), text_of(report_data_js), text_of(report_scene_js), text_of(report_draw_js),
        text_of(report_graph_js), text_of(report_details_js), text_of(report_colours_js), text_of(report_search_js),
        text_of(report_plots_js), text_of(report_time_js), text_of(report_compare_js), text_of(report_lists_js),
        text_of(report_quantization_js), text_of(report_front_js), text_of(report_evaluation_js),
        text_of(report_main_js)})
    out += part;
  return out;
}

std::string policy_hash(const std::string& text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  uint8_t digest[32];
  hash.finish(digest);
  return "'sha256-" + base64(digest, sizeof(digest)) + "'";
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&' || c == '<' || c == '>' || c == '"') {
      out += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string page_of(const Json& data, const std::string& title) {
  const std::string html = text_of(report_html), css = text_of(report_css);
  const std::string script = script_of_page();
  const std::string json = script_text(json_text(data, -1));
  std::string out;
  // Places are filled in one walk over the template: what is put in is not looked into again.
  for (size_t at = 0;;) {
    const size_t mark = html.find("@@", at);
    out += html.substr(at, mark - at);
    if (mark == std::string::npos) return out;
    const size_t end = html.find("@@", mark + 2);
    const std::string place = html.substr(mark + 2, end - mark - 2);
    if (place == "TITLE") out += escaped(safe_text(title));
    if (place == "POLICY") out += policy_hash(script);
    if (place == "STYLE") out += css;
    if (place == "DATA") out += json;
    if (place == "SCRIPT") out += script;
    at = end + 2;
  }
}

}  // namespace vireo::report
