# Functions that register tests. Labels: unit, golden, static, package, thorough, and the device's name.
include(${CMAKE_CURRENT_LIST_DIR}/drivers.cmake)
find_package(GTest REQUIRED)

set(test_results ${PROJECT_BINARY_DIR}/test-results)  # one GoogleTest report a CTest entry; cmake/summary.sh counts them
set(test_caches ${PROJECT_BINARY_DIR}/test-caches)    # PUMICE_CACHE_DIR, one a CTest entry
set(test_temporaries ${PROJECT_BINARY_DIR}/test-tmp)  # TMPDIR of device tests, one a CTest entry: they run side by side
set(test_devices interp cpu lavapipe swiftshader)
if(PUMICE_TEST_HARDWARE)
    list(APPEND test_devices hardware)
endif()

# pumice_test_program(target sources...): a GoogleTest program with a precompiled gtest, at -O0 where Release has -O2, since
# the compiler takes longer for tests than they run, and what they run for long is the library. source_folder() finds the
# repository's files; it is a file of its own, so that ccache knows everything else whatever the checkout is called.
function(pumice_test_program target)
    add_executable(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE GTest::gtest_main Threads::Threads pumice_source_folder)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    pumice_compile_options(${target})
endfunction()

# pumice_unit_tests(layer [DEVICES device...]): <layer>_test of the folder's *_test.cpp. They reach what no public header has:
# the shared library exports all of namespace pumice.
function(pumice_unit_tests layer)
    cmake_parse_arguments(PARSE_ARGV 1 unit "" "" "DEVICES")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${layer}/*_test.cpp)
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

# The folder in which the loader finds the layers of lavapipe_discrete, lavapipe_poor, lavapipe_dma_buf and radv_*.
set(card_manifests ${PROJECT_BINARY_DIR}/tests/layers/manifests)
find_path(PUMICE_VALIDATION_MANIFESTS VkLayer_khronos_validation.json
    PATHS /usr/share/vulkan/explicit_layer.d /usr/local/share/vulkan/explicit_layer.d /etc/vulkan/explicit_layer.d NO_DEFAULT_PATH)
mark_as_advanced(PUMICE_VALIDATION_MANIFESTS)

# Random tests: the devices take different parts of a test's seeds (tests/fuzz/seeds.h). The interpreter, which is fast, and
# hardware take all of them.
function(pumice_part_of_seeds device variable)
    set(k 3)
    set(parts 4)
    if(device MATCHES "^(interp|hardware)$")
        set(k 0)
        set(parts 1)
    elseif(device STREQUAL "cpu")
        set(k 0)
        set(parts 2)
    elseif(device MATCHES "^(lavapipe|cpu_v3)$")
        set(k 0)
    elseif(device MATCHES "^(swiftshader|cpu_v4|radv_.*)$")
        set(k 1)
    elseif(device MATCHES "^(cpu1|cpu16|lavapipe_wide)$")
        set(k 2)
    endif()
    if(PUMICE_SANITIZE)  # which makes them slow
        math(EXPR parts "2 * ${parts}")
    endif()
    set(${variable} PUMICE_FUZZ_PART=${k}/${parts} PARENT_SCOPE)
endfunction()

# pumice_device_test(target [GTEST] [THOROUGH] [NAME name] [FILTER tests] [DEVICES device...]): the program, or of it these of
# GoogleTest's tests, once a device, as NAME.DEVICE, with validation on for the Vulkan ones. Without the driver the entry says
# SKIPPED, or fails where PUMICE_REQUIRE_DRIVERS is on. THOROUGH ones are left to .ci/run by ./test.
function(pumice_device_test target)
    cmake_parse_arguments(PARSE_ARGV 1 run "GTEST;THOROUGH" "NAME;FILTER" "DEVICES")
    set(thorough "")
    if(run_THOROUGH)
        set(thorough thorough)
    endif()
    if(NOT run_NAME)
        set(run_NAME ${target})
    endif()
    if(NOT run_DEVICES)
        set(run_DEVICES ${test_devices})
    endif()
    foreach(device IN LISTS run_DEVICES)
        set(name ${run_NAME}.${device})
        file(MAKE_DIRECTORY ${test_temporaries}/${name})
        pumice_part_of_seeds(${device} part)
        set(environment PUMICE_CACHE_DIR=${test_caches}/${name} TMPDIR=${test_temporaries}/${name} ${part})
        set(manifest "")
        if(device STREQUAL "interp")
            list(APPEND environment PUMICE_DEVICE=interp)
        elseif(device STREQUAL "cpu_plain")
            list(APPEND environment PUMICE_DEVICE=cpu PUMICE_CPU_WITHOUT=all ASAN_OPTIONS=detect_leaks=0)
            if(NOT PUMICE_LLVM_INCLUDE)
                pumice_missing_driver(${name} ${device})
                continue()
            endif()
        elseif(device STREQUAL "cpu_source")  # code for debuggers
            list(APPEND environment PUMICE_DEVICE=cpu ASAN_OPTIONS=detect_leaks=0)
            if(NOT PUMICE_LLVM_INCLUDE)
                pumice_missing_driver(${name} ${device})
                continue()
            endif()
        elseif(device MATCHES "^cpu(_(v[234])|_llvm([0-9]+))?([0-9]*)$")
            # cpu4 is cpu, 4 wide; cpu_v3 makes code for x86-64-v3; cpu_llvm15 loads LLVM 15. LLVM's own leaks are not ours.
            set(level "${CMAKE_MATCH_2}")
            set(llvm "${CMAKE_MATCH_3}")
            list(APPEND environment PUMICE_DEVICE=cpu PUMICE_CPU_WIDTH=${CMAKE_MATCH_4} ASAN_OPTIONS=detect_leaks=0)
            if(level)
                list(APPEND environment PUMICE_CPU_TARGET=x86-64-${level})
                if(NOT level IN_LIST PUMICE_CPU_LEVELS)
                    pumice_skipped(${name} "this machine's processor cannot run code for x86-64-${level}")
                    continue()
                endif()
            endif()
            if(llvm)
                list(APPEND environment PUMICE_CPU_LLVM=${llvm})
                file(GLOB libraries /usr/lib/*/libLLVM-${llvm}.so* /usr/lib/*/libLLVM.so.${llvm}.*)
                if(NOT libraries)
                    pumice_skipped(${name} "this machine has no libLLVM ${llvm}")
                    continue()
                endif()
            endif()
            if(NOT PUMICE_LLVM_INCLUDE)
                pumice_missing_driver(${name} ${device})
                continue()
            endif()
        elseif(device MATCHES "^radv_(.*)$")
            # The program's card is AMD's null device (tests/radv); what computes is the interpreter.
            set(family ${CMAKE_MATCH_1})
            if(DEFINED radv_${family})
                set(family ${radv_${family}})
            endif()
            list(APPEND environment PUMICE_DEVICE=interp RADV_FORCE_FAMILY=${family} MESA_SHADER_CACHE_DISABLE=true ASAN_OPTIONS=detect_leaks=0
                PUMICE_TEST_PIPELINES=${test_temporaries}/${name}/pipelines VK_LAYER_PATH=${card_manifests}
                VK_INSTANCE_LAYERS=VK_LAYER_PUMICE_null_card)
        else()
            # A driver's own leaks are not ours; leaks of our code show on the interpreter.
            list(APPEND environment PUMICE_DEVICE=vulkan PUMICE_VALIDATE=1 ASAN_OPTIONS=detect_leaks=0)
        endif()
        if(device STREQUAL "lavapipe_bare")  # without most of what Vulkan does not promise
            list(APPEND environment PUMICE_VULKAN_BARE=1)
        endif()
        if(device STREQUAL "lavapipe_pairs")  # 64-bit integers as pairs of 32-bit ones
            list(APPEND environment PUMICE_VULKAN_PAIRS=1)
        endif()
        if(device MATCHES "^lavapipe_(pairs|reached)$")
            # Atomics of 64 bits spin on locks. If the system stops a thread that holds one, the others would spin until lavapipe
            # ends their loops after 65,535 iterations, and the kernel fails. With one thread no group waits for another.
            list(APPEND environment LP_NUM_THREADS=1)
        endif()
        if(device MATCHES "_(discrete|reached|poor)$")  # below a layer that makes it look like a graphics card (tests/layers)
            # Loaders before 1.3.250 order layers as their folders, later ones as their names: validation comes first.
            list(APPEND environment PUMICE_TEST_CARD=${CMAKE_MATCH_1} VK_LAYER_PATH=${PUMICE_VALIDATION_MANIFESTS}:${card_manifests}
                VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation:VK_LAYER_PUMICE_card)
        endif()
        if(device MATCHES "_dma_buf$")  # below a layer that gives it dma-bufs (tests/layers)
            list(APPEND environment VK_LAYER_PATH=${PUMICE_VALIDATION_MANIFESTS}:${card_manifests}
                VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation:VK_LAYER_PUMICE_dma_buf)
        endif()
        if(device MATCHES "_source$")  # code for debuggers, and SPIR-V with debug information
            list(APPEND environment PUMICE_DEBUG=source)
        endif()
        if(device MATCHES "_divides$")  # strict division and square root by the library's own functions
            list(APPEND environment PUMICE_VULKAN_DIVIDE=1)
        endif()
        if(device MATCHES "_lanes16$")  # lavapipe's subgroups have as many lanes as a vector has floats: 512 bits
            list(APPEND environment LP_NATIVE_VECTOR_WIDTH=512)
        endif()
        if(device MATCHES "_addresses$")  # every array by its address
            list(APPEND environment PUMICE_VULKAN_ADDRESSES=1)
        endif()
        if(device MATCHES "_wide(_addresses)?$")  # offsets into arrays in 64 bits
            list(APPEND environment PUMICE_VULKAN_WIDE=1)
        endif()
        if(device MATCHES "_staged$")  # arrays that the host does not reach, as on a graphics card of its own
            list(APPEND environment PUMICE_VULKAN_STAGING=1)
        endif()
        if(device MATCHES "^(lavapipe|swiftshader|radv)")
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
        if(run_FILTER)
            list(APPEND arguments --gtest_filter=${run_FILTER})
        endif()
        add_test(NAME ${name} COMMAND ${target} ${arguments})
        set_tests_properties(${name} PROPERTIES LABELS "${device};${thorough}" TIMEOUT 900 ENVIRONMENT "${environment}")
        if(device STREQUAL "hardware")  # does not run where tests/hardware finds none
            set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED hardware)
        endif()
    endforeach()
endfunction()

# The levels of x86-64 that this machine's processor can run, from the flags that the kernel reports.
set(PUMICE_CPU_LEVELS "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
    set(level_v2 cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2)
    set(level_v3 ${level_v2} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave)
    set(level_v4 ${level_v3} avx512f avx512bw avx512cd avx512dq avx512vl)
    foreach(level v2 v3 v4)
        list(APPEND PUMICE_CPU_LEVELS ${level})
        foreach(flag IN LISTS level_${level})
            if(NOT flags MATCHES " ${flag}( |$)")
                list(REMOVE_ITEM PUMICE_CPU_LEVELS ${level})
            endif()
        endforeach()
    endforeach()
endif()

# No machine has to have every level, nor every LLVM: such an entry is skipped, and says so.
function(pumice_skipped name why)
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: ${why}")
    set_tests_properties(${name} PROPERTIES LABELS cpu SKIP_REGULAR_EXPRESSION "SKIPPED")
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
