// Reachable part of the function library: of the functions in shaders/*.glsl, the shader gets those that its text calls, and what
// they call (dead-function elimination over the call graph).
//
// The files are cut into functions once, at the first use; a function begins at column 0 with `TYPE pm_name(`. A worklist starts
// with the pm_ names in the kernel's text and follows the calls. Overloads share a name and are taken by type:
//
//   text: pm_div(group + 1, n)  ->  int pm_div(int, int); its overload on int64_t only if the kernel has 64-bit integers
//
// Why: glslang's time grows with the text, and an overload on a type that the device lacks would not compile. The functions are
// printed in the order of the files, where each comes after its callees. Cost: linear in the text and the reachable functions.
// Limits: the cutter knows the layout of our files only; no recursion, no forward declarations. An unknown pm_ name is a library
// bug.
#include "codegen/glsl_text/prelude.h"

#include <algorithm>
#include <map>
#include <vector>

#include "codegen/glsl_text/glsl_type.h"
#include "core/support/ascii.h"
#include "core/support/error.h"

namespace pumice::codegen {

// shaders/NAME.glsl, embedded at build time.
extern const char* const basic_functions_text;
extern const char* const zeros_text;
extern const char* const float_functions_text;
extern const char* const exact_doubles_text;
extern const char* const double_functions_text;
extern const char* const real_functions_text;
extern const char* const gamma_doubles_text;
extern const char* const pairs_text;

namespace {

/// One function definition. Overloads are several definitions with one name.
struct PreludeFunction {
    std::string_view text;
    std::string_view parameter;           ///< the type of the first parameter
    std::set<Scalar> types;               ///< in the signature: f32, and types that devices may lack
    std::vector<std::string_view> calls;  ///< names that begin with pm_, including its own
};

bool is_word(char c) { return ascii::is_alphanumeric(c) || c == '_'; }

/// Every word that begins with pm_, in order, with repetitions.
std::vector<std::string_view> prelude_names(std::string_view body) {
    std::vector<std::string_view> out;
    for (size_t at = body.find("pm_"); at != body.npos; at = body.find("pm_", at + 1)) {
        if (at > 0 && is_word(body[at - 1])) continue;
        size_t end = at;
        while (end < body.size() && is_word(body[end])) ++end;
        out.push_back(body.substr(at, end - at));
    }
    return out;
}

std::set<Scalar> telling_types(std::string_view signature) {
    std::set<Scalar> out;
    for (size_t begin = 0; begin < signature.size();) {
        size_t end = begin;
        while (end < signature.size() && is_word(signature[end])) ++end;
        for (int t = 0; t < scalar_count; ++t)
            if (t != int(Scalar::boolean) && (glsl_type(Scalar(t)).feature || Scalar(t) == Scalar::f32) &&
                glsl_type(Scalar(t)).value == signature.substr(begin, end - begin))
                out.insert(Scalar(t));
        begin = end + 1;
    }
    return out;
}

/// A word of shaders/real_functions.glsl, and what it stands for in the functions of a type. pi is PI less PI_REST.
struct RealWord {
    std::string_view word, of_float, of_double;
};
constexpr RealWord real_words[] = {
    {"REAL", "float", "double"},
    {"NAN", "uintBitsToFloat(0x7fc00000u)", "packDouble2x32(uvec2(0u, 0x7ff80000u))"},
    {"INFINITY", "uintBitsToFloat(0x7f800000u)", "packDouble2x32(uvec2(0u, 0x7ff00000u))"},
    {"PI", "3.14159274", "3.141592653589793lf"},
    {"PI_REST", "8.74227766e-8", "-1.2246467991473532e-16lf"},
    {"HALF_PI", "1.57079637", "1.5707963267948966lf"},
    {"HALF_PI_REST", "4.37113883e-8", "-6.123233995736766e-17lf"},
    {"PI_SQUARED", "9.8696044", "9.869604401089358lf"},
    {"LOG_PI", "1.144729886", "1.1447298858494002lf"},
    {"LOG_2", "0.6931471806", "0.6931471805599453lf"},
    {"ONE_IS_LOST", "4096.0", "134217728.0lf"},
    {"TANH_ONE", "10.0", "20.0lf"},
    {"ERF_ONE", "4.0", "6.0lf"},
    {"ERFC_ZERO", "10.1", "27.3lf"},
    {"FLOOR", "floor", "pm_floor"},
    {"ROUND", "roundEven", "pm_rint"},
    {"TRUNC", "trunc", "pm_trunc"},
};

/// The functions of shaders/real_functions.glsl for a type. Numbers with a point are doubles in those of double.
std::string real_functions(std::string_view RealWord::* type) {
    const auto is_part = [](char c) { return is_word(c) || c == '.'; };
    std::string out;
    for (std::string_view rest = real_functions_text; !rest.empty();) {
        const size_t end = std::max<size_t>(size_t(std::ranges::find_if_not(rest, is_part) - rest.begin()), 1);
        const std::string_view word = rest.substr(0, end);
        const auto* const known = std::ranges::find(real_words, word, &RealWord::word);
        out += known == std::end(real_words) ? word : known->*type;
        if (type == &RealWord::of_double && ascii::is_digit(word[0]) && word.find('.') != word.npos) out += "lf";
        rest.remove_prefix(end);
    }
    return out;
}

/// The prelude, cut into functions. A function begins at column 0 with `TYPE pm_name(` and ends with `}` at column 0, or on its
/// first line when it is a one-liner.
struct Prelude {
    const std::string float_text = real_functions(&RealWord::of_float), double_text = real_functions(&RealWord::of_double);
    std::vector<PreludeFunction> functions;
    std::multimap<std::string_view, size_t> by_name;

