/*
 * backend/ns/image.h - carrel-init, carried inside `carrel` itself: one program is all there is to install.
 */
#ifndef CARREL_BACKEND_NS_IMAGE_H
#define CARREL_BACKEND_NS_IMAGE_H

#include "base/error.h"

/* An executable, sealed, close-on-exec descriptor of the program: it cannot be changed through /proc/PID/exe (A01). */
int image_open(int *ret_fd, struct error *e);

#endif
