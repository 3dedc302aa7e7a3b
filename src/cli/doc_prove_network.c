/*
 * cli/doc_prove_network.c - proves what a document claims of the network.
 *
 * Room: cli (joining). Touches: what doc_proof.h touches.
 */
#include "cli/doc_proof.h"

#include <inttypes.h>
#include <string.h>

#include "document/value.h"

enum reached { REACHED, NOT_REACHED, NOT_TRIED };

/* Was a destination refused because it is not allowed, by the report of the run? */
static bool
is_denied(const struct doc_probed *done, const char *host)
{
        static const char *const reasons[] = { "not_listed", "port_not_listed", "no_network",
                                               "no_name", "host_port_not_listed" };
        const struct node *denied = node_find(done->json, "denied");

        for (const struct node *n = denied ? denied->first : NULL; n; n = n->next) {
                const struct node *name = node_find(n, "host"), *why = node_find(n, "reason");

                if (!name || name->kind != NODE_STRING || name->text[0] == '\0')
                        name = node_find(n, "address");
                if (!name || !node_is_text(name, host))
                        continue;
                for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
                        if (why && node_is_text(why, reasons[i]))
                                return true;
        }
        return false;
}

static enum reached
connect_to(struct doc_proving *p, const char *host, int64_t port)
{
        static const char script[] =
                "trap '' PIPE; echo begun; exec 3<>\"/dev/tcp/$1/$2\" && echo connected && printf "
                "'HEAD / "
                "HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' \"$1\" >&3 && "
                "read -t 2 -r x <&3; exit 0";
        const char *const command[] = { "bash", "-c", script,
                                        "bash", host, arena_format(&p->a->arena, "%" PRId64, port),
                                        NULL };
        struct doc_probed done;
        const char *out = doc_output(p, &p->probe, command, &done);

        if (!doc_has_line(out, "begun"))
                return NOT_TRIED;
        return doc_has_line(out, "connected") && !is_denied(&done, host) ? REACHED : NOT_REACHED;
}

static bool
is_listed(const struct node *list, const char *host, int64_t port)
{
        node_each(entry, list)
        {
                const struct node *name = node_find(entry, "host"),
                                  *number = node_find(entry, "port");

                if (name && number && document_is_name(name->text, host) && number->integer == port)
                        return true;
        }
        return false;
}

static void
prove_entry(struct doc_proving *p, const char *path, const struct node *list,
            const struct node *entry)
{
        const char *name = node_find(entry, "host")->text;
        int64_t port = node_find(entry, "port")->integer;
        bool is_domain = name[0] == '*';
        const char *host = is_domain ? arena_format(&p->a->arena, "carrel-doc%s", name + 1) : name;
        const char *other =
                is_domain ? name + 2 : arena_format(&p->a->arena, "carrel-doc.%s", name);
        enum reached open = connect_to(p, host, port), beside;

        if (open == NOT_TRIED) {
                doc_say(p, DOC_REFUTED, path,
                        "%.200s:%" PRId64 " cannot be tried: the sandbox has no bash", name, port);
                return;
        }
        doc_say(p, open == REACHED ? DOC_PROVEN : DOC_REFUTED, path, "%.200s:%" PRId64 " is %s",
                name, port, open == REACHED ? "let through" : "denied");
        if (!is_listed(list, other, port)) {
                beside = connect_to(p, other, port);
                doc_say(p, beside == NOT_REACHED ? DOC_PROVEN : DOC_REFUTED, path,
                        "%.200s:%" PRId64 " is %s", other, port,
                        beside == NOT_REACHED ? "denied" : "open, and is not listed");
        }
        if (port < 65535 && !is_listed(list, name, port + 1)) {
                beside = connect_to(p, host, port + 1);
                doc_say(p, beside == NOT_REACHED ? DOC_PROVEN : DOC_REFUTED, path,
                        "%.200s:%" PRId64 " is %s", name, port + 1,
                        beside == NOT_REACHED ? "denied" : "open, and is not listed");
        }
}

void
doc_prove_destinations(struct doc_proving *p, const char *path, const struct node *list)
{
        node_each(entry, list) prove_entry(p, path, list, entry);
}

void
doc_prove_egress(struct doc_proving *p, const char *path, const struct node *claim)
{
        const struct node *here = doc_part(p, path);
        size_t unlisted = 0;

        doc_prove_destinations(p, path, claim);
        for (const struct node *entry = here ? here->first : NULL; entry; entry = entry->next) {
                const struct node *name = node_find(entry, "host"),
                                  *port = node_find(entry, "port");

                if (is_listed(claim, name->text, port->integer))
                        continue;
                unlisted++;
                doc_say(p, DOC_REFUTED, path, "%.200s:%" PRId64 " is open, and is not listed",
                        name->text, port->integer);
        }
        if (unlisted == 0 && here)
                doc_say(p, DOC_PROVEN, path, "no other destination is open: %zu of %zu are listed",
                        here->len, here->len);
}

/* A name that is not listed has no address inside. */
void
doc_prove_default(struct doc_proving *p, const char *path, const struct node *claim)
{
        struct doc_probed done;
        enum reached open;

        (void)claim;
        (void)doc_shell(p, "getent hosts carrel-doc-unlisted.example", "", &done);
        open = connect_to(p, "192.0.2.1", 443);
        if (done.status == 0 || open == REACHED)
                doc_say(p, DOC_REFUTED, path,
                        "a name or an address that is not listed leads somewhere");
        else
                doc_say(p, DOC_PROVEN, path,
                        "an unlisted name has no address; an unlisted address is "
                        "denied");
}

void
doc_prove_dns(struct doc_proving *p, const char *path, const struct node *claim)
{
        if (claim->kind == NODE_MAP)
                doc_prove_same(p, path, claim);
        else if (document_is_name(claim->text, "allowlist") ||
                 document_is_name(claim->text, "deny"))
                doc_prove_default(p, path, claim);
        else
                doc_say(p, DOC_REFUTED, path, "only listed names are answered here: allowlist");
}
