# Installs the build into a folder of its own, then configures, builds and runs the project against it.
function(step)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "Failed (${status}): ${ARGN}")
    endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --config ${CONFIG})
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G Ninja -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DWANTED_VERSION=${VERSION})
step(${CMAKE_COMMAND} --build ${SCRATCH}/build)
set(ENV{PUMICE_DEVICE} interp)
set(ENV{PUMICE_CACHE_DIR} ${SCRATCH}/cache)
step(${SCRATCH}/build/saxpy)
