// The device binary: verbs that need no converter.
#include "c_api/cli/app.h"

int main(int argc, char** argv) { return vireo::cli::run_app(argc, argv, {}); }
