/*
 * client/shape.c - where each member of an answer is in the structs of carrel.h.
 *
 * Room: client (joining). Touches: nothing.
 * Theory: one row a member. answer_test.c compares the rows with api/types.def: a member that is
 * added there is here too, or is left out on purpose.
 */
#include "client/answer.h"

/* OF is the struct of the rows that follow. */
#define AT(member) offsetof(OF, member)
#define ONE(member) sizeof(((OF *)0)->member)
#define EACH(member) sizeof(*((OF *)0)->member)
#define ROW(field, kind, member, size, count, absent, item)                         \
        {                                                                           \
                FIELD_##field, ANSWER_##kind, AT(member), size, count, absent, item \
        }
#define TEXT(field, member) ROW(field, TEXT, member, ONE(member), 0, 0, NULL)
#define FLAG(field, member) ROW(field, FLAG, member, ONE(member), 0, 0, NULL)
#define NUMBER(field, member, absent) ROW(field, NUMBER, member, ONE(member), 0, absent, NULL)
#define TEXTS(field, member, count) ROW(field, TEXTS, member, EACH(member), AT(count), 0, NULL)
#define NUMBERS(field, member, count) ROW(field, NUMBERS, member, EACH(member), AT(count), 0, NULL)
#define RECORDS(field, member, count, shape) \
        ROW(field, RECORDS, member, EACH(member), AT(count), 0, &(shape))

#define SHAPE(type, item, members, rest)                                                          \
        {                                                                                         \
                &api_type_##type, item, sizeof(OF), members, sizeof(members) / sizeof *(members), \
                        rest                                                                      \
        }

/* -- in other answers -------------------------------------------------------------------------- */

#define OF struct carrel_warning
static const struct answer_member warning_rows[] = {
        TEXT(CODE, code),      TEXT(AT_PATH, path),       TEXT(MESSAGE, message),
        NUMBER(LINE, line, 0), NUMBER(COLUMN, column, 0),
};
static const struct answer_shape warning = SHAPE(warning, NULL, warning_rows, NULL);
#undef OF

#define OF struct carrel_left
static const struct answer_member left_rows[] = {
        NUMBER(AT, at_ms, 0),       NUMBER(COUNT, count, 1), TEXT(WHAT, what),
        TEXT(HOST_PATH, host_path), TEXT(KEPT_AT, kept_at),  TEXT(REASON, reason),
        TEXT(MESSAGE, message),     FLAG(SHOWN, was_shown),
};
static const struct answer_shape left = SHAPE(left_behind, NULL, left_rows, NULL);
#undef OF

#define OF struct carrel_denial
static const struct answer_member denial_rows[] = {
        NUMBER(AT, at_ms, 0),   NUMBER(EXEC, exec, 0), NUMBER(COUNT, count, 1),
        NUMBER(PORT, port, 0),  TEXT(REASON, reason),  TEXT(HOST, host),
        TEXT(ADDRESS, address), TEXT(SAID, said),      TEXT(MESSAGE, message),
};
static const struct answer_shape denial = SHAPE(denial, NULL, denial_rows, NULL);
#undef OF

/* -- answers ----------------------------------------------------------------------------------- */

#define OF struct carrel_sandbox
static const struct answer_member sandbox_rows[] = {
        TEXT(ID, id),
        TEXT(STATUS, status),
        TEXT(NAME, name),
        TEXT(OWNER, owner),
        TEXT(PROVIDER, provider),
        TEXT(RUNTIME, runtime),
        TEXT(WORKSPACE, workspace),
        TEXT(DISK, disk),
        TEXT(DISK_AT, disk_at),
        NUMBER(DISK_MB, disk_mb, 0),
        TEXT(IMAGE, image),
        TEXT(TIER, tier),
        TEXT(CHOSEN, chosen),
        TEXT(MACHINE_START, machine_start),
        TEXT(MACHINE_WHY, machine_why),
        TEXT(CAUSE, cause),
        TEXT(METADATA, metadata),
        NUMBER(CREATED_AT, created_at_ms, 0),
        NUMBER(TIMEOUT, remaining_ms, CARREL_NONE),
        NUMBER(DELETE_AT, delete_at_ms, CARREL_NONE),
        NUMBERS(PORTS, ports, port_count),
        RECORDS(WARNINGS, warnings, warning_count, warning),
        FLAG(READ_ONLY, is_read_only),
        RECORDS(LEFT_BEHIND, left.items, left.count, left),
        NUMBER(LEFT_MORE, left.more, 0),
};
static const struct answer_shape sandbox = SHAPE(sandbox, NULL, sandbox_rows, NULL);
#undef OF

