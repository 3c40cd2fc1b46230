// The command sandbox. It runs untrusted commands with bubblewrap, as another user, in a control group and without
// network access, and makes sure that they leave nothing behind. If a command can't be protected, it is not run.
import { NoControlGroups } from './cgroups.ts';
import { createFolder, removeFolder } from './folders.ts';
import { findObstacle, removeOldProbes } from './probe.ts';
import { type CommandSandboxSettings, createCommandRunner } from './run.ts';
import type { Availability, CommandSandbox } from './types.ts';

const checkedForMs = 60_000;

export function openCommandSandbox(settings: CommandSandboxSettings): CommandSandbox {
  const closing = new AbortController();
  const runner = createCommandRunner(settings, closing.signal);
  const running = new Set<Promise<unknown>>();
  let checked: { at: number; answer: Promise<Availability> } | undefined;

  function check(): Promise<Availability> {
    if (checked === undefined || performance.now() - checked.at > checkedForMs) {
      const answer = findObstacle(settings, runner, closing.signal).then((reason): Availability => {
        if (reason === undefined) return { available: true };
        settings.onProblem(reason);
        return { available: false, reason };
      });
      checked = { at: performance.now(), answer };
    }
    return checked.answer;
  }

  async function track<Value>(work: Promise<Value>): Promise<Value> {
    running.add(work);
    try {
      return await work;
    } finally {
      running.delete(work);
    }
  }

  return {
    check,
    async run(request) {
      const answer = await check();
      if (!answer.available) return { outcome: 'unavailable', reason: answer.reason };
      return track(runner.run(request));
    },
    createFolder: (folder) => createFolder(folder, settings.firstUid),
    removeFolder: (folder) => {
      if (settings.bwrap === undefined) throw new Error('the command sandbox is disabled');
      return track(removeFolder(settings.bwrap, folder));
    },
    async removeLeftovers() {
      if (settings.bwrap === undefined) return;
      try {
        await (await runner.openGroups()).removeLeftovers();
        await track(removeOldProbes(settings.bwrap, settings.onProblem));
      } catch (error) {
        if (!(error instanceof NoControlGroups)) throw error; // without control groups, no command has run
      }
    },
    async close() {
      closing.abort();
      await Promise.allSettled([...running, checked?.answer]);
    },
  };
}
