/*
 * daemon/graph.c - the processes of the daemon, as two tables.
 *
 * Room: daemon (joining). Touches: nothing except the stream it prints to.
 */
#include "daemon/graph.h"

#include <stdlib.h>
#include <string.h>

#include "text/json.h"

static const struct graph_process_row processes[PROCESS_MAX] = {
        [PROCESS_SPAWNER] = { "spawner", "carrel-init", PROGRAM_INIT, "spawner", false, true,
                              "launcher", "as root: its privileges, for the makers it forks",
                              "no text, no name, no file but a plan's",
                              "forks a maker and a box for each sandbox" },
        [PROCESS_KEEPER] = { "keeper", "carrel-keeper", PROGRAM_KEEPER, NULL, true, false,
                             "launcher", "as root: looking into directories (CAP_DAC_READ_SEARCH)",
                             "Landlock: writes only to the state directory; its own system call "
                             "filter; no privileges to gain",
                             "state, policy, plans, timers" },
        [PROCESS_DOOR] = { "door", "carrel-door", PROGRAM_DOOR, NULL, false, false, "launcher",
                           "none",
                           "Landlock: no file at all; its own system call filter; no privileges to "
                           "gain",
                           "HTTP, MCP, the proxy to ports" },
        [PROCESS_FETCHER] = { "fetcher", "carrel", PROGRAM_MAX, NULL, false, false, "launcher",
                              "none; as root: the user id that files of secrets belong to",
                              "every descriptor but its socket; no privileges to gain; leaves no "
                              "core",
                              "asks the sources of secrets, each time in a process of its own; "
                              "there where the host file names one" },
        [PROCESS_RECORDER] = { "recorder", "carrel", PROGRAM_MAX, NULL, false, false, "launcher",
                               "none; as root: the user id that the logs belong to",
                               "Landlock: reads and writes only STATE/audit; no privileges to "
                               "gain; "
                               "leaves no core",
                               "holds the keys of the audit logs, and writes them" },
        [PROCESS_FILES] = { "files", "carrel", PROGRAM_MAX, NULL, false, false, "launcher",
                            "as root: looking into directories (CAP_DAC_READ_SEARCH)",
                            "Landlock: writes nothing, no network; no privileges to gain. Its "
                            "children: reads the writable mounts of one sandbox, no other file",
                            "forks a process for each sandbox, which finds what its commands "
                            "changed" },
        [PROCESS_GATE] = { "gate", "carrel-gate", PROGRAM_GATE, NULL, false, false, "launcher",
                           "none",
                           "Landlock: no file at all, nothing to listen on; its own system call "
                           "filter; no privileges to gain",
                           "every connection out of a sandbox; when it ends it alone is started "
                           "again, and what is asked for meanwhile waits" },
        [PROCESS_JUDGE] = { "judge", "carrel-judge", PROGRAM_JUDGE, NULL, false, false, "launcher",
                            "none",
                            "Landlock: no file at all, no network; no privileges to gain. Its "
                            "children: their own system call filter too",
                            "forks a process for each command that is judged by rules; it reads "
                            "nothing of them" },
        [PROCESS_VALIDATORS] = { "validate", "carrel", PROGRAM_MAX, NULL, false, false, "launcher",
                                 "as root: all, to make sandboxes",
                                 "every descriptor but its socket; no privileges to gain",
                                 "forks a process for each call that a program judges, which runs "
                                 "it as `carrel run` does; there where the host file names one" },
        [PROCESS_LAUNCHER] = { "launcher", "carrel", PROGRAM_MAX, NULL, true, false,
                               "the operator or systemd", "as root: all, to start a spawner again",
                               "holds listening sockets and children; reads the operator's own "
                               "files at start and on SIGHUP, nothing else",
                               "starts the others, and starts them again" },
        [PROCESS_BOX] = { "box", "carrel-init", PROGRAM_INIT, NULL, false, false, "spawner", "none",
                          "its own system call filter; no privileges to gain",
                          "one sandbox: pipes, output, endings, deadlines; lives on without the "
                          "others" },
        [PROCESS_MAKER] = { "maker", "carrel-init", PROGRAM_INIT, NULL, false, false, "spawner",
                            "as root: what a plan's steps need", "a plan, nothing else",
                            "does the steps, and undoes them when the box ends" },
        [PROCESS_GUEST] = { "guest", "carrel-init", PROGRAM_INIT, NULL, false, false, "maker",
                            "none", "everything outside: it is pid 1 inside",
                            "runs commands, reads and writes files, connects to ports inside" },
        [PROCESS_CALLER] = { "caller", NULL, PROGRAM_MAX, NULL, false, false, "anybody", "its own",
                             "", "a command line, a program, an agent" },
};

