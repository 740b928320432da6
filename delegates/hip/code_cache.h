// Code objects in a folder of this machine, so that a process need not compile what one before it has compiled.
//
// Machine code from a file runs without further checks, so a file is taken only if the user who runs this process has
// made it and nobody else can write to it or its folder. What it holds is compared as a whole: its key, which includes
// the kernel's text, and a checksum of the code.
#ifndef VIREO_DELEGATES_HIP_CODE_CACHE_H_
#define VIREO_DELEGATES_HIP_CODE_CACHE_H_

#include <string>
#include <vector>

namespace vireo::hip {

// Whether the folder has the code of this key.
bool read_code(const std::string& folder, const std::string& key, std::vector<char>* code);
// Keeps it. What fails here is only slow: the next process compiles again.
void write_code(const std::string& folder, const std::string& key, const std::vector<char>& code);

}  // namespace vireo::hip

#endif  // VIREO_DELEGATES_HIP_CODE_CACHE_H_