    Prelude() {
        cut(basic_functions_text);
        // Each file uses functions of the files before it.
        cut(zeros_text);
        cut(float_functions_text);
        cut(float_text);
        cut(exact_doubles_text);
        cut(double_functions_text);
        cut(double_text);
        cut(gamma_doubles_text);
        cut(pairs_text);
    }

    void cut(std::string_view rest) {
        while (!rest.empty()) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            const size_t name = line.find(" pm_"), parenthesis = line.find('(');
            if (line.empty() || !is_word(line[0]) || name == line.npos || parenthesis == line.npos || name > parenthesis) {
                rest.remove_prefix(std::min(rest.size(), line.size() + 1));
                continue;
            }
            size_t end = line.size();
            if (line.back() != '}') {
                end = rest.find("\n}");
                if (end == rest.npos) library_bug(text("a function of the prelude does not end: ", line));
                end += 2;
            }
            const std::string_view whole = rest.substr(0, end);
            by_name.emplace(line.substr(name + 1, parenthesis - name - 1), functions.size());
            const std::string_view parameters = line.substr(parenthesis + 1);
            functions.push_back({whole, parameters.substr(0, parameters.find(' ')), telling_types(line.substr(0, line.find(')'))),
                                 prelude_names(whole)});
            rest.remove_prefix(std::min(rest.size(), end + 1));
        }
    }
};

const Prelude& the_prelude() {
    static const Prelude one;
    return one;
}

}  // namespace

bool prelude_has(std::string_view name, Scalar type) {
    const auto [first, last] = the_prelude().by_name.equal_range(name);
    return std::any_of(first, last,
                       [&](const auto& f) { return the_prelude().functions[f.second].parameter == glsl_type(type).value; });
}

std::string prelude_for(std::string_view body, std::set<Scalar> types, bool parted_merges) {
    const Prelude& prelude = the_prelude();
    if (types.count(Scalar::f16) || types.count(Scalar::bf16)) types.insert(Scalar::f32);  // in which they are computed
    std::vector<bool> wanted(prelude.functions.size());
    std::vector<std::string_view> work = prelude_names(body);
    bool redefined = false;
    while (!work.empty()) {
        std::string_view name = work.back();
        work.pop_back();
        if (parted_merges && name == "pm_copysign") {
            name = "pm_copysign_and_zero";
            redefined = true;
        }
        const auto [first, last] = prelude.by_name.equal_range(name);
        if (first == last) library_bug(text("shaders/ has no function ", name));
        for (auto f = first; f != last; ++f) {
            const PreludeFunction& function = prelude.functions[f->second];
            if (wanted[f->second]) continue;
            if (!std::includes(types.begin(), types.end(), function.types.begin(), function.types.end())) continue;
            wanted[f->second] = true;
            work.insert(work.end(), function.calls.begin(), function.calls.end());
        }
    }
    std::string out = redefined ? "#define pm_copysign pm_copysign_and_zero\n\n" : "";
    for (size_t f = 0; f < wanted.size(); ++f)
        if (wanted[f]) out += std::string(prelude.functions[f].text) + "\n\n";
    return out;
}

}  // namespace pumice::codegen
