/*
 * keeper/client.c - clients with background commands that end with them: agents that use MCP over
 * HTTP, a protocol without connections.
 *
 * Room: keeper (joining). Touches: the store, clock.
 * Theory: the commands of one client in one sandbox form a task (deadline.c). Its name, "~" and the
 * client's mark, is one that no caller may use. Its deadline moves each time the door hears from
 * the client. So the box knows the client of each command, and the store knows the client: a
 * restart forgets neither. After a restart the time of silence starts again, because the keeper
 * does not know who was heard meanwhile.
 */
#include <stdio.h>
#include <string.h>

#include "keeper/exec.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"

/* Ten minutes, plus the interval of the door's reports (mcp/client.c). */
enum { SILENCE_MS = 10 * 60 * 1000 + 30 * 1000 };

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
        else if (store_task_put(s->keeper->store, &row, e) < 0 ||
                 task_begin(s, row.task, row.deadline_ms, e) < 0)
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
                struct task *t =
                        s->tasks && sandbox_belongs(s, &c->caller) ? task_find(s, name) : NULL;

                if (t)
                        task_extend(t, client_deadline());
        }
        w = reply_begin(c);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}
