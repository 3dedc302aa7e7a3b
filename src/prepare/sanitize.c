/*
 * prepare/sanitize.c - what is removed from the output of a sandbox.
 *
 * Room: prepare (joining). Touches: nothing.
 */
#include "prepare/sanitize.h"

int
prepare_sanitize(const struct spec *spec, const struct host_rules *rules, bool has_terminal,
                 unsigned *ret_kinds, struct error *e)
{
        unsigned kinds = spec->carrel.sanitize | rules->sanitize;

        if (kinds != 0 && has_terminal) {
                (void)fail_at(e, ERROR_INVALID_ARGUMENT, "tty", "sanitize_output",
                              "the output of a terminal cannot be sanitised, and %s asks for it",
                              rules->sanitize != 0 ? "sanitize_output of the host file"
                                                   : "metadata.carrel.sanitize_output");
                return error_hint(e, "Run the command without a terminal: leave out -t (tty)."), -1;
        }
        *ret_kinds = kinds;
        return 0;
}
