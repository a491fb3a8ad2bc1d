# What registers tests. Labels: unit, golden, static, package, and the device's name.
include(${CMAKE_CURRENT_LIST_DIR}/drivers.cmake)
find_package(GTest REQUIRED)

set(test_results ${PROJECT_BINARY_DIR}/test-results)  # one GoogleTest report a CTest entry; cmake/summary.sh counts them
set(test_caches ${PROJECT_BINARY_DIR}/test-caches)    # PUMICE_CACHE_DIR, one a CTest entry
set(test_temporaries ${PROJECT_BINARY_DIR}/test-tmp)  # TMPDIR of device tests, one a CTest entry: they run side by side
set(test_devices interp cpu lavapipe swiftshader)
if(PUMICE_TEST_HARDWARE)
    list(APPEND test_devices hardware)
endif()

# pumice_test_program(target sources...): a GoogleTest program with a precompiled gtest, at -O1 where Release has -O2, since
# tests are compiled more often than they run. source_folder() finds the repository's
# files; it is a file of its own, so that ccache knows everything else whatever the checkout is called.
function(pumice_test_program target)
    add_executable(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE GTest::gtest_main Threads::Threads pumice_source_folder)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    pumice_compile_options(${target})
endfunction()

# pumice_unit_tests(layer [DEVICES device...]): <layer>_test of the folder's *_test.cpp. They reach what no public header has:
# the shared library exports all of namespace pumice.
function(pumice_unit_tests layer)
    cmake_parse_arguments(PARSE_ARGV 1 unit "" "" "DEVICES")
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${layer}/*_test.cpp)
    if(NOT sources)
        return()
    endif()
    pumice_test_program(${layer}_test ${sources})
    target_link_libraries(${layer}_test PRIVATE pumice::pumice)
    target_precompile_headers(${layer}_test REUSE_FROM pumice_unit_headers)
    if(unit_DEVICES)
        pumice_device_test(${layer}_test GTEST DEVICES ${unit_DEVICES})
    else()
        pumice_plain_test(${layer}_test LABELS unit)
    endif()
endfunction()

# pumice_suite(target folder): a program of tests/<folder>/*.cpp on the whole library. False in <target>_FOUND without sources.
function(pumice_suite target folder)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
    set(${target}_FOUND FALSE PARENT_SCOPE)
    if(sources)
        pumice_test_program(${target} ${sources})
        target_link_libraries(${target} PRIVATE pumice::pumice)
        if(TARGET pumice_suite_headers)
            target_precompile_headers(${target} REUSE_FROM pumice_suite_headers)
        endif()
        set(${target}_FOUND TRUE PARENT_SCOPE)
    endif()
endfunction()

# pumice_plain_test(target LABELS ...): a GoogleTest program that needs no device.
function(pumice_plain_test target)
    cmake_parse_arguments(PARSE_ARGV 1 plain "" "" "LABELS")
    add_test(NAME ${target} COMMAND ${target} --gtest_output=xml:${test_results}/${target}.xml)
    set_tests_properties(${target} PROPERTIES LABELS "${plain_LABELS}" TIMEOUT 600
        ENVIRONMENT "PUMICE_DEVICE=interp;PUMICE_CACHE_DIR=${test_caches}/${target}")
endfunction()

# pumice_device_test(target [GTEST] [NAME name] [DEVICES device...]): the program once a device, as NAME.DEVICE, with validation
# on for the Vulkan ones. Without the driver the entry says SKIPPED, or fails where PUMICE_REQUIRE_DRIVERS is on.
function(pumice_device_test target)
    cmake_parse_arguments(PARSE_ARGV 1 run "GTEST" "NAME" "DEVICES")
    if(NOT run_NAME)
        set(run_NAME ${target})
    endif()
    if(NOT run_DEVICES)
        set(run_DEVICES ${test_devices})
    endif()
    foreach(device IN LISTS run_DEVICES)
        set(name ${run_NAME}.${device})
        file(MAKE_DIRECTORY ${test_temporaries}/${name})
        set(environment PUMICE_CACHE_DIR=${test_caches}/${name} TMPDIR=${test_temporaries}/${name})
        set(manifest "")
        if(device STREQUAL "interp")
            list(APPEND environment PUMICE_DEVICE=interp)
        elseif(device MATCHES "^cpu(.*)$")  # cpu4 is cpu, 4 wide
            # LLVM's own leaks are not ours.
            list(APPEND environment PUMICE_DEVICE=cpu PUMICE_CPU_WIDTH=${CMAKE_MATCH_1} ASAN_OPTIONS=detect_leaks=0)
            if(NOT PUMICE_LLVM_INCLUDE)
                pumice_missing_driver(${name} ${device})
                continue()
            endif()
        else()
            # A driver's own leaks are not ours; leaks of our code show on the interpreter.
            list(APPEND environment PUMICE_DEVICE=vulkan PUMICE_VALIDATE=1 ASAN_OPTIONS=detect_leaks=0)
        endif()
        if(device STREQUAL "lavapipe_bare")  # without most of what Vulkan does not promise
            list(APPEND environment PUMICE_VULKAN_BARE=1)
        endif()
        if(device MATCHES "^(lavapipe|swiftshader)")
            string(TOUPPER PUMICE_${CMAKE_MATCH_1} variable)
            set(manifest ${${variable}})
            if(NOT manifest)
                pumice_missing_driver(${name} ${device})
                continue()
            endif()
            list(APPEND environment VK_DRIVER_FILES=${manifest} VK_ICD_FILENAMES=${manifest})
        endif()
        set(arguments "")
        if(run_GTEST)
            set(arguments --gtest_output=xml:${test_results}/${name}.xml)
        endif()
        add_test(NAME ${name} COMMAND ${target} ${arguments})
        set_tests_properties(${name} PROPERTIES LABELS ${device} TIMEOUT 900 ENVIRONMENT "${environment}")
    endforeach()
endfunction()

function(pumice_missing_driver name device)
    if(PUMICE_REQUIRE_DRIVERS)
        add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/missing_driver.cmake ${device})
        set_tests_properties(${name} PROPERTIES LABELS ${device})
    else()
        add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: there is no ${device} driver on this machine")
        set_tests_properties(${name} PROPERTIES LABELS ${device} SKIP_REGULAR_EXPRESSION "SKIPPED")
    endif()
endfunction()
