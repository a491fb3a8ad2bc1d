// Manifests of kernels of many kinds fit docs/manifest.schema.json, and say what a host has to know of each kernel.
#include <pumice/pumice.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/source_folder.h"

using namespace pumice;
namespace fs = std::filesystem;
using Json = nlohmann::json;

// Outside of the unnamed namespace: clang 14 warns of their PUMICE_STRUCT there.
struct ManifestMesh {
    Array<float> position, weight;
    float scale;
};
struct ManifestScene {
    ManifestMesh mesh;
    Array<int> ids;
};
struct ManifestParticle {
    float3 position;
    int8_t kind;
    double mass;
};
PUMICE_STRUCT(ManifestMesh, position, weight, scale);
PUMICE_STRUCT(ManifestScene, mesh, ids);
PUMICE_STRUCT(ManifestParticle, position, kind, mass);

namespace {

using Scene = ManifestScene;
using Particle = ManifestParticle;
using Strings = std::vector<std::string>;

/// The manifests that the tests of this file have dumped; the last test checks them all against the schema.
class ManifestSchema : public testing::Test {
protected:
    static inline fs::path folder;
    static void SetUpTestSuite() {
        folder = fs::temp_directory_path() / text("pumice-manifests-", getpid());
        fs::create_directories(folder);
    }
    static void TearDownTestSuite() { fs::remove_all(folder); }

