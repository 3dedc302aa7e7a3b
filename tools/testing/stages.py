"""The stages of `./dev test`, and the programs that each of them runs."""
import collections
import json
import os
import re
import shutil
import sys
import tempfile

from .job import CORE, GUESS_S, Job

QUICK, USUAL, ALL = 0, 1, 2          # lengths: --quick, none, --all; a stage runs in its own and in longer ones
LENGTH_NAMES = ("--quick", "(no option)", "--all")
ORDINARY_UID = 1000
LINT_FILE_S = 1.4                    # what the analyzers take for a file
FUZZ_S = 3                           # seconds for each fuzz target in --all; `./dev fuzz` takes longer
USER_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"   # root's own may contain directories that only root can enter
TEST_NAMES = re.compile(r"(_test\.(py|sh|mjs)|\.t)$")


class Context:
    """What a row may use: the length of this run, and a list of what must be removed at its end.
    All programs of a run have their temporary files below one directory, so that files of a killed
    program are removed too.
    """

    def __init__(self, length, cores):
        self.length, self.cores = length, cores
        self.scratch = tempfile.mkdtemp(prefix="ct.")
        os.chmod(self.scratch, 0o1777)
        os.environ["TMPDIR"] = self.scratch

    def close(self):
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
            left = [point for point in (line.split()[4] for line in f) if point.startswith(self.scratch + "/")]
        if left:
            print(f"tests: {left[0]} is still mounted, so {self.scratch} stays", file=sys.stderr)
        else:
            shutil.rmtree(self.scratch, ignore_errors=True)


def build(folder):
    """A build keeps all cores busy; tests run beside it, but not a second build."""
    return lambda stage, context: [Job(stage, stage, ["./dev", "build-one", folder], is_tap=False, weight=CORE, lane="build")]


def command(*argv, weight=1, guess_s=GUESS_S):
    return lambda stage, context: [Job(stage, stage, list(argv), is_tap=False, weight=weight, guess_s=guess_s)]


def tap_command(*argv):
    return lambda stage, context: [Job(stage, stage, list(argv))]


def self_tests(stage, context):
    """Every tool that can fail a run first shows that it can."""
    scripts = ["tools/tests", "tools/lint"] + [f"tools/{n}" for n in sorted(os.listdir("tools")) if n.startswith("check-")]
    return [Job(stage, f"{stage}:{os.path.basename(s)}", [s, "--self-test"]) for s in scripts]


def suite(folder, name, **env):
    """The tests of the build in `folder` that belong to a suite; as in meson, each runs in that
    folder unless it says otherwise.
    """
    def jobs(stage, context):
        with open(os.path.join(folder, "meson-info", "intro-tests.json"), encoding="utf-8") as f:
            listed = [t for t in json.load(f) if any(s.split(":")[-1] == name for s in t["suite"])]
        return [Job(stage, f"{stage}:{t['name']}", t["cmd"], source=f"src/{t['name']}_test.c", env={**t["env"], **env},
                    cwd=t.get("workdir") or folder) for t in listed]
    return jobs


def programs_of(folder):
    return [f"{folder}/{n}" for n in sorted(os.listdir(folder)) if TEST_NAMES.search(n)]


def programs(folder):
    def jobs(stage, context):
        found = [Job(stage, p, [os.path.abspath(p)], source=p) for p in programs_of(folder)]
        return [j for j in found if context.length == ALL or not j.is_deep]
    return jobs


def fuzz_targets(stage, context):
    found = sorted(n for n in os.listdir("build-asan/fuzz") if n.startswith("fuzz-") and os.path.isfile(f"build-asan/fuzz/{n}"))
    return [Job(stage, f"{stage}:{n[5:]}", ["./dev", "fuzz-one", str(FUZZ_S), n[5:]], is_tap=False, weight=CORE) for n in found]


