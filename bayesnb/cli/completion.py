"""`bayesnb completion`: a script with which a shell completes commands, options, their values, and files."""

import argparse
from typing import Any, NamedTuple

from bayesnb.cli.options import new_command
from bayesnb.cli.output import write_text

EXAMPLES = """\
  bayesnb completion bash > ~/.local/share/bash-completion/completions/bayesnb
  bayesnb completion zsh > ~/.zfunc/_bayesnb        (a folder of fpath, before compinit)
  bayesnb completion fish > ~/.config/fish/completions/bayesnb.fish"""


class Option(NamedTuple):
    """An option or an argument, as a shell has to know it."""

    names: tuple[str, ...]  # none for an argument
    choices: tuple[str, ...]
    takes: str  # "nothing", "file" or "word"
    help: str
    many: bool = False  # an argument of which there may be several


def add(commands: Any) -> None:
    """The command and its options."""
    command = new_command(
        commands,
        "completion",
        EXAMPLES,
        help="write a completion script for bash, zsh or fish",
        description="Write a script with which a shell completes bayesnb's commands, options, their values, and files.",
    )
    command.add_argument("shell", choices=tuple(SHELLS))
    command.set_defaults(run=run)


def run(said: argparse.Namespace) -> None:
    """Write the script."""
    from bayesnb.cli.parser import arguments

    write_text("-", SHELLS[said.shell](commands_of(arguments())))


def commands_of(parser: argparse.ArgumentParser) -> dict[str, tuple[str, list[Option]]]:
    """Each command: what it does, and its options and arguments."""
    (found,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    about = {action.dest: action.help or "" for action in found._choices_actions}
    return {name: (about[name], [option_of(own) for own in each._actions]) for name, each in found.choices.items()}


def option_of(action: argparse.Action) -> Option:
    """An action of the parser."""
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    takes = "nothing" if action.nargs == 0 else "file" if metavar in ("TABLE", "FILE", "MODEL") else "word"
    text = (action.help or "").split(";")[0].split(" (")[0].replace("%%", "%")
    return Option(tuple(action.option_strings), choices, takes, " ".join(text.split()), action.nargs == "+")


def bash(commands: dict[str, tuple[str, list[Option]]]) -> str:
    """For bash 4 and later."""
    cases, values = [], []
    for name, (_, options) in commands.items():
        words = [word for option in options for word in option.names]
        words += [choice for option in options if not option.names for choice in option.choices]
        cases.append(f'        {name}) words="{" ".join(words)}" ;;')
        for option in options:
            if option.names and option.takes != "nothing":
                values.append(f"        {'|'.join(f'{name}:{own}' for own in option.names)}) {bash_values(option)} ;;")
    return BASH.format(commands=" ".join(commands), cases="\n".join(cases), values="\n".join(values))


def bash_values(option: Option) -> str:
    """What may stand behind an option: files, choices, or the columns of a text table that was named."""
    if option.takes == "file":
        return "words="
    if "--target" in option.names:
        return 'words="$(_bayesnb_columns)"; files='
    return f'words="{" ".join(option.choices)}"; files='


BASH = """\
_bayesnb_columns() {{
    local word header
    for word in "${{COMP_WORDS[@]:2}}"; do
        if [[ $word =~ \\.(csv|tsv)$ && -f $word ]]; then
            IFS= read -r header < "$word"
            header="${{header//[$'\\r\\"']/}}"
            printf '%s' "${{header//[$',;|\\t']/ }}"
            return
        fi
    done
}}
_bayesnb() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="" words="" files=yes
    [[ $COMP_CWORD -gt 1 ]] && command="${{COMP_WORDS[1]}}"
    case "$command" in
        "") words="{commands} --help --version"; files= ;;
{cases}
    esac
    case "$command:$previous" in
{values}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [[ -n $files && $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        local file
        while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
    fi
}}
complete -F _bayesnb bayesnb
"""


def zsh(commands: dict[str, tuple[str, list[Option]]]) -> str:
    """For zsh's own system."""
    listed = "\n".join(f"        {quote(f'{name}:{about}')}" for name, (about, _) in commands.items())
    cases = "\n".join(
        f"        {name})\n            _arguments -S {' '.join(zsh_options(options))} ;;"
        for name, (_, options) in commands.items()
    )
    return ZSH.format(listed=listed, cases=cases)


def zsh_options(options: list[Option]) -> list[str]:
    """Options and arguments, those by their place, as `_arguments` takes them."""
    named = [zsh_option(option) for option in options if option.names]
    places = enumerate((option for option in options if not option.names), 1)
    return named + [zsh_option(option, "*" if option.many else str(place)) for place, option in places]


def zsh_option(option: Option, place: str = "") -> str:
    """An option, or the argument at a place."""
    text = option.help.translate(str.maketrans("[]:", "() "))
    values = f"({' '.join(option.choices)})" if option.choices else "_files" if option.takes == "file" else " "
    value = "" if option.takes == "nothing" else f":value:{values}"
    if not option.names:
        return quote(f"{place}:{text or 'argument'}:{values}")
    return " ".join(quote(f"*{name}[{text}]{value}") for name in option.names)


ZSH = """\
#compdef bayesnb
_bayesnb() {{
    local -a commands
    commands=(
{listed}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{cases}
    esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _bayesnb "$@"; else compdef _bayesnb bayesnb; fi
"""


def fish(commands: dict[str, tuple[str, list[Option]]]) -> str:
    """For fish."""
    names = " ".join(commands)
    first = f"not __fish_seen_subcommand_from {names}"
    lines = [f"complete -c bayesnb -n '{first}' -f"]
    lines += [f"complete -c bayesnb -n '{first}' -a {name} -d {quote(about)}" for name, (about, _) in commands.items()]
    for name, (_, options) in commands.items():
        there = f"complete -c bayesnb -n '__fish_seen_subcommand_from {name}'"
        lines += [f"{there} {fish_option(option)}" for option in options if option.names or option.choices]
    return "\n".join(lines) + "\n"


def fish_option(option: Option) -> str:
    """An option as `complete` takes it."""
    said = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.choices:
        said.append(
            f"-x -a {quote(' '.join(option.choices))}" if option.names else f"-f -a {quote(' '.join(option.choices))}"
        )
    elif option.takes != "nothing":
        said.append("-r -F" if option.takes == "file" else "-x")
    return " ".join([*said, f"-d {quote(option.help)}"] if option.help else said)


def quote(text: str) -> str:
    """In single quotes, for any shell's script."""
    return "'" + text.replace("'", "'\\''") + "'"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