static void
fill_end(const struct record *r, void *ret)
{
        struct carrel_exec_info *x = ret;
        struct outcome o;

        x->has_end = ending_read(r, &o);
        answer_end(&o, &x->end);
        if (!x->has_end)
                x->end.outcome = NULL;
}

#define OF struct carrel_exec_info
static const struct answer_member exec_rows[] = {
        NUMBER(EXEC, exec, 0),
        TEXT(STATE, state),
        TEXT(COMMAND, command),
        TEXT(TASK, task),
        TEXT(KEY, key),
        NUMBER(PID, pid, 0),
        FLAG(BACKGROUND, is_background),
        NUMBER(STARTED_AT, started_at_ms, 0),
        NUMBER(STDOUT_OFFSET, stdout_offset, 0),
        NUMBER(STDERR_OFFSET, stderr_offset, 0),
        NUMBER(PORT, port, 0),
        NUMBER(TIMEOUT, timeout_ms, 0),
        TEXT(TIMEOUT_BY, timeout_by),
        TEXT(AUDIT_REF, audit_ref),
};
static const struct answer_shape exec = SHAPE(exec, NULL, exec_rows, fill_end);
#undef OF

#define OF struct carrel_token
static const struct answer_member token_rows[] = {
        TEXT(ID, id),
        TEXT(OWNER, owner),
        TEXT(SCOPE, scope),
        TEXT(TOKEN, token),
        NUMBER(CREATED_AT, created_at_ms, 0),
};
static const struct answer_shape token = SHAPE(token, NULL, token_rows, NULL);
#undef OF

#define OF struct carrel_volume
static const struct answer_member volume_rows[] = {
        TEXT(NAME, name),
        NUMBER(SIZE, size, 0),
        NUMBER(FILE_COUNT, file_count, 0),
        FLAG(PARTIAL, is_partial),
        NUMBER(USED_AT, used_at_ms, 0),
        TEXT(USED_BY, used_by),
};
static const struct answer_shape volume = SHAPE(volume, NULL, volume_rows, NULL);
#undef OF

#define OF struct carrel_approval
static const struct answer_member approval_rows[] = {
        TEXT(ID, id),
        TEXT(STATE, state),
        TEXT(OPERATION, operation),
        TEXT(SANDBOX, sandbox),
        TEXT(NAME, name),
        TEXT(OWNER, owner),
        TEXT(ASKED_BY, asked_by),
        NUMBER(AT, at_ms, 0),
        NUMBER(EXPIRES_AT, expires_at_ms, 0),
        TEXT(ANSWERED_BY, answered_by),
        TEXT(REASON, reason),
        TEXT(DIGEST, digest),
        TEXT(POLICY_VERSION, policy_version),
        TEXTS(BOUND, bound, bound_count),
        TEXTS(APPROVAL_FROM, approval_from, approval_from_count),
};
static const struct answer_shape approval = SHAPE(approval, NULL, approval_rows, NULL);
#undef OF

#define OF struct carrel_info
static const struct answer_member info_rows[] = {
        TEXT(VERSION, version),
        TEXTS(RUNTIMES, runtimes, runtime_count),
        NUMBER(SANDBOXES, sandboxes, 0),
        NUMBER(POOL, pool, 0),
};
static const struct answer_shape info = SHAPE(info, NULL, info_rows, NULL);
#undef OF

#define OF struct carrel_lefts
static const struct answer_member lefts_rows[] = {
        RECORDS(LEFT_BEHIND, items, count, left),
        NUMBER(LEFT_MORE, more, 0),
};
static const struct answer_shape lefts = SHAPE(left, NULL, lefts_rows, NULL);
#undef OF

#define OF struct answer_stopped
static const struct answer_member stopped_rows[] = {
        FLAG(EXISTED, existed),
        RECORDS(LEFT_BEHIND, left.items, left.count, left),
        NUMBER(LEFT_MORE, left.more, 0),
};
static const struct answer_shape stopped = SHAPE(stopped, NULL, stopped_rows, NULL);
#undef OF

/* -- lists ------------------------------------------------------------------------------------- */

#define OF struct carrel_sandboxes
static const struct answer_member sandboxes_rows[] = { RECORDS(ITEMS, items, count, sandbox) };
static const struct answer_shape sandboxes = SHAPE(page, &api_type_sandbox, sandboxes_rows, NULL);
#undef OF

#define OF struct carrel_execs
static const struct answer_member execs_rows[] = { RECORDS(ITEMS, items, count, exec) };
static const struct answer_shape execs = SHAPE(page, &api_type_exec, execs_rows, NULL);
#undef OF

