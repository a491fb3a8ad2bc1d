# pumice_add_library(NAME [STATIC|SHARED] FILE... [LEVELS level...] [NO_VULKAN] [LIBRARIES target...])
#
# A library of the kernels that the C++ files name by PUMICE_SHIP (<pumice/ship.h>). At build time a tool made of these files runs
# on the build machine; it compiles the kernels to SPIR-V and to native code, and writes NAME.h and NAME.hpp with a function for
# each of them. The library needs libpumice_rt and nothing else of Pumice. Targets that link NAME find its headers.
#
#   LEVELS      native code: x86-64-v2, x86-64-v3, x86-64-v4, aarch64 or riscv64; default: all of the target's processor.
#               "none": no native code
#   NO_VULKAN   leaves the SPIR-V out
#   LIBRARIES   what the files link besides pumice::pumice. In a cross build: libraries of headers alone
#
# In a cross build the tool is built by the host's compiler, with the host's Pumice: set PUMICE_HOST_PACKAGE to the folder of its
# pumice-config.cmake, and PUMICE_HOST_CXX to the compiler if it is not c++.
function(pumice_add_library name)
    cmake_parse_arguments(PARSE_ARGV 1 ship "STATIC;SHARED;NO_VULKAN" "" "LEVELS;LIBRARIES")
    if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
        message(FATAL_ERROR "pumice_add_library: the name \"${name}\" is no identifier of C, and functions will begin with it.")
    endif()
    if(NOT ship_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "pumice_add_library(${name}): no source file is given.")
    endif()
    set(kind STATIC)
    set(runtime pumice::rt)
    if(ship_SHARED)
        set(kind SHARED)
        set(runtime pumice::rt_shared)
    endif()
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}_library)
    file(MAKE_DIRECTORY ${out})
    pumice_ship_levels("${ship_LEVELS}" levels triple)
    set(options --name ${name} --out ${out})
    if(levels)
        string(REPLACE ";" "," levels "${levels}")
        list(APPEND options --levels ${levels} --triple ${triple})
    endif()
    if(ship_NO_VULKAN)
        list(APPEND options --no-vulkan)
    endif()
    pumice_ship_tool(${name} tool program "${ship_UNPARSED_ARGUMENTS}" "${ship_LIBRARIES}")
    set(files ${out}/${name}.h ${out}/${name}.hpp ${out}/${name}.pumice ${out}/${name}_library.c)
    # One relocatable object of all native code, so that its name is known before the kernels are.
    set(native ${out}/${name}_native.o)
    add_custom_command(OUTPUT ${files} ${native}
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${out}/objects
        COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 ${program} ${options}  # leaks of LLVM are nobody's here
        COMMAND ${CMAKE_COMMAND} -DLINKER=${CMAKE_LINKER} -DCOMPILER=${CMAKE_C_COMPILER} -DLIST=${out}/${name}_objects.txt
            -DOUTPUT=${native} -P ${PUMICE_SHIP_FOLDER}/join_objects.cmake
        DEPENDS ${tool} COMMENT "Shipping the kernels of ${name}" VERBATIM)
    set_source_files_properties(${native} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    set_source_files_properties(${out}/${name}_library.c PROPERTIES OBJECT_DEPENDS ${out}/${name}.pumice)
    add_library(${name} ${kind} ${out}/${name}_library.c ${native})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF C_VISIBILITY_PRESET default
        PUMICE_BUNDLE ${out}/${name}.pumice)
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${out}>)
    target_link_libraries(${name} PUBLIC ${runtime} PRIVATE pumice::rt_math)
endfunction()

# The levels of native code for the target's processor, and LLVM's name of the system.
function(pumice_ship_levels asked levels triple)
    set(processor ${CMAKE_SYSTEM_PROCESSOR})
    if(processor MATCHES "^(x86_64|AMD64|amd64)$")
        set(all x86-64-v2 x86-64-v3 x86-64-v4)
        set(system x86_64-pc-linux-gnu)
    elseif(processor MATCHES "^(aarch64|arm64|ARM64)$")
        set(all aarch64)
        set(system aarch64-unknown-linux-gnu)
    elseif(processor STREQUAL "riscv64")
        set(all riscv64)
        set(system riscv64-unknown-linux-gnu)
    else()
        set(all "")
        set(system ${processor}-unknown-linux-gnu)
    endif()
    if(asked)
        set(all ${asked})
        list(REMOVE_ITEM all none)
    endif()
    set(${levels} ${all} PARENT_SCOPE)
    set(${triple} ${system} PARENT_SCOPE)