def lint_rooms(stage, context):
    """One job for each room. --all checks every file; otherwise those that changed since they were
    last clean.
    """
    files = collections.Counter(base for base, _, names in os.walk("src") for n in names if n.endswith(".c") and not n.endswith("_test.c"))
    words = [] if context.length == ALL else ["--changed"]
    return [Job(stage, f"{stage}:{r[4:]}", ["tools/lint", "-j", "1", "--build", "build-clang", *words, r], is_tap=False, weight=CORE,
                guess_s=LINT_FILE_S * count) for r, count in sorted(files.items())]


def user_tree(stage, context):
    """A copy of the tree that belongs to an ordinary user; a user who is not root needs none."""
    if os.geteuid() != 0:
        return []
    context.user_home = home = os.path.join(context.scratch, "u")      # names of sockets below it have at most 107 bytes
    os.mkdir(home, 0o700)
    return [Job(stage, stage, ["tools/user-tree", home, str(ORDINARY_UID)], is_tap=False)]


def programs_as_user(*places):
    """The programs of folders, or single ones, run by an ordinary user."""
    def jobs(stage, context):
        if os.geteuid() != 0:
            return [Job(stage, stage, ["echo", "1..0 # SKIP this user is not root: the programs have run without root already"])]
        home = context.user_home
        env = {"HOME": home, "TMPDIR": home, "USER": "carrel", "LOGNAME": "carrel", "PATH": USER_PATH,
               "CARREL": f"{home}/build/carrel", "CARREL_SWITCHES": f"{home}/build-switches/carrel"}
        become = ["setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups"]
        found = []
        for place in places:
            for path in programs_of(place) if os.path.isdir(place) else [place]:
                found.append(Job(stage, f"{stage}:{path}", become + [f"{home}/{path}"], source=path, env=env, cwd=home))
        for job in found:
            if job.is_deep_as_root:
                job.env = {**job.env, "CARREL_TEST_DEEP": "0"}
        return [j for j in found if context.length == ALL or not j.is_deep]
    return jobs


def images_as_user(stage, context):
    if os.geteuid() == 0:
        shutil.copytree("build-images", os.path.join(context.user_home, "build-images"))
    return programs_as_user("test/images")(stage, context)


USER_ESCAPES = ("test/escape/files_api_test.py", "test/escape/living_processes_test.py", "test/escape/living_output_test.py")
ASAN = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


class Stage:
    def __init__(self, name, length, needs, proves, jobs):
        self.name, self.length, self.needs, self.proves, self.jobs = name, length, needs.split(), proves, jobs


