#include "bench/cpu/opencl.h"

#ifdef PUMICE_HAVE_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

namespace bench::cpu {

#ifdef PUMICE_HAVE_OPENCL
namespace {

void check(cl_int code, const char* call) {
    if (code != CL_SUCCESS) pumice::fail(call, " gives ", code);
}

struct Driver {
    cl_device_id device = nullptr;
    cl_context context = nullptr;
    cl_command_queue queue = nullptr;
    std::string unavailable;

    Driver() {
        cl_platform_id platforms[8];
        cl_uint count = 0;
        if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS || count == 0) {
            unavailable = "there is no OpenCL platform (Debian has PoCL in the package pocl-opencl-icd)";
            return;
        }
        for (cl_uint p = 0; p < count && !device; ++p)
            if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) device = nullptr;
        if (!device) {
            unavailable = "no OpenCL platform has a device on the processor";
            return;
        }
        cl_int code = 0;
        context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
        check(code, "clCreateContext");
        queue = clCreateCommandQueue(context, device, 0, &code);
        check(code, "clCreateCommandQueue");
    }
};

Driver& driver() {
    static Driver* const one = new Driver;
    return *one;
}

struct Prepared {
    cl_kernel kernel = nullptr;
    std::vector<cl_mem> buffers;  ///< null for words
    std::vector<size_t> bytes;
    ~Prepared() {
        for (const cl_mem buffer : buffers)
            if (buffer) clReleaseMemObject(buffer);
        if (kernel) clReleaseKernel(kernel);
    }
};

}  // namespace

const std::string& opencl_unavailable() { return driver().unavailable; }

Side opencl(const std::string& source, std::vector<ClArgument> arguments, std::vector<size_t> global, std::vector<size_t> local,
            int result, int clear) {
    Driver& d = driver();
    auto prepared = std::make_shared<Prepared>();
    cl_int code = 0;
    const char* text = source.c_str();
    const cl_program program = clCreateProgramWithSource(d.context, 1, &text, nullptr, &code);
    check(code, "clCreateProgramWithSource");
    check(clBuildProgram(program, 1, &d.device, "-cl-fast-relaxed-math", nullptr, nullptr), "clBuildProgram");
    prepared->kernel = clCreateKernel(program, "k", &code);
    check(code, "clCreateKernel");
    clReleaseProgram(program);
    for (cl_uint i = 0; i < arguments.size(); ++i) {
        ClArgument& a = arguments[i];
        if (a.kind == ClArgument::Kind::word) {
            prepared->buffers.push_back(nullptr);
            prepared->bytes.push_back(4);
            check(clSetKernelArg(prepared->kernel, i, 4, &a.word), "clSetKernelArg");
            continue;
        }
        const size_t bytes = a.data.size() * 4;
        const cl_mem buffer = clCreateBuffer(d.context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
        check(code, "clCreateBuffer");
        prepared->buffers.push_back(buffer);
        prepared->bytes.push_back(bytes);
        check(clEnqueueWriteBuffer(d.queue, buffer, CL_TRUE, 0, bytes, a.data.data(), 0, nullptr, nullptr),
              "clEnqueueWriteBuffer");
        check(clSetKernelArg(prepared->kernel, i, sizeof buffer, &buffer), "clSetKernelArg");
    }
    Side side{"PoCL", {}, {}};
    side.once = [prepared, global, local, clear] {
        Driver& d = driver();
        const cl_uint zero = 0;
        if (clear >= 0)
            check(clEnqueueFillBuffer(d.queue, prepared->buffers[size_t(clear)], &zero, 4, 0, prepared->bytes[size_t(clear)], 0,
                                      nullptr, nullptr),
                  "clEnqueueFillBuffer");
        check(clEnqueueNDRangeKernel(d.queue, prepared->kernel, cl_uint(global.size()), nullptr, global.data(),
                                     local.empty() ? nullptr : local.data(), 0, nullptr, nullptr),
              "clEnqueueNDRangeKernel");
        check(clFinish(d.queue), "clFinish");
    };
    side.result = [prepared, result] {
        std::vector<float> host(prepared->bytes[size_t(result)] / 4);
        check(clEnqueueReadBuffer(driver().queue, prepared->buffers[size_t(result)], CL_TRUE, 0, host.size() * 4, host.data(), 0,
                                  nullptr, nullptr),
              "clEnqueueReadBuffer");
        return host;
    };
    return side;
}

#else

const std::string& opencl_unavailable() {
    static const std::string reason = "the benchmarks were built without OpenCL (Debian's package ocl-icd-opencl-dev)";
    return reason;
}
Side opencl(const std::string&, std::vector<ClArgument>, std::vector<size_t>, std::vector<size_t>, int, int) {
    throw pumice::Error(opencl_unavailable());
}

#endif

}  // namespace bench::cpu
