/*
 * plan/failure.c - a step that failed, in words.
 *
 * Room: plan (deciding). Touches: nothing.
 */
#include "plan/failure.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct failure_row {
        enum step_op op;
        int sys; /* 0: any, except what is only missing now */
        enum error_code code;
        const char *reason, *sentence, *hint;
};

#define TAP_MISSING                                                                          \
        "/dev/net/tun is missing, or this user may not open it: a virtual machine needs it", \
                "Make it: modprobe tun; chmod 0666 /dev/net/tun. Or use `provider: container`."

#define SAVE_AGAIN                                                                             \
        "Save it again: carrel image machine NAME. Or remove it, then it boots: carrel image " \
        "machine --remove NAME"

static const struct failure_row rows[] = {
        { STEP_BIND, ESTALE, ERROR_MOUNT_UNRESOLVABLE, "changed",
          "the directory was replaced after it was checked",
          "A program replaced it while the sandbox started. Run the command again." },
        { STEP_BIND, ENOENT, ERROR_MOUNT_UNRESOLVABLE, "not_found",
          "the source or a directory above the mount point does not exist",
          "Mount below a directory that exists inside, such as /workspace or /mnt." },
        { STEP_BIND, ELOOP, ERROR_MOUNT_UNRESOLVABLE, "symlink",
          "the path contains a symbolic link", "Mount at a path without symbolic links." },
        { STEP_DIR, EROFS, ERROR_MOUNT_UNRESOLVABLE, "read_only_parent",
          "its parent directory is read-only and does not hold it",
          "Mount below a directory that exists inside, such as /workspace or /mnt." },
        { STEP_DIR, ELOOP, ERROR_MOUNT_UNRESOLVABLE, "symlink", "the path contains a symbolic link",
          "Mount at a path without symbolic links." },
        { STEP_FREEZE, ELOOP, ERROR_MOUNT_DENIED, "protected_symlink",
          "a protected name is a symbolic link, and a link cannot be pinned",
          "List the name under metadata.carrel.unprotect to open it, or replace the link by what "
          "it leads to." },
        { STEP_OVERLAY, 0, ERROR_CAPABILITY_UNAVAILABLE, "overlay",
          "this kernel does not let a sandbox use an overlay here",
          "Mount it read-write from a copy, or put the directory on another file system." },
        { STEP_TREE, EINVAL, ERROR_CAPABILITY_UNAVAILABLE, "idmap",
          "its file system cannot map ids (idmapped mounts)",
          "Run carrel as the owner of the directory instead of as root, or copy it to ext4, xfs, "
          "btrfs or tmpfs." },
        { STEP_VOLUME, EUSERS, ERROR_QUOTA_EXCEEDED, "volumes_max",
          "there are as many volumes as the host permits",
          "Remove one with `carrel volume rm NAME`, or have the operator raise volumes_max in the "
          "host file." },
        { STEP_VOLUME, EPERM, ERROR_STATE_UNUSABLE, "owner",
          "a directory of the volumes belongs to somebody else or is open to others",
          "Make it yours alone: chmod 700. Or choose another state directory with CARREL_STATE." },
        { STEP_VOLUME, EROFS, ERROR_STATE_UNUSABLE, "read_only", "the state directory is read-only",
          "Choose another with CARREL_STATE, or leave the volume out." },
        { STEP_VOLUME, ELOOP, ERROR_STATE_UNUSABLE, "symlink",
          "a symbolic link has the place of a volume",
          "Remove the link; no volume is opened through one." },
        { STEP_VOLUME, ENOTDIR, ERROR_STATE_UNUSABLE, "not_directory",
          "something that is no directory has the place of a volume",
          "Remove it, or choose another name." },
        { STEP_VOLUME, EACCES, ERROR_STATE_UNUSABLE, "denied", "the state directory cannot be used",
          "Choose another with CARREL_STATE, or leave the volume out." },
        { STEP_LEASE, EPERM, ERROR_BACKEND_FAILED, "runtime_dir",
          "the runtime directory does not belong to you alone",
          "Remove it, or set XDG_RUNTIME_DIR to a directory of mode 0700 that is yours." },
        { STEP_IMAGE, ENODEV, ERROR_CAPABILITY_UNAVAILABLE, "image", "this kernel has no ext4",
          "Run `modprobe ext4`, or write metadata.carrel.disk: auto." },
        { STEP_IMAGE, EOPNOTSUPP, ERROR_CAPABILITY_UNAVAILABLE, "image",
          "the file system there has no nameless files (O_TMPFILE)",
          "Keep the daemon's state on ext4, xfs or btrfs, or write metadata.carrel.disk: auto." },
        { STEP_IMAGE, 0, ERROR_CAPABILITY_UNAVAILABLE, "image",
          "an image of the private places cannot be made: it takes a free loop device",
          "Look at `losetup -a` and at /dev/loop*, or write metadata.carrel.disk: auto." },
        { STEP_WATCHED, EPERM, ERROR_STATE_UNUSABLE, "owner",
          "the directory `private` of the state directory is not yours or is open to others",
          "Give it mode 0700 and your user, or choose another state directory with CARREL_STATE." },
        { STEP_WATCHED, 0, ERROR_STATE_UNUSABLE, "private",
          "a private directory for /tmp and the home cannot be made",
          "Choose another state directory with CARREL_STATE, or write metadata.carrel.disk: "
          "auto." },
        { STEP_LANDLOCK_ALLOW, EOPNOTSUPP, ERROR_CAPABILITY_UNAVAILABLE, "landlock",
          "Landlock is built into this kernel but switched off",
          "Boot with lsm=landlock,... ; `carrel doctor` shows the line." },
        { STEP_LANDLOCK_ALLOW, ENOSYS, ERROR_CAPABILITY_UNAVAILABLE, "landlock",
          "this kernel has no Landlock", "Use Linux 5.13 or newer with Landlock." },
        { STEP_WALL, 0, ERROR_EGRESS_UNENFORCEABLE, "wall",
          "the wall that holds a sandbox to network.egress cannot be made here",
          "Run `carrel doctor`: it tries the wall. The list can be left empty: then there is no "
          "network at all." },
        { STEP_ROUTED, EOPNOTSUPP, ERROR_EGRESS_UNENFORCEABLE, "no_veth",
          "this kernel has no veth devices, which metadata.carrel.egress.routed needs",
          "Load the module veth, or leave `routed` (carrel gate: --routed) out: a server inside "
          "then "
          "shares its ports with network.egress." },
        { STEP_ROUTED, 0, ERROR_EGRESS_UNENFORCEABLE, "routed",
          "the second network namespace of metadata.carrel.egress.routed cannot be made here",
          "Run `carrel doctor`: it tries it. Without `routed` (carrel gate: --routed) a server "
          "inside "
          "shares its ports with network.egress." },
        { STEP_TAP, ENOENT, ERROR_EGRESS_UNENFORCEABLE, "no_tun", TAP_MISSING },
        { STEP_TAP, ENODEV, ERROR_EGRESS_UNENFORCEABLE, "no_tun", TAP_MISSING },
        { STEP_TAP, EACCES, ERROR_EGRESS_UNENFORCEABLE, "no_tun", TAP_MISSING },
        { STEP_TAP, ENOSPC, ERROR_QUOTA_EXCEEDED, "namespaces",
          "this user has as many namespaces as this machine permits",
          "Stop sandboxes, or raise the limits: sudo sysctl -w user.max_user_namespaces=15000 "
          "user.max_net_namespaces=15000" },
        { STEP_TAP, 0, ERROR_EGRESS_UNENFORCEABLE, "tap",
          "the network namespace of a virtual machine cannot be made here",
          "Run `carrel doctor`: it tries it. The list can be left empty: then there is no network "
          "at all." },
        { STEP_JOIN, EBADMSG, ERROR_CAPABILITY_UNAVAILABLE, "machine_saved",
          "the saved machine has no place for its network device", SAVE_AGAIN },
        { STEP_JOIN, 0, ERROR_EGRESS_UNENFORCEABLE, "machine_network",
          "the machine's kernel has no network device of virtio, or no IPv6",
          "Use the kernel of linux-image-cloud-amd64 (host file: machine_kernel). The list can be "
          "left empty: then there is no network at all." },
        { STEP_NET_CAPS, EPERM, ERROR_CAPABILITY_UNAVAILABLE, "capabilities",
          "the program could leave the network namespace",
          "Root needs CAP_SETPCAP to drop what leads back out of it: run this as an ordinary user, "
          "or use `carrel run`." },
        { STEP_BYPASSES, 0, ERROR_CAPABILITY_UNAVAILABLE, "seccomp",
          "system call filters cannot be installed here",
          "`carrel doctor` names what is in the way." },
        { STEP_WATCH_EXEC, 0, ERROR_CAPABILITY_UNAVAILABLE, "seccomp",
          "executions cannot be watched here, which the audit log needs",
          "Linux 5.5 or later is needed, and no seccomp listener around this sandbox. Of a daemon: "
          "write `audit_executions: false` to the host file." },
        { STEP_FILTER, EBUSY, ERROR_CAPABILITY_UNAVAILABLE, "seccomp",
          "`user: root` needs a seccomp listener, and a process around this sandbox has the one "
          "that "
          "is possible",
          "Run Carrel outside of the other sandbox, or leave `user: root` out." },
        { STEP_FILTER, 0, ERROR_CAPABILITY_UNAVAILABLE, "seccomp",
          "system call filters cannot be installed here",
          "`carrel doctor` names what is in the way." },
        { STEP_SPAWN, ENOSPC, ERROR_QUOTA_EXCEEDED, "namespaces",
          "this user has as many namespaces as this machine permits",
          "Stop sandboxes, or raise the limits: sudo sysctl -w user.max_user_namespaces=15000 "
          "user.max_mnt_namespaces=15000 user.max_pid_namespaces=15000 "
          "user.max_net_namespaces=15000" },
        { STEP_SPAWN, 0, ERROR_CAPABILITY_UNAVAILABLE, "namespaces",
          "namespaces cannot be made here", "`carrel doctor` names the setting that forbids it." },
        { STEP_RUNTIME, EPERM, ERROR_CAPABILITY_UNAVAILABLE, "runtime_writable",
          "the container runtime does not belong to root alone",
          "Install it again from the distribution's package: apt-get install --reinstall runc" },
        { STEP_CONTAINER, 0, ERROR_CAPABILITY_UNAVAILABLE, "runtime",
          "the container runtime did not start a container",
          "Run `carrel doctor`: it starts one. `carrel plan --bundle` prints what the runtime "
          "got." },
        { STEP_SAVED, EBADMSG, ERROR_CAPABILITY_UNAVAILABLE, "machine_saved",
          "the saved machine is damaged", SAVE_AGAIN },
        { STEP_VIRTIOFS, EBADMSG, ERROR_CAPABILITY_UNAVAILABLE, "machine_saved",
          "the saved machine has no place for its mounts", SAVE_AGAIN },
        { STEP_MACHINE, EBADMSG, ERROR_CAPABILITY_UNAVAILABLE, "machine_saved",
          "the machine of QEMU did not wake, or could not be saved", SAVE_AGAIN },
        { STEP_MACHINE, 0, ERROR_CAPABILITY_UNAVAILABLE, "machine",
          "the machine of QEMU did not start",
          "`carrel plan --steps` prints how QEMU is started. Does the kernel have the modules that "
          "the step `first` lists?" },
        { STEP_PROC, 0, ERROR_CAPABILITY_UNAVAILABLE, "proc",
          "a fresh /proc cannot be mounted here",
          "Inside a container, unmask /proc: `carrel doctor` prints the options." },
        { STEP_MAP_UID, 0, ERROR_CAPABILITY_UNAVAILABLE, "user_namespaces",
          "ids cannot be mapped here", "`carrel doctor` names the setting that forbids it." },
};

