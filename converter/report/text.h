// Text of models as a report may show it. It is hostile: names of a megabyte, tags, marks that turn the direction of
// writing, bytes that are no UTF-8. What leaves here is safe in JSON, in a page, and for the eye.
#ifndef VIREO_CONVERTER_REPORT_TEXT_H_
#define VIREO_CONVERTER_REPORT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace vireo::report {

constexpr size_t kMostName = 240;   // bytes of a name that are kept
constexpr size_t kMostText = 2000;  // and of an attribute or a reason

// Valid UTF-8 of at most `most` bytes, cut between characters ("... (1048576 bytes)" says what was cut). Control
// characters and those that steer the direction of writing or are not seen become "<U+202E>"; what is no UTF-8 becomes
// U+FFFD. Equal texts stay equal.
std::string safe_text(const std::string& text, size_t most = kMostName);

// JSON text for a <script> element: no '<', no line separators, so nothing ends the element or begins a comment.
std::string script_text(const std::string& json);

std::string base64(const uint8_t* bytes, size_t size);
std::string hex(const uint8_t* bytes, size_t size);

}  // namespace vireo::report

#endif  // VIREO_CONVERTER_REPORT_TEXT_H_
