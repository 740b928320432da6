// The device binary: verbs that need no converter.
#include "c_api/tool/app.h"

int main(int argc, char** argv) { return vireo::tool::run_app(argc, argv, {}); }
