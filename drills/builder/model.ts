// The drill's model. It writes a version in several steps, and records every call it receives.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../harness/random.ts';
import { type ChatRequest, type ModelReply, type ModelSandbox, startModelSandbox } from '../../sandbox/src/model.ts';
import { contentOf, fileNames, versionIn } from './versions.ts';

export interface ModelCall {
  readonly version: string;
  /** Starts at 1 in each turn. */
  readonly step: number;
}

/** The files written in each step. A final step reports that the version is written. */
const writes = [fileNames.slice(0, 4), fileNames.slice(4, 7), fileNames.slice(7)];

/** This usage costs one credit per step. */
const usage = { prompt_tokens: 10_000, completion_tokens: 0 };
export const creditsPerTurn = writes.length + 1;

const thinkingMs = { least: 30, most: 400 };

export async function startDrillModel(random: Random): Promise<{ model: ModelSandbox; calls: readonly ModelCall[] }> {
  const model = await startModelSandbox();
  const calls: ModelCall[] = [];
  model.script(async (request) => {
    const call = identify(request);
    calls.push(call);
    await sleep(thinkingMs.least + random() * (thinkingMs.most - thinkingMs.least));
    return answer(call);
  });
  return { model, calls };
}

/** The user's last message names the version. The assistant's messages after it are the earlier steps. */
function identify({ messages }: ChatRequest): ModelCall {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const before = messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length;
  return { version: versionIn(String(messages[asked]?.content)), step: before + 1 };
}

function answer({ version, step }: ModelCall): ModelReply {
  const names = writes[step - 1];
  if (names === undefined) return { text: `Version ${version} is written.`, usage };
  const tool_calls = names.map((name) => ({
    name: 'write_file',
    arguments: { path: `public/${name}`, content: contentOf(version, name), replaces_whole_file: true },
  }));
  return { tool_calls, usage };
}
