/*
 * policy/host_destination.c - does this host permit a request for a destination?
 *
 * Room: policy (deciding, pure). Touches: nothing.
 */
#include "policy/host_destination.h"

static const struct {
        const char *reason, *words;
} told[] = {
        [HOST_DESTINATION_PERMITTED] = { "permitted", "is permitted" },
        [HOST_DESTINATION_NOT_LISTED] = { "not_in_host_allowlist",
                                          "is not among the destinations this host permits" },
        [HOST_DESTINATION_HOST_PORT] = { "host_port", "is a port of this machine, and host_ports "
                                                      "of its host file does not list it" },
        [HOST_DESTINATION_PRIVATE] = { "private_name",
                                       "is a private name, and this host does not permit it" },
};

static bool
is_covered(const struct spec_egress *outer, size_t count, const struct spec_egress *inner)
{
        for (size_t i = 0; i < count; i++)
                if (egress_covers(&outer[i], inner))
                        return true;
        return false;
}

enum host_destination
host_destination_judge(const struct host_rules *rules, const struct spec_egress *entry)
{
        if (egress_is_host(entry->host) &&
            !is_covered(rules->host_ports, rules->host_port_count, entry))
                return HOST_DESTINATION_HOST_PORT;
        if (is_covered(rules->egress_allowed, rules->egress_allowed_count, entry))
                return HOST_DESTINATION_PERMITTED;
        if (rules->has_egress_list)
                return HOST_DESTINATION_NOT_LISTED;
        if (!egress_is_host(entry->host) && egress_is_private_name(entry->host) &&
            !is_covered(rules->private_names, rules->private_name_count, entry))
                return HOST_DESTINATION_PRIVATE;
        return HOST_DESTINATION_PERMITTED;
}

const char *
host_destination_reason(enum host_destination d)
{
        return told[d].reason;
}

const char *
host_destination_words(enum host_destination d)
{
        return told[d].words;
}
