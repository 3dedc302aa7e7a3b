/*
 * daemon/launcher.h - `carrel serve`: starts the processes of the daemon, and restarts them.
 */
#ifndef CARREL_DAEMON_LAUNCHER_H
#define CARREL_DAEMON_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/validators.h"
#include "secret/sources.h"

/* The files for the keeper, as packed bytes: the keeper does not parse text. */
struct launcher_files {
        const void *host;
        size_t host_len; /* prepare_host_pack() */
        const void *pool;
        size_t pool_len; /* packed manifest; NULL: standard */
        /* ports that sandboxes may request; the daemon must not use them itself */
        const uint16_t *host_ports;
        size_t host_port_count;
        bool has_programs;             /* a provider has a program: carrel-bridge is needed */
        bool has_validators;           /* a rule names a program: carrel-validate is needed */
        uint64_t audit_keep_ms;        /* how long audit logs are kept; 0: forever */
        uint32_t redact_off;           /* rules that remove nothing: redact_leave() */
        struct secret_sources secrets; /* asked by the fetcher; empty: no fetcher */
};

struct launcher_options {
        const char *state;  /* absolute directory */
        mode_t socket_mode; /* of the unix sockets: 0600, or open to more users */
        const char *tcp;    /* "127.0.0.1:7070", or NULL: no TCP */
        /*
         * "127.0.0.1:7071"; NULL: the same port as last time if it is free, else any free port;
         * "off": none
         */
        const char *ports;
        const char *pool; /* number of ready boxes, as text */
        /* default of scheduled deletion in ms, as text; NULL: none */
        const char *delete_after_ms;
        /* Reads the files; called again on SIGHUP. Its result stays valid until the next call. */
        int (*load)(void *ctx, struct launcher_files *ret, struct error *e);
        void *ctx;
        validators_run *validate; /* runs a program that judges calls */
        void *validate_ctx;
};

/*
 * Runs until SIGTERM or SIGINT. Gives the exit status of `carrel serve`: 0 after a signal, 126 if a
 * process refuses to start; that process prints why. Errors: those of state_open(), listeners_*(),
 * child_start() at the first start.
 */
int launcher_run(const struct launcher_options *options, int *ret_status, struct error *e);

#endif
