// The C functions of programs.
#include "runtime/device/bundles.h"
#include "runtime/program/rt_entry.h"

using namespace pumice_rt;

const EntryRecord* pumice_program_t::find(EntryKind kind) const {
    const uint32_t wanted = device->is_vulkan ? EntryRecord::on_vulkan : EntryRecord::on_cpu;
    for (uint32_t i = 0; i < record->entries.count; ++i) {
        const EntryRecord& e = bundle->entries[record->entries.first + i];
        if (EntryKind(e.kind) == kind && (e.devices & wanted)) return &e;
    }
    return nullptr;
}

namespace pumice_rt {
namespace {

pumice_status check_sizes(const pumice_program_t& p, const int64_t* sizes, uint32_t count) {
    if (count != p.record->sizes.count || (count > 0 && !sizes))
        return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\" takes %u sizes and is given %u", p.name(), p.record->sizes.count,
                    count);
    for (uint32_t i = 0; i < count; ++i) {
        const ProgramSizeRecord& s = p.bundle->program_sizes[p.record->sizes.first + i];
        const char* const name = p.bundle->text(s.name);
        if (sizes[i] < s.least)
            return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\": size %s is %lld; it is at least %lld", p.name(), name,
                        longest(sizes[i]), longest(s.least));
        if ((sizes[i] - s.least) % s.step != 0)
            return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\": size %s is %lld; it is %lld plus a multiple of %lld", p.name(),
                        name, longest(sizes[i]), longest(s.least), longest(s.step));
    }
    return PUMICE_OK;
}

pumice_status create(pumice_device device, const pumice_library* library, uint32_t number, const int64_t* sizes, uint32_t count,
                     pumice_program* to) {
    if (!device || !to) return fail(PUMICE_ERROR_ARGUMENT, "a program is made on no device, or into no variable");
    const Bundle* bundle = nullptr;
    RT_TRY(bundle_of(library, bundle));
    if (number >= bundle->count(SectionKind::programs))
        return fail(PUMICE_ERROR_ARGUMENT, "program number %u of the library %s is made, which has %u programs", number,
                    library->name, bundle->count(SectionKind::programs));
    pumice_program_t* const made = make<pumice_program_t>(device->hooks, device);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "a program cannot be made on %s: the system gives no more memory", device->name);
    made->bundle = bundle, made->library = library, made->record = &bundle->programs[number];
    pumice_status status = check_sizes(*made, sizes, count);
    for (uint32_t i = 0; i < count && status == PUMICE_OK; ++i)
        if (!made->sizes.push(sizes[i])) status = fail(PUMICE_ERROR_MEMORY, "a program cannot be made: there is no memory");
    if (status == PUMICE_OK && !made->find(EntryKind::forward))
        status = fail(PUMICE_ERROR_DEVICE, "program \"%s\" was not shipped for devices like %s", made->name(), device->name);
    if (status == PUMICE_OK)
        *to = made;
    else
        destroy(device->hooks, made);
    return status;
}

EntryKind kind_of(pumice_entry entry) { return entry == PUMICE_FORWARD ? EntryKind::forward : EntryKind::gradient; }

/// Makes the entry at its first use. Entries share the program's memory slots: preparing one may replace the memory of a slot
/// that the other uses, so every prepared entry is bound again. If that fails, all entries are dropped.
pumice_status prepare(pumice_program_t& p, pumice_entry which, ProgramEntry*& entry) {
    if (which < PUMICE_FORWARD || which > PUMICE_REVERSE)
        return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\" is asked for entry number %d", p.name(), int(which));
    ProgramEntry*& slot = p.entries[uint32_t(kind_of(which))];
    entry = slot;
    if (entry) return PUMICE_OK;
    const EntryRecord* const record = p.find(kind_of(which));
    if (!record)
        return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\" was shipped without its gradient, or not for devices like %s",
                    p.name(), p.device->name);
    p.has_state = false;
    entry = make<ProgramEntry>(p.device->hooks, p, *record);
    if (!entry) return fail(PUMICE_ERROR_MEMORY, "program \"%s\" cannot be prepared: the system gives no more memory", p.name());
    pumice_status status = entry->prepare();
    for (ProgramEntry* const other : p.entries)
        if (other && status == PUMICE_OK) status = other->rebind();
    if (status == PUMICE_OK) {
        slot = entry;
        return PUMICE_OK;
    }
    destroy(p.device->hooks, entry);
    for (ProgramEntry*& other : p.entries) destroy(p.device->hooks, other), other = nullptr;  // their memory may be gone
    return status;
}

