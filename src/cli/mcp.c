/*
 * cli/mcp.c - `carrel mcp`: one agent's server of the Model Context Protocol, on standard input and
 * output.
 *
 * Room: cli (joining, program). Touches: fd, the manifest its options name, processes it starts.
 * Knows options, and how the manifest is read. Knows nothing of the protocol: that is carrel-door,
 * which is executed with a socket to the keeper and the manifest as sealed bytes, and can open no
 * file. Theory: where a daemon answers, it is used. Where none does, and none was named, one is
 * started for this agent alone, in a directory that is removed with it. A warden waits at the end
 * of a pipe that only this process and the server hold: whichever way they end, the daemon ends
 * after them, when its sandboxes were stopped.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/commands.h"
#include "cli/finding_print.h"
#include "cli/ladder.h"
#include "cli/options.h"
#include "clock/clock.h"
#include "daemon/state.h"
#include "programs/memory_file.h"
#include "programs/programs.h"
#include "ref/file.h"
#include "text/tree_pack.h"
#include "wire/trust.h"

enum {
        ARENA_MAX = 16 << 20,
        WORDS_MAX = 32 + 2 * REF_READS_MAX,
        PATIENCE_MS = 20000,
        STEP_MS = 10
};

struct mcp {
        const char *manifest, *workspace, *state, *sandbox, *runtime, *risk, *cache_key,
                *context_key, *names, *instructions;
        bool is_dynamic, keeps_background, manages;
        struct arena arena;
        const char *name;         /* of the manifest, for people; NULL: no manifest */
        struct ref_reads reads;   /* files that were read for it: read-only in every new sandbox */
        char directory[PATH_MAX]; /* the workspace */
        int manifest_fd, keeper_fd;
        const char *daemon_state; /* of the daemon that answered */
        char private_state[64];   /* of a private daemon; "": another daemon is used */
        pid_t warden;             /* the process that ends the private daemon; 0: none */
        int lifeline;             /* open as long as the private daemon must live */
};

static int
read_arguments(int argc, char **argv, struct mcp *m, struct error *e)
{
        struct words words;

        if (options_read(&command_mcp, argc, argv, m, &words, e) < 0)
                return -1;
        if (m->sandbox && (m->manifest || m->is_dynamic || m->cache_key || m->context_key))
                return fail_at(e, ERROR_INVALID_ARGUMENT, "--sandbox", NULL,
                               "--sandbox names one that is there: -f, --context, --context-key "
                               "and --cache-key make others");
        return 0;
}

/* -- the manifest ------------------------------------------------------------------------------ */

static int
find_workspace(struct mcp *m, struct error *e)
{
        const char *slash = m->manifest ? strrchr(m->manifest, '/') : NULL;
        char *beside = slash ? arena_copy(&m->arena, m->manifest, (size_t)(slash - m->manifest) + 1)
                             : NULL;
        const char *path = m->workspace ? m->workspace : beside ? beside : ".";

        if (!realpath(path, m->directory))
                return fail_sys(e, ERROR_WORKSPACE_NOT_FOUND, errno, "workspace %.200s", path);
        return 0;
}

static int
seal(struct mcp *m, const struct node *root, struct error *e)
{
        size_t len = tree_pack_len(root);
        void *bytes = arena_alloc(&m->arena, len);
        scoped_fd int fd = memfd_create("manifest", MFD_ALLOW_SEALING);

        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for the manifest");
        tree_pack(root, bytes);
        if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || memory_file_seal(fd) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno,
                                "making a memory file for the manifest");
        m->manifest_fd = fd_take(&fd);
        return 0;
}

/* Without a manifest no command tool is offered (A36-171). */
static int
load_manifest(struct mcp *m, struct error *e)
{
        struct ref_manifest_file file;
        struct findings findings;
        struct manifest manifest;
        int result;

        if (m->sandbox)
                return 0;
        result = m->manifest ? ref_manifest_open(&m->arena, m->manifest, &m->reads, &file, e)
                             : ref_manifest_find(&m->arena, m->directory, &m->reads, &file, e);
        if (result < 0)
                return !m->manifest && e->code == ERROR_NOT_CONFIGURED ? 0 : -1;
        findings_init(&findings, &m->arena);
        m->name = file.name;
        if (manifest_read(&m->arena, file.bytes, file.len, file.kind, file.syntax, &manifest,
                          &findings, e) < 0)
                return -1;
        return seal(m, manifest.root, e);
}

