"""`cais completion`: what makes a shell complete commands, options, devices, groups and ports."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from cais_tools.cli.output import say

_BASH = """\
# cais: completion for bash. Load it with: source <(cais completion bash)
_cais_completion() {
    local IFS=$'\\n' line
    COMPREPLY=()
    while read -r line; do
        COMPREPLY+=("${line%%$'\\t'*}")
    done < <("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _cais_completion cais cais-cli
"""

_ZSH = """\
#compdef cais cais-cli
# cais: completion for zsh. Load it with: source <(cais completion zsh)
_cais_completion() {
    local line
    local -a described
    while IFS= read -r line; do
        described+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#described} )); then
        _describe -V cais described
    else
        _files
    fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _cais_completion cais cais-cli
"""

_FISH = """\
# cais: completion for fish. Load it with: cais completion fish | source
function __cais_completion
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] complete -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c cais -f -a '(__cais_completion)'
complete -c cais-cli -f -a '(__cais_completion)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
) -> None:
    """Print what makes bash, zsh or fish complete commands and names.

    Put source <(cais completion bash) into ~/.bashrc, the same with zsh into ~/.zshrc; for fish: cais completion fish >
    ~/.config/fish/completions/cais.fish
    """
    say(_SCRIPTS[shell].rstrip())


def complete(
    ctx: typer.Context, words: Annotated[list[str] | None, typer.Argument(help="What is typed so far.")] = None
) -> None:
    """What the last of the words may go on as, each with a tab and what it is. What the scripts above call."""
    from cais_tools.cli.completer import candidates

    try:
        found = candidates(ctx.find_root().command, words or [""])
    except Exception:  # whatever is wrong: somebody is typing, and must not be disturbed
        return
    for value, meaning in found:
        say(f"{value}\t{meaning}" if meaning else value)
