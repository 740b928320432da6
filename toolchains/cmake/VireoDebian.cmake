# Debian packages out of a build folder: `cpack -G DEB` there. One package for each part that `cmake --install` knows but the
# Python binding, which comes as a wheel (bindings/python/README.md).
#   libvireo0     libvireo.so.0, and vireo-probe, which tries plug-ins for it
#   libvireo-dev  headers, libvireo.a, files for find_package(Vireo) and pkg-config, samples, documents
#   vireo-tools   the `vireo` program, its manual pages and completions, profiles of targets
# They go where CMAKE_INSTALL_LIBDIR says, lib by default: no Multi-Arch is claimed, and vireo-probe is found in ../bin.
include_guard(GLOBAL)
if(NOT PROJECT_IS_TOP_LEVEL OR VIREO_BARE_METAL OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT TARGET vireo_shared)
  return()
endif()
find_program(VIREO_GZIP gzip)
if(NOT VIREO_GZIP)
  return()
endif()

set(packages_source "${PROJECT_SOURCE_DIR}/toolchains/packages/debian")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME vireo)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR Vireo)
set(VIREO_PACKAGE_CONTACT "The Vireo authors <vireo@localhost>" CACHE STRING "Who maintains the packages that cpack makes")
set(CPACK_PACKAGE_CONTACT "${VIREO_PACKAGE_CONTACT}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(library_package libvireo${PROJECT_VERSION_MAJOR})  # Debian names a library by its SONAME
set(runtime_package ${library_package})
set(development_package libvireo-dev)
set(tools_package vireo-tools)
set(CPACK_COMPONENTS_ALL runtime development)
if(TARGET vireo_tool)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# Programs that link the library depend on this package from this version on; dpkg itself runs ldconfig.
file(WRITE "${PROJECT_BINARY_DIR}/packages/control/shlibs" "libvireo ${PROJECT_VERSION_MAJOR} ${library_package} (>= ${PROJECT_VERSION})\n")
file(WRITE "${PROJECT_BINARY_DIR}/packages/control/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/packages/control/shlibs;${PROJECT_BINARY_DIR}/packages/control/triggers")
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "Runtime: loads .vireo models and runs them on the CPU and on devices
that plug-ins offer, through a C API.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libvireo-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library_package} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "C headers, libvireo.a, files for find_package(Vireo) and pkg-config, and
the operators' attributes for writers of delegates; samples and documents.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME vireo-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "${library_package}")  # vireo-probe
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "The vireo program: converts ONNX models to .vireo files, quantises,
inspects, runs, measures and verifies them.")

# What a program that links libvireo.a needs beside it.
get_property(system GLOBAL PROPERTY VIREO_SYSTEM_LIBRARIES)
set(static_needs "")
foreach(row "sodium;libsodium-dev" "turbojpeg;libturbojpeg0-dev" "openjp2;libopenjp2-7-dev" "png16;libpng-dev" "tiff;libtiff-dev" "webp;libwebp-dev")
  list(GET row 0 name)
  list(GET row 1 package)
  if("-l${name}" IN_LIST system)
    list(APPEND static_needs ${package})
  endif()
endforeach()
list(JOIN static_needs ", " static_needs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "${static_needs}")

# Licence and changelog, where Debian's policy wants them.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, where it is set
foreach(part IN LISTS CPACK_COMPONENTS_ALL)
  set(package ${${part}_package})
  set(folder "${PROJECT_BINARY_DIR}/packages/doc/${package}")
  file(MAKE_DIRECTORY "${folder}")
  set(PACKAGE_NAME ${package})
  configure_file("${packages_source}/changelog.in" "${folder}/changelog.Debian" @ONLY)
  execute_process(COMMAND "${VIREO_GZIP}" -9nf "${folder}/changelog.Debian" COMMAND_ERROR_IS_FATAL ANY)  # -n: the same bytes each time
  install(FILES "${packages_source}/copyright" "${folder}/changelog.Debian.gz" DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
    COMPONENT ${part} EXCLUDE_FROM_ALL)  # only here: `cmake --install` has no use for them
endforeach()
include(CPack)
