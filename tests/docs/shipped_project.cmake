# The project of docs/shipping.md: built against the installed library, then both of its programs run on the device cpu.
function(step)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "Failed (${status}): ${ARGN}")
    endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --config ${CONFIG})
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G Ninja -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
step(${CMAKE_COMMAND} --build ${SCRATCH}/build)
set(ENV{PUMICE_DEVICE} cpu)
step(${SCRATCH}/build/in_c)
step(${SCRATCH}/build/in_cpp)
file(GLOB inspect ${SCRATCH}/prefix/bin/pumice-inspect)
step(${inspect} ${SCRATCH}/build/sim_library/sim.pumice)
