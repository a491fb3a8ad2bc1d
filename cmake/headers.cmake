# The include folders of a target that links pumice.
#
# Public: the headers <pumice/pumice.h>, <pumice/vulkan.h>, <pumice/ship.h>, <pumice/pumice_rt.h> and <pumice/pumice_rt.hpp>, and
# those that they include. tests/layering checks that the list is exactly that and names no third-party header.
set(PUMICE_PUBLIC_HEADERS
    autodiff/analysis/transform.h
    autodiff/api/annotations.h
    autodiff/api/autodiff.h
    autodiff/api/custom_rules.h
    autodiff/api/derivative_call.h
    autodiff/api/derivative_functions.h
    autodiff/api/explain.h
    autodiff/program/check_gradient.h
    autodiff/program/program.h
    autodiff/program/traced.h
    autodiff/program/traced_struct.h
    core/format/formats.def
    core/format/image_format.h
    core/host/array.h
    core/host/backend.h
    core/host/device.h
    core/host/element_type.h
    core/host/image.h
    core/host/launch_times.h
    core/host/object_code.h
    core/host/reports.h
    core/host/strided_region.h
    core/host/trace_hook.h
    core/host/view.h
    core/ir/builder.h
    core/ir/instructions.def
    core/ir/ir.h
    core/ir/op.h
    core/ir/ops.def
    core/ir/scalars.def
    core/ir/ops.h
    core/ir/type.h
    core/kernel/function.h
    core/kernel/host_argument.h
    core/kernel/image_copies.h
    core/kernel/image_parameter.h
    core/kernel/kernel.h
    core/kernel/prepare.h
    core/kernel/range.h
    core/language/composite.h
    core/language/composite_operand.h
    core/language/console.h
    core/language/control.h
    core/language/functions.h
    core/language/group_ops.h
    core/language/indices.h
    core/language/matrix.h
    core/language/memory.h
    core/language/recorder.h
    core/language/rng.h
    core/language/subgroup.h
    core/language/value.h
    core/language/vector.h
    core/support/error.h
    core/support/lazy.h
    core/support/namespaces.h
    pumice/pumice.h
    pumice/pumice_rt.h
    pumice/pumice_rt.hpp
    pumice/ship.h
    pumice/vulkan.h
    runtime/api/rt_api.h
    runtime/api/rt_api.hpp
    ship/library/ship_library.h
    ship/program/ship_program.h
    vulkan/interop.h
    vulkan/record.h
    vulkan/wrap.h
)

set(include_folder ${PROJECT_BINARY_DIR}/include)
set(system "")
if(PROJECT_IS_TOP_LEVEL OR PUMICE_BUILD_TESTS OR PUMICE_BUILD_BENCH OR PUMICE_BUILD_SAMPLES)
    # <pumice/pumice.h> is found through build/include, which has the one folder pumice/, and "core/ir/ir.h" from the root as a
    # quoted name. The root is no -I folder: <vulkan/vulkan.h> must stay the system's, not a file of our folder vulkan/.
    file(MAKE_DIRECTORY ${include_folder})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/pumice ${include_folder}/pumice SYMBOLIC)
    target_compile_options(pumice INTERFACE $<BUILD_INTERFACE:-iquote${PROJECT_SOURCE_DIR}>)
else()
    # Within an application that may have a core/ir/ir.h of its own: the headers as they are installed, system headers for its
    # warnings.
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
