// Owns the server that workers of the drill ask at every boundary whether they may go on. It kills the worker there if the script of
// the session says so, or holds it until a client has done something. Everything is in a journal.
//
// A session whose worker is killed twice before it makes progress is given up, as the contract says. So a worker is killed only when
// every session that it runs has made progress since the last kill.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openJournal } from '../lib/journal-file.ts';
import type { Boundary, Script } from './scripts.ts';

/** What a worker sends. */
export interface Arrival {
  readonly pid: number;
  readonly session_id: string;
  readonly boundary: Boundary;
}

export interface BoundaryLine extends Arrival {
  readonly at: string;
  readonly session: number;
  readonly killed: boolean;
}

export interface Control {
  readonly url: string;
  /** Call this when the id of a session is known: until then, workers wait. */
  register(sessionId: string, script: Script): void;
  /** No worker runs the session any more. */
  release(sessionId: string): void;
  /** The next worker that arrives at this boundary with this session waits there. Call this before the launch. */
  hold(script: Script, boundary: Boundary): Hold;
  /** Whether a kill that was drawn has not been done, because its session had just lost a worker. */
  isOwing(): boolean;
  /** Kills the worker, if all its sessions have made progress. */
  kill(pid: number): boolean;
  close(): Promise<void>;
}

export interface Hold {
  /** Resolved when a worker has arrived. */
  readonly arrived: Promise<void>;
  release(): void;
  /** Kills the worker that waits, as soon as its other sessions have made progress. */
  kill(): void;
}

interface Tracked {
  /** Undefined until the client knows the id of its session. */
  script: Script | undefined;
  kills: Script['kills'][number][];
  readonly passed: Map<Boundary, number>;
  pid: number | undefined;
  /** When its worker was killed, until another one has it. */
  lostAt: number | undefined;
  /** Its worker was killed, and it has made no progress since. */
  isFragile: boolean;
  hold: { readonly boundary: Boundary; arrive(pid: number): Promise<void> } | undefined;
}

const registeredWithinMs = 20_000;
const safeWithinMs = 30_000;
/** One that is claimed by nobody in this time waits for its person. */
const claimedWithinMs = 15_000;
/** Other sessions that the worker claimed together with one that has arrived also arrive within this time. */
const arrivedWithinMs = 300;
const heldAtMostMs = 20_000;
const pollMs = 50;

export async function startControl(journalFile: string): Promise<Control> {
  const record = openJournal<BoundaryLine>(journalFile);
  const sessions = new Map<string, Tracked>();
  const holds = new Map<Script, Tracked['hold']>();
  /** Kills that could not be done in the session that they were drawn for. */
  const owed: Boundary[] = [];

  const killed = new Set<number>();
  /** A session whose worker was killed may be with any of the others, until it arrives somewhere. */
  const mayBeWith = (pid: number, { lostAt, ...session }: Tracked): boolean =>
    lostAt === undefined ? session.pid === pid : performance.now() - lostAt < claimedWithinMs;
  const isSafe = (pid: number, except?: Tracked): boolean =>
    ![...sessions.values()].some((each) => each !== except && each.isFragile && mayBeWith(pid, each));
  const kill = (pid: number): boolean => {
    killed.add(pid);
    const lostAt = performance.now();
    for (const each of sessions.values()) if (each.pid === pid) Object.assign(each, { isFragile: true, lostAt });
    return killProcess(pid);
  };
  const untilSafe = (pid: number, except?: Tracked) => waitUntil(() => isSafe(pid, except), safeWithinMs);

  /** Whether the worker was killed. */
  async function arrive(session: Tracked, { pid, boundary }: Arrival): Promise<boolean> {
    const occurrence = (session.passed.get(boundary) ?? 0) + 1;
    session.passed.set(boundary, occurrence);
    if (isProgress(boundary)) session.isFragile = false;
    const drawn = session.kills.findIndex((each) => each.boundary === boundary && occurrence >= each.occurrence);
    const debt = drawn < 0 && session.hold === undefined ? owed.indexOf(boundary) : -1;
    if (drawn < 0 && debt < 0) return false;
    if (drawn >= 0) session.kills.splice(drawn, 1);
    else owed.splice(debt, 1);
    await sleep(arrivedWithinMs);
    const mayKill = !session.isFragile && (await untilSafe(pid, session));
    // While it waited at this boundary, the worker may have been killed for another session: that is a kill here too.
    if (mayKill || killed.has(pid)) return true;
    owed.push(boundary);
    return false;
  }

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const arrival = JSON.parse(text) as Arrival;
    if (killed.has(arrival.pid)) return; // sent in its last moment
    const session = sessions.get(arrival.session_id) ?? track();
    sessions.set(arrival.session_id, session);
    session.pid = arrival.pid;
    session.lostAt = undefined;
    await waitUntil(() => session.script !== undefined, registeredWithinMs);
    if (session.script === undefined) return void response.end();
    const isKilled = await arrive(session, arrival);
    const { boundary, pid } = arrival;
    record({ at: new Date().toISOString(), session: session.script.number, ...arrival, killed: isKilled });
    if (isKilled) return void kill(pid);
    if (session.hold?.boundary === boundary) {
      const { hold } = session;
      session.hold = undefined;
      await hold.arrive(pid);
    }
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    register(sessionId, script) {
      const session = sessions.get(sessionId) ?? track();
      sessions.set(sessionId, session);
      if (session.script !== undefined) return;
      session.script = script;
      session.kills = [...script.kills];
      session.hold = holds.get(script);
    },
    release(sessionId) {
      const session = sessions.get(sessionId);
      if (session === undefined) return;
      session.pid = undefined;
      session.isFragile = false;
      // It did not come there: a pull request whose creation was not answered is found, not created.
      owed.push(...session.kills.splice(0).map(({ boundary }) => boundary));
    },
    hold(script, boundary) {
      const arrived = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      let held: number | undefined;
      holds.set(script, {
        boundary,
        async arrive(pid) {
          held = pid;
          arrived.resolve();
          await Promise.race([released.promise, sleep(heldAtMostMs, undefined, { ref: false })]);
        },
      });
      return {
        arrived: arrived.promise,
        release: released.resolve,
        kill() {
          const pid = held;
          if (pid === undefined) return released.resolve();
          void untilSafe(pid)
            .then((safe) => safe && kill(pid))
            .then(() => released.resolve());
        },
      };
    },
    isOwing: () => owed.length > 0,
    kill: (pid) => isSafe(pid) && kill(pid),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Also a turn that has begun is progress, but whether it had begun before a crash is not known here. */
const isProgress = (boundary: Boundary): boolean =>
  ['step_recorded', 'moved_to_opening', 'completed'].includes(boundary);

const track = (): Tracked => ({
  script: undefined,
  kills: [],
  passed: new Map(),
  pid: undefined,
  lostAt: undefined,
  isFragile: false,
  hold: undefined,
});

async function waitUntil(isTrue: () => boolean, withinMs: number): Promise<boolean> {
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(pollMs)) if (isTrue()) return true;
  return isTrue();
}

function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false; // it was killed meanwhile
  }
}
