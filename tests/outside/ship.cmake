# Builds and runs the application shipping/ against a Pumice that is installed into a folder of its own.
function(step)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "Failed (${status}): ${ARGN}")
    endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --config ${CONFIG})
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G Ninja -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_C_COMPILER=${C} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DWANTED_VERSION=${VERSION})
step(${CMAKE_COMMAND} --build ${SCRATCH}/build)
foreach(program in_c in_cpp)
    step(${SCRATCH}/build/${program})
endforeach()
execute_process(COMMAND ldd ${SCRATCH}/build/in_c OUTPUT_VARIABLE libraries)
if(libraries MATCHES "libstdc|libpumice")
    message(FATAL_ERROR "A program in C with a static library of kernels needs more than C's libraries:\n${libraries}")
endif()
step(${SCRATCH}/prefix/bin/pumice-inspect ${SCRATCH}/build/sim_library/sim.pumice)
# Pumice within the application: configured, and the runtime built. A whole build would take minutes and find no more errors.
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/within -G Ninja -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_C_COMPILER=${C} -DPUMICE_FOLDER=${PUMICE})
step(${CMAKE_COMMAND} --build ${SCRATCH}/within --target pumice_rt pumice_rt_math)
