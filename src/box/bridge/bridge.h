/*
 * box/bridge/bridge.h - the engine of sandboxes elsewhere: commands run with a provider, which its
 * program speaks to.
 *
 * Program and carrel-bridge run in a sandbox of another engine, here that of namespaces, whose plan
 * was made for them. The box hears of commands from carrel-bridge, in the messages of pid 1.
 */
#ifndef CARREL_BOX_BRIDGE_BRIDGE_H
#define CARREL_BOX_BRIDGE_BRIDGE_H

struct engine;

/*
 * `within` isolates the provider's program; `program`: carrel-bridge, a descriptor that can be
 * executed. It takes both. The engine of this process; there is one.
 */
struct engine *bridge_open(struct engine *within, int program);

#endif