/// Work on another stream than the last run's starts after that run.
pumice_status follow(pumice_program_t& p, pumice_stream stream) {
    if (stream && stream->device != p.device)
        return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\" is put on a stream of %s, and was made for %s", p.name(),
                    stream->device->name, p.device->name);
    if (p.has_run && p.last_stream != stream) {
        pumice_event event = nullptr;
        RT_TRY(p.device->record(p.last_stream, &event));
        const pumice_status status = p.device->wait_for(stream, event);
        p.device->release_event(event);
        RT_TRY(status);
    }
    p.last_stream = stream, p.has_run = true;
    return PUMICE_OK;
}

pumice_status run(pumice_program_t& p, pumice_entry which, const pumice_argument* arguments, uint32_t count, void* const* results,
                  uint32_t result_count, pumice_stream stream) {
    const Lock lock(p.mutex);
    ProgramEntry* entry = nullptr;
    RT_TRY(prepare(p, which, entry));
    const bool primal = which != PUMICE_REVERSE, reverse = which != PUMICE_AUGMENTED;
    if (results && result_count != (reverse ? entry->result_count() : 0))
        return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\" gives %u results and is given places for %u", p.name(),
                    reverse ? entry->result_count() : 0, result_count);
    if ((which == PUMICE_AUGMENTED || which == PUMICE_REVERSE) && !entry->can_be_split())
        return fail(PUMICE_ERROR_ARGUMENT, "program \"%s\" cannot run the halves of its gradient apart: the first uses shadows",
                    p.name());
    if (which == PUMICE_REVERSE && !p.has_state)
        return fail(PUMICE_ERROR_ARGUMENT,
                    "program \"%s\" is to run the second half of its gradient, and the first half was not its last run",
                    p.name());
    p.has_state = false;
    RT_TRY(entry->take(arguments, count, primal, reverse));
    RT_TRY(follow(p, stream));
    RT_TRY(entry->run(primal ? 0 : entry->primal(), reverse ? entry->step_count() : entry->primal(), results, stream));
    p.has_state = which == PUMICE_AUGMENTED;
    return PUMICE_OK;
}

void release_program(pumice_program_t* p) {
    const pumice_hooks hooks = p->device->hooks;
    for (ProgramEntry* const entry : p->entries) destroy(hooks, entry);
    for (const pumice_program_t::Slot& s : p->slots)
        if (s.memory) p->device->release(s.memory);
    destroy(hooks, p);
}

}  // namespace
}  // namespace pumice_rt

pumice_status pumice_program_create(pumice_device device, const pumice_library* library, uint32_t program, const int64_t* sizes,
                                    uint32_t size_count, pumice_program* made) {
    return report(device, create(device, library, program, sizes, size_count, made));
}

pumice_status pumice_program_prepare(pumice_program program, pumice_entry entry) {
    if (!program) return fail(PUMICE_ERROR_ARGUMENT, "a call is given no program");
    const Lock lock(program->mutex);
    ProgramEntry* made = nullptr;
    return report(program->device, prepare(*program, entry, made));
}

pumice_status pumice_program_run(pumice_program program, pumice_entry entry, const pumice_argument* arguments, uint32_t count,
                                 void* const* results, uint32_t result_count, pumice_stream stream) {
    if (!program) return fail(PUMICE_ERROR_ARGUMENT, "a call is given no program");
    return report(program->device, pumice_rt::run(*program, entry, arguments, count, results, result_count, stream));
}

int64_t pumice_program_bytes(pumice_program program) { return program ? program->bytes : 0; }

void pumice_program_release(pumice_program program) {
    if (program) release_program(program);
}

pumice_status pumice_find_program(const pumice_library* library, const char* name, uint32_t* program) {
    const Bundle* bundle = nullptr;
    RT_TRY(bundle_of(library, bundle));
    *program = bundle->find_program(name ? name : "");
    if (*program < bundle->count(SectionKind::programs)) return PUMICE_OK;
    return fail(PUMICE_ERROR_ARGUMENT, "the library %s has no program \"%s\"", library->name, name ? name : "");
}
