# Schemas become headers at build time, by the flatc that matches the headers we compile against (generated code
# refuses any other version).
include_guard(GLOBAL)

# vireo_add_schema(<target> name.fbs ...)
#   sdk/x/name.fbs becomes <build>/generated/sdk/x/name_generated.h, included as "sdk/x/name_generated.h". The header
#   is made before <target> compiles, and before whatever links <target>. Where <target> does not exist it is created
#   as an interface library with an alias Vireo::<name without vireo_>. One schema includes another by its path from
#   the repository root: include "sdk/format/model.fbs";
#   Headers hold the object API too (NameT structs): writers on the host use it; device code does not, and pays nothing.
function(vireo_add_schema target)
  set(headers)
  foreach(schema IN LISTS ARGN)
    get_filename_component(source "${schema}" ABSOLUTE)
    file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}" "${source}")
    get_filename_component(folder "${relative}" DIRECTORY)
    get_filename_component(stem "${relative}" NAME_WE)
    set(header "${PROJECT_BINARY_DIR}/generated/${folder}/${stem}_generated.h")
    add_custom_command(OUTPUT "${header}"
      COMMAND Vireo::flatc --cpp --scoped-enums --gen-object-api --cpp-std c++17 --keep-prefix -I "${PROJECT_SOURCE_DIR}"
              -o "${PROJECT_BINARY_DIR}/generated/${folder}" "${source}"
      DEPENDS "${source}" VERBATIM COMMENT "flatc ${relative}")
    list(APPEND headers "${header}")
  endforeach()
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      target_sources(${target} PRIVATE ${headers})
      target_link_libraries(${target} PUBLIC Vireo::dep_flatbuffers)
      return()
    endif()
  else()
    add_library(${target} INTERFACE)
    vireo_alias_(${target})
    add_library(Vireo::${vireo_short} ALIAS ${target})
    target_link_libraries(${target} INTERFACE vireo_flags)
  endif()
  add_custom_target(${target}_headers DEPENDS ${headers})
  add_dependencies(${target} ${target}_headers)
  target_link_libraries(${target} INTERFACE Vireo::dep_flatbuffers)
endfunction()
