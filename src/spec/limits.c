/*
 * spec/limits.c - resource caps: three of AIP-36, seven of Carrel's under metadata.carrel.limits.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 * Knows names, bounds and defaults. Knows nothing of what a host can enforce.
 */
#include "spec/section.h"

enum { TASKS_MAX = 4194304, FILES_MAX = 1048576, CPUS_MAX = 4096 };

static const struct field limits_rows[] = {
        { .name = "timeout_ms",
          .camel = "timeoutMs",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, timeout_ms),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = 30000 /* AIP-36's, for the normal form */,
          .unwritten =
                  "10 minutes for `carrel run`; none with -t, and none in a sandbox of the daemon",
          .help = "Longest time one command may run, milliseconds; then all its processes are "
                  "killed. A call that asks for more (--timeout) is refused." },
        { .name = "memory_mb",
          .camel = "memoryMb",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, memory_mb),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .help = "Memory of the whole sandbox, MiB; a hard cap. Counted: the memory of its "
                  "processes, what its private places hold (disk_mb) if they are memory "
                  "(metadata.carrel.disk), "
                  "shared memory, buffers of sockets, and swap. Not counted: files of mounts, of "
                  "an image and of a private directory, which the kernel may forget." },
        { .name = "cpu_ms",
          .camel = "cpuMs",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, cpu_ms),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .help = "CPU time one command and its children may use, milliseconds." },
        { .name = "pids",
          .kind = FIELD_UNSUPPORTED,
          .help = "Write it as metadata.carrel.limits.pids." },
        { .name = "open_files",
          .kind = FIELD_UNSUPPORTED,
          .help = "Write it as metadata.carrel.limits.open_files." },
        { .name = "cpu_millicores",
          .kind = FIELD_UNSUPPORTED,
          .help = "Write it as metadata.carrel.limits.cpu_millicores." },
        { .name = "disk_mb",
          .kind = FIELD_UNSUPPORTED,
          .help = "Write it as metadata.carrel.limits.disk_mb." },
        { .name = "output_bytes",
          .kind = FIELD_UNSUPPORTED,
          .help = "Write it as metadata.carrel.limits.output_bytes." },
        { .name = "max_cost_units_per_run",
          .kind = FIELD_UNSUPPORTED,
          .help = "Cost caps are an open question of AIP-36; use timeout_ms and cpu_ms." },
};

const struct field_set limits_set = { FIELD_SET(limits_rows), .code = ERROR_SCHEMA_INVALID,
                                      .hint = "limits has timeout_ms, memory_mb and cpu_ms; "
                                              "more are under metadata.carrel.limits." };

static const struct field carrel_limits_rows[] = {
        { .name = "cpu_millicores",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, cpu_millicores),
          .min = 10,
          .max = CPUS_MAX * 1000,
          .fallback = SPEC_UNSET,
          .help = "Share of the processors; 1000 is one of them." },
        { .name = "pids",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, pids),
          .min = 1,
          .max = TASKS_MAX,
          .fallback = SPEC_PIDS,
          .unwritten = "by memory: 4096; 8 for each MiB of memory_mb if that is less, but at least "
                       "256; one for each 8 MiB of the machine's "
                       "memory if that is more, but at most 16384",
          .help = "Processes and threads at once." },
        { .name = "open_files",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, open_files),
          .min = 16,
          .max = FILES_MAX,
          .fallback = 65536,
          .help = "Open descriptors of one process. Where it is not written, a process begins with "
                  "1024 and may raise that itself "
                  "(ulimit -n); a number that is written here applies from the start. Never above "
                  "the caller's own hard limit." },
        { .name = "io_read_bps",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, io_read_bps),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .help = "Bytes read per second, each block device." },
        { .name = "io_write_bps",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, io_write_bps),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .help = "Bytes written per second, each block device." },
        { .name = "disk_mb",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, disk_mb),
          .min = 1,
          .max = 1u << 30,
          .fallback = SPEC_DISK_MB,
          .unwritten = "2048; in memory at most half of the machine's",
          .help = "All private writable places together (/tmp, /var/tmp, /run, /dev/shm, home), "
                  "MiB. They are memory: what they hold counts against memory_mb. On an image "
                  "(metadata.carrel.disk) it does not: disk_mb is then the size of /tmp and the "
                  "home, less a sixteenth for the table of files; /run and /dev/shm are memory, at "
                  "most half "
                  "of memory_mb. They hold one file or directory for each 4 KiB; in memory, at "
                  "least 65536. In a private directory the sandbox is ended soon after /tmp and "
                  "the home "
                  "take more than disk_mb; each file takes 4 KiB at least." },
        { .name = "output_bytes",
          .kind = FIELD_UINT,
          .offset = offsetof(struct spec_limits, output_bytes),
          .min = 1,
          .max = FIELD_INTEGER_MAX,
          .fallback = SPEC_UNSET,
          .help = "Standard output and error of one command together; what comes after is dropped "
                  "and counted." },
};

const struct field_set carrel_limits_set = { FIELD_SET(carrel_limits_rows),
                                             .code = ERROR_SCHEMA_INVALID };

void
limits_remember(const struct node *limits, struct spec_limits *ret)
{
        const struct field *row = &limits_rows[0];

        ret->is_timeout_given = node_find(limits, row->name) || node_find(limits, row->camel);
}

static void
narrow(uint64_t *limit, uint64_t other)
{
        if (other < *limit) /* SPEC_UNSET is the largest number */
                *limit = other;
}

void
limits_narrow(struct judge *j, const struct node *runner, struct spec_limits *limits)
{
        static const struct field_set runner_set = { limits_rows, 3, .code = ERROR_SCHEMA_INVALID,
                                                     .is_open = true };
        const struct node *theirs = node_find(runner, "limits");
        struct trail at_runner = { NULL, "runner", 0 }, at = { &at_runner, "limits", 0 };
        struct spec_limits read;

        if (!theirs)
                return;
        fields_default(&limits_set, &read);
        read.timeout_ms = SPEC_UNSET;
        (void)fields_read(j, &runner_set, theirs, &at, &read);
        limits->is_timeout_given = limits->is_timeout_given || read.timeout_ms != SPEC_UNSET;
        narrow(&limits->timeout_ms, read.timeout_ms);
        narrow(&limits->memory_mb, read.memory_mb);
        narrow(&limits->cpu_ms, read.cpu_ms);
}
