#include "bench/cpu/python.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

extern char** environ;

namespace bench::cpu {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& module) {
    static std::map<std::string, bool> known;
    const auto [at, fresh] = known.try_emplace(module);
    if (fresh)
        at->second = std::system(("python3 -c 'import importlib.util as u, sys; sys.exit(not (u.find_spec(\"" + module +
                                  "\") and u.find_spec(\"numpy\")))' > /dev/null 2>&1")
                                     .c_str()) == 0;
    return at->second;
}

/// The script at work on one case. It answers each line with one. Between its turns it is stopped: its threads would wait busily
/// for their next work, at the cost of the others.
class Script {
public:
    Script(const std::string& module, const std::string& name, const Arrays& arrays, const std::vector<double>& numbers) {
        std::string made = (fs::temp_directory_path() / "pumice-bench-XXXXXX").string();
        if (!mkdtemp(made.data())) pumice::fail("no folder can be made for the arrays of a Python peer: ", made);
        folder = made;
        for (size_t n = 0; n < arrays.size(); ++n)
            std::ofstream(folder / std::to_string(n), std::ios::binary)
                .write(reinterpret_cast<const char*>(arrays[n].data()), std::streamsize(arrays[n].size() * sizeof(float)));
        std::vector<std::string> words{"python3", PUMICE_SOURCE_FOLDER "/bench/peers_python/peer.py", module, name,
                                       folder.string()};
        for (const double number : numbers) words.push_back(pumice::text(number));
        start(words);
        answer("ready");
        kill(process, SIGSTOP);
    }
    ~Script() {
        if (process > 0) kill(process, SIGCONT);
        if (questions) std::fclose(questions);
        if (answers) std::fclose(answers);
        if (process > 0) waitpid(process, nullptr, 0);
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    }
    Script(const Script&) = delete;

    void ask(const char* question) {
        kill(process, SIGCONT);
        std::fprintf(questions, "%s\n", question);
        std::fflush(questions);
        answer("done");
        kill(process, SIGSTOP);
    }
    std::vector<float> result() {
        ask("result");
        std::vector<float> values(fs::file_size(folder / "result") / sizeof(float));
        std::ifstream(folder / "result", std::ios::binary)
            .read(reinterpret_cast<char*>(values.data()), std::streamsize(values.size() * sizeof(float)));
        return values;
    }

private:
    void start(std::vector<std::string>& words) {
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        int to_it[2], from_it[2];  // for reading, for writing
        if (pipe2(to_it, O_CLOEXEC) != 0 || pipe2(from_it, O_CLOEXEC) != 0) pumice::fail("no pipe can be made for a Python peer");
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, to_it[0], 0);
        posix_spawn_file_actions_adddup2(&actions, from_it[1], 1);
        posix_spawn_file_actions_addopen(&actions, 2, (folder / "messages").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (posix_spawnp(&process, "python3", &actions, nullptr, arguments.data(), environ) != 0) process = -1;
        posix_spawn_file_actions_destroy(&actions);
        close(to_it[0]), close(from_it[1]);
        questions = fdopen(to_it[1], "w");
        answers = fdopen(from_it[0], "r");
    }
    void answer(const std::string& expected) {
        char line[64] = "";
        if (process > 0 && std::fgets(line, sizeof line, answers) && expected + "\n" == line) return;
        std::ifstream messages(folder / "messages");
        std::string last;
        for (std::string next; std::getline(messages, next);) last = next;
        pumice::fail("it says ", last);
    }

    fs::path folder;
    pid_t process = -1;
    FILE *questions = nullptr, *answers = nullptr;
};

}  // namespace

void add_python_peers(Case& to, const std::string& name, std::function<Arrays()> arrays, std::vector<double> numbers) {
    struct Known {
        const char *module, *shown;
    };
    for (const Known& peer : {Known{"taichi", "Taichi"}, Known{"drjit", "Dr.Jit"}}) {
        if (!has(peer.module)) continue;
        to.peers.push_back([=] {
            std::shared_ptr<Script> script;
            try {
                script = std::make_shared<Script>(peer.module, name, arrays(), numbers);
            } catch (const pumice::Error& e) {
                std::printf("without %s: %s\n", peer.shown, e.what());
                return Side{};
            }
            return Side{peer.shown, [=] { script->ask("once"); }, [=] { return script->result(); }};
        });
    }
}

}  // namespace bench::cpu
