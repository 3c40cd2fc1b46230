// The server that the drill's workers call at every boundary before they continue. At a boundary, it kills the
// worker if the session's script says so, or holds the worker until a client has acted. Every arrival is recorded in a
// journal.
//
// By contract, a session fails if its worker is killed twice without progress in between. A worker is therefore killed
// only if all of its sessions have made progress since the last kill.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openJournal } from '../lib/journal-file.ts';
import type { Boundary, Script } from './scripts.ts';

/** A worker's message. */
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
  /** Must be called once a session's id is known. Workers wait until then. */
  register(sessionId: string, script: Script): void;
  /** Called when no worker is running the session any longer. */
  release(sessionId: string): void;
  /** Makes the next worker that reaches this boundary in this session wait there. Must be called before the launch. */
  hold(script: Script, boundary: Boundary): Hold;
  /** Whether any planned kills are still outstanding. */
  isOwing(): boolean;
  /** Kills the worker if all of its sessions have made progress. */
  kill(pid: number): boolean;
  close(): Promise<void>;
}

export interface Hold {
  /** Resolves when a worker has arrived. */
  readonly arrived: Promise<void>;
  release(): void;
  /** Kills the waiting worker once its other sessions have made progress. */
  kill(): void;
}

interface Tracked {
  /** Undefined until the client knows the session's id. */
  script: Script | undefined;
  kills: Script['kills'][number][];
  readonly passed: Map<Boundary, number>;
  pid: number | undefined;
  /** The time at which the session's worker was killed. Undefined once another worker has claimed the session. */
  lostAt: number | undefined;
  /** Whether the session has made no progress since its worker was killed. */
  isFragile: boolean;
  hold: { readonly boundary: Boundary; arrive(pid: number): Promise<void> } | undefined;
}

const registeredWithinMs = 20_000;
const safeWithinMs = 30_000;
/** A session that no worker claims within this time is waiting for user input. */
const claimedWithinMs = 15_000;
/** Sessions that a worker claimed together arrive within this time of each other. */
const arrivedWithinMs = 300;
const heldAtMostMs = 20_000;
const pollMs = 50;

export async function startControl(journalFile: string): Promise<Control> {
  const record = openJournal<BoundaryLine>(journalFile);
  const sessions = new Map<string, Tracked>();
  const holds = new Map<Script, Tracked['hold']>();
  /** Kills that were not possible in the session they were drawn for. */
  const owed: Boundary[] = [];

  const killed = new Set<number>();
  /** After its worker was killed, a session may be with any other worker until it arrives at a boundary. */
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

  /** Returns whether to kill the worker. */
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
    // While waiting at this boundary, the worker may have been killed because of another session, which also counts as
    // a kill here.
    if (mayKill || killed.has(pid)) return true;
    owed.push(boundary);
    return false;
  }

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const arrival = JSON.parse(text) as Arrival;
    if (killed.has(arrival.pid)) return; // sent just before the worker was killed
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
      // The session never reached these boundaries. For example, if creating a pull request gets no response, the pull
      // request is later found instead of created.
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

/** Beginning a turn is progress too, but whether the turn began before the crash is not known here. */
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
    return false; // the process has already been killed
  }
}
