/*
 * maker/slots.h - the places of a saved machine for devices that it gets when it wakes.
 */
#ifndef CARREL_MAKER_SLOTS_H
#define CARREL_MAKER_SLOTS_H

/*
 * What the machine's kernel calls them: it numbers what its tables list, and QEMU's own tables list
 * the stream and the disk. A write of the name to SLOTS_DRIVER "/bind" looks for a device there.
 */
#define SLOTS_NETWORK "LNRO0005:02"
#define SLOTS_SHARE "LNRO0005:03"
#define SLOTS_DEVICES "/sys/bus/platform/devices"
#define SLOTS_DRIVER "/sys/bus/platform/drivers/virtio-mmio"

enum { SLOTS_BYTES = 178 };

/* An ACPI table that lists both. */
extern const unsigned char slots_table[SLOTS_BYTES];

#endif