/* -- the daemon -------------------------------------------------------------------------------- */

static int
connect_keeper(const char *state)
{
        struct sockaddr_un to = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), sys;

        if (fd < 0)
                return -1;
        errno = ENAMETOOLONG;
        if (snprintf(to.sun_path, sizeof to.sun_path, "%s/keeper.sock", state) <
                    (int)sizeof to.sun_path &&
            connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
                return fd;
        sys = errno;
        (void)close(fd);
        errno = sys;
        return -1;
}

static _Noreturn void
become_daemon(const struct mcp *m, pid_t parent, int null)
{
        char *argv[] = { (char *)(uintptr_t) "carrel", (char *)(uintptr_t) "serve",
                         (char *)(uintptr_t) "--state", (char *)(uintptr_t)m->private_state, NULL };
        sigset_t nothing;

        (void)sigemptyset(&nothing);
        (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
        if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0 || getppid() != parent ||
            dup2(null, 0) < 0 || dup2(2, 1) < 0)
                _exit(125);
        (void)execv("/proc/self/exe", argv);
        _exit(125);
}

static int
await_daemon(struct mcp *m, struct error *e)
{
        const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };

        for (int waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
                m->keeper_fd = connect_keeper(m->private_state);
                if (m->keeper_fd >= 0)
                        return 0;
                if (waitpid(m->warden, NULL, WNOHANG) == m->warden) {
                        m->warden = 0;
                        return fail(e, ERROR_UNAVAILABLE,
                                    "the daemon that was started for this agent ended at once; its "
                                    "words stand above");
                }
                (void)nanosleep(&step, NULL);
        }
        return fail(e, ERROR_UNAVAILABLE,
                    "the daemon that was started for this agent does not answer");
}

static int
remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
        (void)about;
        (void)where;
        return kind == FTW_DP ? rmdir(path) : unlink(path);
}

/*
 * Starts the daemon, waits until it ends or all ends of the lifeline are closed, and removes
 * everything it created.
 */
static _Noreturn void
become_warden(const struct mcp *m, int lifeline)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        pid_t warden, daemon;
        struct pollfd wait = { .fd = lifeline };

        (void)setsid();
        warden = getpid();
        daemon = fork();
        if (daemon == 0)
                become_daemon(m, warden, null);
        (void)dup2(null, 0);
        (void)dup2(null, 1);
        while (daemon > 0 && poll(&wait, 1, STEP_MS * 10) == 0)
                if (waitpid(daemon, NULL, WNOHANG) == daemon)
                        daemon = 0;
        if (daemon > 0 && kill(daemon, SIGTERM) == 0)
                (void)waitpid(daemon, NULL, 0);
        (void)nftw(m->private_state, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        _exit(0);
}

