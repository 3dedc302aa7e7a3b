/*
 * keeper/client.c - clients that background processes end with: agents that speak MCP over HTTP, which is a protocol without a connection.
 *
 * Room: keeper (joining). Touches: the store, clock.
 * Theory: the processes of one client in one sandbox are a task (deadline.c) with a name that no caller may use: "~" and the client's mark. Its deadline is moved each
 * time the door has heard of the client. So the box knows whose process it is, the store knows the client, and a restart forgets neither: then the
 * time of silence begins anew, because who was heard meanwhile is not known.
 */
#include <stdio.h>
#include <string.h>

#include "keeper/exec.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"

enum { SILENCE_MS = 10 * 60 * 1000 + 30 * 1000 /* ten minutes, and how seldom the door tells (mcp/client.c) */ };

bool
client_is_task(const char *task)
{
        return task[0] == '~';
}

uint64_t
client_deadline(void)
{
        return loop_now_ms() + SILENCE_MS;
}

static const char *
task_of(const struct record *r, char name[BOX_KEY_LEN])
{
        const char *mark = record_get_text(r, FIELD_CLIENT, NULL);

        if (mark)
                (void)snprintf(name, BOX_KEY_LEN, "~%s", mark);
        return mark ? name : NULL;
}

int
client_choose(struct sandbox *s, const struct record *r, struct exec_request *q, struct error *e)
{
        char name[BOX_KEY_LEN] = "";
        struct store_task row = { s->id, task_of(r, name), client_deadline() };
        struct task *t = row.task ? task_find(s, row.task) : NULL;

        if (!row.task)
                return 0;
        if (t)
                task_extend(t, row.deadline_ms);
        else if (store_task_put(s->keeper->store, &row, e) < 0 || task_begin(s, row.task, row.deadline_ms, e) < 0)
                return -1;
        memcpy(q->box.task, name, sizeof q->box.task);
        return 0;
}

enum call_state
op_client_heard(struct call *c, struct error *e)
{
        char name[BOX_KEY_LEN] = "";
        struct record_writer w;

        (void)e;
        (void)task_of(&c->record, name);
        for (struct sandbox *s = c->keeper->first; s; s = s->next) {
                struct task *t = s->tasks && sandbox_belongs(s, &c->caller) ? task_find(s, name) : NULL;

                if (t)
                        task_extend(t, client_deadline());
        }
        w = reply_begin(c);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}
