# Installs the build for this machine, builds tests/cross/project for the processor ARCH against it, and runs the program under
# qemu.
function(step)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "Failed (${status}): ${ARGN}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(WRITE ${SCRATCH}/headers/kernels.h "static_assert(NAME_OF_FOLDER && sizeof NAME_OF_LIBRARY > 1);\n")
file(WRITE ${SCRATCH}/kernels.cpp "#include <kernels.h>\n#include \"${SOURCE}/samples/ship/inverse_ship.cpp\"\n")
set(ENV{CXX} ${CXX})
file(WRITE ${SCRATCH}/toolchain.cmake "set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR ${ARCH})
set(CMAKE_C_COMPILER ${CC})\nset(CMAKE_CXX_COMPILER ${CXX})\n")
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --config ${CONFIG})
file(GLOB_RECURSE package ${SCRATCH}/prefix/*/pumice-config.cmake)
get_filename_component(package ${package} DIRECTORY)
step(${CMAKE_COMMAND} -S ${SOURCE}/tests/cross/project -B ${SCRATCH}/build -G Ninja -DCMAKE_TOOLCHAIN_FILE=${SCRATCH}/toolchain.cmake
    -DPUMICE_SOURCE=${SOURCE} -DKERNELS=${SCRATCH}/kernels.cpp -DHEADERS=${SCRATCH}/headers -DPUMICE_HOST_PACKAGE=${package})
step(${CMAKE_COMMAND} --build ${SCRATCH}/build --target inverse)
step(${QEMU} ${SCRATCH}/build/inverse cpu)
if(NOT output MATCHES "cpu \\(${LEVEL}, ")
    message(FATAL_ERROR "The program does not run native code of the level ${LEVEL}: ${output}")
endif()

# The kernels are shipped again after a change of a header that they include, and only then.
step(${CMAKE_COMMAND} --build ${SCRATCH}/build --target inverse)
if(output MATCHES "Shipping the kernels")
    message(FATAL_ERROR "Kernels that have not changed are shipped again: ${output}")
endif()
file(WRITE ${SCRATCH}/headers/kernels.h "static_assert(false, \"the header has changed\");\n")
execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH}/build --target inverse RESULT_VARIABLE status OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "the header has changed")
    message(FATAL_ERROR "Kernels are not shipped again after a change of a header (${status}): ${output}")
endif()
