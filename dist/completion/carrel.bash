# bash completion for carrel: source <(carrel completion bash)
_carrel_completion() {
        local line=${COMP_LINE:0:COMP_POINT} current typed word what
        local -a words
        read -ra words <<<"$line"
        [[ $line != *[[:space:]] ]] || words+=("")
        current=${words[${#words[@]} - 1]}
        typed=${current%"${current##*[:=]}"} # bash completes what follows the last : or =
        COMPREPLY=()
        while IFS=$'\t' read -r word what; do
                case $word in
                :file) what=file ;;
                :directory) what=directory ;;
                :command) what=command ;;
                *)
                        COMPREPLY+=("${word#"$typed"}")
                        continue
                        ;;
                esac
                [[ $what == command ]] || compopt -o filenames 2>/dev/null
                while read -r word; do
                        COMPREPLY+=("$word")
                done < <(compgen -A "$what" -- "${current#"$typed"}")
        done < <("${1/#\~/$HOME}" completion --words -- "${words[@]:1}" 2>/dev/null)
        [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace 2>/dev/null
}
complete -F _carrel_completion carrel
