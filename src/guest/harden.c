/*
 * guest/harden.c - restrictions that pid 1 applies to itself (P7, P9).
 *
 * Room: guest (program). Touches: its own credentials, limits, domain and filter.
 */
#include "guest/harden.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter/filter.h"
#include "guest/landlock.h"
#include "seal/landlock.h"
#include "wall/beside.h"

enum { CAPABILITY_LAST = 63 };

static int
rlimit_step(const struct step *s)
{
        int resource = (int)s->number;
        struct rlimit now, want = { s->number2, s->number2 };

        /* Never above the caller's hard limit: to raise that needs a privilege that a box does not
         * have. */
        /* By number, because the two C libraries use different types for a resource. */
        if (syscall(SYS_prlimit64, 0, resource, NULL, &now) < 0)
                return -errno;
        if (now.rlim_max != RLIM_INFINITY && want.rlim_max > now.rlim_max)
                want.rlim_cur = want.rlim_max = now.rlim_max;
        if ((s->flags & STEP_SOFT) != 0 && want.rlim_cur > STEP_FILES_SOFT)
                want.rlim_cur = STEP_FILES_SOFT;
        return syscall(SYS_prlimit64, 0, resource, &want, NULL) < 0 ? -errno : 0;
}

static int
identity_step(const struct step *s)
{
        uid_t uid = (uid_t)s->number;
        gid_t gid = (gid_t)s->number2;

        /* Rootless: setgroups is denied in this user namespace; the plan contains a warning about
         * groups that stay. */
        if (setgroups(0, NULL) < 0 && errno != EPERM)
                return -errno;
        /* root of a range of ids keeps its capabilities for the steps that follow */
        if (geteuid() != uid && prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
                return -errno;
        if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
                return -errno;
        return geteuid() == uid && getegid() == gid ? 0 : -EPERM;
}

/* All but those of the mask. Afterwards, becoming another user drops them as usual. */
static int
drop_capabilities(uint64_t kept)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        uint32_t low = (uint32_t)kept, high = (uint32_t)(kept >> 32);
        struct __user_cap_data_struct left[2] = { { low, low, 0 }, { high, high, 0 } };

        if (prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) > 0 && prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) < 0)
                return -errno;
        for (int cap = 0; cap <= CAPABILITY_LAST; cap++) {
                /* in a container it is empty from the start, and nothing may be dropped */
                int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

                if (has < 0 && errno == EINVAL)
                        break; /* past the last capability of this kernel */
                if (has != 0 && (kept >> cap & 1) == 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
                        return -errno;
        }
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return -errno;
        return syscall(SYS_capset, &head, left) < 0 ? -errno : 0;
}

/*
 * With these capabilities root could leave the network namespace. In a user namespace all of them
 * count in it alone; only file capabilities could bring one back, for that namespace.
 */
static int
drop_net_capabilities(void)
{
        static const int ways[] = { CAP_SYS_ADMIN,  CAP_NET_ADMIN, CAP_SYS_PTRACE,
                                    CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_BPF };
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct caps[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

        if (geteuid() == 0) {
                (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
                if (syscall(SYS_capget, &head, caps) < 0)
                        return -errno;
        }
        for (size_t i = 0; geteuid() == 0 && i < sizeof ways / sizeof *ways; i++) {
                uint32_t keep = ~(1u << (ways[i] % 32));

                /* an older kernel may not know the newest */
                (void)prctl(PR_CAPBSET_DROP, ways[i], 0, 0, 0);
                if (prctl(PR_CAPBSET_READ, ways[i], 0, 0, 0) > 0)
                        return -EPERM; /* root's programs would gain it again */
                caps[ways[i] / 32].effective &= keep;
                caps[ways[i] / 32].permitted &= keep;
                caps[ways[i] / 32].inheritable &= keep;
        }
        return syscall(SYS_capset, &head, caps) < 0 ? -errno : 0;
}

static int
watch_step(struct harden *h)
{
        h->asked.listener = executions_watch();
        h->asked.reports_exec = true;
        return h->asked.listener < 0 ? h->asked.listener : 0;
}

static int
filter_step(struct harden *h, const struct step *s)
{
        static const struct filter_program *const programs[] = {
                [STEP_FILTER_DEFAULT] = &filter_default,
                [STEP_FILTER_NO_UNIX] = &filter_nounix,
                [STEP_FILTER_ROOT] = &filter_root,
                [STEP_FILTER_ROOT_NO_UNIX] = &filter_root_nounix,
                [STEP_FILTER_ONE_ID] = &filter_one_id,
                [STEP_FILTER_ONE_ID_NO_UNIX] = &filter_one_id_nounix,
        };
        const struct filter_program *program =
                s->number < sizeof programs / sizeof *programs ? programs[s->number] : NULL;

        if (!program)
                return -EINVAL;
        if (s->number >= STEP_FILTER_ROOT) {
                h->asked.listener = executions_listen(program);
                h->asked.reports_exec = s->number2 == 1;
                return h->asked.listener < 0 ? h->asked.listener : 0;
        }
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                     &(struct sock_fprog){ program->count,
                                           (struct sock_filter *)(uintptr_t)program->steps },
                     0, 0) < 0
                       ? -errno
                       : 0;
}

static int
allow_step(struct harden *h, const struct step *s)
{
        if (h->rules < 0)
                h->rules = landlock_open(h->landlock_abi);
        return h->rules < 0 ? h->rules
                            : landlock_allow(h->rules, h->landlock_abi, s->path,
                                             (enum step_access)s->number);
}

static int
landlock_step(struct harden *h)
{
        int result = h->rules < 0 ? -EBADF : landlock_apply(h->rules);

        if (h->rules >= 0)
                (void)close(h->rules);
        h->rules = -1;
        return result;
}

int
harden_step(struct harden *h, const struct step *s)
{
        switch (s->op) {
        case STEP_RLIMIT:
                return rlimit_step(s);
        case STEP_IDENTITY:
                return identity_step(s);
        case STEP_DROP_CAPS:
                return drop_capabilities(s->number);
        case STEP_BYPASSES:
                return wall_shut_beside();
        case STEP_NET_CAPS:
                return drop_net_capabilities();
        case STEP_NO_NEW_PRIVS:
                return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
        case STEP_HIDE:
                return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
        case STEP_LANDLOCK_ALLOW:
                return allow_step(h, s);
        case STEP_LANDLOCK:
                return landlock_step(h);
        case STEP_WATCH_EXEC:
                return watch_step(h);
        case STEP_FILTER:
                return filter_step(h, s);
        default:
                return -ENOTSUP;
        }
}
