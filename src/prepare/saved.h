/*
 * prepare/saved.h - whether a virtual machine boots, or begins as it was saved.
 */
#ifndef CARREL_PREPARE_SAVED_H
#define CARREL_PREPARE_SAVED_H

#include "prepare/host.h"
#include "prepare/rootfs.h"

/* A file for a virtual machine that is saved, or was. */
struct prepare_saved {
        int fd;
        bool is_new; /* the machine boots, and is saved there */
};

struct saved_request {
        const struct spec *spec;
        const struct rootfs *image;        /* NULL: none */
        const struct prepare_saved *asked; /* NULL: what the store has */
};

/*
 * Chooses how *machine starts: with the saved machine of the same image, QEMU, kernel, modules,
 * disk, arguments, speed of the time stamp and program of Carrel in it; without one
 * it boots. What was found is added to `sources`, before the image, and *machine says so,
 * in `arena`. If `asked` is not NULL, that file is the saved machine, or becomes it. Errors:
 * ERROR_CAPABILITY_UNAVAILABLE, reason "machine_saved", if that is asked of a machine that always
 * boots; ERROR_NO_MEMORY.
 */
int saved_choose(struct arena *arena, const struct prepare_host *host,
                 const struct saved_request *request, const struct plan_machine **machine,
                 struct sources *sources, struct error *e);

#endif
