// `bench rules`: what each rule of the CPU back end gains.
#pragma once
#include <filesystem>
#include <string>

namespace bench {

/// Times the cases of bench/cpu and the corpus on the device cpu with all rules and without one rule at a time, prints the gains,
/// and writes the section of this machine's vector instructions into the page (docs/optimisations.md; other sections stay). The
/// filter chooses rules by name; with a filter, or an empty path, nothing is written. Throws Error if the page cannot be written.
void register_rules(const std::string& filter, bool quick, const std::filesystem::path& page);

}  // namespace bench