    static Json manifest_of(const KernelBase& kernel) {
        dump(kernel, folder);
        std::ifstream file(folder / (kernel.name() + ".json"));
        return Json::parse(file);
    }
    static std::set<std::string> features_of(const KernelBase& kernel) {
        return manifest_of(kernel)["features"].get<std::set<std::string>>();
    }
};

using Features = std::set<std::string>;

const auto saxpy_body = [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
};

TEST_F(ManifestSchema, NamesArguments) {
    const auto make = [](const char* name) { return kernel(name, saxpy_body); };
    const Json named = manifest_of(make("saxpy_named").names({"y", "x", "a"})), plain = manifest_of(make("saxpy_plain"));
    EXPECT_EQ(named["format_version"], 1);
    EXPECT_EQ(named["arguments"], Json::parse(R"([
        {"argument": 1, "name": "y", "parameter": 1, "kind": "array", "type": "f32", "rank": 1, "access": "inout"},
        {"argument": 2, "name": "x", "parameter": 2, "kind": "array", "type": "f32", "rank": 1, "access": "in"},
        {"argument": 3, "name": "a", "parameter": 3, "kind": "scalar", "type": "f32"}])"));
    EXPECT_EQ(named["bindings"][1]["name"], "x");
    EXPECT_EQ(named["push_constants"]["fields"][2]["name"], "a");
    EXPECT_EQ(named["push_constants"]["fields"][2]["parameter"], 3);
    for (const Json& argument : plain["arguments"]) EXPECT_FALSE(argument.contains("name"));
    EXPECT_EQ(named["features"], Json::array());
    EXPECT_EQ(named["private_bytes"], 0);
    for (const char* absent : {"ring", "group_size_required", "range_required", "sized_locals"})
        EXPECT_FALSE(named.contains(absent));
}

TEST_F(ManifestSchema, HashDependsOnNoName) {
    const auto make = [] { return kernel("saxpy", saxpy_body); };
    const Json plain = manifest_of(make()), named = manifest_of(make().names({"y", "x", "a"}));
    EXPECT_EQ(plain["hash"], named["hash"]);
    EXPECT_EQ(make().glsl(), make().names({"y", "x", "a"}).glsl());
}

TEST_F(ManifestSchema, GivesPathsOfMembers) {
    const auto k = kernel("draw", [](InOut<Scene> scene, Val<float3> v, Val<int> n) {
                       auto i = global_index();
                       scene.mesh.position[i] = v.y * scene.mesh.scale * scene.mesh.weight[i] + cast<float>(scene.ids[i] * n);
                   }).names({"scene", "v", "n"});
    const Json m = manifest_of(k);
    Strings told;
    for (const Json& a : m["arguments"])
        told.push_back(text(a["argument"].get<int>(), " ", a["name"].get<std::string>(), " ", a["parameter"].get<int>(), " ",
                            a.value("path", "-"), " ", a["type"].get<std::string>()));
    EXPECT_EQ(told, (Strings{"1 scene 1 mesh.position f32", "2 scene 1 mesh.weight f32", "3 scene 1 mesh.scale f32",
                             "4 scene 1 ids i32", "5 v 2 x f32", "6 v 2 y f32", "7 v 2 z f32", "8 n 3 - i32"}));
    EXPECT_EQ(m["bindings"][0]["path"], "mesh.position");
    const auto elements = kernel("particles", [](InOut<Particle> p) {
        auto i = global_index();
        p[i].position.x = p[i].position.x + cast<float>(p[i].mass) + cast<float>(p[i].kind);
    });
    const Json e = manifest_of(elements);
    EXPECT_EQ(e["arguments"][0]["type"]["members"][0]["path"], "position.x");
    EXPECT_EQ(e["arguments"][0]["type"], e["bindings"][0]["element"]);
    EXPECT_EQ(features_of(elements), (Features{"shaderFloat64", "shaderInt8", "storageBuffer8BitAccess"}));
}

TEST_F(ManifestSchema, CountsMemory) {
    const auto k = kernel("memory", static_group<16, 4>, static_range<64, 32>, [](InOut<float, 2> a, Val<int> n) {
        auto [i, j] = global_index<2>();
        Local<float, 16, 4> tile;
        Private<float, 2, 3> mine;
        Private<int, 5> more;
        auto [li, lj] = local_index<2>();
        mine(n, n) = a(i, j);
        more[n] = n;
        tile(li, lj) = mine(n, 0) + cast<float>(more[0]);
        synchronize();
        a(i, j) = tile(lj, li);
    });
    const Json m = manifest_of(k);
    EXPECT_EQ(m["local_bytes"], 16 * 4 * 4);
    EXPECT_EQ(m["private_bytes"], 6 * 4 + 5 * 4);
    EXPECT_EQ(m["group_size_required"], Json::parse("[4, 16, 1]"));
    EXPECT_EQ(m["range_required"], Json::parse("[32, 64, 1]"));
    const auto sized = kernel("sized", [](InOut<float> a) {
        Local<float> tile(group_size() * 2);
        auto l = local_index();
        tile[l] = a[global_index()];
        synchronize();
        a[global_index()] = tile[0];
    });
    EXPECT_EQ(manifest_of(sized)["sized_locals"].size(), 1u);
    // Each call of a function has the function's private memory of its own.
    const auto smooth = function("smooth", [](Val<float> x, Val<int> n) {
        Private<float, 4> last;
        last[n] = x;
        return Val<float>(last[0] + last[1]);
    });
    const auto calls = kernel("calls", [=](InOut<float> a, Val<int> n) {
        auto i = global_index();
        const Val<float> once = smooth(a[i], n);
        a[i] = smooth(once, n + 1);
    });
    EXPECT_EQ(manifest_of(calls)["private_bytes"], 2 * 4 * 4);
    // A tape of a derivative in private memory counts, too.
    const auto powers = kernel("powers", [](InOut<float> y, In<float> x) {
        auto i = global_index();
        Var v = x[i];
        $for(k, range(8)) { v = sin(v) * v; }
        y[i] = v;
    });
    EXPECT_EQ(manifest_of(powers)["private_bytes"], 0);
    EXPECT_EQ(manifest_of(adjoint<Duplicated, Duplicated>(powers))["private_bytes"], 8 * 4);
}

TEST_F(ManifestSchema, DescribesReports) {
    const auto k = kernel("reports", [](In<float> x, Val<double> d) {
        auto i = global_index();
        print("i={} x={:.3f}", i, x[i]);
        require(x[i] > 0.0f, "{} is small, {}", d, i);
        print("nothing");
    });
    const Json m = manifest_of(k);
    EXPECT_EQ(m["ring"], Json::parse(R"({"layout": 1, "formats": [
        {"format": 0, "instruction": "print", "text": "i={} x={:.3f}", "types": ["i32", "f32"]},
        {"format": 1, "instruction": "require", "text": "{} is small, {}", "types": ["f64", "i32"]},
        {"format": 2, "instruction": "print", "text": "nothing", "types": []}]})"));
    EXPECT_EQ(m["features"], Json::parse(R"(["shaderFloat64"])"));
}

