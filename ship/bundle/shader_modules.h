// The SPIR-V modules of a kernel for the devices that exist (shader variants for device classes): which properties of a device
// each of them depends on.
//
//   kernel -> for each class of devices: GLSL by the options of that class
//          -> modules, each with the properties that its text depends on
//
// Why: the code generator's options follow from a device's capabilities and its driver's defects (vulkan/plan.cpp); a runtime
// without a compiler needs the text for its device among those in the bundle. Most kernels depend on few options: their classes
// share one module.
// Method: a property is one that a module wants if the text changes without it. The text is made once for each property of the
// class and compared. Modules with more wanted properties come first; the runtime takes the first that its device satisfies.
// Cost: some 30 runs of lowering and GLSL emitter for each class, without assembling: a few ms each. Limits: arrays of 2^31
// elements and device addresses are left out.
// Textbook name: multi-versioning with delta debugging of the feature set (one-minimality, Zeller and Hildebrandt 2002).
#pragma once
#include "core/ir/ir.h"
#include "ship/bundle/bundle_writer.h"

namespace pumice::ship {

/// The modules of a kernel, whose calls are inlined, best first. `formats` gets records for requirements that only some modules
/// have.
std::vector<ModuleRecord> shader_modules(const ir::Kernel& kernel, std::vector<FormatRecord>& formats, BundleWriter& to);

}  // namespace pumice::ship
