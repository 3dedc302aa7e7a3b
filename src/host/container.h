/*
 * host/container.h - the container runtimes of this host.
 */
#ifndef CARREL_HOST_CONTAINER_H
#define CARREL_HOST_CONTAINER_H

/* The runtime that is used if a manifest names none. */
#define HOST_CONTAINER_STANDARD "runc"

/*
 * The absolute path of a runtime ("runc", "crun", "runsc"), which lives as long as this program, or
 * NULL. Only in root's own directories of programs: root starts it, so neither a manifest nor a
 * caller's PATH chooses another place.
 */
const char *host_container_find(const char *name);

/* Why this machine cannot run a container of the standard runtime, in words; NULL: it can try. */
struct host_facts;
const char *host_container_lacks(const struct host_facts *facts);

/* A sentence with the command that installs it. */
const char *host_container_install(const char *name);

#endif
