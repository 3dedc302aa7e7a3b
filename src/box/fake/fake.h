/*
 * box/fake/fake.h - an engine that plays a script: no namespace, no process. In test builds only.
 *
 * Script of the engine, its rules separated by ";":
 *
 *     begin N ERRNO        begin: step N fails before spawned; then gone
 *     ready N ERRNO        step N fails after spawned; then lost, and gone after end()
 *     lost | gone          instead of ready
 *     upper                an upper directory is reported before spawned
 *     freeze ERRNO         freeze() refuses
 *     frozen ERRNO         freeze() accepts, and the news report this error
 *     no-freeze            the engine cannot freeze
 *     freezes-all          no command ends while it is frozen
 *     connect ERRNO        ports answer this; otherwise with a socket that sends "fake\n"
 *     no-usage             no counter is known
 *     end ERRNO            end() reports this error, and gone never comes
 *
 * A command is its own script, as arguments or as one line for a shell:
 *
 *     exit N               ends with this status
 *     signal N             ends by this signal
 *     print N              prints N bytes on standard output, then exit 0
 *     say WORDS            prints them and a newline, then exit 0
 *     oom                  killed by SIGKILL, and an out-of-memory kill is counted
 *     hang                 until a signal or a kill
 *     deaf                 until the engine ends; a kill has no effect
 *     fail ERRNO           does not start: exec_failed (stage: lookup)
 *     refuse ERRNO         does not start: exec() refuses it
 *     early                ended is reported before started, which breaks the rules; then hang
 *     twice                ended is reported twice, which breaks the rules
 *     lose | vanish        after started the engine is lost; gone
 *
 * Any other command exits with status 0. Every news comes from the loop, one a turn.
 */
#ifndef CARREL_BOX_FAKE_FAKE_H
#define CARREL_BOX_FAKE_FAKE_H

struct engine;

/* The engine of this process; there is one. `script` is borrowed. */
struct engine *fake_open(const char *script);

#endif
