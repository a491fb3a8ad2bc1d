# The libraries inside libpumice.so. All are linked statically or are headers only, so that who links Pumice needs none of them;
# but for oneTBB, whose shared library it needs when it runs. LLVM is loaded when the CPU device is asked for.
find_package(Threads REQUIRED)
find_package(TBB 2021 QUIET)
if(NOT TBB_FOUND)
    message(FATAL_ERROR "Pumice needs the Debian package libtbb-dev (all of them are listed in cmake/packages.apt).")
endif()
# The C interface is the same in these versions; which of them runs is decided at run time (cpu/native/llvm.cpp).
foreach(version 19 20 21 22 18 17 16 15)
    list(APPEND llvm_includes /usr/lib/llvm-${version}/include)
endforeach()
find_path(PUMICE_LLVM_INCLUDE llvm-c/LLJIT.h PATHS ${llvm_includes} NO_DEFAULT_PATH DOC "LLVM's C headers, version 15 to 22")
mark_as_advanced(PUMICE_LLVM_INCLUDE)
if(NOT PUMICE_LLVM_INCLUDE)
    message(STATUS "*** SKIPPED: no headers of LLVM 15 to 22 on this machine (cmake/packages.apt names their package); "
        "Pumice is built without the device cpu ***")
endif()

# A missing one is said with the Debian package that has it.
function(pumice_need variable package)
    if(NOT ${variable})
        message(FATAL_ERROR "Pumice needs the Debian package ${package} (all of them are listed in cmake/packages.apt).")
    endif()
endfunction()

# libshaderc.so has unresolved glslang and SPIRV-Tools symbols in Debian 12, and mixing it with the static glslang crashes.
# The static libraries in this order link and run. glslang 14 and later have neither of the optional ones.
set(optional_libraries OGLCompiler HLSL)
add_library(pumice_shaderc INTERFACE)
foreach(name shaderc_combined glslang MachineIndependent GenericCodeGen OSDependent OGLCompiler HLSL SPIRV SPIRV-Tools-opt
        SPIRV-Tools)
    find_library(PUMICE_LIB_${name} NAMES lib${name}.a)
    mark_as_advanced(PUMICE_LIB_${name})
    if(NOT PUMICE_LIB_${name} AND name IN_LIST optional_libraries)
        continue()
    endif()
    pumice_need(PUMICE_LIB_${name} "libshaderc-dev, glslang-dev or spirv-tools (lib${name}.a)")
    target_link_libraries(pumice_shaderc INTERFACE ${PUMICE_LIB_${name}})
endforeach()
target_link_libraries(pumice_shaderc INTERFACE Threads::Threads)

# The profiler Tracy, which Debian does not have. An application that contains Pumice may bring its own target.
if(PUMICE_TRACY)
    if(NOT TARGET Tracy::TracyClient)
        find_package(Tracy CONFIG QUIET)
    endif()
    if(NOT TARGET Tracy::TracyClient)
        message(FATAL_ERROR "PUMICE_TRACY is ON, and CMake finds no package Tracy with the target Tracy::TracyClient. Build and "
            "install Tracy's client, best as a shared library, and set CMAKE_PREFIX_PATH to where it is installed or Tracy_DIR to "
            "the folder of its TracyConfig.cmake; or set PUMICE_TRACY to OFF.")
    endif()
endif()

find_path(PUMICE_VULKAN_INCLUDE vulkan/vulkan.h)
pumice_need(PUMICE_VULKAN_INCLUDE libvulkan-dev)
find_path(PUMICE_NLOHMANN_INCLUDE nlohmann/json.hpp)
pumice_need(PUMICE_NLOHMANN_INCLUDE nlohmann-json3-dev)
mark_as_advanced(PUMICE_VULKAN_INCLUDE PUMICE_NLOHMANN_INCLUDE)
if(PUMICE_BUILD_BENCH)  # the library has its own tables of Vulkan's functions
    find_path(PUMICE_VOLK_INCLUDE volk.h)
    pumice_need(PUMICE_VOLK_INCLUDE libvulkan-volk-dev)
    mark_as_advanced(PUMICE_VOLK_INCLUDE)
endif()
