// Owns Plinth's processes in the drill: APIs and workers as an operator starts them, started again whenever they end.
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../lib/ports.ts';

export type Kind = 'api' | 'worker';

interface Member {
  readonly kind: Kind;
  readonly settings: Readonly<Record<string, string>>;
  child: ChildProcess;
  /** It has said that it serves, or works. */
  ready: boolean;
}

export interface Crew {
  readonly apis: readonly string[];
  /** How often one was started again. */
  readonly restarts: number;
  allReady(): Promise<void>;
  /** Kills one that is at work, by `choose`; false when there is none. */
  kill(kind: Kind, choose: (count: number) => number): boolean;
  stop(): void;
}

const main = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));
const firstWords = { api: '"msg":"listening"', worker: '"msg":"working"' };
const restMs = 300;

export async function startCrew(counts: Record<Kind, number>, settings: Record<string, string>): Promise<Crew> {
  let stopping = false;
  let restarts = 0;

  function launch(member: Omit<Member, 'child' | 'ready'>): ChildProcess {
    const env = { PATH: process.env.PATH, ...member.settings };
    const child = spawn(process.execPath, [main, member.kind], { env, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
    return child;
  }
  function attend(member: Member): void {
    member.child.stdout?.on('data', (chunk) => {
      if (!member.ready && String(chunk).includes(firstWords[member.kind])) member.ready = true;
    });
    member.child.once('exit', () => {
      member.ready = false;
      setTimeout(() => {
        if (stopping) return;
        restarts += 1;
        member.child = launch(member);
        attend(member);
      }, restMs);
    });
  }

  const ports = await Promise.all(Array.from({ length: counts.api }, freePort));
  const kinds: { kind: Kind; settings: Record<string, string> }[] = [
    ...ports.map((port) => ({ kind: 'api' as const, settings: { ...settings, PORT: String(port) } })),
    ...Array.from({ length: counts.worker }, () => ({ kind: 'worker' as const, settings })),
  ];
  const members = kinds.map((each): Member => ({ ...each, child: launch(each), ready: false }));
  for (const member of members) attend(member);
  return {
    apis: ports.map((port) => `http://127.0.0.1:${port}`),
    get restarts() {
      return restarts;
    },
    async allReady() {
      while (members.some((member) => !member.ready)) await sleep(50);
    },
    kill(kind, choose) {
      const ready = members.filter((member) => member.kind === kind && member.ready);
      const member = ready[choose(ready.length)];
      if (member === undefined) return false;
      member.ready = false;
      return member.child.kill('SIGKILL');
    },
    stop() {
      stopping = true;
      for (const { child } of members) child.kill('SIGKILL');
    },
  };
}
