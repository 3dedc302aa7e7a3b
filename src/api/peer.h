/*
 * api/peer.h - who asks.
 */
#ifndef CARREL_API_PEER_H
#define CARREL_API_PEER_H

#include <sys/types.h>

/* `token` NULL: a unix peer, known by its uid. */
struct api_peer { uid_t uid; const char *token; };

#endif