static int
start_daemon(struct mcp *m, struct error *e)
{
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        int ends[2];

        if (snprintf(m->private_state, sizeof m->private_state, "%s/carrel-mcp-XXXXXX",
                     runtime && strlen(runtime) < 40 && access(runtime, W_OK) == 0 ? runtime
                                                                                   : "/tmp") < 0 ||
            !mkdtemp(m->private_state)) {
                m->private_state[0] = '\0';
                return fail_sys(e, ERROR_STATE_UNUSABLE, errno,
                                "a directory for a daemon of this agent's own");
        }
        (void)fprintf(stderr, "carrel mcp: no daemon answers, so one is started for this agent; it "
                              "ends with it\n");
        if (pipe2(ends, O_CLOEXEC) < 0 || (m->warden = fork()) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting a daemon");
        if (m->warden == 0) {
                (void)close(ends[1]);
                become_warden(m, ends[0]);
        }
        (void)close(ends[0]);
        m->lifeline = ends[1];
        return await_daemon(m, e);
}

static int
reach_daemon(struct mcp *m, struct error *e)
{
        const char *state;

        if (state_choose(&m->arena, m->state, &state, e) < 0)
                return -1;
        m->keeper_fd = connect_keeper(state);
        m->daemon_state = m->keeper_fd >= 0 ? state : m->private_state;
        if (m->keeper_fd >= 0)
                return trust_check(m->keeper_fd, state, e);
        if ((m->state || getenv("CARREL_STATE")) && errno == EACCES) {
                (void)fail_sys(e, ERROR_DAEMON_UNREACHABLE, errno, "reaching the daemon in %.200s",
                               state);
                error_hint(e, "That daemon is another user's: run as that user, or name a state "
                              "directory of your own with --state DIR.");
                return -1;
        }
        if (m->state || getenv("CARREL_STATE")) {
                (void)fail_at(e, ERROR_DAEMON_UNREACHABLE, NULL, "not_running",
                              "no daemon answers in %.200s", state);
                error_hint(e, "Start one with `carrel serve --state %.150s`, and leave it running.",
                           state);
                return -1;
        }
        if (m->sandbox)
                return fail(e, ERROR_DAEMON_UNREACHABLE,
                            "no daemon answers, so there is no sandbox %.64s", m->sandbox);
        return start_daemon(m, e);
}

static void
end_daemon(struct mcp *m)
{
        if (m->lifeline >= 0)
                (void)close(m->lifeline);
        if (m->warden > 0)
                (void)waitpid(m->warden, NULL, 0);
}

/* -- the server -------------------------------------------------------------------------------- */

static char *
number(struct mcp *m, int fd)
{
        return arena_format(&m->arena, "%d", fd);
}

static size_t
write_words(struct mcp *m, char **words)
{
        const struct {
                const char *name, *value;
                bool flag;
        } rows[] = {
                { "--keeper-fd", number(m, m->keeper_fd), false },
                { "--keeper-path", arena_format(&m->arena, "%s/keeper.sock", m->daemon_state),
                  false },
                { "--manifest-fd", m->manifest_fd >= 0 ? number(m, m->manifest_fd) : NULL, false },
                { "--manifest-name", m->name, false },
                { "--workspace", m->directory, false },
                { "--sandbox", m->sandbox, false },
                { "--runtime", m->runtime, false },
                { "--risk", m->risk, false },
                { "--cache-key", m->cache_key, false },
                { "--context-key", m->context_key, false },
                { "--tool-names", m->names, false },
                { "--instructions", m->instructions, false },
                { "--context", NULL, m->is_dynamic },
                { "--keep-background", NULL, m->keeps_background },
                { "--manage", NULL, m->manages },
                { "--private", NULL, *m->private_state != '\0' },
        };
        size_t count = 0;

        words[count++] = (char *)(uintptr_t) "carrel-door";
        words[count++] = (char *)(uintptr_t) "mcp";
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                if (!rows[i].value && !rows[i].flag)
                        continue;
                words[count++] = (char *)(uintptr_t)rows[i].name;
                if (rows[i].value)
                        words[count++] = (char *)(uintptr_t)rows[i].value;
        }
        for (size_t i = 0; i < m->reads.count; i++) {
                words[count++] = (char *)(uintptr_t) "--read";
                words[count++] =
                        (char *)(uintptr_t)ref_reads_below(m->reads.paths[i], m->directory);
        }
        words[count] = NULL;
        return count;
}

/* Does not return on success. */
static int
become_server(struct mcp *m, struct error *e)
{
        char *words[WORDS_MAX];
        int image;

        if (program_open(PROGRAM_DOOR, &image, e) < 0)
                return -1;
        (void)write_words(m, words);
        (void)syscall(SYS_execveat, image, "", words, clock_environment(), AT_EMPTY_PATH);
        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting carrel-door");
}

