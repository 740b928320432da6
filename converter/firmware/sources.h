// The files that go into folders: written into this program by CMake.
#ifndef VIREO_CONVERTER_FIRMWARE_SOURCES_H_
#define VIREO_CONVERTER_FIRMWARE_SOURCES_H_

namespace vireo::firmware {

// The text of a file by its path in the repository; null: it is not here.
const char* source_text(const char* path);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_SOURCES_H_
