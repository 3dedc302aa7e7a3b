/*
 * seal/enter.c - a seal that fails, in words.
 *
 * Room: seal (words). Touches: the calling process.
 */
#include <errno.h>

#include "seal/seal.h"

int
seal_enter(enum seal_process who, const struct seal_place *places, size_t count, struct error *e)
{
        const char *step;
        int result = seal_privileges(who, &step);

        if (result < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, -result, "%s", step);
        result = seal_world(who, places, count, &step);
        if (result == 0)
                return 0;
        (void)fail_sys(e, ERROR_CAPABILITY_UNAVAILABLE, -result, "%s", step);
        if (result == -EOPNOTSUPP)
                error_hint(e, "Run carrel as an ordinary user, or boot a kernel with Landlock "
                              "switched on (lsm=landlock,...).");
        return -1;
}