TEST_F(ManifestSchema, FeaturesAreThoseOfVulkan) {
    EXPECT_EQ(features_of(kernel("doubles", [](InOut<double> a) { a[global_index()] *= 2.0; })), (Features{"shaderFloat64"}));
    EXPECT_EQ(features_of(kernel("bytes", [](InOut<int8_t> a) { a[global_index()] += 1; })),
              (Features{"shaderInt8", "storageBuffer8BitAccess"}));
    EXPECT_EQ(features_of(kernel("shorts", [](InOut<int16_t> a) { a[global_index()] += 1; })),
              (Features{"shaderInt16", "storageBuffer16BitAccess"}));
    EXPECT_EQ(features_of(kernel("halves", [](InOut<half> a) { a[global_index()] *= 2.0f; })),
              (Features{"shaderFloat16", "storageBuffer16BitAccess"}));
    EXPECT_EQ(features_of(kernel("longs", [](InOut<int64_t> a) { a[global_index()] += 1; })), (Features{"shaderInt64"}));
    EXPECT_EQ(features_of(kernel("buffer_atomics", [](InOut<int64_t> a) { atomic_add(a[0], int64_t(1)); })),
              (Features{"shaderInt64", "shaderBufferInt64Atomics"}));
    EXPECT_EQ(features_of(kernel("local_atomics",
                                 [](Out<int64_t> a) {
                                     Local<int64_t, 1> sum;
                                     $if(local_index() == 0) { sum[0] = int64_t(0); }
                                     synchronize();
                                     atomic_max(sum[0], cast<int64_t>(global_index()));
                                     synchronize();
                                     a[global_index()] = sum[0];
                                 })),
              (Features{"shaderInt64", "shaderSharedInt64Atomics"}));
    EXPECT_EQ(features_of(kernel("float_atomics", [](InOut<float> a) { atomic_add(a[0], 1.0f); })), Features{});
    EXPECT_EQ(
        features_of(kernel("subgroups",
                           [](InOut<float> a, InOut<int64_t> b) {
                               auto i = global_index();
                               a[i] = subgroup::reduce_add(a[i]) + cast<float>(subgroup::lane());
                               b[i] = subgroup::reduce_add(b[i]) + cast<int64_t>(subgroup::shuffle_xor(i, 1));
                           })),
        (Features{"shaderInt64", "subgroup:basic", "subgroup:arithmetic", "subgroup:shuffle", "shaderSubgroupExtendedTypes"}));
    EXPECT_EQ(features_of(kernel("votes",
                                 [](InOut<int> a) {
                                     auto i = global_index();
                                     $if(subgroup::any(a[i] > 1)) { a[i] = 0; }
                                 })),
              (Features{"subgroup:basic", "subgroup:vote"}));
}

TEST_F(ManifestSchema, SaysWhatShadowsBelongTo) {
    const auto saxpy = kernel("axpy", saxpy_body).names({"y", "x", "a"});
    const Json m = manifest_of(adjoint<Duplicated, Duplicated, Active>(saxpy));
    Strings told;
    for (const Json& a : m["arguments"])
        told.push_back(text(a["name"].get<std::string>(), " ", a["parameter"].get<int>(), " ", a.value("shadow_of", 0)));
    EXPECT_EQ(told, (Strings{"y 1 0", "d_y 1 1", "x 2 0", "d_x 2 3", "a 3 0", "d_a 3 5"}));
    EXPECT_EQ(m["bindings"][1]["shadow_of"], 1);
    derive::Signature batch;
    batch.width = 2;
    batch.params = {derive::Activity::duplicated, derive::Activity::constant, derive::Activity::duplicated};
    const Json b = manifest_of(derive::derivative(saxpy, "forward", batch));
    EXPECT_EQ(b["arguments"][2]["name"], "d_y_1");
    EXPECT_EQ(b["arguments"][2]["direction"], 1);
    EXPECT_EQ(b["arguments"][6]["name"], "d_a_1");
    EXPECT_EQ(b["arguments"][6]["kind"], "scalar");
    derive::Signature again;
    again.params.assign(6, derive::Activity::constant);
    again.params[2] = again.params[3] = derive::Activity::duplicated;
    const Json second = manifest_of(derive::derivative(adjoint<Duplicated, Duplicated, Active>(saxpy), "forward", again));
    EXPECT_EQ(second["arguments"][3]["name"], "d_x_2");
    EXPECT_EQ(second["arguments"][3]["order"], 2);
    EXPECT_EQ(second["arguments"][5]["name"], "d_d_x");
    EXPECT_EQ(second["arguments"][5]["shadow_of"], 5);
}