endfunction()

# The program that writes the files: what to depend on, and its path. In a cross build it is a program for the host.
function(pumice_ship_tool name tool program sources libraries)
    set(absolute "")
    foreach(source IN LISTS sources)
        get_filename_component(path "${source}" ABSOLUTE)
        list(APPEND absolute ${path})
    endforeach()
    if(NOT CMAKE_CROSSCOMPILING)
        add_executable(${name}_ship ${absolute} ${PUMICE_SHIP_FOLDER}/ship_main.cpp)
        target_link_libraries(${name}_ship PRIVATE pumice::pumice ${libraries})
        if(PUMICE_SANITIZE AND COMMAND pumice_compile_options)
            pumice_compile_options(${name}_ship)  # the sanitizer's symbols are in the program
        endif()
        set(${tool} ${name}_ship $<TARGET_FILE:pumice::pumice> PARENT_SCOPE)  # another Pumice makes other code
        set(${program} $<TARGET_FILE:${name}_ship> PARENT_SCOPE)
        return()
    endif()
    if(NOT PUMICE_HOST_PACKAGE)
        message(FATAL_ERROR "pumice_add_library(${name}): in a cross build PUMICE_HOST_PACKAGE is the folder of pumice-config.cmake of a "
            "Pumice for the build machine.")
    endif()
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_host)
    string(REPLACE ";" "|" joined "${absolute}")
    # What the sources see in this folder: include folders and definitions, those of the libraries, too.
    add_library(${name}_ship_options INTERFACE)
    target_link_libraries(${name}_ship_options INTERFACE ${libraries})
    get_directory_property(includes INCLUDE_DIRECTORIES)
    get_directory_property(definitions COMPILE_DEFINITIONS)
    target_include_directories(${name}_ship_options INTERFACE ${includes})
    target_compile_definitions(${name}_ship_options INTERFACE ${definitions})
    set(seen "$<TARGET_PROPERTY:${name}_ship_options,INTERFACE_")
    set(arguments -DNAME=${name} "-DSOURCES=${joined}" -Dpumice_DIR=${PUMICE_HOST_PACKAGE}
        "-DINCLUDES=$<JOIN:${seen}INCLUDE_DIRECTORIES>,|>" "-DDEFINITIONS=$<JOIN:${seen}COMPILE_DEFINITIONS>,|>")
    if(CMAKE_CXX_STANDARD)
        list(APPEND arguments -DCMAKE_CXX_STANDARD=${CMAKE_CXX_STANDARD})
    endif()
    if(PUMICE_HOST_CXX)
        list(APPEND arguments -DCMAKE_CXX_COMPILER=${PUMICE_HOST_CXX})
    endif()
    # The environment of a cross build often names the compiler of the target.
    set(host_environment ${CMAKE_COMMAND} -E env --unset=CC --unset=CXX --unset=CPPFLAGS --unset=CFLAGS --unset=CXXFLAGS --unset=LDFLAGS)
    file(GENERATE OUTPUT ${folder}_arguments.txt CONTENT "${arguments}")  # is not written again while they are the same
    add_custom_command(OUTPUT ${folder}/configured
        COMMAND ${host_environment} ${CMAKE_COMMAND} -S ${PUMICE_SHIP_FOLDER}/host_tool -B ${folder} ${arguments}
        COMMAND ${CMAKE_COMMAND} -E touch ${folder}/configured
        DEPENDS ${folder}_arguments.txt COMMENT "Configuring the tool of ${name} for this machine" VERBATIM)
    # The build of the tool runs in every build: it alone knows which headers the sources include.
    add_custom_target(${name}_ship_tool COMMAND ${CMAKE_COMMAND} --build ${folder} DEPENDS ${folder}/configured
        BYPRODUCTS ${folder}/${name}_ship COMMENT "Building the tool of ${name} for this machine" VERBATIM)
    set(${tool} ${name}_ship_tool ${folder}/${name}_ship PARENT_SCOPE)
    set(${program} ${folder}/${name}_ship PARENT_SCOPE)
endfunction()

set(PUMICE_SHIP_FOLDER ${CMAKE_CURRENT_LIST_DIR}/ship CACHE INTERNAL "Files of pumice_add_library")