/* Of files, processes or memory: it says nothing of what this machine can do. */
static bool
is_shortage(int sys)
{
        return sys == EMFILE || sys == ENFILE || sys == ENOMEM || sys == EAGAIN;
}

static const struct failure_row *
find(enum step_op op, int sys)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].op == op &&
                    (rows[i].sys == sys || (rows[i].sys == 0 && !is_shortage(sys))))
                        return &rows[i];
        return NULL;
}

int
plan_step_failed(struct error *e, const struct plan *plan, size_t step, int sys)
{
        const struct step *s = step < plan->step_count ? &plan->steps[step] : NULL;
        const struct failure_row *row = s ? find(s->op, sys) : NULL;

        if (!s)
                return fail_sys(e, ERROR_PROTOCOL, sys, "the maker did not understand the plan");
        if ((sys == ENOSPC || sys == EDQUOT) && (!row || row->sys != sys)) {
                (void)fail_sys(e, ERROR_STORAGE_FULL, sys, "making the sandbox, step %s%s%s",
                               step_name(s->op), s->path[0] ? " " : "", s->path);
        } else if (row) {
                (void)fail_at(e, row->code, "", row->reason, "%s%s%s: %s (%s)", step_name(s->op),
                              s->path[0] ? " " : "", s->path, row->sentence, strerror(sys));
                error_hint(e, "%s", row->hint);
        } else {
                (void)fail_at(e, ERROR_BACKEND_FAILED, "", step_name(s->op),
                              "making the sandbox, step %zu, %s%s%s: %s", step, step_name(s->op),
                              s->path[0] ? " " : "", s->path, strerror(sys));
                if (is_shortage(sys))
                        error_hint(e, "Files, processes or memory were short: look at ulimit -n, "
                                      "ulimit -u and free memory, or try again.");
        }
        e->sys = sys;
        return -1;
}
