# An overlay port: it builds the checkout that it lies in. The runtime alone; models are converted by the `vireo` of a Debian package, of the
# wheel or of a build for the host.
set(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../../..")
cmake_path(NORMAL_PATH SOURCE_PATH)

# Highway is compiled with Vireo's own flags, for each level of the CPU: its source, not the library of vcpkg's port.
vcpkg_from_github(OUT_SOURCE_PATH highway REPO google/highway REF 1.2.0 HEAD_REF master
  SHA512 e94b9cc51c81157ccd6bf4d6163445b1acc1a2667dc2650d1c4aea0a5021989c08dafcb92564fcbecb9445ab2f1779051260be2f5b29c3932803b8a42ed2f824)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES trust VIREO_TRUST)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DVIREO_FETCH=OFF
    "-DVIREO_HIGHWAY_SOURCE_DIR=${highway}"
    "-DVIREO_FLATC=${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers/flatc${VCPKG_HOST_EXECUTABLE_SUFFIX}"
    -DVIREO_DEVELOPER=OFF
    -DVIREO_BUILD_CONVERTER=OFF
    -DVIREO_BUILD_TOOLS=OFF
    -DVIREO_BUILD_BINDINGS=OFF
    -DVIREO_BUILD_SAMPLES=OFF
    ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME vireo CONFIG_PATH lib/cmake/Vireo)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
  # Programs would prefer the shared one.
  file(GLOB shared "${CURRENT_PACKAGES_DIR}/lib/libvireo.so*" "${CURRENT_PACKAGES_DIR}/debug/lib/libvireo.so*"
    "${CURRENT_PACKAGES_DIR}/share/vireo/VireoTargets*.cmake")
  file(REMOVE ${shared})
else()
  file(REMOVE "${CURRENT_PACKAGES_DIR}/lib/libvireo.a" "${CURRENT_PACKAGES_DIR}/debug/lib/libvireo.a")
endif()
# vireo-probe is looked for in bin/ beside lib/.
if(EXISTS "${CURRENT_PACKAGES_DIR}/bin")
  set(VCPKG_POLICY_SKIP_MISPLACED_EXECUTABLES_CHECK enabled)
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/bin")
endif()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
configure_file("${CURRENT_PORT_DIR}/usage" "${CURRENT_PACKAGES_DIR}/share/${PORT}/usage" COPYONLY)
