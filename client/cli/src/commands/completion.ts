// `plinthctl completion`: prints a script with which a shell completes commands, options, operations and names.
import type { Define } from '../cli.ts';
import { CommandError } from '../exit.ts';

const scripts: Readonly<Record<string, string>> = {
  // Without compgen -W, which would run what a name contains: $(…).
  bash: `_plinthctl() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    [[ $word == "\${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$(printf %q "$word")")
  done < <(plinthctl __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _plinthctl plinthctl
`,
  zsh: `#compdef plinthctl
_plinthctl() {
  local -a found
  found=("\${(@f)$(plinthctl __complete "\${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _plinthctl plinthctl
`,
  fish: `complete -c plinthctl -f -a '(plinthctl __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
};

export const define: Define = (command, cli) => {
  command
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', '\nFor bash, add to ~/.bashrc:\n  source <(plinthctl completion bash)')
    .action((shell: string) => {
      const script = scripts[shell];
      if (script === undefined) throw new CommandError('The shell must be bash, zsh or fish.');
      cli.output.raw(script);
    });
};
