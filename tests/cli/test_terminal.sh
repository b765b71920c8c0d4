# What a person meets in a terminal: help that fits a screen, completion, man pages, progress.
. "$(dirname "$0")/lib.sh"
build=$(cd "$(dirname "$ANYGP")" && pwd)
anygp --help >program.txt
sed -n 's/^  \([a-z]*\)   *[a-z].*/\1/p' program.txt >commands
for c in $(cat commands); do
    anygp "$c" --help >"$c.help"
    anygp "$c" --help-all >"$c.all"
    grep -oE '^  --[a-z][a-z-]*|^  -o|^  -q, --quiet' "$c.all" | sed 's/^  //; s/.*, //' | sort >"$c.options"
done
anygp completion bash >completion.bash
needed() { command -v "$1" >/dev/null || { echo "$1 is missing; run scripts/setup.sh check"; return 1; }; }

help_of_every_command_fits_a_screen() {
    local page
    [ "$(wc -l <commands)" -ge 12 ] && grep -qx fit commands && grep -qx completion commands || return 1
    for page in program.txt *.help; do
        [ "$(wc -l <"$page")" -le 40 ] || { echo "$page: $(wc -l <"$page") lines"; return 1; }
    done
    ! grep -nE '.{101}' program.txt ./*.help ./*.all
}
help_fits_the_width_of_a_terminal() { # 72 columns; as in a file where they are 120
    cat >window.py <<'END'
import fcntl, os, pty, struct, sys, termios
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
if os.fork() == 0:
    os.close(ours)
    os.dup2(theirs, 1)
    os.execv(sys.argv[2], sys.argv[2:])
os.close(theirs)
try:
    while part := os.read(ours, 65536):
        sys.stdout.buffer.write(part.replace(b"\r", b""))
except OSError:
    pass
END
    for c in fit predict compare; do
        python3 window.py 72 "$ANYGP" $c --help >narrow.txt && python3 window.py 120 "$ANYGP" $c --help >wide.txt && cmp wide.txt $c.help || return 1
        grep -vE '^usage' narrow.txt | grep -nE '.{73}' && return 1
        tr -s ' \n' '  ' <narrow.txt | sed 's/\[[^ ]*\]//g' | tr -s ' ' >a.txt; tr -s ' \n' '  ' <wide.txt | sed 's/\[[^ ]*\]//g' | tr -s ' ' >b.txt
        cmp a.txt b.txt || { diff a.txt b.txt; return 1; } # the same words but for defaults, which stand where there is room
    done
}
help_of_fit_has_what_most_people_need_in_sections() {
    local name
    for name in target model kernel likelihood inducing time valid seed checkpoint trace; do
        grep -q "^  --$name " fit.help || { echo "missing: $name"; return 1; }
    done
    printf '%s\n' Data: Model: Learning: Saving: | cmp - <(grep -xE 'Data:|Model:|Learning:|Saving:' fit.help) &&
        grep -q -- 'anygp fit --help-all shows all' fit.help && ! grep -q -- --kappa fit.help && grep -q '^  --kappa V' fit.all
}
kernels_and_likelihoods_have_a_line_each() {
    local name
    anygp kernels >kernels && anygp likelihoods >likelihoods && ! grep -nE '.{101}' kernels likelihoods || return 1
    for name in rbf matern52 periodic sm categorical; do grep -q "^$name  *[a-z]" kernels || return 1; done
    for name in gaussian poisson softmax ordinal; do grep -q "^$name  *[a-z]" likelihoods || return 1; done
    anygp kernels --json | grep -q '"name": "rq", "options": "variance, lengthscale, alpha"' && anygp likelihoods --json | grep -q '"name": "poisson", "target": "count"'
}

# ---------------------------------------------------------------------------------------- completion

completes() { # WORD... = ANSWER...: what bash is offered for the last word
    local words=()
    while [ "$1" != : ]; do words+=("$1"); shift; done
    shift
    COMP_WORDS=(anygp "${words[@]}")
    COMP_CWORD=${#words[@]}
    _anygp
    [ "${COMPREPLY[*]}" = "$*" ] || { echo "anygp ${words[*]}: ${COMPREPLY[*]}"; return 1; }
}
bash_completes_commands_options_values_and_files() {
    . ./completion.bash && touch 'a table.csv' &&
        completes pre : predict && completes fit --resu : --resume && completes fit --header '' : auto yes no && completes fit --header = y : yes &&
        completes fit --model vec : vecchia && completes fit --kernel matern5 : matern52 && completes fit --likelihood po : poisson &&
        completes fit --comment '' : '#' % ! ';' '*' && completes fit 'a t' : 'a table.csv' && completes fit x --trace 'a t' : 'a table.csv' &&
        completes fit --seed '' : && completes completion z : zsh && completes models '' : && completes eval --js : --json
}
bash_completes_every_option_of_every_command() {
    local c
    . ./completion.bash
    for c in $(cat commands); do
        COMP_WORDS=(anygp "$c" -) COMP_CWORD=2
        _anygp
        printf '%s\n' "${COMPREPLY[@]}" | grep -vxE -e '-q|--help|--help-all' | sort | diff "$c.options" - || { echo "$c"; return 1; }
    done
}
zsh_reads_its_completion() {
    local name
    needed zsh && anygp completion zsh >_anygp && zsh -n _anygp || return 1
    for name in $(grep -v '^-[oq]' fit.options); do grep -qE -e "'\\*?$name(=|\[)|,$name}" _anygp || { echo "$name"; return 1; }; done
}
# In an interactive zsh, by its tab key.
zsh_completes() {
    needed zsh && anygp completion zsh >_anygp && timeout 120 zsh -f "$here/complete.zsh" "$work" 'anygp loo' 'anygp fit --mod' 'anygp fit --model=vecc' 'anygp fit --resu' 'anygp completion z' >tabbed || return 1
    cat tabbed
    [ "$(paste -sd';' tabbed)" = '|anygp look |;|anygp fit --model=|;|anygp fit --model=vecchia |;|anygp fit --resume |;|anygp completion zsh |' ]
}
fish_completes() {
    needed fish && anygp completion fish >anygp.fish && fish -n anygp.fish || return 1
    HOME=$work fish -N -c 'source anygp.fish; complete -C "anygp fit --mod"; complete -C "anygp fit --resu"; complete -C "anygp fit --model vec"; complete -C "anygp completion z"' >fished &&
        [ "$(cut -f 1 fished | paste -sd' ')" = "--model --resume vecchia zsh" ] || { cat fished; return 1; }
}
shell_without_completion_is_refused() { refuses "no completion for 'csh'; the shells are bash, zsh and fish" completion csh; }

# ------------------------------------------------------------------------------------------ man pages

every_command_has_a_man_page_with_every_option() {
    local c option
    needed groff || return 1
    for c in $(cat commands); do
        grep -q "^\.B anygp $c\$" "$build/man/anygp-$c.1" || { echo "no page: $c"; return 1; }
        sed -n 's/^\\fB\(.*\)\\fR.*/\1/p' "$build/man/anygp-$c.1" | sed 's/\\fR.*//; s/\\-/-/g; s/.*, //' | grep -vxE -e '--help|--help-all' | sort | diff "$c.options" - || { echo "$c"; return 1; }
    done
    groff -man -Tutf8 -ww -z "$build"/man/*.1 2>warnings && [ ! -s warnings ] || { cat warnings; return 1; }
}

# ------------------------------------------------------------------------------------------- progress

cat >watch.py <<'END'
"""A fit on a terminal of our own: its lines fit 60 columns, then 110, as soon as the window has them; Ctrl-C ends it."""
import fcntl, os, pty, re, signal, struct, sys, termios
def resize(fd, columns): fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
pid, fd = pty.fork()
if pid == 0:
    resize(2, 60)
    os.environ["TERM"] = sys.argv[1]
    os.execv(sys.argv[2], sys.argv[2:])
text, wide, stopped, dumb = "", False, False, sys.argv[1] == "dumb"
while True:
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    if not more:
        break
    text += more.decode()
    lines = [re.sub(r"\x1b\[K", "", line) for line in text.split("\r")[:-1]]
    progress = [line for line in lines if " left" in line]
    if not wide and len(progress) > 2:
        assert all(len(line) < 60 for line in progress), progress
        resize(fd, 110)
        wide = True
    elif not stopped and any(60 < len(line) < 110 and "[=" in line and "objective" in line for line in progress):
        os.kill(pid, signal.SIGINT)
        stopped = True
status = os.waitpid(pid, 0)[1]
assert status == 0, (status, text)
assert dumb or (stopped and "\x1b[K" in text and "m.agp" in text), text
assert not dumb or ("\x1b" not in text and "learning" not in text and "m.agp" in text), text
END
progress_fits_the_window_and_follows_it() {
    anygp simulate --rows 300 -o train.csv &&
        python3 watch.py xterm "$ANYGP" fit train.csv -o m.agp --model svgp --inducing 8 --batch 30 --iters 100000000 --time 60s --valid 0.2
}
dumb_terminal_gets_no_line_that_is_drawn_again() {
    python3 watch.py dumb "$ANYGP" fit train.csv -o m.agp --model svgp --inducing 8 --batch 30 --iters 20
}

check help_fits_the_width_of_a_terminal
check help_of_every_command_fits_a_screen
check help_of_fit_has_what_most_people_need_in_sections
check kernels_and_likelihoods_have_a_line_each
check bash_completes_commands_options_values_and_files
check bash_completes_every_option_of_every_command
check zsh_reads_its_completion
check zsh_completes
check fish_completes
check shell_without_completion_is_refused
check every_command_has_a_man_page_with_every_option
check progress_fits_the_window_and_follows_it
check dumb_terminal_gets_no_line_that_is_drawn_again
finish
