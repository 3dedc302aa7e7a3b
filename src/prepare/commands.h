/*
 * prepare/commands.h - rules for commands: which apply to a sandbox, what its programs are, and the
 * refusal of a command.
 */
#ifndef CARREL_PREPARE_COMMANDS_H
#define CARREL_PREPARE_COMMANDS_H

#include "host/programs.h"
#include "judge/message.h"
#include "prepare/prepare.h"

/* Do rules apply to commands of this sandbox? */
bool prepare_has_rules(const struct spec *spec, const struct host_rules *rules);

/*
 * Fills the rules of `request`: the manifest's, then the host's. Both apply, and the stricter
 * verdict counts.
 */
void prepare_rules(const struct spec *spec, const struct host_rules *rules,
                   struct judge_request *request);

/*
 * Fills `programs` with what a name is in the sandbox: the system's directories and
 * metadata.carrel.tools, or the files of its image, which commands cannot write, searched by the
 * PATH that the command gets. All of it is in `arena`, or borrowed. Call host_programs_fini() in
 * any case. Errors: ERROR_NO_MEMORY, those of image_programs_open().
 */
int prepare_programs(struct arena *arena, const struct prepared *p,
                     const struct prepare_command *command, struct host_programs *programs,
                     struct error *e);

/* The same, and fills `request` with the command's words. */
int prepare_judging(struct arena *arena, const struct prepared *p,
                    const struct prepare_command *command, struct judge_request *request,
                    struct host_programs *programs, struct error *e);

/* What a name is in a sandbox without tools whose commands get the usual PATH. Lives in `arena`. */
void prepare_usual_programs(struct arena *arena, struct host_programs *programs);

/*
 * The refusal of a command whose verdict is not allow: ERROR_POLICY_DENIED with the program, the
 * rule and its place; reason: of the action, or "approval_required" for a verdict that asks. `e`
 * has a line only for a rule of the manifest. Returns -1.
 */
int prepare_refuse(const struct spec *spec, const struct host_rules *rules,
                   const struct judgement *j, struct error *e);

/*
 * Is all that stops the command that programs are not known, and does one of them not exist? Then
 * a person has nothing to decide: true, and `e` is ERROR_POLICY_DENIED "not_found" with the name
 * that was probably meant. `programs` as of prepare_judging().
 */
bool prepare_refuse_missing(struct host_programs *programs, const struct judgement *j,
                            struct error *e);

/*
 * The rules themselves cannot be read: adds to `e`, of the judge, whose they are. `list` as of
 * judgement_read(). Returns -1.
 */
int prepare_refuse_rules(const struct spec *spec, const struct host_rules *rules, size_t list,
                         struct error *e);

/* What the reason of an action means, for people. Never NULL. */
const char *prepare_reason_meaning(const char *reason);

#endif
