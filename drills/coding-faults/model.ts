// The drill's model. It plays each session's steps, and records every call it receives in a journal.
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../harness/random.ts';
import { type ChatRequest, type ModelSandbox, startModelSandbox } from '../../sandbox/src/model.ts';
import { openJournal } from '../lib/journal-file.ts';
import { addition, playStep, readPrompt } from './plays.ts';
import type { Script } from './scripts.ts';

export interface ModelCall {
  readonly at: string;
  readonly session: number;
  readonly turn: number;
  /** Starts at 1 in each turn. */
  readonly step: number;
  /** How often the request contains the message that a user added to the turn. */
  readonly additions: number;
}

const thinkingMs = { least: 20, most: 200 };

export interface DrillModel extends ModelSandbox {
  /** Resolves when the model is asked for this step in the first turn. */
  whenAsked(session: number, step: number): Promise<void>;
}

export async function startDrillModel(
  scripts: readonly Script[],
  journalFile: string,
  random: Random,
): Promise<DrillModel> {
  const model = await startModelSandbox();
  const asked = new EventEmitter();
  const record = openJournal<ModelCall>(journalFile);
  const byNumber = new Map(scripts.map((script) => [script.number, script]));
  model.script(async (request) => {
    const { session, turn, step, additions } = identify(request);
    const script = byNumber.get(session);
    if (script === undefined) throw new Error(`the model was asked for session ${session}, which does not exist`);
    record({ at: new Date().toISOString(), session, turn, step, additions });
    if (turn === 1) asked.emit(`${session} ${step}`);
    await sleep(thinkingMs.least + random() * (thinkingMs.most - thinkingMs.least));
    return playStep(script, turn, step);
  });
  return {
    ...model,
    async whenAsked(session, step) {
      await once(asked, `${session} ${step}`);
    },
  };
}

/** The user's last prompt names the session and the turn. The model's messages after it are the earlier steps. */
function identify({ messages }: ChatRequest): Omit<ModelCall, 'at'> {
  const prompts = messages.map(({ role, content }) => (role === 'user' ? readPrompt(toText(content)) : undefined));
  const at = prompts.findLastIndex((prompt) => prompt !== undefined);
  const { number, turn } = prompts[at] ?? { number: 0, turn: 0 };
  const before = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length;
  const texts = messages.flatMap(({ role, content }) => (role === 'user' ? toText(content) : []));
  const additions = texts.join('\n').split(addition).length - 1;
  return { session: number, turn, step: before + 1, additions };
}

const toText = (content: unknown): string => (typeof content === 'string' ? content : JSON.stringify(content));