# A stage starts when the stages that it needs have succeeded.
STAGES = (
    Stage("check-checks", QUICK, "", "each tool that can fail a run does so when it should", self_tests),
    Stage("build", QUICK, "", "the shipped program builds with musl", build("build")),
    Stage("build-switches", USUAL, "build", "the build whose defences a test may switch off builds", build("build-switches")),
    Stage("build-release", ALL, "", "the last release builds, from this repository's history", lambda stage, context: [
        Job(stage, stage, ["tools/build-release"], is_tap=False, weight=CORE, lane="build")]),
    Stage("build-test", QUICK, "", "gcc and glibc build everything without a warning", build("build-test")),
    Stage("build-clang", ALL, "", "clang builds everything without a warning", build("build-clang")),
    Stage("build-asan", ALL, "", "the sanitizers build the unit tests and the fuzz targets", build("build-asan")),
    Stage("seams", QUICK, "", "a provider is one row and one engine, and changes few files", command("tools/check-seams")),
    Stage("rooms", QUICK, "", "rooms include only what src/ROOMS allows", command("tools/check-rooms")),
    Stage("promises", QUICK, "", "every promise of SECURITY.md has a test that exists", command("tools/check-promises")),
    Stage("pure", QUICK, "build build-test", "deciding rooms import nothing that touches the world", command("tools/check-pure", "build", "build-test")),
    Stage("names", QUICK, "build-test", "no two rooms define one global name", command("tools/check-names", "build-test")),
    Stage("links", QUICK, "build", "shipped programs link only what was agreed", command("tools/check-links", "build")),
    Stage("taste", QUICK, "build-test", "short files, short functions, no banned call", command("tools/check-taste", "--build", "build-test", weight=CORE)),
    Stage("format", QUICK, "", "the sources are as clang-format writes them", command("tools/check-format", weight=CORE)),
    Stage("words", QUICK, "", "texts for people are in plain words", command("tools/check-words")),
    Stage("docs", QUICK, "build", "generated pages are what the tables print", command("./dev", "docs", "--check")),
    Stage("conformance", QUICK, "build", "AIP-36, case by case", tap_command("build/carrel", "conformance", "test/conform/aip36.yaml")),
    Stage("conformance-doc", QUICK, "build", "sandbox documents, case by case", tap_command("build/carrel", "conformance", "test/conform/geodocs.yaml")),
    Stage("unit", QUICK, "build-test", "each module keeps what its header promises", suite("build-test", "unit")),
    Stage("seeds", USUAL, "build-test", "every reader of foreign bytes survives its seeds", suite("build-test", "seeds")),
    Stage("cli", QUICK, "build", "carrel run, check and doctor do what the manual says", programs("test/cli")),
    Stage("parts", USUAL, "build build-switches", "each process of Carrel keeps its contract", programs("test/parts")),
    Stage("daemon", USUAL, "build build-switches", "the daemon and its sandboxes do what the manual says", programs("test/daemon")),
    Stage("network", USUAL, "build build-switches", "listed hosts are reached, and nothing else", programs("test/network")),
    Stage("escape", USUAL, "build build-switches", "attacks fail, and succeed with their defence off", programs("test/escape")),
    Stage("debian", USUAL, "", "a Debian root can be made for the tests of images", command("tools/debian-root", weight=CORE, guess_s=50)),
    Stage("images", USUAL, "build debian", "images of Debian and buildah, used as people use them", programs("test/images")),
    Stage("npm", USUAL, "", "the pinned client packages install", command("test/npm/setup", weight=CORE, guess_s=60)),
    Stage("clients", USUAL, "build npm", "real clients, unmodified, work", programs("test/npm")),
    Stage("python", USUAL, "build", "the Python client does what its page says, and is typed", programs("test/python")),
    Stage("upgrade", ALL, "build build-switches build-release", "the last release's state and sandboxes are taken over", programs("test/upgrade")),
    Stage("unit-asan", ALL, "build-asan", "the unit tests, with every byte and shift watched", suite("build-asan", "unit", **ASAN)),
    Stage("fuzz", ALL, "build-asan", "every reader of foreign bytes survives mutations of its seeds", fuzz_targets),
    Stage("lint", ALL, "build-clang", "three analyzers have no finding that is not answered", lint_rooms),
    Stage("user-tree", ALL, "build build-switches build-release", "the tree can be copied for an ordinary user", user_tree),
    Stage("user", ALL, "user-tree", "the same programs, by a user who is not root",
          programs_as_user("test/parts", "test/cli", "test/daemon", "test/network", "test/python", "test/upgrade", *USER_ESCAPES)),
    Stage("user-images", ALL, "user-tree debian", "the same images, by a user who is not root", images_as_user),
    Stage("vm", ALL, "build", "the cgroup v2 side, in a virtual machine", lambda stage, context: [
        Job(stage, stage, [os.path.abspath("test/vm/run")], source="test/vm/run", weight=CORE)]),
)

# Debian packages that a stage needs beyond the sets `build` and `test` (see PACKAGES in ./dev).
PACKAGE_SETS = {"debian": "image", "images": "image", "user-images": "image", "npm": "npm", "clients": "npm", "python": "python", "user": "python", "lint": "lint", "vm": "vm"}


def find(name):
    return next((s for s in STAGES if s.name == name), None)


def with_needs(names):
    """These stages and those they need, in the order of the table."""
    wanted, queue = set(), list(names)
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue += find(name).needs
    return [s for s in STAGES if s.name in wanted]


def of_path(path):
    """The stage that runs the test program at `path`, or None."""
    folders = {"test/npm": "clients"}
    folder = os.path.dirname(os.path.normpath(path))
    stage = find(folders.get(folder, os.path.basename(folder)))
    return stage if stage and os.path.dirname(folder) == "test" else None
