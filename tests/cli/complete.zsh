# complete.zsh FOLDER LINE...: types each line and a tab into an interactive zsh that has the completion of FOLDER, and prints the line
# that is then there, between bars.
zmodload zsh/zpty || exit 1
folder=$1
shift
zpty -b shell zsh -f -i
type_line() { zpty -w shell "$1" }
wait_for() { # PATTERN: prints what the shell wrote up to it
    local text='' piece i
    for i in {1..600}; do
        while zpty -r -t shell piece; do text+=$piece; done
        [[ $text == ${~1} ]] && break
        sleep 0.1
    done
    print -r -- "$text"
}
# A key that shows the line: nothing else that a terminal prints says for sure what the completion has made of it.
type_line "unsetopt zle_bracketed_paste 2>/dev/null; PROMPT=; RPROMPT=; TERM=dumb; LISTMAX=0; setopt no_beep no_always_last_prompt"
type_line "fpath=(${(q)folder} \$fpath); autoload -Uz compinit && compinit -u -D; show() { print -r -- \"@@\$BUFFER%%\"; BUFFER= }; zle -N show; bindkey '^X' show; bindkey '^I' complete-word; print re''ady"
wait_for '*ready*' >/dev/null
for line; do
    zpty -n -w shell "$line"$'\t'$'\x18'
    wait_for '*@@*%%*' | tr -d '\r' | sed -n 's/.*@@\(.*\)%%.*/|\1|/p' | head -n 1
done
zpty -d shell