#define OF struct carrel_tokens
static const struct answer_member tokens_rows[] = { RECORDS(ITEMS, items, count, token) };
static const struct answer_shape tokens = SHAPE(page, &api_type_token, tokens_rows, NULL);
#undef OF

#define OF struct carrel_volumes
static const struct answer_member volumes_rows[] = { RECORDS(ITEMS, items, count, volume) };
static const struct answer_shape volumes = SHAPE(items, &api_type_volume, volumes_rows, NULL);
#undef OF

#define OF struct carrel_approvals
static const struct answer_member approvals_rows[] = { RECORDS(ITEMS, items, count, approval) };
static const struct answer_shape approvals = SHAPE(page, &api_type_approval, approvals_rows, NULL);
#undef OF

#define OF struct carrel_denials
static const struct answer_member denials_rows[] = {
        RECORDS(ITEMS, items, count, denial),
        NUMBER(DENIED_MORE, more, 0),
};
static const struct answer_shape denials = SHAPE(denials, &api_type_denial, denials_rows, NULL);

static const struct answer_member of_exec_rows[] = {
        RECORDS(DENIED, items, count, denial),
        NUMBER(DENIED_MORE, more, 0),
};
const struct answer_shape answer_exec_denials = SHAPE(exec, NULL, of_exec_rows, NULL);
#undef OF

#define OF struct carrel_usage
static const struct answer_member usage_rows[] = {
        TEXT(ID, id),
        TEXT(OWNER, owner),
        NUMBER(AT, at_ms, 0),
        NUMBER(WALL, wall_ms, CARREL_NONE),
        NUMBER(CPU, cpu_ms, CARREL_NONE),
        NUMBER(MEMORY_PEAK, memory_peak_kb, CARREL_NONE),
        NUMBER(MEMORY_TIME, memory_byte_seconds, CARREL_NONE),
        NUMBER(STORAGE_TIME, storage_byte_seconds, CARREL_NONE),
        NUMBER(EXECS, execs, CARREL_NONE),
        NUMBER(OUTPUT_TOTAL, output_bytes, CARREL_NONE),
        NUMBER(BYTES_OUT, bytes_out, CARREL_NONE),
        NUMBER(BYTES_IN, bytes_in, CARREL_NONE),
};
static const struct answer_shape usage = SHAPE(usage, NULL, usage_rows, NULL);
#undef OF

#define OF struct carrel_limits
static const struct answer_member limits_rows[] = {
        TEXT(ID, id),
        TEXT(STATUS, status),
        NUMBER(TIMEOUT, timeout_ms, CARREL_NONE),
        NUMBER(MEMORY_MB, memory_mb, CARREL_NONE),
        NUMBER(MEMORY_USED, memory_used_bytes, CARREL_NONE),
        NUMBER(CPU_MILLICORES, cpu_millicores, CARREL_NONE),
        NUMBER(CPU, cpu_ms, CARREL_NONE),
        NUMBER(PIDS, pids, CARREL_NONE),
        NUMBER(PIDS_USED, pids_used, CARREL_NONE),
        NUMBER(IO_READ, io_read_bps, CARREL_NONE),
        NUMBER(IO_WRITE, io_write_bps, CARREL_NONE),
        NUMBER(OUTPUT_BYTES, output_bytes, CARREL_NONE),
        NUMBER(OPEN_FILES, open_files, CARREL_NONE),
        NUMBER(DISK_MB, disk_mb, CARREL_NONE),
        TEXTS(NOT_ENFORCED, not_enforced, not_enforced_count),
};
static const struct answer_shape limits = SHAPE(limits, NULL, limits_rows, NULL);
#undef OF

#define OF struct carrel_usages
static const struct answer_member usages_rows[] = { RECORDS(ITEMS, items, count, usage) };
static const struct answer_shape usages = SHAPE(items, &api_type_usage, usages_rows, NULL);
#undef OF

static const struct answer_shape *const shapes[] = {
        &sandbox,   &exec,     &token,     &volume,  &info,    &lefts,  &stopped,
        &sandboxes, &execs,    &tokens,    &volumes, &denials, &left,   &denial,
        &warning,   &approval, &approvals, &usage,   &usages,  &limits,
};

const struct answer_shape *
answer_shape_next(size_t *at)
{
        return *at < sizeof shapes / sizeof *shapes ? shapes[(*at)++] : NULL;
}

const struct answer_shape *
answer_shape_of(const struct operation *o)
{
        const struct answer_shape *shape;
        size_t at = 0;

        while ((shape = answer_shape_next(&at)) != NULL)
                if (shape->type == o->result && shape->item == o->item)
                        return shape;
        return NULL;
}