/* With a private daemon this process stays, to end it. The server handles signals. */
static int
run_server(struct mcp *m, const sigset_t *set, struct error *e)
{
        pid_t parent = getpid(), server = fork();
        int status = 0, number_of;

        if (server < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting carrel-door");
        if (server == 0) {
                sigset_t nothing;

                (void)sigemptyset(&nothing);
                (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
                if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && getppid() == parent &&
                    fcntl(m->lifeline, F_SETFD, 0) == 0)
                        (void)become_server(m, e);
                _exit(125);
        }
        (void)close(m->keeper_fd);
        while (waitpid(server, &status, WNOHANG) != server) {
                if (sigwait(set, &number_of) == 0 && number_of != SIGCHLD)
                        (void)kill(server, SIGTERM);
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

static int
serve(struct mcp *m, struct error *e)
{
        sigset_t set, before;
        int status;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGCHLD);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigaddset(&set, SIGHUP);
        (void)sigprocmask(SIG_BLOCK, &set, &before);
        status = reach_daemon(m, e);
        if (status == 0 && *m->private_state)
                status = run_server(m, &set, e);
        else if (status == 0 && sigprocmask(SIG_SETMASK, &before, NULL) == 0)
                status = become_server(m, e);
        end_daemon(m);
        return status;
}

static int
cmd_mcp(int argc, char **argv)
{
        struct mcp m = { .manifest_fd = -1, .keeper_fd = -1, .lifeline = -1 };
        struct error e;
        int status;

        arena_init(&m.arena, ARENA_MAX);
        if (ladder_descriptors(&e) < 0 || read_arguments(argc, argv, &m, &e) < 0 ||
            find_workspace(&m, &e) < 0 || load_manifest(&m, &e) < 0)
                status = -1;
        else
                status = serve(&m, &e);
        if (status < 0)
                status = print_failure(e.line > 0 ? m.name : NULL, &e, false);
        arena_fini(&m.arena);
        return status;
}

static const struct option options[] = {
        OPTION_TEXT(struct mcp, manifest, VALUE_FILE, "-f", "FILE",
                    MANIFEST_DOC "; without one, no command tool is offered"),
        OPTION_TEXT(struct mcp, workspace, VALUE_DIRECTORY, "-w", "DIR", WORKSPACE_DOC),
        OPTION_TEXT(struct mcp, state, VALUE_DIRECTORY, "--state", "DIR",
                    "state directory of the daemon; if no daemon is running and this is not "
                    "given, one is started for this agent"),
        OPTION_TEXT(struct mcp, sandbox, VALUE_SANDBOX, "--sandbox", "ID",
                    "use this sandbox, and create none"),
        OPTION_FLAG(struct mcp, is_dynamic, "--context",
                    "the context of each request chooses the sandbox: "
                    "params._meta[\"carrel/context\"]"),
        OPTION_TEXT(struct mcp, context_key, VALUE_TEXT, "--context-key", "KEY",
                    "use this context for every request"),
        OPTION_TEXT(struct mcp, cache_key, VALUE_TEXT, "--cache-key", "FIELD",
                    "only this member of the context chooses the sandbox"),
        OPTION_TEXT(struct mcp, runtime, VALUE_RUNTIME, "--runtime", "NAME",
                    "template of new sandboxes: python3, node24, ..."),
        OPTION_TEXT(struct mcp, risk, VALUE_RISK, "--risk", "low|medium|high",
                    "risk of the work of new sandboxes; refused if the isolation tier is too low"),
        OPTION_TEXT(struct mcp, names, VALUE_TOOL_NAMES, "--tool-names", "mastra|plain",
                    "mastra (default): mastra_workspace_execute_command, ...; plain: "
                    "execute_command, ..."),
        OPTION_FLAG(struct mcp, keeps_background, "--keep-background",
                    "keep background processes running when the agent ends"),
        OPTION_FLAG(struct mcp, manages, "--manage",
                    "the agent can create sandboxes with any manifest, and use all of yours"),
        OPTION_TEXT(struct mcp, instructions, VALUE_INSTRUCTIONS, "--instructions",
                    "resolve|placeholder",
                    "resolve: create a context's sandbox to describe it; placeholder (default): "
                    "do not"),
        OPTION_END,
};

const struct command command_mcp = {
        .name = "mcp",
        .help = "Serve the Model Context Protocol on standard input and output, with a sandbox as "
                "tools.",
        .options = options,
        .example = "carrel mcp -w examples/data-report/workspace",
        .run = cmd_mcp,
};
