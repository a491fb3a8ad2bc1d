// Launch fusion: two dependent launches run as one piece of work, the second a few rows after the first.
//
// Why: the second launch then reads what the first has written from the caches instead of from memory.
//
//     apart:    for all rows i: y[i] = f(x)           for all rows i: z[i] = g(y[i-1], y[i+2])
//     fused:    for some rows: y[i] = f(x);  for the rows of which all of y is ready: z[i] = g(y[i-1], y[i+2]);  ... and so on
//
// Method: the dependence distance (cpu/plan/dependence_distance.h) says which rows of the first launch a row of the second needs,
// and which rows of the second have to wait. Each thread takes a contiguous range of rows of the first launch, and alternates:
// some rows of the first, as many as fill a quarter of the first-level cache, then the rows of the second that have become free.
// A row of the second at the border of two ranges (a seam) needs rows of both, and runs at the end. If one thread goes on with
// the range behind its own, there is no seam between the two.
// Cost: one more synchronisation for the seams; at most a quarter of a thread's rows may be at seams. Limits: the caller has
// announced the second launch (detail::NextLaunchHint, as programs and derivatives do); both launches go along the same slowest
// axis, and their rows may run in any order: no private copies, no reports, no streaming stores. A first launch of less than 15
// microseconds stays apart.
// Textbook name: loop fusion with loop shifting (Darte and Huard, "Loop Shifting for Loop Compaction", 2000), of whole launches.
#include <algorithm>
#include <mutex>
#include <utility>

#include "cpu/plan/dependence_distance.h"
#include "cpu/runtime/cache_sizes.h"
#include "cpu/runtime/cpu_launch.h"

namespace pumice::cpu {

namespace {

constexpr int64_t ranges_a_thread = 16;  ///< few: at a seam of ranges, rows of the second launch wait for both
constexpr int64_t seam_share = 4;        ///< at most one in this many of a thread's rows is at a seam
constexpr int64_t seams_at_once = 16;    ///< seams a thread takes at once

int64_t divide_down(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t divide_up(int64_t a, int64_t b) { return -divide_down(-a, b); }

class FusedLaunch final : public Work {
public:
    FusedLaunch(const LaunchWork& leading, const LaunchWork& following, DependenceDistance distance)
        : first(leading), second(following), a(first.rows()), b(second.rows()), distance(distance) {}

    double cost() const override { return first.cost() + second.cost(); }

    /// Fewest rows of the first launch that are worth a thread.
    int64_t piece() const { return divide_up(seam_share * (distance.last - distance.first + a.items + b.items), a.items); }

    void run(const WorkerThreads& workers) override {
        const TracedRun of_first(first.traced), of_second(second.traced);  // both run all the time
        // Few rows at once: stores that hit the first-level cache are nearly free beside loads that wait for memory.
        const int64_t at_once = std::max<int64_t>(1, bytes_in_first_cache() / 4 * a.count / distance.bytes);
        std::mutex mutex;
        std::vector<RowRun> runs;
        const int64_t smallest = std::max(piece(), a.count / (workers.threads() * ranges_a_thread));
        workers.run(a.count, smallest, [&](int64_t begin, int64_t count) {
            RowRun run = take(runs, mutex, begin);
            std::byte* const scratch = thread_scratch(std::max(first.scratch(), second.scratch()));
            const Frame x = first.frame_with(scratch), y = second.frame_with(scratch);
            const double start = now_ns();
            const int64_t next = run.next;
            for (run.end = begin; run.end < begin + count;) {
                const int64_t rows = std::min(at_once, begin + count - run.end);
                first.run_rows(x, run.end, rows);
                run.end += rows;
                const int64_t free = free_until(run.end);
                if (free > run.next) second.run_rows(y, run.next, free - run.next), run.next = free;
            }
            const double known = double(count) * first.row_ns() + double(run.next - next) * second.row_ns();
            const double pace = (now_ns() - start) / std::max(known, 1.0);
            first.note_pace(pace), second.note_pace(pace);
            const std::lock_guard lock(mutex);
            runs.push_back(run);
        });
        std::sort(runs.begin(), runs.end(), [](const RowRun& x, const RowRun& y) { return x.begin < y.begin; });
        std::vector<std::pair<int64_t, int64_t>> seams;
        for (size_t r = 1; r < runs.size(); ++r)
            if (runs[r].from > runs[r - 1].next) seams.emplace_back(runs[r - 1].next, runs[r].from);
        if (seams.empty()) return;
        workers.run(int64_t(seams.size()), seams_at_once, [&](int64_t begin, int64_t count) {
            const Frame y = second.frame_with(thread_scratch(second.scratch()));
            for (size_t s = size_t(begin); s < size_t(begin + count); ++s)
                second.run_rows(y, seams[s].first, seams[s].second - seams[s].first);
        });
    }

private:
    /// Contiguous rows [begin, end) of the first launch that are done, with the rows [from, next) of the second that are done.
    struct RowRun {
        int64_t begin = 0, end = 0, from = 0, next = 0;
    };
    /// Takes the run that ends at this row, or makes a new one.
    RowRun take(std::vector<RowRun>& runs, std::mutex& mutex, int64_t row) const {
        const std::lock_guard lock(mutex);
        const auto before = std::find_if(runs.begin(), runs.end(), [&](const RowRun& run) { return run.end == row; });
        if (before == runs.end()) return {row, row, free_from(row), free_from(row)};
        const RowRun run = *before;
        runs.erase(before);
        return run;
    }
    /// The first row of the second launch that does not depend on rows of the first before this one.
    int64_t free_from(int64_t row) const {
        if (row == 0) return 0;
        return std::clamp<int64_t>(divide_up(a.start + row * a.items - distance.first + b.early - b.start, b.items), 0, b.count);
    }
    /// The end of the rows of the second launch that do not depend on rows of the first from this one on.
    int64_t free_until(int64_t row) const {
        if (row == a.count) return b.count;
        return std::clamp<int64_t>(divide_down(a.start + row * a.items - a.early - distance.last - b.start, b.items), 0, b.count);
    }

    const LaunchWork &first, &second;
    const LaunchWork::Rows a, b;
    const DependenceDistance distance;
};

}  // namespace

std::unique_ptr<Work> LaunchWork::with(const Work& other, int threads) const {
    const auto* next = dynamic_cast<const LaunchWork*>(&other);
    if (!next || !in_rows() || !next->in_rows() || slowest != next->slowest || !worth_sharing()) return nullptr;
    const auto distance = distance_between(touched(), next->touched());
    if (!distance) return nullptr;
    auto both = std::make_unique<FusedLaunch>(*this, *next, *distance);
    if (threads > 1 && both->piece() * threads > rows().count) return nullptr;
    return both;
}

}  // namespace pumice::cpu
