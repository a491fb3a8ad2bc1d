#include "core/language/console.h"

#include "core/support/error.h"
#include "core/text/print_format.h"

namespace pumice::detail {
namespace {

/// The placeholder of a composite: (spec, spec, spec).
std::string repeated(const std::string& place, size_t times) {
    std::string out = "(";
    for (size_t n = 0; n < times; ++n) out += (n ? ", " : "") + place;
    return out + ")";
}

}  // namespace

void emit_report(ir::Op op, const char* what, std::string_view given, const Handle* condition, std::span<const Shown> values,
                 SourceLocation location) {
    Recorder& r = Recorder::current(what, location);
    const auto wrong = [&](const std::string& problem) {
        fail(what, " in kernel \"", r.kernel.name, "\" (", where(location), ") does not match: ", problem);
    };
    const PrintFormat format(given);
    if (values.size() != format.places() || format.flawed()) wrong(format.misfit(std::vector<Scalar>(values.size())));
    std::vector<Scalar> types;
    std::vector<ir::Value> operands;
    if (condition) operands.push_back(r.use(*condition, location));
    std::string text = format.between()[0];
    for (size_t n = 0; n < values.size(); ++n) {
        const Shown& value = values[n];
        const std::string& spec = format.place_texts()[n];
        const PrintFormat one(spec);
        if (value.text) {
            if (spec != "{}")
                wrong(
                    pumice::text("the format \"", given, "\" has the place ", spec, " for value ", n + 1, ", which is a string"));
            text += PrintFormat::escaped(*value.text);
        } else if (value.host) {
            if (const std::string problem = one.misfit({&*value.host, 1}); !problem.empty()) wrong(problem);
            text += PrintFormat::escaped(one.line({&*value.host, 1}, {&value.bits, 1}));
        } else {
            text += value.composite ? repeated(spec, value.scalars.size()) : spec;
            for (const Handle& h : value.scalars) {
                operands.push_back(r.use(h, location));
                types.push_back(r.kernel.type_of(operands.back()));
                if (const std::string problem = one.misfit({&types.back(), 1}); !problem.empty()) wrong(problem);
            }
        }
        text += format.between()[n + 1];
    }
    if (types.size() > max_reported)
        wrong(pumice::text("it has ", types.size(), " values, the components of vectors counted; the limit is ", max_reported));
    r.at(location).build.report(op, std::move(text), operands);
}

}  // namespace pumice::detail
