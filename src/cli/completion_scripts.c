/*
 * cli/completion_scripts.c - the scripts of `carrel completion`, one for each shell.
 *
 * Room: cli (joining, program). Touches: nothing.
 * Theory: a script knows no command and no option. It passes the words of a command line to
 * `carrel completion --words` and gives the shell what that prints; see completion.c.
 */
#include "cli/completion_scripts.h"

#include <stddef.h>
#include <string.h>

/* clang-format off: a line of a script is a line here */
static const char for_bash[] =
        "# bash completion for carrel: source <(carrel completion bash)\n"
        "_carrel_completion() {\n"
        "        local line=${COMP_LINE:0:COMP_POINT} current typed word what\n"
        "        local -a words\n"
        "        read -ra words <<<\"$line\"\n"
        "        [[ $line != *[[:space:]] ]] || words+=(\"\")\n"
        "        current=${words[${#words[@]} - 1]}\n"
        "        typed=${current%\"${current##*[:=]}\"} # bash completes what follows the last : "
        "or =\n"
        "        COMPREPLY=()\n"
        "        while IFS=$'\\t' read -r word what; do\n"
        "                case $word in\n"
        "                :file) what=file ;;\n"
        "                :directory) what=directory ;;\n"
        "                :command) what=command ;;\n"
        "                *)\n"
        "                        COMPREPLY+=(\"${word#\"$typed\"}\")\n"
        "                        continue\n"
        "                        ;;\n"
        "                esac\n"
        "                [[ $what == command ]] || compopt -o filenames 2>/dev/null\n"
        "                while read -r word; do\n"
        "                        COMPREPLY+=(\"$word\")\n"
        "                done < <(compgen -A \"$what\" -- \"${current#\"$typed\"}\")\n"
        "        done < <(\"${1/#\\~/$HOME}\" completion --words -- \"${words[@]:1}\" "
        "2>/dev/null)\n"
        "        [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace "
        "2>/dev/null\n"
        "}\n"
        "complete -F _carrel_completion carrel\n";

static const char for_zsh[] =
        "#compdef carrel\n"
        "# zsh completion for carrel: source <(carrel completion zsh), after compinit\n"
        "_carrel() {\n"
        "        local line word\n"
        "        local -a found shown\n"
        "        for line in \"${(@f)$(\"${(Q)words[1]/#\\~/$HOME}\" completion --words -- "
        "\"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
        "                word=${line%%$'\\t'*}\n"
        "                case $word in\n"
        "                '') ;;\n"
        "                :file) compset -P '*='; _files ;;\n"
        "                :directory) compset -P '*='; _files -/ ;;\n"
        "                :command) _command_names -e ;;\n"
        "                *:) compadd -S '' -- \"$word\" ;;\n"
        "                *)\n"
        "                        found+=(\"$word\")\n"
        "                        shown+=(\"$word  ${line#*$'\\t'}\")\n"
        "                        ;;\n"
        "                esac\n"
        "        done\n"
        "        (( $#found )) && compadd -l -d shown -a -- found\n"
        "}\n"
        "if [[ $funcstack[1] == _carrel ]]; then\n"
        "        _carrel \"$@\"\n"
        "elif (( $+functions[compdef] )); then\n"
        "        compdef _carrel carrel\n"
        "fi\n";

static const char for_fish[] =
        "# fish completion for carrel: carrel completion fish | source\n"
        "function __carrel_completion\n"
        "        set -l words (commandline -opc)\n"
        "        set -l current (commandline -ct)\n"
        "        for line in ($words[1] completion --words -- $words[2..-1] \"$current\" "
        "2>/dev/null)\n"
        "                switch $line\n"
        "                        case :file\n"
        "                                __fish_complete_path \"$current\"\n"
        "                        case :directory\n"
        "                                __fish_complete_directories \"$current\" ''\n"
        "                        case :command\n"
        "                                __fish_complete_command\n"
        "                        case '*'\n"
        "                                printf '%s\\n' $line\n"
        "                end\n"
        "        end\n"
        "end\n"
        "complete -c carrel -f -a '(__carrel_completion)'\n";
/* clang-format on */

const char *
completion_script(const char *shell)
{
        static const struct {
                const char *name, *script;
        } rows[] = { { "bash", for_bash }, { "zsh", for_zsh }, { "fish", for_fish } };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (strcmp(rows[i].name, shell) == 0)
                        return rows[i].script;
        return NULL;
}
