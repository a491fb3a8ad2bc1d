// Formatting without the C++ library, with the results of core/text/print_format.cpp: a test compares both on random values.
//
// A float without a type is printed with the fewest digits that read back exactly: precisions are tried until one does (at most
// 17 conversions). Of plain and scientific notation the shorter one is taken, plain if they are equally long.
#include "runtime/device/print_text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/api/rt_api.h"
#include "runtime/device/rt_ring.h"

namespace pumice_rt {
namespace {

struct Spec {
    char align = 0, type = 0;
    bool plus = false, zeros = false;
    int width = 0, precision = -1;
};

int number(const char*& at) {
    int value = 0;
    for (; *at >= '0' && *at <= '9'; ++at) value = value < 100 ? value * 10 + (*at - '0') : value;
    return value;
}

/// Reads what follows the colon of a place; formats were checked when the kernel was recorded.
Spec read_spec(const char* at) {
    Spec spec;
    if (*at == '<' || *at == '>' || *at == '^') spec.align = *at++;
    if (*at == '+') spec.plus = true, ++at;
    if (*at == '0') spec.zeros = true, ++at;
    spec.width = number(at);
    if (*at == '.') spec.precision = number(++at);
    if (*at && *at != '}') spec.type = *at;
    return spec;
}

/// Replaces the locale's decimal point by a dot.
void neutral(char* text) {
    const char* const point = localeconv()->decimal_point;
    char* const at = point && strcmp(point, ".") != 0 ? strstr(text, point) : nullptr;
    if (!at) return;
    const size_t length = strlen(point);
    *at = '.';
    memmove(at + 1, at + length, strlen(at + length) + 1);
}

constexpr size_t value_room = 512;

/// The shortest text that reads back as the same number.
void shortest(char* to, double value, bool single) {
    if (isinf(value)) {
        strcpy(to, value < 0 ? "-inf" : "inf");
        return;
    }
    char scientific[64];
    for (int digits = 0; digits < 17; ++digits) {
        snprintf(scientific, sizeof scientific, "%.*e", digits, value);
        if (single ? strtof(scientific, nullptr) == float(value) : strtod(scientific, nullptr) == value) break;
    }
    neutral(scientific);
    const char* const e = strchr(scientific, 'e');
    const int exponent = e ? atoi(e + 1) : 0, digits = int(strspn(scientific + (value < 0), "0123456789."));
    const int fraction = digits > 1 ? digits - 2 : 0;  // digits after the point
    char plain[value_room];
    snprintf(plain, sizeof plain, "%.*f", fraction > exponent ? fraction - exponent : 0, value);
    neutral(plain);
    strcpy(to, strlen(plain) <= strlen(scientific) ? plain : scientific);
}

void real(char* to, double value, bool single, const Spec& spec) {
    if (isnan(value)) {
        strcpy(to, "nan");
        return;
    }
    if (!spec.type && spec.precision < 0) return shortest(to, value, single);
    char format[8] = "%.*g";
    // An edited bundle may have any letter.
    if (spec.type && strchr("eEfFgG", spec.type)) format[3] = spec.type;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(to, value_room, format, spec.precision < 0 ? 6 : spec.precision, value);
#pragma GCC diagnostic pop
    neutral(to);
}

void whole(char* to, uint64_t value, bool negative, char type) {
    const unsigned base = type == 'x' || type == 'X' ? 16 : type == 'b' ? 2 : type == 'o' ? 8 : 10;
    const char* const digits = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char reversed[72];
    size_t count = 0;
    do reversed[count++] = digits[value % base];
    while ((value /= base) > 0);
    if (negative) *to++ = '-';
    while (count > 0) *to++ = reversed[--count];
    *to = 0;
}

void value_text(char* to, uint32_t type, uint64_t bits, const Spec& spec) {
    float single;
    double wide;
    const uint32_t low = uint32_t(bits);
    memcpy(&single, &low, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    switch (type) {
        case PUMICE_BOOL: strcpy(to, spec.type ? (bits ? "1" : "0") : (bits ? "true" : "false")); break;
        case PUMICE_F64: real(to, wide, false, spec); break;
        case PUMICE_F16:
        case PUMICE_BF16:
        case PUMICE_F32: real(to, double(single), true, spec); break;
        case PUMICE_I8:
        case PUMICE_I16:
        case PUMICE_I32:
        case PUMICE_I64: {
            const int64_t n = type == PUMICE_I64 ? int64_t(bits) : int64_t(int32_t(low));
            whole(to, n < 0 ? 0 - uint64_t(n) : uint64_t(n), n < 0, spec.type);
            break;
        }
        default: whole(to, type == PUMICE_U64 ? bits : low, false, spec.type);
    }
}

/// The line that is written.
struct OutputLine {
    char* at;
    char* const end;
    void put(char c) {
        if (at < end) *at++ = c;
    }
    void put(const char* text) {
        while (*text) put(*text++);
    }
    void fill(char c, size_t count) {
        while (count-- > 0) put(c);
    }
};

void put_value(OutputLine& line, uint32_t type, uint64_t bits, const Spec& spec) {
    char text[value_room + 2] = "";
    value_text(text + 1, type, bits, spec);
    const bool word = type == PUMICE_BOOL && !spec.type;
    char* shown = text + 1;
    if (spec.plus && !word && *shown != '-') *--shown = '+';
    const size_t size = strlen(shown), missing = size < size_t(spec.width) ? size_t(spec.width) - size : 0;
    if (spec.zeros && !spec.align && !word) {
        if (*shown == '-' || *shown == '+') line.put(*shown++);
        line.fill('0', missing);
        return line.put(shown);
    }
    // Numbers are right-aligned by default, words left-aligned.
    const char align = spec.align ? spec.align : word ? '<' : '>';
    const size_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
    line.fill(' ', left);
    line.put(shown);
    line.fill(' ', missing - left);
}

}  // namespace

void print_text(char* to, size_t room, const char* text, const uint32_t* types, size_t count, const uint32_t* words) {
    OutputLine line{to, to + room - 1};
    size_t next = 0;
    for (const char* at = text; *at; ++at) {
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            line.put(*at++);
        } else if (*at == '{' && next < count) {
            const char* const close = strchr(at, '}');
            if (!close) break;
            uint64_t bits = words[0];
            if (ring::words_of(types[next]) == 2) bits |= uint64_t(words[1]) << 32;
            words += ring::words_of(types[next]);
            put_value(line, types[next++], bits, at[1] == ':' ? read_spec(at + 2) : Spec());
            at = close;
        } else {
            line.put(*at);
        }
    }
    *line.at = 0;
}

}  // namespace pumice_rt
