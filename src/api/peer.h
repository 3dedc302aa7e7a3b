/*
 * api/peer.h - the caller of an operation.
 */
#ifndef CARREL_API_PEER_H
#define CARREL_API_PEER_H

#include <sys/types.h>

/* `token` NULL: a unix peer, identified by its uid. */
struct api_peer {
        uid_t uid;
        const char *token;
};

#endif
