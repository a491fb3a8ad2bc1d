# Where who links pumice finds its headers.
#
# Public: all of core (it has no third-party header), what users call of autodiff, the umbrella, and one header each of
# code generation and Vulkan. tests/layering checks that these are closed under inclusion and name no third-party header.
set(PUMICE_PUBLIC_HEADERS autodiff/api/annotations.h autodiff/api/autodiff.h autodiff/api/derivative_call.h autodiff/api/check_gradient.h autodiff/api/custom_rules.h
    autodiff/api/derivative_functions.h autodiff/program/program.h autodiff/program/traced.h autodiff/program/traced_struct.h autodiff/analysis/transform.h core/*/*.h core/*/*.def codegen/glsl/codegen.h
    vulkan/wrap.h pumice/*.h)

set(include_folder ${PROJECT_BINARY_DIR}/include)
set(system "")
if(PROJECT_IS_TOP_LEVEL OR PUMICE_BUILD_TESTS OR PUMICE_BUILD_BENCH OR PUMICE_BUILD_SAMPLES)
    # <pumice/pumice.h> is found through build/include, which has the one folder pumice/, and "core/ir/ir.h" from the root as a quoted
    # name. The root is no -I folder: <vulkan/vulkan.h> must stay the system's, not a file of our folder vulkan/.
    file(MAKE_DIRECTORY ${include_folder})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/pumice ${include_folder}/pumice SYMBOLIC)
    target_compile_options(pumice INTERFACE $<BUILD_INTERFACE:-iquote${PROJECT_SOURCE_DIR}>)
else()
    # Within an application that may have a core/ir/ir.h of its own: the headers as they are installed, system headers for its warnings.
    set(include_folder ${PROJECT_BINARY_DIR}/include/made)
    set(system SYSTEM)
    foreach(pattern IN LISTS PUMICE_PUBLIC_HEADERS)
        file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
    endforeach()
    set(quiet TRUE)
    set(SOURCE ${PROJECT_SOURCE_DIR})
    set(TARGET ${include_folder}/pumice)
    set(HEADERS ${PUMICE_PUBLIC_HEADERS})
    include(cmake/install_headers.cmake)
endif()
target_include_directories(pumice ${system} INTERFACE
    $<BUILD_INTERFACE:${include_folder}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
