# fish completion for carrel: carrel completion fish | source
function __carrel_completion
        set -l words (commandline -opc)
        set -l current (commandline -ct)
        for line in ($words[1] completion --words -- $words[2..-1] "$current" 2>/dev/null)
                switch $line
                        case :file
                                __fish_complete_path "$current"
                        case :directory
                                __fish_complete_directories "$current" ''
                        case :command
                                __fish_complete_command
                        case '*'
                                printf '%s\n' $line
                end
        end
end
complete -c carrel -f -a '(__carrel_completion)'
