/*
 * daemon/notify.h - reports the daemon's state to a service manager (sd_notify(3)), without its
 * library.
 */
#ifndef CARREL_DAEMON_NOTIFY_H
#define CARREL_DAEMON_NOTIFY_H

/*
 * Removes the address (NOTIFY_SOCKET) from the environment, so that no child reports for the
 * daemon.
 */
void notify_init(void);

/* Sends "READY=1\nSTATUS=..." and the like; does nothing without a service manager. */
void notify(const char *state);

#endif
