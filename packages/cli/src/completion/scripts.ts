// The completion scripts. `muster __complete -- WORDS` prints "candidate<TAB>meaning" lines.

const bash = `# muster completion for bash
_muster() {
  local IFS=$'\\n' cur="\${COMP_WORDS[COMP_CWORD]}"
  local found
  found=$(muster __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
  COMPREPLY=($(compgen -W "$found" -- "$cur"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _muster muster
`;

const zsh = `#compdef muster
# muster completion for zsh
_muster() {
  local -a found
  local line
  while IFS=$'\\t' read -r word meaning; do
    found+=("\${word//:/\\\\:}:\${meaning}")
  done < <(muster __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe 'muster' found; else _files; fi
}
compdef _muster muster
`;

const fish = `# muster completion for fish
function __muster_complete
  set -l words (commandline -opc) (commandline -ct)
  muster __complete -- $words[2..-1] 2>/dev/null
end
complete -c muster -f -a '(__muster_complete)'
`;

export const scripts = { bash, zsh, fish } as const;
