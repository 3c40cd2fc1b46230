// The agent's tool for running a command in the sandbox.
import { z } from 'zod';
import { ToolError } from '../../../../core/turns/tools.ts';
import { defineTool } from './tool.ts';

const maxSeconds = 600;

export const runCommand = defineTool({
  name: 'run_command',
  description:
    'Runs a shell command at the top of the repository, without network access, and answers with its exit code and output. What it changes in files that git does not ignore becomes part of your work.',
  parameters: z.object({
    command: z.string().min(1).max(20_000),
    timeout_seconds: z.int().min(1).max(maxSeconds).default(120),
  }),
  async run({ command, timeout_seconds }, { work, clone, log, signal }) {
    await log(`$ ${command}`);
    const ran = await clone.run(work.tree, command, timeout_seconds * 1_000, signal);
    if ('reason' in ran) throw new ToolError(ran.reason);
    work.tree = ran.tree;
    if (ran.output !== '') await log(ran.output);
    await log(ran.ended);
    return [`${ran.ended}${ran.isCut ? ' The output was cut.' : ''}`, ran.output, ...ran.notes]
      .filter((part) => part !== '')
      .join('\n');
  },
});