TEST_F(ManifestSchema, OtherKindsOfKernels) {
    const Json folded = manifest_of(kernel("folded", [](InOut<float, 4> a) {
        auto [i, j, k, l] = global_index<4>();
        a(i, j, k, l) += 1.0f;
    }));
    Strings kinds;  // the launch gives starts and extents of the range
    for (const Json& argument : folded["arguments"]) {
        kinds.push_back(argument["kind"].get<std::string>() + " " +
                        (argument.contains("dimension") ? argument["dimension"].dump() : "-"));
        EXPECT_EQ(argument.contains("parameter"), argument["kind"] == "array");
    }
    EXPECT_EQ(kinds, (Strings{"array -", "range_extent 1", "range_start 1", "range_start 0"}));
    const Json block = manifest_of(kernel(
        "block", [](InOut<float> a, Val<float4> b, Val<float4> c, Val<float4> d, Val<float4> e, Val<float4> f, Val<float4> g,
                    Val<float4> h, Val<float4> p, Val<float4> q) { a[global_index()] = dot(b + c + d + e + f, g + h + p + q); }));
    EXPECT_TRUE(block.contains("argument_block"));
    EXPECT_FALSE(manifest_of(kernel("unused",
                                    [](InOut<float> a, In<float> b, Val<bool> c) {
                                        (void)b, (void)c;
                                        a[global_index()] = 1.0f;
                                    }))["arguments"]
                     .empty());
    manifest_of(kernel("whole", whole_groups, [](InOut<float> a) {
        auto v = group::reduce_add(cast<float>(global_index()));
        $if(in_range()) { a[global_index()] = v; }
    }));
}

/// Runs the checker over all manifests; gives its exit status and what it says.
std::pair<int, std::string> checked(const fs::path& schema, const fs::path& folder) {
    const fs::path output = folder / "output.txt", checker = source_folder() / "tests/manifest/check_manifests.py";
    const std::string command = text("'", PUMICE_TEST_PYTHON, "' '", checker.string(), "' '", schema.string(), "' '",
                                     folder.string(), "' > '", output.string(), "' 2>&1");
    const int status = std::system(command.c_str());
    std::ifstream file(output);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, {std::istreambuf_iterator<char>(file), {}}};
}

TEST_F(ManifestSchema, EveryManifestFitsAndPlantedErrorsAreRefused) {
    manifest_of(kernel("last", saxpy_body));
    const fs::path schema = source_folder() / "docs/manifest.schema.json";
    const auto [status, said] = checked(schema, folder);
    EXPECT_EQ(status, 0) << said;
    EXPECT_NE(said.find("every planted error was refused"), std::string::npos) << said;
    // The check itself fails for a schema that is too loose, or that lacks an entry.
    const auto with = [&](auto change) {
        std::ifstream file(schema);
        Json changed = Json::parse(file);
        change(changed);
        const fs::path path = folder / "changed.schema", few = folder / "few";
        std::ofstream(path) << changed;
        fs::create_directories(few);
        fs::copy_file(folder / "last.json", few / "last.json", fs::copy_options::overwrite_existing);
        const auto [result, text] = checked(path, few);
        EXPECT_EQ(result, 1) << text;
        return text;
    };
    const std::string open = with([](Json& s) { s["$defs"]["argument"]["additionalProperties"] = true; });
    EXPECT_NE(open.find("at ['arguments', 0]: a field more is accepted"), std::string::npos) << open;
    const std::string loose = with([](Json& s) { s["required"].erase(s["required"].size() - 1); });
    EXPECT_NE(loose.find("the absence of hash is accepted"), std::string::npos) << loose;
    const std::string lacking = with([](Json& s) { s["properties"].erase("private_bytes"); });
    EXPECT_NE(lacking.find("Additional properties are not allowed ('private_bytes' was unexpected)"), std::string::npos)
        << lacking;
}

}  // namespace
