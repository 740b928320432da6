#include "converter/firmware/manifests.h"

namespace vireo::firmware {
namespace {

// As CMSIS-Pack calls a core; "": it is none of Arm's.
std::string pack_core(const std::string& core) {
  const std::string family = "cortex-m";
  if (core.compare(0, family.size(), family) != 0) return "";
  return "Cortex-M" + replaced(core.substr(family.size()), "plus", "+");
}

std::string each(const std::vector<std::string>& list, const std::string& before, const std::string& after) {
  std::string text;
  for (const std::string& item : list) text.append(before).append(item).append(after);
  return text;
}

// A header of another folder, for those who have src/ alone on their path.
File forwarded(const std::string& folder, const std::string& header) {
  return {"src/" + header, "#include \"../" + folder + "/" + header + "\" /* Arduino has src/ alone on its path. */\n"};
}

}  // namespace

std::vector<File> manifests(const Library& library, Words words) {
  std::vector<std::string> model_sources, headers = {"include/vireo_mcu.h", "include/vireo_mcu_update.h"};
  for (const std::string& source : library.sources) {
    if (source.compare(0, 6, "model/") == 0) model_sources.push_back(source);
  }
  for (const std::string& model : library.models) headers.push_back("model/" + model + ".h");
  const std::string core = pack_core(library.core);
  words.insert(words.end(),
               {{"@ARDUINO_NAME@", ("vireo_" + library.name).substr(0, 63)},
                {"@ARDUINO_MODELS@", each(model_sources, "#include \"../", "\"\n")},
                {"@INCLUDES@", each(library.models, "", ".h,") + "vireo_mcu.h"},
                {"@HEADERS@", each(library.models, "\"", ".h\", ") + "\"vireo_mcu.h\""},
                {"@ZEPHYR_SOURCES@", each(library.sources, "\n    ${folder}/", "")},
                {"@PACK_CORE@", core},
                {"@PACK_HEADERS@", each(headers, "        <file category=\"header\" name=\"", "\"/>\n")},
                {"@PACK_SOURCES@", each(library.sources, "        <file category=\"source\" name=\"", "\"/>\n")}});
  std::vector<File> files;
  for (const char* path :
       {"library.json", "library.properties", "zephyr/module.yml", "zephyr/Kconfig", "zephyr/CMakeLists.txt"})
    files.push_back({path, filled(path, words)});
  files.push_back({"src/arduino.c", filled("arduino.in", words)});
  if (!core.empty()) files.push_back({"Vireo." + library.name + ".pdsc", filled("package.pdsc", words)});
  for (const char* header : {"vireo_mcu.h", "vireo_mcu_trace.h", "vireo_mcu_update.h"})
    files.push_back(forwarded("include", header));
  for (const std::string& model : library.models) files.push_back(forwarded("model", model + ".h"));
  return files;
}

}  // namespace vireo::firmware
