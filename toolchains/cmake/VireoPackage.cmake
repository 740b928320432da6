# What gets installed: one archive, one shared library, the public headers, a CMake package, samples and documents; the program
# with its manual.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

# Every static library that `target` needs, itself first, in the variables <out>_archives (targets) and <out>_system (what
# lies outside this build: -lm, threads).
function(vireo_link_closure_ out target)
  set(queue ${target})
  set(seen "")
  set(archives "")
  set(system "")
  while(queue)
    list(POP_FRONT queue item)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(NOT TARGET "${item}")
      if(NOT item MATCHES "^\\$<|^::@")
        list(APPEND system "${item}")
      endif()
      continue()
    endif()
    get_target_property(real ${item} ALIASED_TARGET)
    if(real)
      set(item ${real})
    endif()
    if(item IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${item})
    get_target_property(type ${item} TYPE)
    get_target_property(imported ${item} IMPORTED)
    if(imported)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND archives ${item})
      else()
        list(APPEND system ${item})
      endif()
      continue()
    endif()
    set(libraries "")
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND archives ${item})
      get_target_property(libraries ${item} LINK_LIBRARIES)
    elseif(type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(libraries ${item} INTERFACE_LINK_LIBRARIES)
    endif()
    if(libraries)
      list(APPEND queue ${libraries})
    endif()
  endwhile()
  list(REMOVE_DUPLICATES system)
  set(${out}_archives "${archives}" PARENT_SCOPE)
  set(${out}_system "${system}" PARENT_SCOPE)
endfunction()

# vireo_add_package(<c api library>)
#   libvireo.a holds the library and everything it needs, so that a firmware build links one file; where there is an OS,
#   libvireo.so exports the functions of the public headers and nothing else. `cmake --install` adds the headers, and
#   files for find_package(Vireo) with the targets Vireo::vireo (shared) and Vireo::vireo_static, and for pkg-config.
function(vireo_add_package root)
  vireo_link_closure_(closure ${root})
  set(archive "${PROJECT_BINARY_DIR}/lib/libvireo.a")
  set(script "CREATE ${archive}\n")
  foreach(library IN LISTS closure_archives)
    string(APPEND script "ADDLIB $<TARGET_FILE:${library}>\n")
  endforeach()
  string(APPEND script "SAVE\nEND\n")
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/libvireo.mri" CONTENT "${script}")
  add_custom_command(OUTPUT "${archive}" COMMAND ${CMAKE_COMMAND} -E rm -f "${archive}"
    COMMAND sh -c "\"$0\" -M < \"$1\"" "${CMAKE_AR}" "${PROJECT_BINARY_DIR}/libvireo.mri"
    DEPENDS ${closure_archives} "${PROJECT_BINARY_DIR}/libvireo.mri" VERBATIM COMMENT "archive lib/libvireo.a")
  add_custom_target(vireo_archive ALL DEPENDS "${archive}")

  set(system "")
  foreach(item IN LISTS closure_system)
    if(item MATCHES "Threads::Threads")
      list(APPEND system -pthread)
    elseif(IS_ABSOLUTE "${item}")  # found where the linker looks by itself: its name will do, here and on other machines
      cmake_path(GET item PARENT_PATH folder)
      cmake_path(GET item STEM name)
      if(folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES AND name MATCHES "^lib(.+)")
        list(APPEND system "-l${CMAKE_MATCH_1}")
      else()
        list(APPEND system "${item}")
      endif()
    elseif(item MATCHES "^[a-z]+$")
      list(APPEND system "-l${item}")
    elseif(NOT item MATCHES "::")
      list(APPEND system "${item}")
    endif()
  endforeach()
  list(APPEND system -lm)
  set_property(GLOBAL PROPERTY VIREO_SYSTEM_LIBRARIES "${system}")
  install(FILES "${archive}" DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/c_api/include/vireo" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
    FILES_MATCHING PATTERN "*.h")
  if(EXISTS "${PROJECT_BINARY_DIR}/generated/vireo/ops.h")
    install(FILES "${PROJECT_BINARY_DIR}/generated/vireo/ops.h" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vireo COMPONENT development)
  endif()

  # Operators' attributes, for delegates from outside of this tree: schemas, and what flatc makes of them for C++. With
  # -I<include>/vireo/attributes they have the names that they have here.
  file(GLOB schemas RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/sdk/ops/*/*.fbs")
  foreach(schema IN LISTS schemas)
    cmake_path(GET schema PARENT_PATH folder)
    cmake_path(GET schema STEM stem)
    install(FILES "${PROJECT_SOURCE_DIR}/${schema}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/vireo/attributes/${folder}" COMPONENT development)
    install(FILES "${PROJECT_BINARY_DIR}/generated/objects/${folder}/${stem}_generated.h" OPTIONAL
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/vireo/attributes/${folder}" COMPONENT development)
  endforeach()

  if(NOT VIREO_BARE_METAL AND NOT EMSCRIPTEN)
    set(empty "${PROJECT_BINARY_DIR}/generated/vireo_shared.c")
    file(WRITE "${empty}" "/* Written by VireoPackage.cmake: the library's code comes from its archives. */\n")
    # c_api/README.md says what each number promises. Until 1.0 a minor version may break programs: theirs is then another version
    # of each symbol, and they end at start in place of somewhere.
    set(soversion ${PROJECT_VERSION_MAJOR})
    set(symbol_version ${PROJECT_VERSION_MAJOR})
    if(PROJECT_VERSION_MAJOR EQUAL 0)
      string(APPEND symbol_version ".${PROJECT_VERSION_MINOR}")
    endif()
    file(WRITE "${PROJECT_BINARY_DIR}/libvireo.map" "VIREO_${symbol_version} { global: vireo_*; local: *; };\n")
    add_library(vireo_shared SHARED "${empty}")
    add_library(Vireo::shared ALIAS vireo_shared)
    target_link_libraries(vireo_shared PRIVATE vireo_link_flags "$<LINK_LIBRARY:WHOLE_ARCHIVE,${root}>")
    target_link_options(vireo_shared PRIVATE -Wl,--no-undefined "-Wl,--version-script=${PROJECT_BINARY_DIR}/libvireo.map")
    set_target_properties(vireo_shared PROPERTIES OUTPUT_NAME vireo VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
      EXPORT_NAME vireo LINK_DEPENDS "${PROJECT_BINARY_DIR}/libvireo.map")
    target_include_directories(vireo_shared INTERFACE 
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/c_api/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    install(TARGETS vireo_shared EXPORT VireoTargets
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
    install(EXPORT VireoTargets NAMESPACE Vireo:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Vireo COMPONENT development)
  endif()

  list(JOIN system " " private_libraries)
  set(VIREO_SYSTEM_LIBRARIES "${system}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/toolchains/cmake/VireoConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/VireoConfig.cmake" INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Vireo
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/VireoConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  file(WRITE "${PROJECT_BINARY_DIR}/vireo.pc"
"prefix=\${pcfiledir}/${up}
Name: vireo
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lvireo
Libs.private: ${private_libraries} -lstdc++
")
  install(FILES "${PROJECT_BINARY_DIR}/VireoConfig.cmake" "${PROJECT_BINARY_DIR}/VireoConfigVersion.cmake"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Vireo COMPONENT development)
  install(FILES "${PROJECT_BINARY_DIR}/vireo.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  vireo_install_samples_and_documents_()
endfunction()

# Samples where they are wanted, the script that makes an array of a model, and documents, whose links to each other hold.
function(vireo_install_samples_and_documents_)
  if(VIREO_BUILD_SAMPLES)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/samples" DESTINATION ${CMAKE_INSTALL_DATADIR}/vireo COMPONENT development
      PATTERN "quickstart" EXCLUDE)  # it sets up a machine to build Vireo itself
  endif()
  install(FILES "${PROJECT_SOURCE_DIR}/samples/embed.cmake" DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Vireo COMPONENT development)
  file(GLOB pages RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/samples/howto/*.md"
    "${PROJECT_SOURCE_DIR}/samples/guides/*.md")
  foreach(page README.md CHANGELOG.md SECURITY.md LICENSE c_api/README.md c_api/REFERENCE.md c_api/cli/README.md converter/report/README.md
      converter/report/SCHEMA.md converter/target/README.md quant/README.md sdk/ops/COVERAGE.md sdk/ops/INTEGER.md samples/README.md
      samples/plugin/README.md samples/tutorial/README.md ${pages})
    if(EXISTS "${PROJECT_SOURCE_DIR}/${page}")
      cmake_path(GET page PARENT_PATH folder)
      install(FILES "${PROJECT_SOURCE_DIR}/${page}" DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/vireo/${folder} COMPONENT development)
    endif()
  endforeach()
endfunction()

# vireo_install_tool(<target of the program vireo>)
#   Installs it with its manual pages and what shells need to complete its arguments, which it writes itself. A cross build has
#   the program alone.
function(vireo_install_tool target)
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(folder "${PROJECT_BINARY_DIR}/generated/tool")
  set(completions "")
  set(commands "")
  foreach(shell bash zsh fish)
    list(APPEND completions "${folder}/vireo.${shell}")
    list(APPEND commands COMMAND sh -c "\"$0\" completion ${shell} > \"$1\"" $<TARGET_FILE:${target}> "${folder}/vireo.${shell}")
  endforeach()
  add_custom_command(OUTPUT "${folder}/man1/vireo.1" ${completions}
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${folder}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}/man1"
    COMMAND ${target} help --man "${folder}/man1"
    ${commands}
    DEPENDS ${target} VERBATIM COMMENT "manual pages and completions of vireo")
  add_custom_target(vireo_tool_texts ALL DEPENDS "${folder}/man1/vireo.1" ${completions})
  install(DIRECTORY "${folder}/man1" DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tools)
  install(FILES "${folder}/vireo.bash" DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME vireo COMPONENT tools)
  install(FILES "${folder}/vireo.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
  # Where zsh itself looks; Debian's looks for what packages bring elsewhere.
  install(FILES "${folder}/vireo.zsh" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _vireo COMPONENT zsh)
  install(FILES "${folder}/vireo.zsh" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _vireo COMPONENT tools EXCLUDE_FROM_ALL)
endfunction()
