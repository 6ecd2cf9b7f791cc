// Completion in three shells. The scripts only ask the program itself (`muster __complete`), so they know every command, flag, job, node
// and profile there is now, and never grow old.
import { Argument, Command } from 'commander';
import type { Cli } from '../cli.ts';
import { candidates } from '../completion/candidates.ts';
import { scripts } from '../completion/scripts.ts';

// biome-ignore lint/suspicious/noTemplateCurlyInString: the shell fills it in
const zshFolder = '${fpath[1]}';

export function completionCommand(cli: Cli): Command {
  return new Command('completion')
    .summary('completion for your shell')
    .description(
      'Print the completion script of a shell.\n' +
        "  bash: echo 'source <(muster completion bash)' >> ~/.bashrc\n" +
        `  zsh:  muster completion zsh > "${zshFolder}/_muster"\n` +
        '  fish: muster completion fish > ~/.config/fish/completions/muster.fish',
    )
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(cli.act(async (shell: keyof typeof scripts) => void cli.terminal.stdout.write(scripts[shell])));
}

/** Hidden: prints what could stand at the end of the given words, one candidate and its meaning a line. */
export function completeCommand(cli: Cli): Command {
  const command: Command = new Command('__complete')
    .argument('[words...]')
    .passThroughOptions()
    .allowUnknownOption()
    .action(
      cli.act(async (words: string[]) => {
        const program = command.parent;
        if (program === null) return;
        for (const [word, meaning] of await candidates(cli, program, words)) cli.line(`${word}\t${meaning}`);
      }),
    );
  return command;
}
