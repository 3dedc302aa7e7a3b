/*
 * cli/completion_scripts.h - the scripts of `carrel completion`.
 */
#ifndef CARREL_CLI_COMPLETION_SCRIPTS_H
#define CARREL_CLI_COMPLETION_SCRIPTS_H

/* The script for "bash", "zsh" or "fish"; NULL: another shell. */
const char *completion_script(const char *shell);

#endif