static const struct graph_link_row links[] = {
        { PROCESS_KEEPER, PROCESS_SPAWNER, "--spawner-fd", NULL, SLOT_PAIR, "seqpacket pair",
          "make a box: its plan, its sources, its sockets" },
        { PROCESS_KEEPER, PROCESS_DOOR, "--door-fd", "--keeper-fd", SLOT_PAIR, "seqpacket pair",
          "calls; the door may say whose they are" },
        { PROCESS_KEEPER, PROCESS_FETCHER, "--fetcher-fd", NULL, SLOT_PAIR, "seqpacket pair",
          "names of secrets that were granted; values for one command" },
        { PROCESS_KEEPER, PROCESS_RECORDER, "--recorder-fd", NULL, SLOT_PAIR, "seqpacket pair",
          "entries of the audit logs; which of them are on the disk" },
        { PROCESS_KEEPER, PROCESS_FILES, "--files-fd", NULL, SLOT_PAIR, "seqpacket pair",
          "a socket and the writable mounts of each sandbox" },
        { PROCESS_KEEPER, PROCESS_JUDGE, "--judge-fd", "--keeper-fd", SLOT_PAIR, "seqpacket pair",
          "a socket for each command that is judged" },
        { PROCESS_KEEPER, PROCESS_VALIDATORS, "--validators-fd", NULL, SLOT_PAIR, "seqpacket pair",
          "a socket for each call that a program judges" },
        { PROCESS_LAUNCHER, PROCESS_KEEPER, NULL, "--gate-fd", SLOT_GATES, "seqpacket pair",
          "a gate was started: here is its control socket" },
        { PROCESS_KEEPER, PROCESS_GATE, NULL, NULL, SLOT_ELSEWHERE, "seqpacket pair",
          "resolvers, lists; the walls of boxes, handed on" },
        { PROCESS_BOX, PROCESS_GATE, NULL, NULL, SLOT_ELSEWHERE, "seqpacket pair",
          "names, listeners, what was refused" },
        { PROCESS_CALLER, PROCESS_KEEPER, NULL, "--listen-fd", SLOT_KEEPER_SOCKET,
          "seqpacket socket", "calls; the kernel says whose they are" },
        { PROCESS_CALLER, PROCESS_DOOR, NULL, "--http-fd", SLOT_HTTP_SOCKET, "stream socket",
          "HTTP; the kernel says whose it is" },
        { PROCESS_CALLER, PROCESS_DOOR, NULL, "--tcp-fd", SLOT_TCP_SOCKET, "loopback TCP",
          "HTTP with a token" },
        { PROCESS_CALLER, PROCESS_DOOR, NULL, "--ingress-fd", SLOT_INGRESS_SOCKET, "loopback TCP",
          "ports of sandboxes, with a token each" },
        { PROCESS_LAUNCHER, PROCESS_KEEPER, NULL, "--host-fd", SLOT_HOST_FILE, "sealed memory",
          "the host's rules and templates" },
        { PROCESS_LAUNCHER, PROCESS_KEEPER, NULL, "--pool-manifest-fd", SLOT_POOL_FILE,
          "sealed memory", "what the boxes of the pool are made of" },
        { PROCESS_LAUNCHER, PROCESS_SPAWNER, NULL, "--bridge-fd", SLOT_BRIDGE, "sealed memory",
          "carrel-bridge, if the host file names a provider's program" },
        { PROCESS_KEEPER, PROCESS_BOX, NULL, NULL, SLOT_ELSEWHERE, "seqpacket socket",
          "begin and end commands; a later keeper connects again" },
        { PROCESS_CALLER, PROCESS_BOX, NULL, NULL, SLOT_ELSEWHERE, "stream pair",
          "output, input, signals, the one ending" },
        { PROCESS_BOX, PROCESS_MAKER, NULL, NULL, SLOT_ELSEWHERE, "seqpacket pair",
          "the plan; it is made; it has ended" },
        { PROCESS_BOX, PROCESS_GUEST, NULL, NULL, SLOT_ELSEWHERE, "seqpacket pair",
          "start, signals, endings; closed: the guest ends, and all inside" },
        { PROCESS_DOOR, PROCESS_GUEST, NULL, NULL, SLOT_ELSEWHERE, "TCP inside",
          "a connection to a port, made inside and passed out" },
};

const struct graph_process_row *
graph_process(enum graph_process process)
{
        return &processes[process];
}

const struct graph_link_row *
graph_link_at(size_t index)
{
        return index < sizeof links / sizeof *links ? &links[index] : NULL;
}

static int
print_json(FILE *out)
{
        struct json_writer w;
        int result;

        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "processes");
        json_open_list(&w);
        for (int p = 0; p < PROCESS_MAX; p++) {
                json_open_map(&w);
                json_member_text(&w, "name", processes[p].name);
                json_member_text(&w, "program", processes[p].program);
                json_member_text(&w, "role", processes[p].role);
                json_member_text(&w, "started_by", processes[p].started_by);
                json_member_text(&w, "keeps", processes[p].keeps);
                json_member_text(&w, "closes", processes[p].closes);
                json_member_text(&w, "purpose", processes[p].purpose);
                json_close_map(&w);
        }
        json_close_list(&w);
        json_key(&w, "connections");
        json_open_list(&w);
        for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
                json_open_map(&w);
                json_member_text(&w, "from", processes[links[i].from].name);
                json_member_text(&w, "to", processes[links[i].to].name);
                json_member_text(&w, "kind", links[i].kind);
                json_member_text(&w, "says", links[i].says);
                json_close_map(&w);
        }
        json_close_list(&w);
        json_close_map(&w);
        result = w.is_broken || fprintf(out, "%s\n", w.text) < 0 ? -1 : 0;
        json_fini(&w);
        return result;
}

int
graph_print(FILE *out, bool is_json)
{
        if (is_json)
                return print_json(out);
        for (int p = 0; p < PROCESS_MAX; p++) {
                const struct graph_process_row *row = &processes[p];

                (void)fprintf(out, "%s: %s\n", row->name, row->purpose);
                if (row->program)
                        (void)fprintf(out, "  program  %s%s%s\n", row->program,
                                      row->role ? " " : "", row->role ? row->role : "");
                (void)fprintf(out, "  started  by %s\n  keeps    %s\n", row->started_by,
                              row->keeps);
                if (*row->closes != '\0')
                        (void)fprintf(out, "  closes   %s\n", row->closes);
        }
        (void)fputc('\n', out);
        for (size_t i = 0; i < sizeof links / sizeof *links; i++)
                (void)fprintf(out, "%-8s -> %-8s  %-16s  %s\n", processes[links[i].from].name,
                              processes[links[i].to].name, links[i].kind, links[i].says);
        return ferror(out) ? -1 : 0;
}
