// The agent's actions in each session, step by step, and the files that result if each step takes effect exactly
// once. Steps add lines to files, so a step that took effect twice is visible.
import type { ModelReply } from '../../sandbox/src/model.ts';
import type { Kind, Script } from './scripts.ts';

/** The files on every repository's base branch. */
export const baseFiles: ReadonlyMap<string, string> = new Map([
  ['README.md', '# Drill\n\nEvery session adds lines.\n'],
  ['notes.txt', 'begin of the notes\nend of the notes\n'],
  ['src/app.js', 'export const answer = 42;\n'],
  ['old.txt', 'nobody reads this\n'],
]);

type ToolCall = NonNullable<ModelReply['tool_calls']>[number];

interface Step {
  readonly calls: readonly ToolCall[];
  /** Applies the calls' effect to the files. */
  readonly change: (files: Map<string, string>) => void;
}

const addLine = (path: string, line: string): Step => ({
  calls: [
    {
      name: 'edit_file',
      arguments: { path, old_text: 'end of the notes', new_text: `${line}\nend of the notes` },
    },
  ],
  change: (files) =>
    void files.set(path, (files.get(path) ?? '').replace('end of the notes', `${line}\nend of the notes`)),
});

const write = (path: string, content: string): Step => ({
  calls: [{ name: 'write_file', arguments: { path, content } }],
  change: (files) => void files.set(path, content),
});

/** The command runs in bubblewrap. */
const appendByCommand = (path: string, line: string): Step => ({
  calls: [{ name: 'run_command', arguments: { command: `echo '${line}' >> ${path} && sleep 0.2 && wc -l ${path}` } }],
  change: (files) => void files.set(path, `${files.get(path) ?? ''}${line}\n`),
});

const remove = (path: string): Step => ({
  calls: [{ name: 'delete_file', arguments: { path } }],
  change: (files) => void files.delete(path),
});

const withoutChange = (...calls: ToolCall[]): Step => ({ calls, change: () => {} });

export const options = ['Left', 'Right'] as const;

const ask = withoutChange({
  name: 'ask_question',
  arguments: { questions: [{ text: 'Which side?', options: options.map((label) => ({ label, description: label })) }] },
});

const askApproval = withoutChange({
  name: 'ask_approval',
  arguments: { title: 'Delete old.txt', description: 'Nobody reads it.', action: 'delete_files', details: 'old.txt' },
});

/** Ends only when stopped. Starts background processes that have left its process session. */
const sleepForLong = withoutChange({
  name: 'run_command',
  arguments: { command: 'setsid sleep 300 & nohup sleep 300 & sleep 300' },
});

/** Returns a turn's steps. After the last step, the model reports that it is done. */
function listSteps({ number, kind }: Pick<Script, 'number' | 'kind'>, turn: number): readonly Step[] {
  const path = `sessions/${number}/turn-${turn}.txt`;
  const edits = [
    write(path, `session ${number}, turn ${turn}\n`),
    addLine('notes.txt', `session ${number} turn ${turn}`),
  ];
  const command = appendByCommand('commands.txt', `command of session ${number} turn ${turn}`);
  const byKind: Partial<Record<Kind, readonly Step[]>> = {
    command: [...edits, command],
    question: [...edits, ask, addLine('notes.txt', `answered in session ${number}`)],
    approval: [...edits, askApproval, remove('old.txt')],
    answer: [withoutChange({ name: 'read_file', arguments: { path: 'README.md' } })],
    cancel_command: [...edits, command, sleepForLong],
    cancel_needs_input: [...edits, ask],
  };
  return byKind[kind] ?? edits;
}

/** Returns the model's reply. A turn's first step is 1. */
export function playStep(script: Script, turn: number, step: number): ModelReply {
  const calls = listSteps(script, turn)[step - 1]?.calls;
  if (calls === undefined) return { text: summaryOf(script, turn), usage };
  return { text: `Step ${step}.`, tool_calls: calls, usage };
}

export const summaryOf = ({ number }: Pick<Script, 'number'>, turn: number): string =>
  `Session ${number} has done turn ${turn}.`;

export const promptOf = ({ number }: Pick<Script, 'number'>, turn: number): string =>
  `Carry out session ${number} turn ${turn}.`;

/** The message that a user adds while the agent is working. */
export const addition = 'Please be quick.';

/** Reads the session and the turn from a prompt. Returns undefined for a message that only adds to a turn. */
export function readPrompt(text: string): { number: number; turn: number } | undefined {
  const [, number, turn] = [...text.matchAll(/Carry out session (\d+) turn (\d+)\./g)].at(-1) ?? [];
  return number === undefined ? undefined : { number: Number(number), turn: Number(turn) };
}

/** This usage costs one credit per step. */
const usage = { prompt_tokens: 9_900, completion_tokens: 100 };
const leastCreditsOfTurn = 2;

/** The cost of a turn that was not cancelled. */
export const creditsOf = (script: Pick<Script, 'number' | 'kind'>, turn: number): number =>
  Math.max(leastCreditsOfTurn, listSteps(script, turn).length + 1);

export const turnsOf = (kind: Kind): number => (kind === 'follow_up' ? 2 : 1);

/** Returns the files on the branch after these turns. */
export function expectFiles(
  script: Pick<Script, 'number' | 'kind'>,
  turns = turnsOf(script.kind),
): Map<string, string> {
  const files = new Map(baseFiles);
  for (let turn = 1; turn <= turns; turn += 1) for (const { change } of listSteps(script, turn)) change(files);
  return files;
}
