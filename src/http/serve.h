/*
 * http/serve.h - serves an accepted connection: requests and their answers, in order.
 */
#ifndef CARREL_HTTP_SERVE_H
#define CARREL_HTTP_SERVE_H

#include "http/door.h"

/* Takes an accepted, non-blocking descriptor. */
void serve_connection(struct listener *l, int take_fd, int is_tcp);

#endif
