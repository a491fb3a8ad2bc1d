# The option PUMICE_TRACY of a build: without a package Tracy it is refused with a message that says what to do; with one (the
# stand-in, installed as Tracy installs itself) the sources that it changes are compiled against the package.
file(REMOVE_RECURSE ${SCRATCH})
set(tools -G Ninja -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_C_COMPILER=${C} -DCMAKE_BUILD_TYPE=Release)
set(library -DPUMICE_TRACY=ON -DPUMICE_BUILD_TESTS=OFF -DPUMICE_BUILD_BENCH=OFF -DPUMICE_BUILD_SAMPLES=OFF
    -DPUMICE_PRECOMPILE=OFF)

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${ARGN} fails:\n${output}")
    endif()
endfunction()

execute_process(COMMAND ${CMAKE_COMMAND} -S ${PUMICE} -B ${SCRATCH}/without ${tools} ${library}
    -DCMAKE_DISABLE_FIND_PACKAGE_Tracy=ON RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE message)
string(REGEX REPLACE "[ \n]+" " " message "${message}")
if(status EQUAL 0 OR NOT message MATCHES "PUMICE_TRACY is ON, and CMake finds no package Tracy .* set CMAKE_PREFIX_PATH")
    message(FATAL_ERROR "Without the package the configuration does not fail as it should (${status}):\n${message}")
endif()

run(${CMAKE_COMMAND} -S ${PACKAGE} -B ${SCRATCH}/package ${tools})
run(${CMAKE_COMMAND} --build ${SCRATCH}/package)
run(${CMAKE_COMMAND} --install ${SCRATCH}/package --prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} -S ${PUMICE} -B ${SCRATCH}/with ${tools} ${library} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
set(objects core/CMakeFiles/pumice_core.dir/support/trace.cpp.o core/CMakeFiles/pumice_core.dir/support/tracy_sink.cpp.o)
run(${CMAKE_COMMAND} --build ${SCRATCH}/with --target ${objects})
foreach(object IN LISTS objects)
    execute_process(COMMAND ${NM} -C ${SCRATCH}/with/${object} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(APPEND all "${text}")
endforeach()
foreach(wanted IN ITEMS "U ___tracy_emit_zone_begin_alloc" "U ___tracy_emit_gpu_time_serial" "U pumice::trace::tracy_sink()")
    string(FIND "${all}" "${wanted}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "The objects lack \"${wanted}\":\n${all}")
    endif()
endforeach()
# The library links the client.
file(STRINGS ${SCRATCH}/with/build.ninja links REGEX "LINK_LIBRARIES = .*libTracyClient")
if(NOT links)
    message(FATAL_ERROR "libpumice.so does not link Tracy's client.")
endif()
