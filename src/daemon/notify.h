/*
 * daemon/notify.h - telling a service manager how it stands (sd_notify(3)), without its library.
 */
#ifndef CARREL_DAEMON_NOTIFY_H
#define CARREL_DAEMON_NOTIFY_H

/* Takes the address out of the environment (NOTIFY_SOCKET), so that no child of ours speaks for us. */
void notify_init(void);

/* "READY=1\nSTATUS=..." and the like; nothing happens where nobody listens. */
void notify(const char *state);

#endif
