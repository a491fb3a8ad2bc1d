// The namespace pumice::internal, whose names the library's own namespaces see as theirs.
//
// An application that writes `using namespace pumice;` may have a Scalar, an Element, a Result or a Backend of its own: types of
// the library that no application needs are in pumice::internal, where that directive does not find them. The namespaces below
// take them over. pumice::vulkan, which applications name, does so in vulkan/vulkan_functions.h, which is not installed.
#pragma once

namespace pumice::internal {}
namespace pumice::derive {
using namespace internal;
}
namespace pumice::detail {
using namespace internal;
}
namespace pumice::ir {
using namespace internal;
}
namespace pumice::ship {
using namespace internal;
}

// Not installed (cmake/install_headers.cmake leaves this part out): an application may have a kernel `trace` or `ring`.
namespace pumice::codegen {
using namespace internal;
}
namespace pumice::cpu {
using namespace internal;
}
namespace pumice::interp {
using namespace internal;
}
namespace pumice::ring {
using namespace internal;
}
namespace pumice::tools {
using namespace internal;
}
namespace pumice::trace {
using namespace internal;
}
