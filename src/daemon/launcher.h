/*
 * daemon/launcher.h - `carrel serve`: starts the processes of the daemon, and starts them again.
 */
#ifndef CARREL_DAEMON_LAUNCHER_H
#define CARREL_DAEMON_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "secret/sources.h"

/* What the keeper is given to read, as bytes: the reader of text is not the keeper. */
struct launcher_files {
        const void *host;  size_t host_len;            /* prepare_host_pack() */
        const void *pool;  size_t pool_len;            /* a packed manifest; NULL: the standard one */
        const uint16_t *host_ports;  size_t host_port_count;   /* that sandboxes may ask for: none may be the daemon's own */
        struct secret_sources secrets;                 /* what the fetcher asks; none: there is no fetcher */
};

struct launcher_options {
        const char *state;             /* absolute directory */
        mode_t socket_mode;            /* of the unix sockets: 0600, or open to more */
        const char *tcp;               /* "127.0.0.1:7070", or NULL: no TCP */
        const char *ports;             /* "127.0.0.1:7071"; NULL: a free port, the same as the last time if it is still free; "off": none */
        const char *pool;              /* how many boxes stand ready, as text */
        const char *delete_after_ms;   /* scheduled deletion where a call says nothing, as text; NULL: none */
        /* Reads the files; again on SIGHUP. What it gives stays valid until it is called again. */
        int (*load)(void *ctx, struct launcher_files *ret, struct error *e);
        void *ctx;
};

/*
 * Runs until SIGTERM or SIGINT. Gives the exit status of `carrel serve`: 0 after a signal, 126 where a part refuses to start and says why.
 * Errors: those of state_open(), listeners_*(), child_start() at the first start.
 */
int launcher_run(const struct launcher_options *options, int *ret_status, struct error *e);

#endif
